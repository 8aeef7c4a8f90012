//! One agent with its family's ledger: given events, when a command, then events or a refusal, and
//! what is outstanding. Whole values are compared.

use std::collections::BTreeMap;
use std::sync::Arc;

use kinfolk_actors::agent::{AgentMachine, AgentState, Command, Key, Member, Refusal, Work};
use kinfolk_actors::brain::{Brain, PhaseBrain};
use kinfolk_actors::budget::{Facts, Ledger};
use kinfolk_actors::call::{CallResult, ProposedCall};
use kinfolk_actors::context::{ModelRequest, RequestMessage, model_request};
use kinfolk_actors::event::{Event, RunFinished, SubagentStarted};
use kinfolk_actors::family::Family;
use kinfolk_actors::id::{CallId, Offset, RequestNo, RunId};
use kinfolk_actors::machine::{Demand, Machine};
use kinfolk_actors::time::Timestamp;

use crate::fixture::{HASH, RUN};

pub type Demands = Vec<(Key, Demand<Work>)>;

pub struct Bench {
    pub machine: AgentMachine,
    pub state: AgentState,
    pub ledger: Ledger,
    pub journal: Vec<Event>,
    pub now: Timestamp,
}

impl Bench {
    pub fn lead(family: Family) -> Self {
        Self::new(Member::Lead, family, Arc::new(PhaseBrain))
    }

    pub fn lead_with(brain: impl Brain + 'static, family: Family) -> Self {
        Self::new(Member::Lead, family, Arc::new(brain))
    }

    pub fn subagent(started: SubagentStarted, family: Family) -> Self {
        Self::new(Member::Subagent(started), family, Arc::new(PhaseBrain))
    }

    fn new(member: Member, family: Family, brain: Arc<dyn Brain>) -> Self {
        let family = Arc::new(family);
        let machine = AgentMachine { run: RUN, member, family, family_hash: HASH, brain };
        let (state, ledger) = (AgentState::default(), Ledger::new(Arc::clone(&machine.family)));
        Self { machine, state, ledger, journal: vec![], now: Timestamp(1_000) }
    }

    /// The next run of the session, as a new generation serves it.
    pub fn next_run(&mut self, run: u128) {
        self.machine.run = RunId(uuid::Uuid::from_u128(run));
    }

    pub fn facts(&self) -> Facts {
        Facts {
            now: self.now,
            head: Offset(u64::try_from(self.journal.len()).unwrap()),
            ledger: Arc::new(self.ledger.clone()),
        }
    }

    /// Takes a command as a shell would; each one takes a millisecond.
    pub fn take(&mut self, command: &Command) -> Result<Vec<Event>, Refusal> {
        self.now.0 += 1;
        let events = self.machine.decide(&self.state, command, &self.facts())?;
        let (run, agent) = (self.machine.run, self.machine.id());
        assert_eq!(self.ledger.admit(run, agent, self.now, &events), Ok(()));
        for event in &events {
            AgentMachine::evolve(&mut self.state, event);
            self.ledger.record(run, agent, self.now, event);
        }
        self.journal.extend(events.iter().cloned());
        Ok(events)
    }

    /// Takes commands that only lead to where an example begins.
    pub fn given(mut self, commands: &[Command]) -> Self {
        for command in commands {
            self.take(command).unwrap_or_else(|refusal| panic!("{command:?}: {refusal}"));
        }
        self
    }

    /// When this command, then these events, and this is outstanding.
    #[track_caller]
    pub fn check(&mut self, when: &Command, then: &[Event], outstanding: &Demands) {
        let events: Vec<Event> = self.take(when).unwrap().into_iter().map(unestimated).collect();
        assert_eq!(events, then);
        assert_eq!(&self.outstanding(), outstanding);
    }

    /// When this command, then it is refused, and nothing has changed.
    #[track_caller]
    pub fn check_refused(&mut self, when: &Command, why: &Refusal) {
        let before = (self.state.clone(), self.outstanding());
        assert_eq!(self.take(when).as_ref(), Err(why));
        assert_eq!((self.state.clone(), self.outstanding()), before);
    }

    /// A crash: only the journal is left.
    pub fn crashed(mut self) -> Self {
        self.state = fold(&self.journal);
        self
    }

    pub fn outstanding(&self) -> Demands {
        AgentMachine::outstanding(&self.state).into_iter().collect()
    }

    pub fn keys(&self) -> Vec<Key> {
        AgentMachine::outstanding(&self.state).into_keys().collect()
    }

    pub fn request(&self) -> ModelRequest {
        model_request(&self.machine, &self.state)
    }

    /// The results in the next request, by their ids on the wire.
    pub fn results(&self) -> Vec<(String, String)> {
        let result = |message: &RequestMessage| match message {
            RequestMessage::ToolResult { id, text, .. } => Some((id.to_string(), text.to_string())),
            RequestMessage::User(_) | RequestMessage::Assistant { .. } => None,
        };
        self.request().messages.iter().filter_map(result).collect()
    }

    /// The result of every call so far.
    pub fn settled(&self) -> BTreeMap<CallId, CallResult> {
        let mut settled = BTreeMap::new();
        for event in &self.journal {
            if let Event::ToolFinished(finished) = event {
                let before = settled.insert(finished.call, finished.result.clone());
                assert_eq!(before, None, "{} has two results", finished.call);
            }
        }
        settled
    }

    /// The end of the run, which has to be the last event so far.
    #[track_caller]
    pub fn finished(&self) -> RunFinished {
        match self.journal.last() {
            Some(Event::RunFinished(finished)) => finished.clone(),
            other => panic!("the last event is {other:?}"),
        }
    }
}

pub fn fold(events: &[Event]) -> AgentState {
    let mut state = AgentState::default();
    events.iter().for_each(|event| AgentMachine::evolve(&mut state, event));
    state
}

fn unestimated(event: Event) -> Event {
    match event {
        Event::ModelRequest(mut requested) => {
            requested.estimated_tokens = 0;
            Event::ModelRequest(requested)
        }
        other => other,
    }
}

// What may be outstanding.

pub fn thinks(request: u32) -> Demands {
    let request = RequestNo(request);
    vec![(Key::Model(request), Demand::Run(Work::Model { request }))]
}

pub fn stops_thinking(request: u32) -> Demands {
    let request = RequestNo(request);
    vec![(Key::Model(request), Demand::Stop(Work::Model { request }))]
}

fn work(call: &ProposedCall) -> Work {
    let (name, arguments) = (Arc::clone(&call.name), Arc::clone(&call.arguments));
    Work::Tool { call: call.call, name, arguments }
}

pub fn runs(call: &ProposedCall) -> (Key, Demand<Work>) {
    (Key::Tool(call.call), Demand::Run(work(call)))
}

pub fn stops(call: &ProposedCall) -> (Key, Demand<Work>) {
    (Key::Tool(call.call), Demand::Stop(work(call)))
}

pub fn waits_for_lease(call: &ProposedCall) -> (Key, Demand<Work>) {
    (Key::Lease(call.call), Demand::Run(Work::Lease { call: call.call }))
}

pub fn has_at_work(started: &SubagentStarted) -> (Key, Demand<Work>) {
    let work = Work::Child { started: Box::new(started.clone()) };
    (Key::Child(started.for_call), Demand::Run(work))
}

pub fn stops_child(started: &SubagentStarted) -> (Key, Demand<Work>) {
    let work = Work::Child { started: Box::new(started.clone()) };
    (Key::Child(started.for_call), Demand::Stop(work))
}
