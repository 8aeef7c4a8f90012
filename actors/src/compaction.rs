//! When and how a history is made smaller: when it is due, where it is cut, what the model is
//! asked, what its answer is worth, and when there is no point in going on.
//!
//! Between two compactions a request only grows at its end, so that the provider's prefix cache
//! keeps working. A compaction replaces the older part of a history by the model's own notes and
//! keeps the newest whole groups and the newest input. Events and state belong to the agent; here
//! are the pure functions that it decides with:
//!
//! 1. [`trigger`] says from which size on it is due;
//! 2. [`cut`] says what is kept;
//! 3. [`guard`] says whether it may begin;
//! 4. [`summary`] builds the request and judges the answer; [`digest`] needs no model;
//! 5. [`Transcript::compacted`](crate::transcript::Transcript::compacted) is the new history.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

mod blobs;
pub mod cut;
pub mod digest;
pub mod guard;
mod shrink;
pub mod summary;
pub mod trigger;

/// How an agent compacts, as the family file says it. Sizes are in tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CompactionSettings {
    /// From which size on a history is compacted. It replaces the one that follows from the
    /// model's window, also if it is greater: a window that nobody knows is only assumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<u64>,
    /// How much of the newest history is kept; a tenth of what the window leaves for a request if
    /// not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep: Option<u64>,
    /// The model that writes summaries, `provider:name`; the agent's own if not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Arc<str>>,
    /// What happens if no model can write one.
    pub fallback: Fallback,
}

/// What happens if no model can write a summary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fallback {
    /// The compaction fails, and the history stays as it is.
    #[default]
    None,
    /// A plain digest stands for the summary. It says little, so it has to be asked for.
    Digest,
}

/// Why a history is compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// Its size reached the threshold.
    Threshold,
    /// The provider refused the request as too large.
    Overflow,
    /// Someone asked for it.
    Manual,
}

/// All that could be summarised is within what is kept anyway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is nothing to compact: the whole history is recent enough to be kept")]
pub struct NothingToCompact;

/// The context is full and compaction can't help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum ContextFull {
    /// What is left can't be summarised.
    #[error(
        "the context is full and nothing in the history can be made smaller; shorten the prompt, \
         the tools or the message, or use a model with a larger window"
    )]
    NothingLeft,
    /// Compaction was tried and the context stayed too large.
    #[error(
        "the context is full: {compactions} compactions in a row did not bring it under its \
         threshold; shorten the prompt or the tools, or use a model with a larger window"
    )]
    NoGain {
        /// How often it was tried.
        compactions: u8,
    },
    /// The provider refused the request again after a compaction.
    #[error(
        "the provider refuses the request as too large even after a compaction; set the model's \
         `window` to what the provider allows"
    )]
    StillRefused,
    /// Not even the smallest request for a summary fits.
    #[error(
        "the request for a summary has {tokens} tokens at least and the summarising model takes \
         {room}; set `compaction.model` to one with a larger window"
    )]
    SummaryTooLarge {
        /// The size of the smallest request.
        tokens: u64,
        /// What the summarising model takes.
        room: u64,
    },
}
