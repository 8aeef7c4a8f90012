//! The one machine that a lead and its subagents share.
//!
//! An agent thinks (one model request), acts (the calls of one reply), and ends. Its whole
//! vocabulary is on this page; the three functions are in the modules below.

mod decide;
mod draft;
mod ending;
mod evolve;
mod frozen;
mod outstanding;
mod pairs;
mod propose;
mod recovery;
mod turn;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub(crate) use self::draft::Draft;
pub use self::propose::{MAX_CALLS, RawCall};
pub use self::turn::{CallState, Turn, TurnCall};
use crate::brain::Brain;
use crate::budget::Facts;
use crate::call::CallStatus;
use crate::event::{
    Ending, Event, Finish, Outcome as EndOutcome, SubagentFinished, SubagentStarted,
};
use crate::failure::Failure;
use crate::family::{Family, FamilyHash};
use crate::id::{Attempt, CallId, RequestNo, RunId};
use crate::machine::{Demand, Machine};
use crate::time::Millis;
use crate::transcript::Transcript;
use crate::usage::Usage;

/// What is frozen for one agent in one run.
#[derive(Clone)]
pub struct AgentMachine {
    /// The run that this generation serves.
    pub run: RunId,
    /// Which member of the family this is.
    pub member: Member,
    /// The frozen family.
    pub family: Arc<Family>,
    /// Its content hash.
    pub family_hash: FamilyHash,
    /// Decides what comes next.
    pub brain: Arc<dyn Brain>,
}

/// A member of a family.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Member {
    /// The lead.
    Lead,
    /// A subagent, by the event that started it.
    Subagent(SubagentStarted),
}

/// The fold of an agent's events. A lead's state spans its session's runs; a subagent's, its task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentState {
    /// Where it stands.
    pub phase: Phase,
    /// What it has said and heard, settled.
    pub transcript: Transcript,
    /// The subagents of the run, by the call that started each.
    #[serde(with = "pairs")]
    pub children: BTreeMap<CallId, Child>,
    /// Runs that the session has started.
    pub runs: u32,
    /// Requests of the run.
    pub requests: u32,
    /// Calls of the run.
    pub calls: u32,
}

/// Where an agent stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Phase {
    /// Nothing goes on: a lead between runs, a subagent before its start.
    #[default]
    Resting,
    /// Between two events of one record; never at rest.
    Deciding,
    /// A model request is in flight.
    Thinking {
        /// Which.
        request: RequestNo,
    },
    /// The calls of a reply are being settled.
    Acting(Turn),
    /// Admission is closed; what is in flight is being stopped.
    Ending(Box<Closing>),
    /// A subagent has reported.
    Done(Box<SubagentFinished>),
}

/// An end that waits for what is still in flight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Closing {
    /// What the end will be called.
    pub ending: Ending,
    /// What is still in flight.
    pub left: Left,
}

/// What an ending agent still has in flight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Left {
    /// Nothing any more.
    Nothing,
    /// A model request.
    Request(RequestNo),
    /// Calls of a reply.
    Turn(Turn),
}

/// A subagent as its parent knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Child {
    /// How it was started; all that it needs to start again.
    pub started: SubagentStarted,
    /// How its call was settled, once it was.
    pub settled: Option<CallStatus>,
}

/// A wish sent to an agent.
#[derive(Clone, Debug)]
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
    /// End the agent and everything under it.
    Cancel {
        /// The words of whoever cancels, for people.
        reason: Arc<str>,
    },
}

/// See [`Command::Start`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// What is asked.
    pub input: Arc<str>,
    /// The run that this one continues, if any.
    pub parent_run: Option<RunId>,
}

/// See [`Command::Recovered`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// The number of the activation that begins.
    pub attempt: Attempt,
    /// Set if the agent is loaded only to be ended: it kept crashing, or its parent ends.
    pub end: Option<Ending>,
}

/// The name of one piece of work of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// A model request.
    Model(RequestNo),
    /// A tool's run.
    Tool(CallId),
    /// The wait for the workspace's lease, before a changing tool is dispatched.
    Lease(CallId),
    /// A subagent's whole task.
    Child(CallId),
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
    /// Have the subagent at work.
    Child {
        /// How it was started.
        started: Box<SubagentStarted>,
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
    /// The lease is held for the call.
    Leased,
    /// The subagent has reported.
    Child {
        /// Its report.
        report: Box<SubagentFinished>,
        /// How long it was at work in this activation of the family.
        duration: Millis,
    },
    /// The work panicked.
    Panicked {
        /// The panic's words.
        message: Arc<str>,
    },
    /// The work was stopped and has nothing to say.
    Gone,
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
    /// The model as the provider named it.
    pub model: Arc<str>,
    /// From the request's start to its last byte.
    pub duration: Millis,
    /// Provider blocks that go back verbatim, as JSON text.
    pub opaque: Option<Arc<str>>,
}

/// Why a command was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A run is active on the session.
    #[error("the session has an active run; wait for its end, cancel it, or resume it")]
    RunActive,
    /// There is nothing to cancel.
    #[error("the agent is at rest; there is nothing to cancel")]
    AtRest,
    /// The agent is ending already.
    #[error("the agent is ending already")]
    AlreadyEnding,
    /// Only a lead starts runs.
    #[error("a subagent cannot start a run")]
    NotALead,
    /// The outcome belongs to nothing that is in flight.
    #[error("nothing is in flight under {0:?}; the outcome is late and was dropped")]
    Stale(Key),
    /// The outcome is not one that this work can have.
    #[error("the outcome does not fit {0:?}")]
    Misfit(Key),
}

impl Machine for AgentMachine {
    type State = AgentState;
    type Command = Command;
    type Event = Event;
    type Refusal = Refusal;
    type Facts = Facts;
    type Key = Key;
    type Work = Work;

    fn decide(
        &self,
        state: &AgentState,
        command: &Command,
        facts: &Facts,
    ) -> Result<Vec<Event>, Refusal> {
        decide::decide(self, state, command, facts)
    }

    fn evolve(state: &mut AgentState, event: &Event) {
        evolve::evolve(state, event);
    }

    fn settles(command: &Command) -> Option<Key> {
        match command {
            Command::Settle { key, outcome: _ } => Some(*key),
            Command::Start(_) | Command::Recovered(_) | Command::Cancel { .. } => None,
        }
    }

    fn outstanding(state: &AgentState) -> BTreeMap<Key, Demand<Work>> {
        outstanding::outstanding(state)
    }
}

impl AgentState {
    /// Whether a run, or a subagent's task, is under way.
    #[must_use]
    pub fn is_active(&self) -> bool {
        match self.phase {
            Phase::Resting | Phase::Done(_) => false,
            Phase::Deciding | Phase::Thinking { .. } | Phase::Acting(_) | Phase::Ending(_) => true,
        }
    }

    /// The subagent's report, once it has one.
    #[must_use]
    pub fn report(&self) -> Option<&SubagentFinished> {
        match &self.phase {
            Phase::Done(finished) => Some(finished),
            Phase::Resting
            | Phase::Deciding
            | Phase::Thinking { .. }
            | Phase::Acting(_)
            | Phase::Ending(_) => None,
        }
    }
}

/// A cancel as an ending.
#[must_use]
pub fn cancelled(reason: &Arc<str>) -> Ending {
    Ending {
        outcome: EndOutcome::Cancelled,
        finish_reason: crate::event::FinishReason::UserRequested,
        reason: Arc::clone(reason),
        error: None,
    }
}

/// A failure as an ending.
#[must_use]
pub fn failed(error: Failure) -> Ending {
    Ending {
        outcome: EndOutcome::Failed,
        finish_reason: crate::event::FinishReason::ErrorRecovery,
        reason: Arc::clone(&error.message),
        error: Some(error),
    }
}
