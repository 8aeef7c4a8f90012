//! The world around an agent's machine: the family's sequencer, and the effects that its work
//! becomes.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use futures::future::BoxFuture;
use kinfolk_actors::agent::{
    self, AgentMachine, AgentState, Key, Member, Outcome, Phase, Recovered, Work,
};
use kinfolk_actors::budget::Facts;
use kinfolk_actors::context::model_request;
use kinfolk_actors::event::{Ending, Event, SubagentStarted};
use kinfolk_actors::id::{AgentId, CallId, RequestNo};
use kinfolk_actors::time::{Millis, Timestamp};

use super::activation::{Activation, Living};
use super::agent_actor::{self, AgentStart};
use super::executor::{Job, Needed};
use super::model_effect::ModelEffect;
use crate::events::{Progress, ProgressKind};
use crate::shell::{Flow, GenerationOver, NotReserved, World};

/// The world of one agent of one generation.
pub(crate) struct AgentWorld {
    living: Living,
    agent: AgentId,
    /// The call that this agent serves, for a subagent.
    serves: Option<CallId>,
    /// When it was put to work.
    since: Timestamp,
    /// The subagents that this generation has at work, by the call that each serves.
    children: BTreeMap<CallId, AgentId>,
    shown: Option<(&'static str, &'static str)>,
}

impl AgentWorld {
    pub fn new(living: Living, member: &Member) -> Self {
        let (agent, serves) = match member {
            Member::Lead => (AgentId::LEAD, None),
            Member::Subagent(started) => (started.subagent, Some(started.for_call)),
        };
        let since = living.family.services.clock.now();
        Self { living, agent, serves, since, children: BTreeMap::new(), shown: None }
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

    fn start_request(&self, request: RequestNo, machine: &AgentMachine, state: &AgentState) {
        let attempt = self.family().sequencer.attempt();
        let effect = ModelEffect {
            family: Arc::clone(self.family()),
            attempt,
            agent: self.agent,
            name: Activation::name_of(&machine.member),
            number: request,
            request: model_request(machine, state),
            shown: AtomicBool::new(false),
        };
        let key = Key::Model(request);
        // No grace: dropping the request closes its connection.
        let owner = (self.agent, key);
        let report = self.reporter(key);
        self.family().effects.start(owner, Duration::ZERO, |_stop| effect.run(), report);
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

    fn start_tool(&self, job: Job) {
        if self.family().jobs.push(job) == Needed::Executor {
            agent_actor::adopt_executor(&self.living);
        }
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
        agent_actor::adopt_agent(&self.living, AgentStart { member, state, recovered });
    }

    fn show_phase(&mut self, state: &AgentState) {
        let Some(shown) = phase_names(&state.phase) else { return };
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
fn phase_names(phase: &Phase) -> Option<(&'static str, &'static str)> {
    match phase {
        Phase::Resting | Phase::Done(_) => None,
        Phase::Deciding => Some(("deciding", "planning")),
        Phase::Thinking { .. } => Some(("thinking", "planning")),
        Phase::Acting(_) => Some(("acting", "acting")),
        Phase::Ending(_) => Some(("ending", "cancelling")),
    }
}

impl World<AgentMachine> for AgentWorld {
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
        self.family().sequencer.append(self.living.generation, self.agent, now, events)
    }

    fn start(&mut self, _key: &Key, work: Work, machine: &AgentMachine, state: &AgentState) {
        match work {
            Work::Model { request } => self.start_request(request, machine, state),
            Work::Tool { call, name, arguments } => {
                self.start_tool(Job { agent: self.agent, call, name, arguments });
            }
            Work::Lease { call } => self.start_lease(call),
            Work::Child { started } => self.start_child(&started, None),
        }
    }

    fn stop(&mut self, key: &Key) {
        match key {
            Key::Model(_) | Key::Tool(_) | Key::Lease(_) => {
                self.family().effects.stop((self.agent, *key));
            }
            Key::Child(call) => {
                if let Some(&child) = self.children.get(call) {
                    // The child answers with its report; whether it was ending already is all one.
                    self.family().end_child(self.living.generation, child);
                }
            }
        }
    }

    fn close(&mut self, key: &Key, work: Work, _machine: &AgentMachine, _state: &AgentState) {
        match work {
            Work::Model { .. } | Work::Tool { .. } | Work::Lease { .. } => {
                self.report(*key, Outcome::Gone);
            }
            Work::Child { started } => {
                let end = agent::cancelled(&"its parent ends".into());
                self.start_child(&started, Some(end));
            }
        }
    }

    fn settled(&mut self, key: &Key, taken: bool) {
        match key {
            // Refused: the call is not waiting for the lease any more.
            Key::Lease(call) if !taken => self.family().held.release(*call),
            Key::Lease(_) | Key::Model(_) | Key::Tool(_) | Key::Child(_) => {}
        }
    }

    fn stepped(&mut self, state: &AgentState) -> Flow {
        self.show_phase(state);
        match (state.report(), self.serves) {
            (Some(report), Some(call)) => {
                let duration = self.now().since(self.since);
                let outcome = Outcome::Child { report: Box::new(report.clone()), duration };
                let generation = self.living.generation;
                self.family().report(generation, call.agent, Key::Child(call), outcome);
                Flow::Stop
            }
            (Some(_), None) => Flow::Stop,
            (None, _) if state.is_active() => Flow::Continue,
            (None, _) => {
                self.family().rest();
                Flow::Stop
            }
        }
    }
}
