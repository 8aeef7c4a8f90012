//! The persisted parts that records of every version so far share, and the list by which events
//! and records take new fields.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// What was added after a version was released: pairs of a field's number and its value, bincode
/// bytes of a type of its own. One byte if there is nothing.
///
/// A reader passes over the numbers that it does not know, so only what may be missed is added so.
/// Numbers count from 1 for each kind of event, and for records; none changes its meaning or is
/// used again. A field of something inside an event (a call of a reply, an agent of a sum) stands
/// in the event's list too, as pairs of a place and a value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct MoreV1(pub Vec<(u32, Vec<u8>)>);

/// A call: run, agent, place among the agent's calls.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CallIdV1 {
    pub run: [u8; 16],
    pub agent: u32,
    pub n: u32,
}

/// Pairs of a kind's number and its count, zeros left out. A kind that the reader does not know is
/// passed over, so that a new kind needs no new version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct UsageV1(pub Vec<(u32, u64)>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FailureV1 {
    pub code: Arc<str>,
    pub attribution: u32,
    pub retryable: bool,
    pub message: Arc<str>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ToolFinishedV1 {
    pub call: CallIdV1,
    pub name: Arc<str>,
    pub status: u32,
    pub text: Arc<str>,
    pub full_size: Option<u64>,
    pub duration_ms: u64,
}

/// A question: run, agent, place among the agent's questions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct AskIdV1 {
    pub run: [u8; 16],
    pub agent: u32,
    pub n: u32,
}

/// Pairs of a limit's number and its amount, in the limit's unit; what is not limited is left out.
/// An unknown number is refused: a limit is never missed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LimitsV1(pub Vec<(u32, u64)>);

/// Whose limit it is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum ScopeV1 {
    Family,
    Agent(u32),
}

/// An amount under a limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum AmountV1 {
    Count(u64),
    /// Picodollars.
    Money(u64),
}
