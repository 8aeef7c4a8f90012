//! A simulated family: a lead and its subagents on one ledger, played by a random script of
//! outcomes, cancels and crashes, and then healed.
//!
//! It does what a runtime does (load, recover, reconcile, deliver reports) in the plainest way, and
//! keeps every step, so that a law can be read off the whole history afterwards.

use std::collections::BTreeMap;
use std::sync::Arc;

use kinfolk_actors::agent::{
    AgentMachine, AgentState, Command, Key, Member, Outcome, Phase, Recovered, Refusal, Work,
    cancelled, failed,
};
use kinfolk_actors::brain::PhaseBrain;
use kinfolk_actors::budget::{Facts, Ledger};
use kinfolk_actors::call::CallStatus;
use kinfolk_actors::event::{Ending, Event, SubagentStarted};
use kinfolk_actors::failure::{ErrorCode, Failure};
use kinfolk_actors::family::Family;
use kinfolk_actors::id::{AgentId, Attempt, Offset, RunId};
use kinfolk_actors::machine::{Demand, Machine};
use kinfolk_actors::time::{Millis, Timestamp};
use uuid::Uuid;

use crate::fixture::reported_by;
use crate::fixture::{HASH, capped, start, usage};
use crate::script::{How, Op, Script, raw_reply};

/// More steps than any healing of these small families needs.
const HEALING: usize = 1_000;

/// One command to one agent.
pub struct Step {
    pub machine: AgentMachine,
    pub facts: Facts,
    pub before: AgentState,
    pub command: Command,
    pub result: Result<Vec<Event>, Refusal>,
    pub after: AgentState,
}

impl Step {
    pub fn events(&self) -> &[Event] {
        self.result.as_deref().unwrap_or_default()
    }
}

/// One event in its place in the session's stream.
#[derive(Clone, Debug)]
pub struct Line {
    pub run: RunId,
    pub agent: AgentId,
    pub at: Timestamp,
    pub event: Event,
}

struct Loaded {
    machine: AgentMachine,
    state: AgentState,
}

pub struct World {
    pub family: Arc<Family>,
    pub steps: Vec<Step>,
    pub journal: Vec<Line>,
    pub ledger: Ledger,
    /// How often a decision had to be made again because another agent took the place.
    pub contended: usize,
    /// Whether the family came to rest once the model asked for nothing more.
    pub healed: bool,
    loaded: BTreeMap<AgentId, Loaded>,
    run: RunId,
    attempt: Attempt,
    now: Timestamp,
    /// What was known before the last outcome, and whose that was.
    previous: Option<(AgentId, Facts)>,
}

impl World {
    pub fn play(script: &Script) -> Self {
        let Script { max_subagents, max_parallel, max_depth, approval, ref ops } = *script;
        let family = Family { approval, ..capped(max_subagents, max_parallel, max_depth) };
        let mut world = Self {
            family: Arc::new(family),
            steps: vec![],
            journal: vec![],
            ledger: Ledger::default(),
            contended: 0,
            healed: false,
            loaded: BTreeMap::new(),
            run: RunId(Uuid::from_u128(1)),
            attempt: Attempt(1),
            now: Timestamp(1_000),
            previous: None,
        };
        world.load_lead();
        world.start();
        for op in ops {
            world.happen(op);
            world.reconcile();
        }
        world.heal();
        world
    }

    fn happen(&mut self, op: &Op) {
        match op {
            Op::Start => self.start(),
            Op::Settle { pick, how, raced } => {
                let ready = self.ready();
                if let Some((agent, key, work)) = choose(&ready, *pick) {
                    let outcome = self.outcome(*key, work, how);
                    let known = self.ledger.facts(self.now, self.head());
                    self.command(*agent, Command::Settle { key: *key, outcome }, *raced);
                    self.previous = Some((*agent, known));
                }
            }
            Op::Cancel { pick } => {
                let agents: Vec<AgentId> = self.loaded.keys().copied().collect();
                if let Some(agent) = choose(&agents, *pick) {
                    self.command(*agent, Command::Cancel { reason: "enough".into() }, false);
                }
            }
            Op::Crash { to_end } => self.crash(*to_end),
        }
    }

    fn start(&mut self) {
        if !self.loaded[&AgentId::LEAD].state.is_active() && !self.journal.is_empty() {
            self.run = RunId(Uuid::from_u128(self.run.0.as_u128() + 1));
            self.attempt = Attempt(1);
            self.loaded.clear();
            self.load_lead();
        }
        self.command(AgentId::LEAD, start("go"), false);
    }

    /// Everything in flight, subagents only once they have reported.
    fn ready(&self) -> Vec<(AgentId, Key, Work)> {
        let mut ready = vec![];
        for (agent, loaded) in &self.loaded {
            for (key, demand) in AgentMachine::outstanding(&loaded.state) {
                let (Demand::Run(work) | Demand::Stop(work)) = demand;
                let reported = match &work {
                    Work::Child { started } => self.report_of(started.subagent).is_some(),
                    Work::Model { .. } | Work::Tool { .. } | Work::Lease { .. } => true,
                };
                if reported {
                    ready.push((*agent, key, work));
                }
            }
        }
        ready
    }

    fn report_of(&self, agent: AgentId) -> Option<Outcome> {
        let report = self.loaded.get(&agent)?.state.report()?;
        Some(reported_by(report.clone()))
    }

    fn outcome(&self, key: Key, work: &Work, how: &How) -> Outcome {
        match (key, work, how.die) {
            (Key::Child(_), Work::Child { started }, _) => {
                self.report_of(started.subagent).expect("only reported ones are ready")
            }
            (_, _, 0) => Outcome::Panicked { message: "oh".into() },
            (_, _, 1) => Outcome::Gone,
            (Key::Model(_), _, 2) => {
                let error = Failure::new(ErrorCode::ModelUnavailable, "overloaded");
                Outcome::ModelFailed { error, usage: usage(2, 7, 0) }
            }
            (Key::Model(_), _, die) => Outcome::Replied(raw_reply(&how.calls, die)),
            (Key::Lease(_), _, _) => Outcome::Leased,
            (_, _, die) => Outcome::Tool {
                status: CallStatus::ALL[usize::from(die) % 3],
                text: "r".repeat(usize::from(die)).into(),
                duration: Millis(u64::from(die)),
            },
        }
    }

    /// Sends a command as a shell does: decide, ask the ledger, append, fold.
    fn command(&mut self, agent: AgentId, command: Command, raced: bool) {
        self.now.0 += 1;
        let fresh = self.ledger.facts(self.now, self.head());
        let Loaded { machine, state } = &self.loaded[&agent];
        let (machine, before) = (machine.clone(), state.clone());
        let mut facts = fresh.clone();
        let mut result = machine.decide(&before, &command, &facts);
        if let (Some((other, old)), Ok(events)) = (&self.previous, &result)
            && raced
            && *other != agent
            && events.iter().any(|event| matches!(event, Event::SubagentStarted(_)))
        {
            facts = Facts { now: self.now, head: self.head(), ..old.clone() };
            result = machine.decide(&before, &command, &facts);
        }
        if result.as_ref().is_ok_and(|events| self.ledger.admit(events).is_err()) {
            self.contended += 1;
            facts = fresh;
            result = machine.decide(&before, &command, &facts);
        }
        let events = result.clone().unwrap_or_default();
        self.ledger.admit(&events).expect("fresh facts are admitted");
        let mut after = before.clone();
        for event in events {
            AgentMachine::evolve(&mut after, &event);
            self.ledger.record(self.run, agent, self.now, &event);
            self.journal.push(Line { run: self.run, agent, at: self.now, event });
        }
        if let Some(loaded) = self.loaded.get_mut(&agent) {
            loaded.state = after.clone();
        }
        self.steps.push(Step { machine, facts, before, command, result, after });
    }

    fn head(&self) -> Offset {
        Offset(u64::try_from(self.journal.len()).unwrap())
    }

    /// Loads the subagents that have to be at work, and stops those that must not be.
    fn reconcile(&mut self) {
        let stop: Arc<str> = "the parent ends".into();
        loop {
            let demands = self
                .loaded
                .values()
                .flat_map(|loaded| AgentMachine::outstanding(&loaded.state).into_values());
            let wanted = demands.into_iter().find_map(|demand| match demand {
                Demand::Run(Work::Child { started }) if !self.is_loaded(started.subagent) => {
                    Some((*started, None))
                }
                Demand::Stop(Work::Child { started }) if !self.is_ending(started.subagent) => {
                    Some((*started, Some(cancelled(&stop))))
                }
                Demand::Run(_) | Demand::Stop(_) => None,
            });
            match wanted {
                None => return,
                Some((started, Some(_))) if self.is_loaded(started.subagent) => {
                    let reason = Arc::clone(&stop);
                    self.command(started.subagent, Command::Cancel { reason }, false);
                }
                Some((started, end)) => self.load_subagent(started, end),
            }
        }
    }

    fn is_loaded(&self, agent: AgentId) -> bool {
        self.loaded.contains_key(&agent)
    }

    fn is_ending(&self, agent: AgentId) -> bool {
        let phase = self.loaded.get(&agent).map(|loaded| &loaded.state.phase);
        matches!(phase, Some(Phase::Ending(_) | Phase::Done(_)))
    }

    fn load_lead(&mut self) {
        let chain = self.journal.iter().filter(|line| line.agent.is_lead());
        let state = fold(chain);
        let machine = self.machine(Member::Lead);
        self.loaded.insert(AgentId::LEAD, Loaded { machine, state });
    }

    fn load_subagent(&mut self, started: SubagentStarted, end: Option<Ending>) {
        let agent = started.subagent;
        let own = |line: &&Line| line.agent == agent && line.run == self.run;
        let state = fold(self.journal.iter().filter(own));
        let machine = self.machine(Member::Subagent(started));
        self.loaded.insert(agent, Loaded { machine, state });
        let recovered = Recovered { attempt: self.attempt, end };
        self.command(agent, Command::Recovered(recovered), false);
    }

    fn machine(&self, member: Member) -> AgentMachine {
        AgentMachine {
            run: self.run,
            member,
            family: Arc::clone(&self.family),
            family_hash: HASH,
            brain: Arc::new(PhaseBrain),
        }
    }

    fn crash(&mut self, to_end: bool) {
        self.loaded.clear();
        self.ledger = refold(&self.journal);
        self.previous = None;
        self.attempt.0 += 1;
        self.load_lead();
        let crashed = Failure::new(ErrorCode::AgentCrashed, "too often");
        let end = to_end.then(|| failed(crashed));
        let recovered = Recovered { attempt: self.attempt, end };
        self.command(AgentId::LEAD, Command::Recovered(recovered), false);
    }

    /// From here on every request is answered in text and everything in flight ends well.
    fn heal(&mut self) {
        let well = How { calls: vec![], die: 31 };
        for _ in 0..HEALING {
            let ready = self.ready();
            let Some((agent, key, work)) = ready.last() else { break };
            let outcome = self.outcome(*key, work, &well);
            self.command(*agent, Command::Settle { key: *key, outcome }, false);
            self.reconcile();
        }
        self.healed = self.loaded.values().all(|loaded| !loaded.state.is_active());
    }
}

pub fn refold(journal: &[Line]) -> Ledger {
    let mut ledger = Ledger::default();
    for line in journal {
        ledger.record(line.run, line.agent, line.at, &line.event);
    }
    ledger
}

fn fold<'a>(chain: impl Iterator<Item = &'a Line>) -> AgentState {
    let mut state = AgentState::default();
    chain.for_each(|line| AgentMachine::evolve(&mut state, &line.event));
    state
}

fn choose<T>(items: &[T], pick: usize) -> Option<&T> {
    items.get(pick.checked_rem(items.len())?)
}
