//! How a history is compacted.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::compaction::Trigger;
use crate::failure::Failure;
use crate::money::Money;
use crate::time::Millis;
use crate::usage::Usage;

/// See [`Event::CompactionStarted`](super::Event::CompactionStarted).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionStarted {
    /// The place among the agent's compactions of the run, from 1.
    pub n: u32,
    /// Why.
    pub trigger: Trigger,
    /// The estimated tokens of the history before.
    pub tokens: u64,
    /// How many of the oldest entries of the history the summary replaces.
    pub entries: u32,
    /// The most tokens that the summary may have.
    pub max_output: u64,
    /// The model that writes the summary, `provider:name`.
    pub model: Arc<str>,
}

/// See [`Event::CompactionFinished`](super::Event::CompactionFinished).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionFinished {
    /// Which.
    pub n: u32,
    /// Whether the summary stands. If not, the history is as it was.
    pub ok: bool,
    /// The summary, if it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Arc<str>>,
    /// The estimated tokens of the history before.
    pub tokens_before: u64,
    /// The estimated tokens of the history now.
    pub tokens_after: u64,
    /// Whether that made room.
    pub gained: bool,
    /// Why it failed, if it did. With a summary that stands: why no model could write one, so that
    /// a plain digest stands for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// The model that was to write it, `provider:name`.
    pub model: Arc<str>,
    /// What the requests for the summary used.
    pub usage: Usage,
    /// What they cost, in US dollars, if the host's own function said so; else the model's prices
    /// count. Journaled, so that a replay gives the same.
    #[serde(default, rename = "cost_usd", skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
    /// How long it took.
    pub duration_ms: Millis,
}
