//! The control socket: how other processes reach the runs of the process that owns a data directory.
//!
//! It is the Unix socket `control.sock` in that directory, mode 0600. One line of JSON is one
//! [`Request`]; it is answered by lines of JSON: any number of `{"part": TEXT}`, then one
//! `{"ok": …}` or `{"error": {"code", "message"}}`. A connection takes one request after the other.
//! What is asked is carried out by whoever implements [`Controlled`]; here is only the transport.

pub mod asks;
pub mod client;
mod error;
mod live;
pub mod look;
mod place;
pub mod server;
mod wire;

use std::path::Path;
use std::sync::Arc;

use futures::future::BoxFuture;
use kinfolk_actors::agent::Verdict;
use kinfolk_actors::id::{AskId, RunId, SessionId};
use kinfolk_actors::limits::Limits;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use self::asks::OpenAsk;
pub use self::error::{ControlCode, ControlError, SocketError};
use self::look::Look;
use crate::ports::store::Store;

/// The socket's name in a data directory.
pub const SOCKET: &str = "control.sock";

/// The most bytes of a request's line: the longest prompt, written as JSON with room for escapes.
pub const MAX_REQUEST: usize = 4 * 1024 * 1024;

/// Whoever holds live runs. Each future may be dropped without harm; what it began goes on.
pub trait Controlled: Send + Sync + 'static {
    /// The store, for reading.
    fn store(&self) -> Arc<dyn Store>;

    /// Answers an approval; returns when the answer is durable.
    fn approve(&self, approval: AskId, answer: Approval) -> Done<'_>;

    /// Answers a question; returns when the answer is durable.
    fn answer(&self, question: AskId, text: Arc<str>, by: Option<Arc<str>>) -> Done<'_>;

    /// Tells a run something; returns when it is durable.
    fn steer(&self, run: RunId, text: Arc<str>) -> Done<'_>;

    /// Keeps input for the next run of the run's session; returns when it is durable.
    fn queue(&self, run: RunId, text: Arc<str>) -> Done<'_>;

    /// Cancels a run; returns when its whole tree is dead.
    fn cancel(&self, run: RunId, reason: Arc<str>) -> Done<'_>;

    /// Compacts the history of a session, in its active run if it has one.
    fn compact(&self, session: SessionId) -> Done<'_>;
}

/// A wish that is carried out, or refused.
pub type Done<'a> = BoxFuture<'a, Result<(), ControlError>>;

/// What is asked of the owner of a data directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verb", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Look into the store; the text comes in parts.
    Inspect(Look),
    /// What waits for a person.
    Approvals,
    /// Answer an approval.
    Approve {
        /// Which.
        approval: AskId,
        /// The answer.
        answer: Approval,
    },
    /// Answer a question.
    Answer {
        /// Which.
        question: AskId,
        /// The answer.
        text: Arc<str>,
        /// Who gives it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Arc<str>>,
    },
    /// Tell a run something.
    Steer {
        /// Which.
        #[serde(deserialize_with = "run_id")]
        run: RunId,
        /// What.
        text: Arc<str>,
    },
    /// Keep input for the next run of a run's session.
    Queue {
        /// Which run makes way.
        #[serde(deserialize_with = "run_id")]
        run: RunId,
        /// The input.
        text: Arc<str>,
    },
    /// Cancel a run.
    Cancel {
        /// Which.
        #[serde(deserialize_with = "run_id")]
        run: RunId,
        /// Why, for people.
        reason: Arc<str>,
    },
    /// Compact a session's history.
    Compact {
        /// Which.
        session: SessionId,
    },
}

/// The answer to an approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    /// Yes or no.
    pub says: Say,
    /// Who gives it, as the host names people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Arc<str>>,
    /// Why, told to the model if it is a no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Arc<str>>,
    /// The limits from here on, if it is about a limit. Without, the limit that was reached is
    /// doubled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raised: Option<Limits>,
}

/// What a person says to an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Say {
    /// Yes.
    Approve,
    /// No; the model reads it as the call's result.
    Deny,
    /// No, and the run ends.
    DenyAndStop,
}

impl From<Say> for Verdict {
    fn from(say: Say) -> Self {
        match say {
            Say::Approve => Self::Approve,
            Say::Deny => Self::Deny,
            Say::DenyAndStop => Self::DenyAndStop,
        }
    }
}

/// What an owner answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// It is done.
    Done,
    /// What waits for a person.
    Asks(Vec<OpenAsk>),
}

/// A run's id with the words of the command line for one that is none.
fn run_id<'de, D: Deserializer<'de>>(from: D) -> Result<RunId, D::Error> {
    String::deserialize(from)?.parse().map_err(D::Error::custom)
}

/// Where the socket of a data directory stands.
#[must_use]
pub fn socket_of(data: &Path) -> std::path::PathBuf {
    data.join(SOCKET)
}

#[cfg(test)]
mod tests;
