//! Past facts. Each is journaled once, has one offset in its session's stream, and is published
//! as it stands; the names here are the names that watchers read.

mod asking;
mod call;
mod compaction;
mod limit;
mod message;
mod run;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use self::asking::{
    ApprovalRequested, ApprovalSettled, ApprovalSubject, Decision, QuestionAnswered, QuestionAsked,
    QuestionKind,
};
pub use self::call::{
    CallAudited, CallDeferred, ChildMode, SubagentFinished, SubagentStarted, ToolFinished,
    ToolStarted, ToolsActivated,
};
pub use self::compaction::{CompactionFinished, CompactionStarted};
pub use self::limit::{LimitReached, LimitWarning};
pub use self::message::{Finish, Message, ModelFailed, ModelRequested, Reply, Source, UserMessage};
pub use self::run::{
    AgentUsage, Ending, FinishReason, Outcome, RunFinished, RunInterrupted, RunKind, RunResumed,
    RunStarted,
};
use crate::id::{AgentId, AskId, Attempt, Offset, RunId, SessionId};
use crate::time::Timestamp;

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
    /// A run rests before its end; it can be resumed (lead only).
    RunInterrupted(RunInterrupted),
    /// A message entered the agent's transcript, or waits to enter it before the next request.
    Message(Message),
    /// A request to a model has to be in flight.
    ModelRequest(ModelRequested),
    /// A request to a model ended without a reply.
    ModelFailed(ModelFailed),
    /// A call was dispatched: from here on its effect may have happened.
    ToolStarted(ToolStarted),
    /// A call has its one result.
    ToolFinished(ToolFinished),
    /// A dynamic audit of a call has its answer.
    CallAudited(CallAudited),
    /// A call is answered later, from outside.
    CallDeferred(CallDeferred),
    /// Tools of the frozen set that were held back are offered from here on.
    ToolsActivated(ToolsActivated),
    /// A person is asked whether a call may run, or a limit may be raised.
    ApprovalRequested(ApprovalRequested),
    /// That question is settled, once.
    ApprovalSettled(ApprovalSettled),
    /// A person, or the parent of a subagent, is asked for words.
    QuestionAsked(QuestionAsked),
    /// The answer, once.
    QuestionAnswered(QuestionAnswered),
    /// The question waits no more: its agent ends. A later answer is stale.
    QuestionWithdrawn {
        /// The question.
        question: AskId,
    },
    /// Somebody wants the history compacted before the next request.
    CompactionAsked,
    /// Somebody wants the run to rest at the next boundary.
    InterruptAsked {
        /// Why, for people.
        reason: Arc<str>,
    },
    /// A summary of the older history has to be in the making.
    CompactionStarted(CompactionStarted),
    /// The summary stands, or could not be had.
    CompactionFinished(CompactionFinished),
    /// Most of a limit is used.
    LimitWarning(LimitWarning),
    /// A limit is used up.
    LimitReached(LimitReached),
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
    /// What kind of event it is: its `type` as watchers read it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::RunStarted(_) => "run_started",
            Self::RunResumed(_) => "run_resumed",
            Self::RunInterrupted(_) => "run_interrupted",
            Self::Message(_) => "message",
            Self::ModelRequest(_) => "model_request",
            Self::ModelFailed(_) => "model_failed",
            Self::ToolStarted(_) => "tool_started",
            Self::ToolFinished(_) => "tool_finished",
            Self::CallAudited(_) => "call_audited",
            Self::CallDeferred(_) => "call_deferred",
            Self::ToolsActivated(_) => "tools_activated",
            Self::ApprovalRequested(_) => "approval_requested",
            Self::ApprovalSettled(_) => "approval_settled",
            Self::QuestionAsked(_) => "question_asked",
            Self::QuestionAnswered(_) => "question_answered",
            Self::QuestionWithdrawn { .. } => "question_withdrawn",
            Self::CompactionAsked => "compaction_asked",
            Self::InterruptAsked { .. } => "interrupt_asked",
            Self::CompactionStarted(_) => "compaction_started",
            Self::CompactionFinished(_) => "compaction_finished",
            Self::LimitWarning(_) => "limit_warning",
            Self::LimitReached(_) => "limit_reached",
            Self::SubagentStarted(_) => "subagent_started",
            Self::SubagentFinished(_) => "subagent_finished",
            Self::Ending(_) => "ending",
            Self::RunFinished(_) => "run_finished",
        }
    }

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
