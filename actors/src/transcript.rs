//! What an agent has said and heard, in the order in which it goes to the model.
//!
//! A turn enters only when each of its calls is settled, so a request built from here can never
//! hold a call without its result.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::call::{CallResult, ProposedCall};
use crate::estimate;
use crate::event::Reply;

/// An agent's settled history. Entries are immutable and shared. A clone costs the same at any
/// length: it shares what is there and keeps what is added to it beside.
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    /// What is shared with clones while there are any.
    base: Arc<Vec<Arc<Entry>>>,
    /// What was added while the base was shared.
    tail: Vec<Arc<Entry>>,
    tokens: u64,
}

/// One settled part of a history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Entry {
    /// Input to the agent.
    User(Arc<str>),
    /// Words beside the input: guidance, a notice, a hint. They go out as a user's message but are
    /// not the task at hand.
    Note(Arc<str>),
    /// What stands for the older part of a compacted history, marked as the model's own notes.
    Summary(Arc<str>),
    /// A reply without calls.
    Text(Said),
    /// A reply with calls and the one result of each, in call order.
    Turn(SettledTurn),
}

/// What a summary begins with. The model must not take its own notes for facts or for orders.
const NOTES: &str = "[Notes on the earlier part of this conversation. It was compacted; these are \
    your own notes and not a message of the user. Files, processes and other state may have \
    changed since they were written: observe them again before you rely on them. The user's \
    newest message stands below as it was written; work on it may have begun, as the notes say.]";

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
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = &Arc<Entry>> {
        self.base.iter().chain(&self.tail)
    }

    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.base.len() + self.tail.len()
    }

    /// Whether nothing was said or heard.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entry at that place.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<&Arc<Entry>> {
        self.base.get(at).or_else(|| self.tail.get(at.checked_sub(self.base.len())?))
    }

    /// The newest entry.
    #[must_use]
    pub fn last(&self) -> Option<&Entry> {
        self.entries().next_back().map(Arc::as_ref)
    }

    /// The estimated tokens of all entries.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.tokens
    }

    /// Appends an entry.
    pub fn push(&mut self, entry: Entry) {
        self.push_shared(Arc::new(entry));
    }

    fn push_shared(&mut self, entry: Arc<Entry>) {
        self.tokens = self.tokens.saturating_add(estimate::entry(&entry));
        match Arc::get_mut(&mut self.base) {
            Some(base) => {
                base.append(&mut self.tail);
                base.push(entry);
            }
            None => self.tail.push(entry),
        }
    }

    /// The last reply without calls, if the last entry is one.
    #[must_use]
    pub fn last_text(&self) -> Option<&Arc<str>> {
        match self.last() {
            Some(Entry::Text(said)) => Some(&said.text),
            Some(Entry::User(_) | Entry::Note(_) | Entry::Summary(_) | Entry::Turn(_)) | None => {
                None
            }
        }
    }

    /// What the model said last, with calls or without.
    #[must_use]
    pub fn last_said(&self) -> Option<&Arc<str>> {
        self.entries().rev().find_map(|entry| match entry.as_ref() {
            Entry::Text(said) => Some(&said.text),
            Entry::Turn(turn) => Some(&turn.said.text),
            Entry::User(_) | Entry::Note(_) | Entry::Summary(_) => None,
        })
    }

    /// The newest turn.
    #[must_use]
    pub fn last_turn(&self) -> Option<&SettledTurn> {
        self.entries().rev().find_map(|entry| match entry.as_ref() {
            Entry::Turn(turn) => Some(turn),
            Entry::Text(_) | Entry::User(_) | Entry::Note(_) | Entry::Summary(_) => None,
        })
    }

    /// The notes that stand for the older part, if the history was compacted.
    #[must_use]
    pub fn summary(&self) -> Option<&str> {
        // A summary is the oldest entry of a history.
        match self.get(0).map(Arc::as_ref) {
            Some(Entry::Summary(text)) => Some(notes_of(text)),
            Some(Entry::User(_) | Entry::Note(_) | Entry::Text(_) | Entry::Turn(_)) | None => None,
        }
    }

    /// The history after a compaction: the summary, the newest input if it is older than what is
    /// kept, and the entries from `kept_from` on. Opaque provider blocks of kept entries are left
    /// out, all of them: they were made under a prefix that is no more, and providers refuse them.
    #[must_use]
    pub fn compacted(&self, kept_from: usize, summary: &str) -> Self {
        let mut compacted = Self::default();
        compacted.push(Entry::Summary(format!("{NOTES}\n\n{summary}").into()));
        let newest = newest_input(self).filter(|at| *at < kept_from);
        let newest = newest.and_then(|at| self.get(at));
        let kept = self.entries().skip(kept_from);
        for entry in newest.into_iter().chain(kept) {
            compacted.push_shared(without_opaque(entry));
        }
        compacted
    }
}

impl PartialEq for Transcript {
    fn eq(&self, other: &Self) -> bool {
        let same = |(a, b): (&Arc<Entry>, &Arc<Entry>)| Arc::ptr_eq(a, b) || a == b;
        self.len() == other.len() && self.entries().zip(other.entries()).all(same)
    }
}

impl Serialize for Transcript {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.entries())
    }
}

impl<'de> Deserialize<'de> for Transcript {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let entries = Vec::<Entry>::deserialize(deserializer)?;
        Ok(entries.into_iter().collect())
    }
}

impl FromIterator<Entry> for Transcript {
    fn from_iter<I: IntoIterator<Item = Entry>>(entries: I) -> Self {
        let mut transcript = Self::default();
        entries.into_iter().for_each(|entry| transcript.push(entry));
        transcript
    }
}

/// Where the newest input stands. It is the task at hand, and in every later request.
#[must_use]
pub fn newest_input(transcript: &Transcript) -> Option<usize> {
    let behind = transcript.entries().rev().position(|entry| matches!(**entry, Entry::User(_)));
    behind.and_then(|behind| transcript.len().checked_sub(behind + 1))
}

/// The notes of a summary without the mark that it begins with.
pub(crate) fn notes_of(summary: &str) -> &str {
    summary.strip_prefix(NOTES).unwrap_or(summary).trim_start()
}

fn without_opaque(entry: &Arc<Entry>) -> Arc<Entry> {
    let plain = |said: &Said| Said { text: Arc::clone(&said.text), opaque: None };
    match &**entry {
        Entry::Text(said) if said.opaque.is_some() => Arc::new(Entry::Text(plain(said))),
        Entry::Turn(turn) if turn.said.opaque.is_some() => {
            let turn = SettledTurn { said: plain(&turn.said), calls: turn.calls.clone() };
            Arc::new(Entry::Turn(turn))
        }
        Entry::User(_) | Entry::Note(_) | Entry::Summary(_) | Entry::Text(_) | Entry::Turn(_) => {
            Arc::clone(entry)
        }
    }
}
