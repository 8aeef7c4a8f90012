//! The fold of an agent's events.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::pairs;
use super::recent::Recent;
use super::repeats::Repeats;
use super::turn::Turn;
use super::work::Timer;
use crate::compaction::Trigger;
use crate::compaction::guard::Guard;
use crate::event::{
    ChildMode, Ending, LimitReached, Outcome, RunKind, SubagentFinished, SubagentStarted,
};
use crate::id::{AskId, CallId, RequestNo};
use crate::limits::LimitKind;
use crate::policy::canonical::ArgumentDigest;
use crate::transcript::Transcript;

/// The fold of an agent's events. A lead's state spans its session's runs; a subagent's, its task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentState {
    /// Where it stands.
    pub phase: Phase,
    /// What it has said and heard, settled.
    pub transcript: Transcript,
    /// Words that enter the transcript before the next request.
    pub pending: Vec<Arc<str>>,
    /// Input that waits for the next run.
    pub queued: Vec<Arc<str>>,
    /// The subagents of the run, by the call that started each.
    #[serde(with = "pairs")]
    pub children: BTreeMap<CallId, Child>,
    /// What waits for the answer of a person, or of the parent, by id.
    #[serde(with = "pairs")]
    pub asks: BTreeMap<AskId, Ask>,
    /// What belongs to the run alone.
    pub run: RunState,
    /// Runs that the session has started.
    pub runs: u32,
}

/// What belongs to one run of an agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunState {
    /// What kind of run it is.
    pub kind: RunKind,
    /// What the run is for: its input, or a subagent's goal.
    pub goal: Option<Arc<str>>,
    /// Requests.
    pub requests: u32,
    /// Calls.
    pub calls: u32,
    /// Compactions that were begun.
    pub compactions: u32,
    /// Tokens of the last request, as the provider counted them, and what the transcript was
    /// estimated at when it was sent. Void after a compaction.
    pub measured: Option<Measured>,
    /// The transcript's estimate when the last request was sent.
    pub requested_at: u64,
    /// The most tokens that the reply to the last request may have.
    pub max_output: Option<u64>,
    /// Whether somebody wants a compaction before the next request.
    pub compact_asked: bool,
    /// Why somebody wants the run to rest at the next boundary.
    pub interrupt_asked: Option<Arc<str>>,
    /// Whether a compaction may begin.
    pub guard: Guard,
    /// Whether the last compaction failed, and no reply came since.
    pub compaction_failed: bool,
    /// Whether the last request was refused as larger than the window.
    pub overflowed: bool,
    /// Whether the family's time is limited.
    pub timed: bool,
    /// The limit that was reached; the next request is the closing one.
    pub limit: Option<LimitReached>,
    /// Whether the closing request was sent.
    pub closing: bool,
    /// Replies without the call that was required.
    pub reminders: u32,
    /// Calls that were made again and again.
    pub repeats: Repeats,
    /// How much was asked, settled or not.
    pub asked: u32,
    /// How the newest asks were settled, by their places among the agent's.
    pub settled: Recent<(u32, Settled)>,
    /// The newest calls that a person has refused, by digest of name and arguments.
    pub denied: Recent<ArgumentDigest>,
    /// Tools that were activated.
    pub activated: Vec<Arc<str>>,
    /// The newest messages of the parent that were taken, by the call that sent each.
    pub told: Recent<CallId>,
}

impl RunState {
    /// Whether the family's time is used up, which stops what is in flight.
    #[must_use]
    pub fn is_out_of_time(&self) -> bool {
        self.limit.is_some_and(|reached| reached.limit == LimitKind::Time)
    }
}

/// What a provider counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measured {
    /// Tokens in: the reply is not among them.
    pub tokens: u64,
    /// The transcript's estimate at that moment.
    pub estimate: u64,
}

/// Where an agent stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Phase {
    /// Nothing goes on: a lead between runs, a subagent before its start.
    #[default]
    Resting,
    /// Nothing of its own is in flight: between two events of one record, or at rest until a
    /// subagent in the background reports or somebody speaks.
    Deciding,
    /// A model request is in flight.
    Thinking {
        /// Which.
        request: RequestNo,
    },
    /// The calls of a reply are being settled.
    Acting(Turn),
    /// The history is being compacted.
    Compacting(Compaction),
    /// A person is asked, and nothing else goes on.
    Asking(AskId),
    /// The run rests and can be resumed.
    Interrupted,
    /// Admission is closed; what is in flight is being stopped.
    Ending(Box<Closing>),
    /// A subagent has reported.
    Done(Box<SubagentFinished>),
}

/// A compaction in the making.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compaction {
    /// Its place among the agent's compactions of the run.
    pub n: u32,
    /// Why it is made.
    pub trigger: Trigger,
    /// How many of the oldest entries it replaces.
    pub entries: u32,
    /// The most tokens that the summary may have.
    pub max_output: u64,
}

/// An end that waits for what is still in flight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Closing {
    /// What the end will be called.
    pub ending: Ending,
    /// What is still in flight beside subagents.
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
    /// A summary.
    Summary(Compaction),
}

/// A subagent as its parent knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Child {
    /// How it was started; all that it needs to start again.
    pub started: SubagentStarted,
    /// Where it stands.
    pub state: ChildState,
    /// Its newest question that its parent has been told of, if it asked one.
    pub asked: Option<AskId>,
}

/// Where a subagent stands for its parent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChildState {
    /// At work.
    Live,
    /// Being stopped by its parent.
    Stopping,
    /// It has reported.
    Reported {
        /// How it ended.
        status: Outcome,
        /// Its notice, while a call that waits for it has not returned yet.
        held: Option<Arc<str>>,
    },
}

/// What a person was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// About what.
    pub about: About,
    /// When silence becomes a no, if ever.
    pub deadline: Option<crate::time::Timestamp>,
}

/// Whether a question that waits no more was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Settled {
    /// It was, or silence was the answer.
    Answered,
    /// The run went on or ended without an answer.
    Withdrawn,
}

/// What a question is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum About {
    /// Whether a call may run.
    Call(CallId),
    /// Whether a limit may be raised.
    Limit(LimitReached),
    /// Words for a call, or for the brain.
    Words {
        /// The call whose result they become, if one asked.
        call: Option<CallId>,
        /// Whether the parent is asked and not a person.
        parent: bool,
        /// The question.
        text: Arc<str>,
    },
}

impl AgentState {
    /// Whether a run, or a subagent's task, is under way.
    #[must_use]
    pub fn is_active(&self) -> bool {
        match self.phase {
            Phase::Resting | Phase::Done(_) => false,
            Phase::Deciding
            | Phase::Thinking { .. }
            | Phase::Acting(_)
            | Phase::Compacting(_)
            | Phase::Asking(_)
            | Phase::Interrupted
            | Phase::Ending(_) => true,
        }
    }

    /// The subagent's report, once it has one.
    #[must_use]
    pub fn report(&self) -> Option<&SubagentFinished> {
        if let Phase::Done(finished) = &self.phase { Some(finished) } else { None }
    }

    /// The turn that is being settled, also while the agent ends.
    #[must_use]
    pub fn turn(&self) -> Option<&Turn> {
        match &self.phase {
            Phase::Acting(turn) => Some(turn),
            Phase::Ending(closing) => match &closing.left {
                Left::Turn(turn) => Some(turn),
                Left::Nothing | Left::Request(_) | Left::Summary(_) => None,
            },
            Phase::Resting
            | Phase::Deciding
            | Phase::Thinking { .. }
            | Phase::Compacting(_)
            | Phase::Asking(_)
            | Phase::Interrupted
            | Phase::Done(_) => None,
        }
    }

    /// The compaction that is being made, also while the agent ends.
    #[must_use]
    pub fn compaction(&self) -> Option<Compaction> {
        match &self.phase {
            Phase::Compacting(compaction) => Some(*compaction),
            Phase::Ending(closing) => match &closing.left {
                Left::Summary(compaction) => Some(*compaction),
                Left::Nothing | Left::Request(_) | Left::Turn(_) => None,
            },
            Phase::Resting
            | Phase::Deciding
            | Phase::Thinking { .. }
            | Phase::Acting(_)
            | Phase::Asking(_)
            | Phase::Interrupted
            | Phase::Done(_) => None,
        }
    }

    /// Whether a subagent is at work.
    #[must_use]
    pub fn has_live_children(&self) -> bool {
        self.children.values().any(Child::is_live)
    }

    /// Whether a subagent is at work that nobody waits for.
    #[must_use]
    pub fn has_background(&self) -> bool {
        let in_background = |child: &Child| child.started.mode == ChildMode::Background;
        self.children.values().any(|child| child.is_live() && in_background(child))
    }

    /// The questions that wait for an answer.
    pub fn open_asks(&self) -> impl Iterator<Item = (AskId, &Ask)> {
        self.asks.iter().map(|(id, ask)| (*id, ask))
    }

    /// Whether more words may enter the run: not once its last answer is being written.
    #[must_use]
    pub fn is_sealed(&self) -> bool {
        self.run.closing
    }
}

impl RunState {
    /// The family's times that the agent waits for.
    pub(super) fn timers(&self) -> impl Iterator<Item = Timer> {
        let closing = self.timed && !self.closing && !self.is_out_of_time();
        let closing = closing.then_some(Timer::Closing);
        closing.into_iter().chain(self.timed.then_some(Timer::Deadline))
    }
}

impl Child {
    /// Whether it has not reported yet.
    #[must_use]
    pub fn is_live(&self) -> bool {
        match self.state {
            ChildState::Live | ChildState::Stopping => true,
            ChildState::Reported { .. } => false,
        }
    }
}
