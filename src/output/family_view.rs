//! A run as a tree: the lead, its subagents, what each did, used and how it ended. A pure fold of
//! a session's events.

use std::collections::BTreeMap;
use std::sync::Arc;

use kinfolk_actors::budget::Ledger;
use kinfolk_actors::call::CallStatus;
use kinfolk_actors::compaction::CompactionSettings;
use kinfolk_actors::event::{
    Event, FinishReason, Message, Outcome, Recorded, RunFinished, RunStarted, SubagentStarted,
};
use kinfolk_actors::failure::Failure;
use kinfolk_actors::family::{Family, Invocation, Role, ToolChoicePlan};
use kinfolk_actors::id::{AgentId, AskId, Attempt, CallId, RunId, SessionId};
use kinfolk_actors::limits::{LimitKind, Limits};
use kinfolk_actors::money::Money;
use kinfolk_actors::policy::Policy;
use kinfolk_actors::time::{Millis, Timestamp};
use kinfolk_actors::usage::Usage;
use serde::Serialize;

use crate::control::asks::{OpenAsk, OpenAsks};

/// One run of a session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FamilyView {
    /// The session.
    pub session: SessionId,
    /// The run.
    pub run: RunId,
    /// The run's latest activation.
    pub attempt: Attempt,
    /// What was asked.
    pub input: Arc<str>,
    /// The lead's model.
    pub model: Arc<str>,
    /// How it ended; none if it has not.
    pub outcome: Option<Outcome>,
    /// Why it ended.
    pub finish_reason: Option<FinishReason>,
    /// The failure that ended it.
    pub error: Option<Failure>,
    /// From its start to its end or its last event, in milliseconds.
    pub duration_ms: Millis,
    /// The answer.
    pub text: Option<Arc<str>>,
    /// The sums of the whole family.
    pub usage: Usage,
    /// What it cost, in US dollars; none before its end, or if a price is not known.
    pub cost_usd: Option<Money>,
    /// Whether it rests and can be resumed.
    pub interrupted: bool,
    /// The limit that interrupted it, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interrupted_by: Option<LimitKind>,
    /// The approvals and questions that wait for a person.
    pub waits_for: Vec<AskId>,
    /// The agents, the lead first, in the order of their starts.
    pub agents: Vec<AgentView>,
}

/// One agent of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgentView {
    /// The agent.
    pub agent: AgentId,
    /// Who started it; none for the lead.
    pub parent: Option<AgentId>,
    /// `lead`, or the subagent's name.
    pub name: Arc<str>,
    /// What it may do; none for the lead.
    pub role: Option<Role>,
    /// The name that its caller chose.
    pub label: Option<Arc<str>>,
    /// What it has to do; for the lead, what was asked.
    pub task: Arc<str>,
    /// How it ended; none if it has not.
    pub status: Option<Outcome>,
    /// What it used, its own subagents not included.
    pub usage: Usage,
    /// What it cost, in US dollars; none before the run's end, or if a price is not known.
    pub cost_usd: Option<Money>,
    /// Its calls in the order in which it made them.
    pub calls: Vec<CallView>,
}

/// One call of an agent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CallView {
    /// The call.
    pub call: CallId,
    /// The tool's name as the model wrote it.
    pub name: Arc<str>,
    /// The arguments as the model wrote them.
    pub arguments: Arc<str>,
    /// How it ended; none if it has not.
    pub status: Option<CallStatus>,
    /// How long it ran, in milliseconds.
    pub duration_ms: Option<Millis>,
    /// The subagent that it started.
    pub subagent: Option<AgentId>,
}

impl FamilyView {
    /// Every run that begins in these events, oldest first. The events are one session's, in
    /// order; those of a run whose start is not among them are left out.
    #[must_use]
    pub fn of_session(records: &[Recorded]) -> Vec<Self> {
        let mut folds: Vec<Fold> = Vec::new();
        let mut places: BTreeMap<RunId, usize> = BTreeMap::new();
        for recorded in records {
            if let Event::RunStarted(start) = &recorded.event {
                places.insert(recorded.run, folds.len());
                folds.push(Fold::new(recorded, start));
            }
            if let Some(fold) = places.get(&recorded.run).and_then(|place| folds.get_mut(*place)) {
                fold.take(recorded);
            }
        }
        folds.into_iter().map(Fold::finish).collect()
    }

    /// One run of a session.
    #[must_use]
    pub fn of_run(run: RunId, records: &[Recorded]) -> Option<Self> {
        Self::of_session(records).into_iter().find(|view| view.run == run)
    }

    /// The agents that another one started, in the order of their starts.
    pub(super) fn children(&self, parent: AgentId) -> impl Iterator<Item = &AgentView> {
        self.agents.iter().filter(move |agent| agent.parent == Some(parent))
    }
}

/// A view while it is built.
struct Fold {
    view: FamilyView,
    ledger: Ledger,
    asks: OpenAsks,
    started: Timestamp,
}

impl Fold {
    fn new(recorded: &Recorded, start: &RunStarted) -> Self {
        let lead = AgentView {
            agent: AgentId::LEAD,
            parent: None,
            name: "lead".into(),
            role: None,
            label: None,
            task: Arc::clone(&start.input),
            status: None,
            usage: Usage::default(),
            cost_usd: None,
            calls: Vec::new(),
        };
        let view = FamilyView {
            session: recorded.session.clone(),
            run: recorded.run,
            attempt: recorded.attempt,
            input: Arc::clone(&start.input),
            model: Arc::clone(&start.model),
            outcome: None,
            finish_reason: None,
            error: None,
            duration_ms: Millis(0),
            text: None,
            usage: Usage::default(),
            cost_usd: None,
            interrupted: false,
            interrupted_by: None,
            waits_for: Vec::new(),
            agents: vec![lead],
        };
        let ledger = Ledger::new(Arc::new(bare_family(start)));
        Self { view, ledger, asks: OpenAsks::default(), started: recorded.at }
    }

    fn take(&mut self, recorded: &Recorded) {
        let agent = recorded.agent;
        self.ledger.record(recorded.run, agent, recorded.at, &recorded.event);
        self.asks.take(recorded);
        let rests = match &recorded.event {
            Event::RunInterrupted(why) => Some((true, why.limit)),
            Event::RunResumed(_) => Some((false, None)),
            _ => None,
        };
        if let Some((interrupted, by)) = rests {
            (self.view.interrupted, self.view.interrupted_by) = (interrupted, by);
        }
        self.view.attempt = recorded.attempt;
        self.view.duration_ms = recorded.at.since(self.started);
        match &recorded.event {
            Event::Message(Message::Assistant(reply)) => {
                let call = |call: &kinfolk_actors::call::ProposedCall| CallView {
                    call: call.call,
                    name: Arc::clone(&call.name),
                    arguments: Arc::clone(&call.arguments),
                    status: None,
                    duration_ms: None,
                    subagent: None,
                };
                if let Some(view) = self.agent(agent) {
                    view.calls.extend(reply.calls.iter().map(call));
                }
            }
            Event::ToolFinished(finished) => {
                if let Some(call) = self.call(finished.call) {
                    call.status = Some(finished.result.status);
                    call.duration_ms = Some(finished.duration_ms);
                }
            }
            Event::SubagentStarted(started) => self.enter(agent, started),
            Event::SubagentFinished(finished) => {
                if let Some(view) = self.agent(finished.subagent) {
                    view.status = Some(finished.status);
                }
            }
            Event::RunFinished(finished) => self.end(finished),
            Event::RunStarted(_)
            | Event::RunResumed(_)
            | Event::Message(Message::User(_))
            | Event::ModelRequest(_)
            | Event::ModelFailed(_)
            | Event::ToolStarted(_)
            | Event::RunInterrupted(_)
            | Event::CallAudited(_)
            | Event::CallDeferred(_)
            | Event::ToolsActivated(_)
            | Event::ApprovalRequested(_)
            | Event::ApprovalSettled(_)
            | Event::QuestionAsked(_)
            | Event::QuestionAnswered(_)
            | Event::QuestionWithdrawn { .. }
            | Event::CompactionAsked
            | Event::InterruptAsked { .. }
            | Event::CompactionStarted(_)
            | Event::CompactionFinished(_)
            | Event::LimitWarning(_)
            | Event::LimitReached(_)
            | Event::Ending(_) => {}
        }
    }

    fn end(&mut self, finished: &RunFinished) {
        self.view.outcome = Some(finished.outcome);
        self.view.finish_reason = Some(finished.finish_reason);
        self.view.error = finished.error.clone();
        self.view.duration_ms = finished.duration_ms;
        self.view.text = Some(Arc::clone(&finished.text));
        self.view.cost_usd = finished.cost_usd;
        for used in &finished.agents {
            if let Some(view) = self.agent(used.agent) {
                view.cost_usd = used.cost_usd;
            }
        }
        if let Some(lead) = self.agent(AgentId::LEAD) {
            lead.status = Some(finished.outcome);
        }
    }

    fn enter(&mut self, parent: AgentId, started: &SubagentStarted) {
        if let Some(call) = self.call(started.for_call) {
            call.subagent = Some(started.subagent);
        }
        self.view.agents.push(AgentView {
            agent: started.subagent,
            parent: Some(parent),
            name: Arc::clone(&started.name),
            role: Some(started.role),
            label: started.label.clone(),
            task: Arc::clone(&started.task),
            status: None,
            usage: Usage::default(),
            cost_usd: None,
            calls: Vec::new(),
        });
    }

    fn agent(&mut self, agent: AgentId) -> Option<&mut AgentView> {
        self.view.agents.iter_mut().find(|view| view.agent == agent)
    }

    fn call(&mut self, id: CallId) -> Option<&mut CallView> {
        self.agent(id.agent)?.calls.iter_mut().find(|call| call.call == id)
    }

    /// The sums are the ledger's own, so that they never differ from those of the run's end.
    fn finish(mut self) -> FamilyView {
        self.view.usage = self.ledger.total_usage();
        for agent in &mut self.view.agents {
            agent.usage = self.ledger.usage_of(agent.agent);
        }
        self.view.waits_for = self.asks.open().map(OpenAsk::id).collect();
        self.view
    }
}

/// A family for the ledger, which counts the same tokens whatever the family is. Prices stand in
/// the run's end.
fn bare_family(start: &RunStarted) -> Family {
    let lead = Invocation {
        prompt: "".into(),
        model: Arc::clone(&start.model),
        tools: Arc::from([]),
        tool_choice: ToolChoicePlan::default(),
        limits: Limits::default(),
    };
    Family {
        lead,
        subagents: Vec::new(),
        caps: start.limits.caps,
        limits: start.limits.limits,
        on_limit: start.limits.on_limit,
        child_budget: start.limits.child_budget,
        policy: Policy::default(),
        approval_timeout: None,
        compaction: CompactionSettings::default(),
        commands: BTreeMap::new(),
        models: BTreeMap::new(),
        workspace: None,
    }
}
