//! Why a wish is not carried out, and why there is no socket.

use std::path::PathBuf;
use std::sync::Arc;

use kinfolk_actors::agent::{Refusal, RefusalCode};
use serde::{Deserialize, Serialize};

use crate::ports::store::StoreError;

/// A wish was not carried out. It goes over the wire as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct ControlError {
    /// What kind of failure it is. Code branches on it.
    pub code: ControlCode,
    /// Why a run refused it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<RefusalCode>,
    /// What happened, to what, and what to do. For people.
    pub message: Arc<str>,
}

/// The stable codes of the control socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ControlCode {
    /// The line is not a request.
    #[serde(rename = "control.bad_request")]
    BadRequest,
    /// The line is too long.
    #[serde(rename = "control.too_long")]
    TooLong,
    /// Nothing has that id or name.
    #[serde(rename = "control.not_found")]
    NotFound,
    /// The run or agent does not take it; the message says why.
    #[serde(rename = "control.refused")]
    Refused,
    /// The owner has too much to do, or is ending.
    #[serde(rename = "control.unavailable")]
    Unavailable,
    /// Something that the owner needs failed.
    #[serde(rename = "control.failed")]
    Failed,
    /// A code that this version does not know.
    #[serde(rename = "control.other", other)]
    Other,
}

impl ControlError {
    /// An error of that code.
    #[must_use]
    pub fn new(code: ControlCode, message: impl Into<Arc<str>>) -> Self {
        Self { code, refusal: None, message: message.into() }
    }

    /// A run has refused it.
    #[must_use]
    pub fn refused(refusal: &Refusal) -> Self {
        let code = match refusal.code() {
            RefusalCode::UnknownAsk => ControlCode::NotFound,
            RefusalCode::TooMuchWaiting => ControlCode::Unavailable,
            RefusalCode::RunActive
            | RefusalCode::AtRest
            | RefusalCode::AlreadyEnding
            | RefusalCode::Sealed
            | RefusalCode::NotALead
            | RefusalCode::NotInterrupted
            | RefusalCode::NothingQueued
            | RefusalCode::HistoryChanged
            | RefusalCode::Stale
            | RefusalCode::Misfit
            | RefusalCode::AlreadyAnswered
            | RefusalCode::StaleAnswer
            | RefusalCode::NotAwaited
            | RefusalCode::NothingToCompact
            | RefusalCode::NoSuchTool => ControlCode::Refused,
        };
        Self { code, refusal: Some(refusal.code()), message: refusal.to_string().into() }
    }
}

impl From<StoreError> for ControlError {
    fn from(error: StoreError) -> Self {
        let code = match &error {
            StoreError::Overloaded | StoreError::Closed => ControlCode::Unavailable,
            StoreError::Fenced { .. }
            | StoreError::InUse { .. }
            | StoreError::NewerFormat { .. }
            | StoreError::Open { .. }
            | StoreError::Damaged { .. }
            | StoreError::Write { .. }
            | StoreError::Broken { .. }
            | StoreError::Read { .. } => ControlCode::Failed,
        };
        Self::new(code, error.to_string())
    }
}

/// There is no control socket, or it cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// Nobody listens: no process owns the data directory.
    #[error("no process owns {}", .0.display())]
    NoOwner(PathBuf),
    /// Another process listens on it.
    #[error("another process listens on {}", .0.display())]
    InUse(PathBuf),
    /// Something else has its name.
    #[error("{} is not a socket; move it away", .0.display())]
    NotASocket(PathBuf),
    /// It belongs to somebody else, or others may use it.
    #[error("{} could be somebody else's ({why}); it is not used", path.display())]
    NotPrivate {
        /// The socket.
        path: PathBuf,
        /// What speaks against it.
        why: &'static str,
    },
    /// Its path is longer than sockets may have, and there is no shorter way to it.
    #[error(
        "the path of {} is longer than the {limit} bytes of a socket; use a shorter --data",
        path.display()
    )]
    PathTooLong {
        /// The socket.
        path: PathBuf,
        /// The most bytes.
        limit: usize,
    },
    /// The system refused.
    #[error("the control socket {} cannot be used: {error}", path.display())]
    Io {
        /// The socket.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// The owner did not answer as it should.
    #[error("the owner of {} did not answer: {detail}", path.display())]
    Broken {
        /// The socket.
        path: PathBuf,
        /// What was wrong.
        detail: String,
    },
    /// The owner refused.
    #[error(transparent)]
    Refused(#[from] ControlError),
}
