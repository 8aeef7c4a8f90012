//! The world around an agent's machine: the family's sequencer, and the effects that its work
//! becomes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use futures::future::BoxFuture;
use kinfolk_actors::agent::{
    self, About, AgentMachine, AgentState, Cause, Key, Member, Outcome, Phase, Recovered,
    RunStanding, Work,
};
use kinfolk_actors::budget::Facts;
use kinfolk_actors::context::model_request;
use kinfolk_actors::event::{Ending, Event, SubagentStarted};
use kinfolk_actors::id::{AgentId, AskId, CallId, RequestNo};
use kinfolk_actors::time::{Millis, Timestamp};

use super::activation::{Activation, Living};
use super::agent_actor::{self, AgentStart};
use super::compactor::SummaryJob;
use super::effects::StopSignal;
use super::executor::ToolJob;
use super::model_effect::ModelEffect;
use super::on_demand;
use super::ordering::{self, Check, HOST_GRACE};
use super::roster::Doing;
use super::{telling, timers};
use crate::events::{Progress, ProgressKind};
use crate::hub::Rest;
use crate::ports::executor::{ExecutorKind, Task};
use crate::shell::{Flow, GenerationOver, NotReserved, World};

/// The world of one agent of one generation.
pub(crate) struct AgentWorld {
    living: Living,
    agent: AgentId,
    /// `lead`, or the subagent's name.
    name: Arc<str>,
    /// The call that this agent serves, for a subagent.
    serves: Option<CallId>,
    /// When it was put to work.
    since: Timestamp,
    /// The subagents that this generation has at work, by the call that each serves.
    children: BTreeMap<CallId, AgentId>,
    /// What it has in flight beside subagents and timers.
    busy: BTreeSet<Key>,
    /// The questions that its parent was told of in this generation.
    asked: BTreeSet<AskId>,
    shown: Option<(&'static str, &'static str)>,
}

impl AgentWorld {
    pub fn new(living: Living, member: &Member) -> Self {
        let (agent, serves) = match member {
            Member::Lead => (AgentId::LEAD, None),
            Member::Subagent(started) => (started.subagent, Some(started.for_call)),
        };
        let since = living.family.services.clock.now();
        Self {
            living,
            agent,
            name: Activation::name_of(member),
            serves,
            since,
            children: BTreeMap::new(),
            busy: BTreeSet::new(),
            asked: BTreeSet::new(),
            shown: None,
        }
    }

    fn family(&self) -> &Arc<Activation> {
        &self.living.family
    }

    fn report(&self, key: Key, outcome: Outcome) {
        self.family().report(self.living.generation, self.agent, key, outcome);
    }

    /// A report function for one piece of work, which outlives this shell's step.
    fn reporter(&self, key: Key) -> impl FnOnce(Outcome) + Send + 'static {
        let (family, generation, agent) =
            (Arc::clone(self.family()), self.living.generation, self.agent);
        move |outcome| family.report(generation, agent, key, outcome)
    }

    fn start_request(&self, number: RequestNo, machine: &AgentMachine, state: &AgentState) {
        let request = model_request(machine, state);
        let key = Key::Model(number);
        let (owner, report) = ((self.agent, key), self.reporter(key));
        let family = Arc::clone(self.family());
        if let Some(executor) = family.executor(&self.name, ExecutorKind::Model) {
            let (own, who) = (Arc::clone(&family), (self.agent, Arc::clone(&self.name)));
            let model = Arc::clone(&request.model);
            let task = Task::Model { number, request: Box::new(request) };
            let work = move |stop: StopSignal| async move {
                let outcome = ordering::run(&own, &*executor, who, task, stop).await;
                own.priced(&model, outcome)
            };
            return family.effects.start(owner, HOST_GRACE, work, report);
        }
        let effect = ModelEffect {
            family: Arc::clone(&family),
            attempt: family.sequencer.attempt(),
            agent: self.agent,
            name: Arc::clone(&self.name),
            number,
            request,
            shown: AtomicBool::new(false),
        };
        // No grace: dropping the request closes its connection.
        family.effects.start(owner, Duration::ZERO, |_stop| effect.run(), report);
    }

    fn start_lease(&self, call: CallId) {
        let family = Arc::clone(self.family());
        let workspace = family.frozen.family.workspace.clone().map(PathBuf::from);
        let key = Key::Lease(call);
        let work = move |_stop| async move {
            let leases = &family.services.leases;
            family.held.acquire(call, leases, workspace.as_deref()).await;
            Outcome::Leased
        };
        let owner = (self.agent, key);
        self.family().effects.start(owner, Duration::ZERO, work, self.reporter(key));
    }

    fn start_tool(&self, call: CallId, name: Arc<str>, arguments: Arc<str>) {
        let (agent, agent_name) = (self.agent, Arc::clone(&self.name));
        on_demand::order(&self.living, ToolJob { agent, agent_name, call, name, arguments });
    }

    /// Has a subagent at work, or loaded only to be ended. One that has reported already, while
    /// nobody listened, is not started: its report is the outcome.
    fn start_child(&mut self, started: &SubagentStarted, end: Option<Ending>) {
        let state = self.family().take_state(started.subagent);
        if let Some(report) = state.report() {
            let (report, duration) = (Box::new(report.clone()), Millis::default());
            self.report(Key::Child(started.for_call), Outcome::Child { report, duration });
            return;
        }
        let end = self.family().given_up(started.subagent).or(end);
        let attempt = self.family().sequencer.attempt();
        let member = Member::Subagent(started.clone());
        let recovered = Recovered { attempt, end };
        self.children.insert(started.for_call, started.subagent);
        self.family().roster.works(started.subagent);
        agent_actor::adopt_agent(&self.living, AgentStart { member, state, recovered });
    }

    /// Tells the parent of a question, once in a generation. The parent remembers which it knows.
    fn ask_parent(&mut self, state: &AgentState) {
        let Some(serves) = self.serves else { return };
        for (question, ask) in state.open_asks() {
            let About::Words { parent: true, text, .. } = &ask.about else { continue };
            if self.asked.insert(question) {
                let outcome = Outcome::ChildAsks { question, text: Arc::clone(text) };
                let generation = self.living.generation;
                self.family().report(generation, serves.agent, Key::Child(serves), outcome);
            }
        }
    }

    /// Says what the agent does, and how the family rests if it does.
    fn note_rest(&self, state: &AgentState) {
        let family = self.family();
        let doing = if self.busy.is_empty() {
            Doing::Waits(state.standing().filter(|standing| standing.is_blocked()))
        } else {
            Doing::Works
        };
        let has_mail = |agent| family.has_mail(agent);
        family.roster.stepped(self.agent, doing, has_mail, |standing| {
            let rest = match (standing, family.interrupted()) {
                (RunStanding::Interrupted, Some(interrupted)) => Rest::Interrupted(interrupted),
                (standing, _) => Rest::Parked(standing),
            };
            family.hub.rest(family.run, rest);
        });
    }

    /// A call that got the workspace and was then refused, by a limit for example, gives it back: the
    /// next one would wait for it for ever, and so would every other family.
    fn free_leases(&self, state: &AgentState) {
        let needs = |call: CallId| {
            state.turn().is_some_and(|turn| {
                turn.next_change() == Some(call) || turn.dispatched().any(|open| open.call == call)
            })
        };
        self.family().held.keep(self.agent, needs);
    }

    fn show_phase(&mut self, state: &AgentState) {
        let Some(shown) = phase_names(state) else { return };
        if self.shown == Some(shown) || !self.family().hub.is_watched() {
            return;
        }
        self.shown = Some(shown);
        self.family().hub.progress(Progress {
            session: self.family().session.clone(),
            run: self.family().run,
            attempt: self.family().sequencer.attempt(),
            agent: self.agent,
            at: self.family().services.clock.now(),
            kind: ProgressKind::PhaseChanged { phase: shown.0, state: shown.1 },
        });
    }
}

/// The phase as it is shown, and the state of the run that goes with it. An agent at rest or done
/// shows none: its terminal event has said it, and nothing follows that.
fn phase_names(state: &AgentState) -> Option<(&'static str, &'static str)> {
    let phase = match state.phase {
        Phase::Resting | Phase::Done(_) => return None,
        Phase::Deciding => "deciding",
        Phase::Thinking { .. } => "thinking",
        Phase::Acting(_) => "acting",
        Phase::Compacting(_) => "compacting",
        Phase::Asking(_) => "asking",
        Phase::Interrupted => "interrupted",
        Phase::Ending(_) => "ending",
    };
    Some((phase, standing_name(state.standing()?)))
}

/// The standing as it is shown.
fn standing_name(standing: RunStanding) -> &'static str {
    match standing {
        RunStanding::Preparing => "preparing",
        RunStanding::Planning => "planning",
        RunStanding::Acting => "acting",
        RunStanding::Observing => "observing",
        RunStanding::Verifying => "verifying",
        RunStanding::Cancelling => "cancelling",
        RunStanding::AwaitingUser => "awaiting_user",
        RunStanding::AwaitingParent => "awaiting_parent",
        RunStanding::AwaitingTool => "awaiting_tool",
        RunStanding::Interrupted => "interrupted",
        RunStanding::Completed => "completed",
        RunStanding::PartialSuccess => "partial_success",
        RunStanding::Cancelled => "cancelled",
        RunStanding::Failed => "failed",
    }
}

/// Whether a piece of work keeps the family from resting: subagents speak for themselves, and a
/// time that is waited for is no work.
fn is_own_work(key: &Key) -> bool {
    match key {
        Key::Model(_)
        | Key::Tool(_)
        | Key::Lease(_)
        | Key::Audit(_)
        | Key::Tell(_)
        | Key::Summary(_) => true,
        Key::Child(_) | Key::Timer(_) => false,
    }
}

impl World<AgentMachine> for AgentWorld {
    fn begins(&mut self) {
        self.family().roster.works(self.agent);
        self.family().hub.wakes();
    }

    fn now(&self) -> Timestamp {
        self.family().services.clock.now()
    }

    fn facts(&self, now: Timestamp) -> Result<Facts, GenerationOver> {
        self.family().sequencer.facts(self.living.generation, now)
    }

    fn reserve(&self, now: Timestamp, events: &[Event]) -> Result<(), NotReserved> {
        self.family().sequencer.reserve(self.living.generation, self.agent, now, events)
    }

    fn append(
        &self,
        now: Timestamp,
        events: Vec<Event>,
    ) -> BoxFuture<'static, Result<(), GenerationOver>> {
        for event in &events {
            if let Event::RunInterrupted(interrupted) = event {
                self.family().interrupt(interrupted);
            }
        }
        self.family().sequencer.append(self.living.generation, self.agent, now, events)
    }

    fn start(&mut self, key: &Key, work: Work, machine: &AgentMachine, state: &AgentState) {
        if is_own_work(key) {
            self.busy.insert(*key);
        }
        match work {
            Work::Model { request } => self.start_request(request, machine, state),
            Work::Tool { call, name, arguments } => self.start_tool(call, name, arguments),
            Work::Lease { call } => self.start_lease(call),
            Work::Audit { call, audit, name: tool, arguments } => {
                let check = Check { call, audit, tool, arguments };
                ordering::check(&self.living, self.agent, Arc::clone(&self.name), check);
            }
            Work::Child { started } => self.start_child(&started, None),
            Work::Tell { call, subagent, message } => {
                telling::start(&self.living, self.agent, (call, subagent), message);
            }
            Work::Summary { n } => {
                let job = SummaryJob::new(Arc::clone(&self.name), n, machine, state);
                on_demand::order(&self.living, job);
            }
            Work::Timer { timer, at } => timers::start(&self.living, self.agent, timer, at),
        }
    }

    fn stop(&mut self, key: &Key) {
        match key {
            Key::Model(_)
            | Key::Tool(_)
            | Key::Lease(_)
            | Key::Audit(_)
            | Key::Tell(_)
            | Key::Summary(_)
            | Key::Timer(_) => self.family().effects.stop((self.agent, *key)),
            Key::Child(call) => {
                if let Some(&child) = self.children.get(call) {
                    // The child answers with its report; whether it was ending already is all one.
                    self.family().end_child(self.living.generation, child);
                }
            }
        }
    }

    fn close(&mut self, key: &Key, work: Work, _machine: &AgentMachine, _state: &AgentState) {
        if is_own_work(key) {
            self.busy.insert(*key);
        }
        match work {
            Work::Model { .. }
            | Work::Tool { .. }
            | Work::Lease { .. }
            | Work::Audit { .. }
            | Work::Tell { .. }
            | Work::Summary { .. }
            | Work::Timer { .. } => self.report(*key, Outcome::Gone),
            Work::Child { started } => {
                let end = agent::cancelled(Cause::Parent, &"its parent ends".into());
                self.start_child(&started, Some(end));
            }
        }
    }

    fn settled(&mut self, key: &Key, taken: bool) {
        self.busy.remove(key);
        match key {
            // Refused: the call is not waiting for the lease any more.
            Key::Lease(call) if !taken => self.family().held.release(*call),
            Key::Lease(_)
            | Key::Model(_)
            | Key::Tool(_)
            | Key::Audit(_)
            | Key::Child(_)
            | Key::Tell(_)
            | Key::Summary(_)
            | Key::Timer(_) => {}
        }
    }

    fn stepped(&mut self, state: &AgentState) -> Flow {
        self.show_phase(state);
        self.free_leases(state);
        match (state.report(), self.serves) {
            (Some(report), serves) => {
                if let Some(call) = serves {
                    let duration = self.now().since(self.since);
                    let outcome = Outcome::Child { report: Box::new(report.clone()), duration };
                    let generation = self.living.generation;
                    self.family().report(generation, call.agent, Key::Child(call), outcome);
                }
                self.family().leaves(self.agent);
                Flow::Stop
            }
            (None, _) if state.is_active() => {
                self.ask_parent(state);
                self.note_rest(state);
                Flow::Continue
            }
            (None, _) => {
                if !state.queued.is_empty() {
                    self.family().give_way();
                }
                self.family().rest();
                Flow::Stop
            }
        }
    }
}
