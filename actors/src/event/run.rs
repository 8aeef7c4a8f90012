//! How a run begins, pauses, goes on and ends.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::family::{FamilyHash, FamilyLimits};
use crate::id::{AgentId, Attempt, Offset, RunId};
use crate::limits::{LimitKind, Limits};
use crate::money::Money;
use crate::time::Millis;
use crate::usage::Usage;

/// See [`Event::RunStarted`](super::Event::RunStarted).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStarted {
    /// What was asked.
    pub input: Arc<str>,
    /// The lead's model, `provider:name`.
    pub model: Arc<str>,
    /// The caps and limits of the family.
    pub limits: FamilyLimits,
    /// What the run is for.
    #[serde(default, skip_serializing_if = "RunKind::is_request")]
    pub kind: RunKind,
    /// The frozen family, by its content hash.
    pub family: FamilyHash,
    /// The run that this one continues, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_run: Option<RunId>,
}

/// What a run is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunKind {
    /// To answer its input.
    #[default]
    Request,
    /// To answer what was queued during the run before.
    Queued,
    /// To compact the history and do nothing else.
    Compact,
}

impl RunKind {
    /// Whether it is an ordinary request.
    #[must_use]
    pub fn is_request(&self) -> bool {
        *self == Self::Request
    }
}

/// See [`Event::RunInterrupted`](super::Event::RunInterrupted).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunInterrupted {
    /// Why, for people.
    pub reason: Arc<str>,
    /// The limit that stopped it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<LimitKind>,
    /// Whether it can go on.
    pub resumable: bool,
}

/// See [`Event::RunResumed`](super::Event::RunResumed).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunResumed {
    /// The attempt that begins here. Shown in the envelope too.
    #[serde(skip)]
    pub attempt: Attempt,
    /// The offset of the first event of the new attempt.
    pub from_offset: Offset,
    /// The limits from here on, if they were raised: the family's, and the lead's own where it has
    /// limits of these kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raised: Option<Limits>,
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

/// See [`Event::Ending`](super::Event::Ending). Decided once; what the end is called does not change any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    /// How it will have ended.
    pub outcome: Outcome,
    /// Why.
    pub finish_reason: FinishReason,
    /// The words of whoever ended it, for people.
    pub reason: Arc<str>,
    /// The answer that stands already, if there is one.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub text: Arc<str>,
    /// The failure that ended it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
}

/// See [`Event::RunFinished`](super::Event::RunFinished).
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
    /// What it cost, in US dollars; none if the price of a model is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<Money>,
    /// What a finish reason does not say, for people: for example which calls could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Arc<str>>,
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
    /// What it cost, in US dollars; none if the price of a model is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<Money>,
}

fn is_empty(text: &Arc<str>) -> bool {
    text.is_empty()
}
