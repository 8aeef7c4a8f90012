//! A simulated family: a lead and its subagents on one ledger, played by lot and then healed.
//!
//! It does what a runtime does (load, recover, reconcile, carry messages and reports) in the
//! plainest way, and shows every step to those who watch it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kinfolk_actors::agent::{
    AgentMachine, AgentState, Cause, Command, Key, Member, Outcome, Phase, Recovered, Refusal,
    Work, cancelled,
};
use kinfolk_actors::budget::{Facts, Ledger};
use kinfolk_actors::event::{Ending, Event, SubagentStarted};
use kinfolk_actors::id::{AgentId, Attempt, Offset, RunId};
use kinfolk_actors::machine::{Demand, Machine};
use kinfolk_actors::time::Timestamp;
use uuid::Uuid;

use crate::coverage::note;
use crate::dice::Dice;
use crate::invariant::{Fault, Invariant};
use crate::setting::{HASH, Setting};

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

    pub fn agent(&self) -> AgentId {
        self.machine.id()
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

pub struct Loaded {
    pub machine: AgentMachine,
    pub state: AgentState,
}

/// What was known before another agent took something of the family's.
pub struct Known {
    pub facts: Facts,
    /// How long the journal was then.
    pub lines: usize,
}

impl Known {
    /// Whether an agent may still decide by it: it has not done anything since.
    fn fits(&self, world: &World, agent: AgentId) -> bool {
        let since = &world.journal[self.lines.min(world.journal.len())..];
        self.facts.ledger.run() == Some(world.run) && since.iter().all(|line| line.agent != agent)
    }
}

/// One thing in flight.
#[derive(Clone, Debug)]
pub struct Ready {
    pub agent: AgentId,
    pub key: Key,
    pub demand: Demand<Work>,
}

pub struct World {
    pub seed: u64,
    pub setting: Setting,
    pub dice: Dice,
    pub journal: Vec<Line>,
    pub ledger: Ledger,
    pub loaded: BTreeMap<AgentId, Loaded>,
    /// Subagents of the run whose actors died without a report.
    pub lost: BTreeSet<AgentId>,
    /// All of them, of every run.
    pub ever_lost: BTreeSet<(RunId, AgentId)>,
    pub run: RunId,
    pub attempt: Attempt,
    pub now: Timestamp,
    /// Decisions that had to be made again because another agent took the place.
    pub contended: u64,
    pub steps: u64,
    /// A number for each text, so that none is said twice.
    pub words: u64,
    /// The newest outcome that was taken, to be sent again.
    pub last: Option<(AgentId, Command)>,
    pub previous: Option<Known>,
    pub faults: Vec<Fault>,
    watchers: Vec<Box<dyn Invariant>>,
}

impl World {
    pub fn new(seed: u64, watchers: Vec<Box<dyn Invariant>>) -> Self {
        let mut dice = Dice::new(seed);
        let setting = Setting::draw(&mut dice);
        let ledger = Ledger::new(Arc::clone(&setting.family));
        let mut world = Self {
            seed,
            setting,
            dice,
            journal: vec![],
            ledger,
            loaded: BTreeMap::new(),
            lost: BTreeSet::new(),
            ever_lost: BTreeSet::new(),
            run: RunId(Uuid::from_u128(1)),
            attempt: Attempt(1),
            now: Timestamp(1_000),
            contended: 0,
            steps: 0,
            words: 0,
            last: None,
            previous: None,
            faults: vec![],
            watchers,
        };
        world.load_lead();
        world
    }

    /// A text that nobody has said before.
    pub fn word(&mut self, what: &str) -> Arc<str> {
        self.words += 1;
        format!("{what}-{}", self.words).into()
    }

    pub fn state(&self, agent: AgentId) -> Option<&AgentState> {
        self.loaded.get(&agent).map(|loaded| &loaded.state)
    }

    pub fn lead(&self) -> &AgentState {
        &self.loaded[&AgentId::LEAD].state
    }

    pub fn head(&self) -> Offset {
        Offset(u64::try_from(self.journal.len()).unwrap())
    }

    /// Everything in flight.
    pub fn in_flight(&self) -> Vec<Ready> {
        let mut ready = vec![];
        for (agent, loaded) in &self.loaded {
            for (key, demand) in AgentMachine::outstanding(&loaded.state) {
                ready.push(Ready { agent: *agent, key, demand });
            }
        }
        ready
    }

    /// Sends a command as a shell does: decide, ask the ledger, append, fold. Whether it was taken.
    pub fn command(&mut self, agent: AgentId, command: &Command, raced: bool) -> bool {
        self.now.0 += 1 + self.dice.below(50);
        self.steps += 1;
        let Some(Loaded { machine, state }) = self.loaded.get(&agent) else { return false };
        let (machine, before) = (machine.clone(), state.clone());
        let fresh = self.ledger.facts(self.now, self.head());
        let mut facts = fresh.clone();
        if let Some(known) = self.previous.as_ref().filter(|known| raced && known.fits(self, agent))
        {
            let ledger = Arc::clone(&known.facts.ledger);
            facts = Facts { now: self.now, head: self.head(), ledger };
        }
        let mut result = machine.decide(&before, command, &facts);
        let ends =
            |event: &Event| matches!(event, Event::RunFinished(_) | Event::SubagentFinished(_));
        if result.as_ref().is_ok_and(|events| events.iter().any(ends)) {
            // The tree is dead: nobody is left to be faster.
            facts = fresh.clone();
            result = machine.decide(&before, command, &facts);
        }
        let admits = |result: &Result<Vec<Event>, Refusal>| match result {
            Ok(events) => self.ledger.admit(self.run, agent, self.now, events).is_ok(),
            Err(_) => true,
        };
        if !admits(&result) {
            note("race", "lost");
            self.contended += 1;
            facts = fresh;
            result = machine.decide(&before, command, &facts);
            if !admits(&result) {
                let mut copy = self.ledger.clone();
                let mut bad = String::new();
                for event in result.iter().flatten() {
                    if copy.admit(self.run, agent, self.now, std::slice::from_ref(event)).is_err() {
                        bad = format!(
                            "{event:?} with {:?} {:?} {:?}",
                            self.setting.family.on_limit,
                            copy.limits(),
                            copy.accounts()
                        );
                        break;
                    }
                    copy.record(self.run, agent, self.now, event);
                }
                let why = format!(
                    "{agent}: fresh facts are not admitted: {bad}\n{command:?}\n{result:?}"
                );
                self.faults.push(Fault { law: "admitted", why });
            }
        }
        let mut after = before.clone();
        for event in result.clone().unwrap_or_default() {
            AgentMachine::evolve(&mut after, &event);
            self.ledger.record(self.run, agent, self.now, &event);
            self.journal.push(Line { run: self.run, agent, at: self.now, event });
        }
        if let Some(loaded) = self.loaded.get_mut(&agent) {
            loaded.state = after.clone();
        }
        let taken = result.is_ok();
        self.show(&Step { machine, facts, before, command: command.clone(), result, after });
        taken
    }

    fn show(&mut self, step: &Step) {
        let mut watchers = std::mem::take(&mut self.watchers);
        for watcher in &mut watchers {
            if let Err(why) = watcher.step(step, self) {
                self.faults.push(Fault {
                    law: watcher.name(),
                    why: format!("{why}\nafter {:?}", step.command),
                });
            }
        }
        self.watchers = watchers;
    }

    /// Shows the whole story once it is over.
    pub fn close(&mut self) {
        let mut watchers = std::mem::take(&mut self.watchers);
        for watcher in &mut watchers {
            if let Err(why) = watcher.end(self) {
                self.faults.push(Fault { law: watcher.name(), why });
            }
        }
        self.watchers = watchers;
    }

    /// Loads the subagents that have to be at work, and stops those that must not be.
    pub fn reconcile(&mut self) {
        let reason: Arc<str> = "the parent ends".into();
        loop {
            let wanted = self.in_flight().into_iter().find_map(|ready| match ready.demand {
                Demand::Run(Work::Child { started }) if self.may_load(started.subagent) => {
                    Some((*started, None))
                }
                Demand::Stop(Work::Child { started }) if !self.is_over(started.subagent) => {
                    Some((*started, Some(cancelled(Cause::Parent, &reason))))
                }
                Demand::Run(_) | Demand::Stop(_) => None,
            });
            match wanted {
                None => return,
                Some((started, Some(_))) if self.loaded.contains_key(&started.subagent) => {
                    let reason = Arc::clone(&reason);
                    let cancel = Command::Cancel { cause: Cause::Parent, reason };
                    if !self.command(started.subagent, &cancel, false) {
                        let why = format!("{} cannot be cancelled", started.subagent);
                        self.faults.push(Fault { law: "stopped", why });
                        return;
                    }
                }
                Some((started, end)) => self.load_subagent(started, end),
            }
        }
    }

    fn may_load(&self, agent: AgentId) -> bool {
        !self.loaded.contains_key(&agent) && !self.lost.contains(&agent)
    }

    /// Whether an agent ends or has ended.
    fn is_over(&self, agent: AgentId) -> bool {
        let phase = self.state(agent).map(|state| &state.phase);
        let lost = self.lost.contains(&agent);
        lost || matches!(phase, Some(Phase::Ending(_) | Phase::Done(_)))
    }

    pub fn load_lead(&mut self) {
        let state = fold(self.journal.iter().filter(|line| line.agent.is_lead()));
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
        self.command(agent, &Command::Recovered(recovered), false);
    }

    fn machine(&self, member: Member) -> AgentMachine {
        AgentMachine {
            run: self.run,
            member,
            family: Arc::clone(&self.setting.family),
            family_hash: HASH,
            brain: Arc::clone(&self.setting.brain),
        }
    }

    /// The end of an agent's actor without a report, and of all that it had started.
    pub fn lose(&mut self, agent: AgentId) {
        self.lost.insert(agent);
        self.ever_lost.insert((self.run, agent));
        let Some(loaded) = self.loaded.remove(&agent) else { return };
        for child in loaded.state.children.values() {
            self.lose(child.started.subagent);
        }
    }

    /// What a subagent has to tell its parent: its report, or its question.
    pub fn told_by(
        &self,
        agent: AgentId,
        asked: Option<kinfolk_actors::id::AskId>,
    ) -> Option<Outcome> {
        use kinfolk_actors::agent::About;
        let state = self.state(agent)?;
        if let Some(report) = state.report() {
            let report = Box::new(report.clone());
            return Some(Outcome::Child { report, duration: Default::default() });
        }
        state.open_asks().find_map(|(question, ask)| match &ask.about {
            About::Words { parent: true, text, .. } if asked < Some(question) => {
                Some(Outcome::ChildAsks { question, text: Arc::clone(text) })
            }
            About::Words { .. } | About::Call(_) | About::Limit(_) => None,
        })
    }
}

pub fn fold<'a>(chain: impl Iterator<Item = &'a Line>) -> AgentState {
    let mut state = AgentState::default();
    chain.for_each(|line| AgentMachine::evolve(&mut state, &line.event));
    state
}
