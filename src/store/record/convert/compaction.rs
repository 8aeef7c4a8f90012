//! Compactions of a history.

use std::sync::Arc;

use kinfolk_actors::compaction::Trigger;
use kinfolk_actors::event::{CompactionFinished, CompactionStarted};
use kinfolk_actors::money::Money;
use kinfolk_actors::time::Millis;

use super::super::Unreadable;
use super::super::event::{CompactionFinishedV1, CompactionStartedV1};
use super::super::number::Numbered;
use super::super::parts::FailureV1;
use super::parts::failure;

impl From<&CompactionStarted> for CompactionStartedV1 {
    fn from(event: &CompactionStarted) -> Self {
        Self {
            n: event.n,
            trigger: event.trigger.number(),
            tokens: event.tokens,
            entries: event.entries,
            max_output: event.max_output,
            model: Arc::clone(&event.model),
        }
    }
}

impl TryFrom<CompactionStartedV1> for CompactionStarted {
    type Error = Unreadable;

    fn try_from(stored: CompactionStartedV1) -> Result<Self, Unreadable> {
        Ok(Self {
            n: stored.n,
            trigger: Trigger::of(stored.trigger)?,
            tokens: stored.tokens,
            entries: stored.entries,
            max_output: stored.max_output,
            model: stored.model,
        })
    }
}

impl From<&CompactionFinished> for CompactionFinishedV1 {
    fn from(event: &CompactionFinished) -> Self {
        Self {
            n: event.n,
            ok: event.ok,
            summary: event.summary.clone(),
            tokens_before: event.tokens_before,
            tokens_after: event.tokens_after,
            gained: event.gained,
            error: event.error.as_ref().map(FailureV1::from),
            model: Arc::clone(&event.model),
            usage: (&event.usage).into(),
            duration_ms: event.duration_ms.0,
            cost: event.cost.map(Money::pico),
        }
    }
}

impl TryFrom<CompactionFinishedV1> for CompactionFinished {
    type Error = Unreadable;

    fn try_from(stored: CompactionFinishedV1) -> Result<Self, Unreadable> {
        Ok(Self {
            n: stored.n,
            ok: stored.ok,
            summary: stored.summary,
            tokens_before: stored.tokens_before,
            tokens_after: stored.tokens_after,
            gained: stored.gained,
            error: failure(stored.error)?,
            model: stored.model,
            usage: stored.usage.into(),
            duration_ms: Millis(stored.duration_ms),
            cost: stored.cost.map(Money::from_pico),
        })
    }
}
