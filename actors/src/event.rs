//! Past facts. Each is journaled once, has one offset in its session's stream, and is published
//! as it stands; the names here are the names that watchers read.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::call::{CallResult, ProposedCall};
use crate::failure::Failure;
use crate::family::{Caps, FamilyHash, Role};
use crate::id::{AgentId, Attempt, CallId, Offset, RequestNo, RunId, SessionId};
use crate::time::{Millis, Timestamp};
use crate::usage::Usage;

/// An event with its place in the session's stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The place in the session's stream.
    pub offset: Offset,
    /// The session.
    pub session: SessionId,
    /// The run.
    pub run: RunId,
    /// The run's activation in which the event was written.
    pub attempt: Attempt,
    /// The agent whose side chain the event belongs to.
    pub agent: AgentId,
    /// When it was decided, by the shell's clock.
    pub at: Timestamp,
    /// What happened.
    pub event: Event,
}

/// What happened to an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// A run began (lead only).
    RunStarted(RunStarted),
    /// A run goes on after a crash, a restart or a wake (lead only).
    RunResumed(RunResumed),
    /// A message entered the agent's transcript.
    Message(Message),
    /// A request to a model has to be in flight.
    ModelRequest(ModelRequested),
    /// A request to a model ended without a reply.
    ModelFailed(ModelFailed),
    /// A call was dispatched: from here on its effect may have happened.
    ToolStarted(ToolStarted),
    /// A call has its one result.
    ToolFinished(ToolFinished),
    /// A subagent has to be at work (in the chain of the agent that called it).
    SubagentStarted(SubagentStarted),
    /// A subagent is done (the last event of its own chain).
    SubagentFinished(SubagentFinished),
    /// The agent begins to end: nothing new starts, what is in flight is being stopped.
    Ending(Ending),
    /// A run is over (lead only, the last event of the run).
    RunFinished(RunFinished),
}

impl Event {
    /// The start of a run, if this is one.
    #[must_use]
    pub fn run_started(&self) -> Option<&RunStarted> {
        if let Self::RunStarted(started) = self { Some(started) } else { None }
    }

    /// The end of a run, if this is one.
    #[must_use]
    pub fn run_finished(&self) -> Option<&RunFinished> {
        if let Self::RunFinished(finished) = self { Some(finished) } else { None }
    }

    /// The start of a subagent, if this is one.
    #[must_use]
    pub fn subagent_started(&self) -> Option<&SubagentStarted> {
        if let Self::SubagentStarted(started) = self { Some(started) } else { None }
    }
}

/// See [`Event::RunStarted`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStarted {
    /// What was asked.
    pub input: Arc<str>,
    /// The lead's model, `provider:name`.
    pub model: Arc<str>,
    /// The caps of the family.
    pub limits: Caps,
    /// The frozen family, by its content hash.
    pub family: FamilyHash,
    /// The run that this one continues, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_run: Option<RunId>,
}

/// See [`Event::RunResumed`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunResumed {
    /// The attempt that begins here. Shown in the envelope too.
    #[serde(skip)]
    pub attempt: Attempt,
    /// The offset of the first event of the new attempt.
    pub from_offset: Offset,
}

/// See [`Event::Message`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// Input to the agent: the user's, or the task that a parent gave.
    User(UserMessage),
    /// A model's whole reply.
    Assistant(Reply),
}

/// Input to an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserMessage {
    /// The text.
    pub text: Arc<str>,
    /// For a subagent, the call that it serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_call: Option<CallId>,
}

/// A model's whole reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// The request that it answers.
    pub request: RequestNo,
    /// The text; empty if it only called tools.
    pub text: Arc<str>,
    /// The calls, in the model's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ProposedCall>,
    /// Why the model stopped.
    pub finish: Finish,
    /// What the request used, its retries included.
    pub usage: Usage,
    /// The model as the provider named it.
    pub model: Arc<str>,
    /// From the request's start to its last byte.
    pub duration_ms: Millis,
    /// Provider blocks that go back verbatim, as JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<Arc<str>>,
}

/// Why a model stopped.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Finish {
    /// It was done.
    Stop,
    /// It wants tools called.
    ToolCalls,
    /// Its output limit cut it off.
    Length,
    /// The provider's filter cut it off.
    ContentFilter,
    /// Something that this version does not know, kept as it was written.
    Other(Arc<str>),
}

impl Finish {
    /// The reason as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Stop => "stop",
            Self::ToolCalls => "tool_calls",
            Self::Length => "length",
            Self::ContentFilter => "content_filter",
            Self::Other(text) => text,
        }
    }
}

impl From<&str> for Finish {
    fn from(text: &str) -> Self {
        match text {
            "stop" => Self::Stop,
            "tool_calls" => Self::ToolCalls,
            "length" => Self::Length,
            "content_filter" => Self::ContentFilter,
            other => Self::Other(other.into()),
        }
    }
}

impl Serialize for Finish {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Finish {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self::from(text.as_str()))
    }
}

/// See [`Event::ModelRequest`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelRequested {
    /// The place among the agent's requests of the run, from 1.
    pub request: RequestNo,
    /// The model, `provider:name`.
    pub model: Arc<str>,
    /// Always 1: retries inside one request are progress (`model_retry`).
    pub attempt_no: u32,
    /// A quarter of the request's bytes, the usual first guess (4.2 bytes a token in English).
    pub estimated_tokens: u64,
}

/// See [`Event::ModelFailed`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelFailed {
    /// The request.
    pub request: RequestNo,
    /// Why.
    pub error: Failure,
    /// What the request used all the same.
    pub usage: Usage,
}

/// See [`Event::ToolStarted`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolStarted {
    /// The call.
    pub call: CallId,
    /// The tool.
    pub name: Arc<str>,
    /// Its arguments as JSON text.
    pub arguments: Arc<str>,
}

/// See [`Event::ToolFinished`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolFinished {
    /// The call.
    pub call: CallId,
    /// The tool's name as the model wrote it.
    pub name: Arc<str>,
    /// How it ended and what the model reads.
    #[serde(flatten)]
    pub result: CallResult,
    /// How long it ran; zero if it never did.
    pub duration_ms: Millis,
}

/// See [`Event::SubagentStarted`]. Holds all that the subagent needs to start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubagentStarted {
    /// The new agent.
    pub subagent: AgentId,
    /// Which subagent of the family it is.
    pub name: Arc<str>,
    /// What it may do.
    pub role: Role,
    /// What it has to do.
    pub task: Arc<str>,
    /// A name that the caller chose; it need not be unique.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<Arc<str>>,
    /// The paths that it may change, if the caller named them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub write_scope: Vec<Arc<str>>,
    /// The call that it serves.
    pub for_call: CallId,
    /// How deep it is below the lead, from 1.
    pub depth: u32,
}

/// See [`Event::SubagentFinished`]. The completion notice is derived from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubagentFinished {
    /// The agent; the same as the envelope's.
    pub subagent: AgentId,
    /// How it ended.
    pub status: Outcome,
    /// What it reports: its last reply, or why it failed.
    pub summary: Arc<str>,
    /// What it used, its own subagents not included.
    pub usage: Usage,
    /// The failure, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
}

/// How a run or a subagent ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It did what it was asked.
    Completed,
    /// Part of it stands.
    PartialSuccess,
    /// It was cancelled.
    Cancelled,
    /// It failed.
    Failed,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The lead answered.
    Completed,
    /// A user or host cancelled.
    UserRequested,
    /// A user aborted at once.
    UserAborted,
    /// Too many steps, stopped hard.
    MaxStepsExceeded,
    /// Too many steps, ended by a closing turn.
    MaxStepsCompleted,
    /// Too much money or too many tokens.
    CostLimitExceeded,
    /// Too much time.
    Timeout,
    /// The agent decided to stop.
    AgentDecision,
    /// A queued message took over.
    QueuedMessageInterrupt,
    /// An error ended it.
    ErrorRecovery,
    /// The node went down.
    SystemShutdown,
    /// A budget ran out, ended by a closing turn.
    BudgetCompleted,
    /// The agent went round in circles.
    LoopDetected,
}

/// See [`Event::Ending`]. Decided once; what the end is called does not change any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    /// How it will have ended.
    pub outcome: Outcome,
    /// Why.
    pub finish_reason: FinishReason,
    /// The words of whoever ended it, for people.
    pub reason: Arc<str>,
    /// The failure that ended it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
}

/// See [`Event::RunFinished`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFinished {
    /// How it ended.
    pub outcome: Outcome,
    /// Why.
    pub finish_reason: FinishReason,
    /// The answer; empty if there is none.
    pub text: Arc<str>,
    /// The failure, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// The sums of the whole family.
    pub usage: Usage,
    /// The sums by agent, the lead first.
    pub agents: Vec<AgentUsage>,
    /// From the run's start to here, by the clock.
    pub duration_ms: Millis,
}

/// What one agent used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentUsage {
    /// The agent.
    pub agent: AgentId,
    /// `lead`, or the subagent's name.
    pub name: Arc<str>,
    /// Its sums.
    pub usage: Usage,
}
