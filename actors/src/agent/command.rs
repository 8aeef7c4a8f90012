//! What an agent can be told, and why it may not take it.

use std::sync::Arc;

use super::{Key, Outcome};
use crate::call::CallStatus;
use crate::event::{Ending, RunKind};
use crate::id::{AskId, Attempt, CallId, Offset, RunId};
use crate::limits::Limits;

/// A wish sent to an agent.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Begin a run (lead only).
    Start(Start),
    /// The first command of every load, before anything is in flight.
    Recovered(Recovered),
    /// The one outcome of a piece of work.
    Settle {
        /// Which work.
        key: Key,
        /// How it came out.
        outcome: Outcome,
    },
    /// Guidance: it enters the history before the next request.
    Steer(Steer),
    /// Input for the next run, which makes the present one give way between two rounds (lead only).
    Queue {
        /// The input.
        text: Arc<str>,
    },
    /// The answer to an approval.
    Approve(Approve),
    /// The answer to a question.
    Answer(Answer),
    /// The result of a call that the host, a client or a later answer settles.
    Deliver(Deliver),
    /// Compact the history before the next request.
    Compact,
    /// Offer tools of the frozen set that were held back.
    Activate {
        /// The tools, by name.
        tools: Vec<Arc<str>>,
    },
    /// Rest at the next boundary; resumable (lead only).
    Interrupt {
        /// Why, for people.
        reason: Arc<str>,
    },
    /// Go on after an interrupt (lead only).
    Resume {
        /// The limits from here on, if they are raised: the family's, and the lead's own where it
        /// has limits of these kinds.
        raised: Option<Limits>,
    },
    /// End the agent and everything under it.
    Cancel {
        /// Who or what ends it.
        cause: Cause,
        /// The words of whoever cancels, for people.
        reason: Arc<str>,
    },
}

/// See [`Command::Start`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// What is asked. Not read for a run that compacts or that answers what was queued.
    pub input: Arc<str>,
    /// What the run is for.
    pub kind: RunKind,
    /// The run that this one continues, if any.
    pub parent_run: Option<RunId>,
    /// Where the session's stream ended when the run was prepared. If it goes on from elsewhere,
    /// what was prepared is out of date and the start is refused. None asks for no such check.
    pub prepared_at: Option<Offset>,
}

/// See [`Command::Recovered`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// The number of the activation that begins.
    pub attempt: Attempt,
    /// Set if the agent is loaded only to be ended: it kept crashing, or its parent ends.
    pub end: Option<Ending>,
}

/// See [`Command::Steer`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steer {
    /// What is said.
    pub text: Arc<str>,
    /// The call of the parent that says it, for a subagent: said twice, it is taken once.
    pub from: Option<CallId>,
}

/// See [`Command::Approve`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approve {
    /// Which question.
    pub approval: AskId,
    /// The answer.
    pub verdict: Verdict,
    /// Who gives it, as the host names people.
    pub by: Option<Arc<str>>,
    /// Why, told to the model if it is refused.
    pub reason: Option<Arc<str>>,
    /// The limits from here on, if the question is about a limit: those of the family or of the
    /// lead, whichever was met. Without, the limit that was met is doubled.
    pub raised: Option<Limits>,
}

/// What a person can say to an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Yes.
    Approve,
    /// No; the model reads it as the call's result.
    Deny,
    /// No, and the run ends.
    DenyAndStop,
}

/// See [`Command::Answer`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Which question.
    pub question: AskId,
    /// The answer.
    pub text: Arc<str>,
    /// Who gives it, as the host names people.
    pub by: Option<Arc<str>>,
}

/// See [`Command::Deliver`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deliver {
    /// Which call.
    pub call: CallId,
    /// How it ended.
    pub status: CallStatus,
    /// What it says, uncut.
    pub text: Arc<str>,
}

/// Who or what ends an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Cause {
    /// A user or host asked for it.
    #[default]
    Requested,
    /// A user pressed stop.
    Aborted,
    /// The parent ends, or wants the subagent ended.
    Parent,
    /// The node goes down for good.
    Shutdown,
}

/// Why a command was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A run is active on the session.
    #[error("the session has an active run; wait for its end, cancel it, or resume it")]
    RunActive,
    /// There is nothing that the command could reach.
    #[error("the agent is at rest; start a run first")]
    AtRest,
    /// The agent is ending already.
    #[error("the agent is ending already; send it again as the input of the next run")]
    AlreadyEnding,
    /// The last answer is being written: nothing more can enter it.
    #[error("the run is writing its last answer and takes no more input; start another run")]
    Sealed,
    /// Only a lead can do this.
    #[error("a subagent cannot be told this; tell the lead")]
    NotALead,
    /// The outcome belongs to nothing that is in flight.
    #[error("nothing is in flight under {0:?}; the outcome is late and was dropped")]
    Stale(Key),
    /// The outcome is not one that this work can have.
    #[error("the outcome does not fit {0:?}")]
    Misfit(Key),
    /// The question was answered before.
    #[error("{0} is answered already; the first answer stands")]
    AlreadyAnswered(AskId),
    /// The question is not open any more: its run went on or ended without an answer.
    #[error("{0} is not asked any more: its run went on or ended; nothing was run")]
    StaleAnswer(AskId),
    /// There is no such question, or it is of another kind.
    #[error(
        "{0} is not open for this: `kinfolk approve` answers an approval, `kinfolk answer` a question; \
         `kinfolk approvals` lists those that wait"
    )]
    UnknownAsk(AskId),
    /// The call does not wait for a result from outside.
    #[error("{0} does not wait for a result from outside; it was delivered before, or never asked")]
    NotAwaited(CallId),
    /// There is nothing that a summary could replace.
    #[error("there is nothing to compact: all of the history is recent")]
    NothingToCompact,
    /// The session went on while the run was prepared.
    #[error(
        "the session has gone on to offset {now} since the run was prepared at {prepared}; look at \
         what is new and start again"
    )]
    HistoryChanged {
        /// Where it ended then.
        prepared: Offset,
        /// Where it ends now.
        now: Offset,
    },
    /// There is no such tool in the frozen set, or it is offered already.
    #[error("`{0}` is no tool that can be activated")]
    NoSuchTool(Arc<str>),
    /// The run is not interrupted.
    #[error("the run is not interrupted; there is nothing to resume")]
    NotInterrupted,
    /// There is no queued input to start from.
    #[error("nothing is queued; start the run with an input")]
    NothingQueued,
    /// More is waiting than an agent may hold.
    #[error("{0} messages wait for the agent already; wait until it has read them")]
    TooMuchWaiting(usize),
}
