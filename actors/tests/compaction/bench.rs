//! The real machine of a lead, over a provider that refuses what is too large and keeps a log of
//! every request that it saw. Summaries are written by the functions that a runtime writes them with.

use std::sync::Arc;

use kinfolk_actors::agent::{
    AgentMachine, AgentState, Command, Key, Member, Outcome, RawCall, RawReply, Start, Summarised,
};
use kinfolk_actors::brain::PhaseBrain;
use kinfolk_actors::budget::Ledger;
use kinfolk_actors::call::CallStatus;
use kinfolk_actors::compaction::summary::{self, Asked, Judged, Plan, Unusable};
use kinfolk_actors::compaction::{CompactionSettings, Trigger};
use kinfolk_actors::context::{ModelRequest, model_request};
use kinfolk_actors::estimate::RequestSize;
use kinfolk_actors::event::{Event, Finish, Reply, RunKind};
use kinfolk_actors::failure::{ErrorCode, Failure};
use kinfolk_actors::family::{
    Caps, Family, FamilyHash, Invocation, ModelEndpoint, ToolChoicePlan, ToolSpec,
};
use kinfolk_actors::id::{AgentId, Offset, RunId};
use kinfolk_actors::limits::Limits;
use kinfolk_actors::machine::Machine;
use kinfolk_actors::policy::Policy;
use kinfolk_actors::profile::ModelProfile;
use kinfolk_actors::time::{Millis, Timestamp};
use kinfolk_actors::transcript::Entry;
use kinfolk_actors::usage::Usage;

use crate::fixture::*;

const MODEL: &str = "openai:large";

/// What a summarising model answers.
pub type Summariser = fn(&ModelRequest, Asked) -> Reply;

/// What is the same in every request, and how it is compacted.
pub struct Setting {
    pub profile: ModelProfile,
    /// Another model that writes the summaries, and its profile.
    pub summariser: Option<(&'static str, ModelProfile)>,
    pub threshold: Option<u64>,
    pub system: Arc<str>,
    pub tools: Vec<ToolSpec>,
}

pub struct Bench {
    pub machine: AgentMachine,
    pub state: AgentState,
    ledger: Ledger,
    pub journal: Vec<Event>,
    now: Timestamp,
    pub summarise: Summariser,
    /// What the provider takes, whatever the profile says.
    pub provider_takes: u64,
    /// What the provider says that the next request had; what it really has if not set.
    pub reports: Option<u64>,
    /// The requests that the provider answered or refused, summaries included.
    pub sent: Vec<ModelRequest>,
    pub compactions: Vec<Result<(), Unusable>>,
}

pub fn notes(_: &ModelRequest, _: Asked) -> Reply {
    reply("Goal: the task. Next step: go on.", Finish::Stop)
}

impl Setting {
    pub fn new(profile: ModelProfile) -> Self {
        let (system, tools) = ("You work.".into(), vec![tool(10)]);
        Self { profile, summariser: None, threshold: None, system, tools }
    }

    fn family(&self) -> Family {
        let endpoint = |profile: &ModelProfile| ModelEndpoint {
            profile: profile.clone(),
            ..ModelEndpoint::default()
        };
        let own = (MODEL.to_owned(), endpoint(&self.profile));
        let other = self.summariser.iter().map(|(name, it)| ((*name).to_owned(), endpoint(it)));
        Family {
            lead: Invocation {
                prompt: Arc::clone(&self.system),
                model: MODEL.into(),
                tools: self.tools.clone().into(),
                tool_choice: ToolChoicePlan::default(),
                limits: Limits::default(),
            },
            subagents: vec![],
            caps: Caps::default(),
            limits: Limits::default(),
            on_limit: Default::default(),
            child_budget: Default::default(),
            policy: Policy::default(),
            approval_timeout: None,
            compaction: CompactionSettings {
                threshold: self.threshold,
                model: self.summariser.as_ref().map(|(name, _)| (*name).into()),
                ..CompactionSettings::default()
            },
            commands: Default::default(),
            models: std::iter::once(own).chain(other).collect(),
            workspace: None,
        }
    }
}

impl Bench {
    /// A lead that has this history behind it.
    pub fn new(setting: &Setting, history: impl IntoIterator<Item = Entry>) -> Self {
        let family = Arc::new(setting.family());
        let ledger = Ledger::new(Arc::clone(&family));
        let machine = AgentMachine {
            run: RunId(uuid::Uuid::from_u128(1)),
            member: Member::Lead,
            family,
            family_hash: FamilyHash([0; 32]),
            brain: Arc::new(PhaseBrain),
        };
        let state = AgentState { transcript: transcript(history), ..AgentState::default() };
        Self {
            machine,
            state,
            ledger,
            journal: vec![],
            now: Timestamp(0),
            summarise: notes,
            provider_takes: setting.profile.window,
            reports: None,
            sent: vec![],
            compactions: vec![],
        }
    }

    pub fn request(&self) -> ModelRequest {
        model_request(&self.machine, &self.state)
    }

    /// A run with this input, up to where the model has to answer.
    pub fn start(&mut self, input: &str) {
        self.start_kind(input, RunKind::Request);
    }

    /// A run that only compacts.
    pub fn compact(&mut self) {
        self.start_kind("", RunKind::Compact);
    }

    fn start_kind(&mut self, input: &str, kind: RunKind) {
        self.machine.run = RunId(uuid::Uuid::from_u128(self.machine.run.0.as_u128() + 1));
        self.take(&Command::Start(Start {
            input: input.into(),
            kind,
            parent_run: None,
            prepared_at: None,
        }));
        self.drive();
    }

    /// The model calls a tool, whose result has so many tokens.
    pub fn reads(&mut self, tokens: u64) {
        let arguments = format!(r#"{{"n":{}}}"#, self.state.run.calls).into();
        let call = RawCall { provider_id: "".into(), name: "read".into(), arguments };
        self.answered("Reading.", vec![call]);
        let keys = AgentMachine::outstanding(&self.state).into_keys();
        let key = keys.into_iter().find(|key| matches!(key, Key::Tool(_))).expect("a call");
        let (status, text) = (CallStatus::Ok, words(tokens));
        self.settle(key, Outcome::Tool { status, text, duration: Millis(1) });
        self.drive();
    }

    /// The model ends the run with a text.
    pub fn says(&mut self, text: &str) {
        self.answered(text, vec![]);
        assert!(self.error().is_none(), "{:?}", self.error());
    }

    fn answered(&mut self, text: &str, calls: Vec<RawCall>) {
        let keys: Vec<Key> = AgentMachine::outstanding(&self.state).into_keys().collect();
        let [key @ Key::Model(_)] = keys[..] else { panic!("no request: {keys:?}") };
        let request = self.request();
        let input_tokens = self.reports.take().unwrap_or(RequestSize::of(&request).total());
        self.sent.push(request);
        let reply = RawReply {
            cost: None,
            text: text.into(),
            finish: if calls.is_empty() { Finish::Stop } else { Finish::ToolCalls },
            calls,
            usage: Usage { model_requests: 1, input_tokens, output_tokens: 1, ..Usage::default() },
            model: "large".into(),
            duration: Millis(1),
            opaque: None,
        };
        self.settle(key, Outcome::Replied(reply));
    }

    /// Does what a runtime would, up to where the model has to answer or the run has ended.
    fn drive(&mut self) {
        loop {
            let keys: Vec<Key> = AgentMachine::outstanding(&self.state).into_keys().collect();
            match keys[..] {
                [key @ Key::Summary(_)] => {
                    let summarised = self.summary();
                    self.settle(key, Outcome::Summarised(summarised));
                }
                [key @ Key::Model(_)] => {
                    let request = self.request();
                    if RequestSize::of(&request).total() <= self.provider_takes {
                        return;
                    }
                    self.sent.push(request);
                    let error = Failure::new(ErrorCode::ModelContextOverflow, "too large");
                    let usage = Usage { model_requests: 1, ..Usage::default() };
                    self.settle(key, Outcome::ModelFailed { error, usage, cost: None });
                }
                _ => return,
            }
        }
    }

    fn summary(&mut self) -> Summarised {
        let ordinary = self.request();
        let model = Arc::clone(self.machine.summary_model());
        let profile = self.machine.profile_of(&model).into_owned();
        let trigger = self.state.compaction().expect("a compaction").trigger;
        let refused = trigger == Trigger::Overflow && model == ordinary.model;
        let room = summary::room(&profile, refused.then(|| RequestSize::of(&ordinary).total()));
        let result = self.ask(&ordinary, &model, room);
        let (fallback, cost) = (None, None);
        Summarised { result, fallback, usage: Usage::default(), cost, duration: Millis(1) }
    }

    fn ask(
        &mut self,
        ordinary: &ModelRequest,
        model: &Arc<str>,
        room: u64,
    ) -> Result<Arc<str>, Failure> {
        for asked in [Asked::First, Asked::Again] {
            let request = summary::request(ordinary, &Plan { model, room, asked })
                .map_err(|full| Failure::new(ErrorCode::ContextFull, full.to_string()))?;
            let answer = (self.summarise)(&request, asked);
            self.sent.push(request);
            match summary::judge(&answer, asked) {
                Judged::Summary(text) => {
                    self.compactions.push(Ok(()));
                    return Ok(text);
                }
                Judged::Failed(why) => {
                    self.compactions.push(Err(why));
                    return Err(Failure::new(ErrorCode::CompactionFailed, why.to_string()));
                }
                Judged::AskAgain => {}
            }
        }
        unreachable!("the second answer is final")
    }

    fn settle(&mut self, key: Key, outcome: Outcome) {
        self.take(&Command::Settle { key, outcome });
    }

    fn take(&mut self, command: &Command) {
        self.now.0 += 1;
        let head = Offset(u64::try_from(self.journal.len()).unwrap());
        let facts = self.ledger.facts(self.now, head);
        let events = self.machine.decide(&self.state, command, &facts).expect("taken");
        for event in &events {
            AgentMachine::evolve(&mut self.state, event);
            self.ledger.record(self.machine.run, AgentId::LEAD, self.now, event);
        }
        self.journal.extend(events);
    }

    /// Why the run has ended badly.
    pub fn error(&self) -> Option<&Failure> {
        match self.journal.last() {
            Some(Event::RunFinished(finished)) => finished.error.as_ref(),
            _ => None,
        }
    }

    /// What the machine thought that its newest request would have.
    pub fn estimated(&self) -> u64 {
        let newest = self.journal.iter().rev().find_map(|event| match event {
            Event::ModelRequest(requested) => Some(requested.estimated_tokens),
            _ => None,
        });
        newest.expect("a request")
    }

    /// A crash: the state is stored and read back.
    pub fn restarted(mut self) -> Self {
        let json = serde_json::to_string(&self.state).unwrap();
        self.state = serde_json::from_str(&json).unwrap();
        self
    }
}
