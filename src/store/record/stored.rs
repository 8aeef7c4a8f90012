//! The persisted types. A released struct is never edited: a change is a new type with the next
//! version and a conversion from the old one. Enums only grow at their end.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::event::EntryV2;
use super::parts::MoreV1;

/// The events of one append. Its first three fields are also read alone, in this order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RecordV2 {
    /// The global sequence of the session's record before this one.
    pub prev: Option<u64>,
    /// The offset of the first event.
    pub first: u64,
    pub session: Arc<str>,
    pub run: [u8; 16],
    pub attempt: u32,
    pub agent: u32,
    /// Milliseconds since the Unix epoch.
    pub at: u64,
    pub events: Vec<EntryV2>,
    pub more: MoreV1,
}

/// A session's entry in the index.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct HeadV1 {
    pub epoch: u64,
    /// The offset that the next event gets.
    pub next: u64,
    /// The global sequence of the newest record.
    pub last: Option<u64>,
    pub newest: Option<RunV1>,
}

/// A run's entry in the index.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunV1 {
    pub run: [u8; 16],
    pub session: Arc<str>,
    /// The offset of its start.
    pub first: u64,
    /// Milliseconds since the Unix epoch.
    pub started: u64,
    /// The offset of its end.
    pub finished: Option<u64>,
}

/// A frozen family.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FamilyV1 {
    /// JSON.
    pub text: Arc<str>,
}

/// How far the index has come.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct IndexedV1 {
    /// The format of the whole store.
    pub format: u16,
    /// The newest global sequence whose heads and runs are written.
    pub sequence: Option<u64>,
}
