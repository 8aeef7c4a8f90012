//! What an agent has said and heard, in the order in which it goes to the model.
//!
//! A turn enters only when each of its calls is settled, so a request built from here can never
//! hold a call without its result.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::call::{CallResult, ProposedCall};
use crate::event::Reply;

/// An agent's settled history. Entries are immutable and shared; cloning copies pointers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Transcript {
    entries: Vec<Arc<Entry>>,
    bytes: u64,
}

/// One settled part of a history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Entry {
    /// Input to the agent.
    User(Arc<str>),
    /// A reply without calls.
    Text(Said),
    /// A reply with calls and the one result of each, in call order.
    Turn(SettledTurn),
}

/// What a model said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Said {
    /// The text.
    pub text: Arc<str>,
    /// Provider blocks that go back verbatim, as JSON text.
    pub opaque: Option<Arc<str>>,
}

impl From<&Reply> for Said {
    fn from(reply: &Reply) -> Self {
        Self { text: Arc::clone(&reply.text), opaque: reply.opaque.clone() }
    }
}

/// A reply with calls, all settled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SettledTurn {
    /// What was said with the calls.
    pub said: Said,
    /// The calls and their results, in call order.
    pub calls: Vec<(ProposedCall, CallResult)>,
}

impl Transcript {
    /// The entries, oldest first.
    #[must_use]
    pub fn entries(&self) -> &[Arc<Entry>] {
        &self.entries
    }

    /// The bytes of all text, for estimates of tokens.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Appends an entry.
    pub fn push(&mut self, entry: Entry) {
        self.bytes = self.bytes.saturating_add(entry.bytes());
        self.entries.push(Arc::new(entry));
    }

    /// The last reply without calls, if the last entry is one.
    #[must_use]
    pub fn last_text(&self) -> Option<&Arc<str>> {
        match self.entries.last().map(Arc::as_ref) {
            Some(Entry::Text(said)) => Some(&said.text),
            Some(Entry::User(_) | Entry::Turn(_)) | None => None,
        }
    }
}

impl Entry {
    fn bytes(&self) -> u64 {
        let call = |(call, result): &(ProposedCall, CallResult)| {
            call.name.len() + call.arguments.len() + result.text.len()
        };
        let bytes = match self {
            Self::User(text) => text.len(),
            Self::Text(said) => said.text.len(),
            Self::Turn(turn) => turn.said.text.len() + turn.calls.iter().map(call).sum::<usize>(),
        };
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}
