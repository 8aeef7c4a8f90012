//! The pieces of work that an agent has going on, and how each can come out.

use std::sync::Arc;

use super::propose::RawCall;
use crate::call::CallStatus;
use crate::event::{Finish, SubagentFinished, SubagentStarted};
use crate::failure::Failure;
use crate::id::{AgentId, AskId, CallId, RequestNo};
use crate::money::Money;
use crate::time::{Millis, Timestamp};
use crate::usage::Usage;

/// The name of one piece of work of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// A model request.
    Model(RequestNo),
    /// A tool's run.
    Tool(CallId),
    /// The wait for the workspace's lease, before a changing tool is dispatched.
    Lease(CallId),
    /// The host's check whether a person has to be asked about a call.
    Audit(CallId),
    /// A subagent's whole task.
    Child(CallId),
    /// A message on its way to a subagent.
    Tell(CallId),
    /// The summary of a compaction.
    Summary(u32),
    /// A time that will come.
    Timer(Timer),
}

/// A time that an agent waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// The family's time is nearly used up: the closing turn begins.
    Closing,
    /// The family's time is used up.
    Deadline,
    /// A call that waits for subagents gives up.
    Call(CallId),
    /// Silence becomes a no.
    Ask(AskId),
}

/// What has to be going on under a key. References into the journal, not bodies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// Ask the model.
    Model {
        /// Which request.
        request: RequestNo,
    },
    /// Run the tool.
    Tool {
        /// Which call.
        call: CallId,
        /// The tool.
        name: Arc<str>,
        /// Its arguments as JSON text.
        arguments: Arc<str>,
    },
    /// Get the workspace's lease for a call.
    Lease {
        /// Which call.
        call: CallId,
    },
    /// Ask the host's check.
    Audit {
        /// Which call.
        call: CallId,
        /// The check's registered name.
        audit: Arc<str>,
        /// The tool.
        name: Arc<str>,
        /// Its arguments as JSON text.
        arguments: Arc<str>,
    },
    /// Have the subagent at work.
    Child {
        /// How it was started.
        started: Box<SubagentStarted>,
    },
    /// Tell a subagent something.
    Tell {
        /// Which call says it.
        call: CallId,
        /// To whom.
        subagent: AgentId,
        /// What.
        message: Arc<str>,
    },
    /// Have the summary written.
    Summary {
        /// Which compaction.
        n: u32,
    },
    /// Wait for a time.
    Timer {
        /// Which.
        timer: Timer,
        /// When; for the family's own time the ledger knows.
        at: Option<Timestamp>,
    },
}

/// The one result of a piece of work.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The model's whole reply.
    Replied(RawReply),
    /// The model request failed for good.
    ModelFailed {
        /// Why.
        error: Failure,
        /// What it used all the same.
        usage: Usage,
        /// What it cost by the host's own function, if there is one.
        cost: Option<Money>,
    },
    /// The tool has run.
    Tool {
        /// How it ended.
        status: CallStatus,
        /// What it says, uncut.
        text: Arc<str>,
        /// How long it ran.
        duration: Millis,
    },
    /// The tool answers later, from outside.
    Deferred,
    /// The lease is held for the call.
    Leased,
    /// The host's check has answered, or there is none.
    Audited(Audited),
    /// The subagent has reported.
    Child {
        /// Its report.
        report: Box<SubagentFinished>,
        /// How long it was at work in this activation of the family.
        duration: Millis,
    },
    /// The subagent asks its parent, and goes on waiting. Its work is not over.
    ChildAsks {
        /// The question.
        question: AskId,
        /// Its words.
        text: Arc<str>,
    },
    /// The message was taken, or why it was not.
    Told {
        /// Nothing, or the subagent's words.
        refused: Option<Arc<str>>,
    },
    /// The summary was written, or could not be.
    Summarised(Summarised),
    /// The time has come.
    Fired,
    /// The work panicked.
    Panicked {
        /// The panic's words.
        message: Arc<str>,
    },
    /// The work was stopped and has nothing to say.
    Gone,
}

/// What a host's check says of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Audited {
    /// Nobody has to see it.
    Fine,
    /// A person has to be asked.
    Intervene,
    /// No check of that name is registered: the policy says what counts instead.
    Unregistered,
}

/// See [`Outcome::Summarised`].
#[derive(Clone, Debug, PartialEq)]
pub struct Summarised {
    /// The summary, or why there is none.
    pub result: Result<Arc<str>, Failure>,
    /// Why no model could write one, if a plain digest stands for it.
    pub fallback: Option<Failure>,
    /// What its requests used.
    pub usage: Usage,
    /// What they cost by the host's own function, if there is one.
    pub cost: Option<Money>,
    /// How long it took.
    pub duration: Millis,
}

/// A model's whole reply as the provider's adapter read it.
#[derive(Clone, Debug, PartialEq)]
pub struct RawReply {
    /// The text; empty if it only called tools.
    pub text: Arc<str>,
    /// The calls, in the model's order.
    pub calls: Vec<RawCall>,
    /// Why the model stopped.
    pub finish: Finish,
    /// What the request used, its retries included.
    pub usage: Usage,
    /// What it cost by the host's own function, if there is one. An adapter leaves it out.
    pub cost: Option<Money>,
    /// The model as the provider named it.
    pub model: Arc<str>,
    /// From the request's start to its last byte.
    pub duration: Millis,
    /// Provider blocks that go back verbatim, as JSON text.
    pub opaque: Option<Arc<str>>,
}
