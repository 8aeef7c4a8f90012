//! The port to durable storage: one stream of records a session, one owner at a time.
//!
//! The log itself refuses a stale owner: an append names the epoch of its claim and the head that
//! it expects, and the store checks both. Nothing above may assume one process.

use std::sync::Arc;

use futures::future::BoxFuture;
use kinfolk_actors::event::{Event, Recorded};
use kinfolk_actors::failure::{ErrorCode, Failure};
use kinfolk_actors::family::FamilyHash;
use kinfolk_actors::id::{AgentId, Attempt, Offset, RunId, SessionId};
use kinfolk_actors::time::Timestamp;

/// Who owns a session, as a number that only grows. Each claim makes the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub u64);

/// What a claim gives its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The owner's epoch. Appends of every older one are refused from here on.
    pub epoch: Epoch,
    /// The offset that the session's next event gets.
    pub head: Offset,
}

/// The events of one decision of one agent: one append, one record, all or nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The session.
    pub session: SessionId,
    /// The run.
    pub run: RunId,
    /// The run's activation.
    pub attempt: Attempt,
    /// The agent that decided.
    pub agent: AgentId,
    /// When, by the shell's clock.
    pub at: Timestamp,
    /// The offset of the first event; the others follow without gaps.
    pub first: Offset,
    /// At least one event.
    pub events: Vec<Event>,
}

impl Record {
    /// The offset after the last event.
    #[must_use]
    pub fn end(&self) -> Offset {
        Offset(self.first.0.saturating_add(u64::try_from(self.events.len()).unwrap_or(u64::MAX)))
    }

    /// The events with their places.
    pub fn recorded(&self) -> impl Iterator<Item = Recorded> + '_ {
        (self.first.0..).zip(&self.events).map(|(offset, event)| Recorded {
            offset: Offset(offset),
            session: self.session.clone(),
            run: self.run,
            attempt: self.attempt,
            agent: self.agent,
            at: self.at,
            event: event.clone(),
        })
    }
}

/// One append.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Append {
    /// The epoch of the owner's claim.
    pub epoch: Epoch,
    /// The record. Its `first` has to be the session's head.
    pub record: Arc<Record>,
    /// A frozen family that the events name, stored under its hash before they are.
    pub family: Option<(FamilyHash, Arc<str>)>,
}

/// A run in the store's index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSummary {
    /// The run.
    pub run: RunId,
    /// Its session.
    pub session: SessionId,
    /// The offset of its `run_started`.
    pub first: Offset,
    /// When it started.
    pub started: Timestamp,
    /// The offset of its `run_finished`, once it has one.
    pub finished: Option<Offset>,
}

/// A session in the store's index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSummary {
    /// The session.
    pub session: SessionId,
    /// The offset that its next event gets; the number of its events.
    pub head: Offset,
    /// Its newest run.
    pub newest: Option<RunSummary>,
}

/// Durable storage. Every future is safe to drop: what it began still happens as a whole or not at
/// all, and the caller must read the head again before it decides anything.
pub trait Store: Send + Sync + 'static {
    /// Makes the caller the session's only owner. Creates the session if it is new.
    ///
    /// # Errors
    /// [`StoreError::Write`] if the claim could not be recorded.
    fn claim<'a>(&'a self, session: &'a SessionId) -> BoxFuture<'a, Result<Claim, StoreError>>;

    /// Commits a group of appends, of any sessions, in the given order. Returns when all that was
    /// accepted is durable, with one verdict each, in the same order.
    ///
    /// A refused append does not stop the others. Two appends of one session in a group build on
    /// each other; if the first is refused, so is the second.
    fn commit(&self, group: Vec<Append>) -> BoxFuture<'_, Vec<Result<(), StoreError>>>;

    /// Commits one append without waiting for anything, if the store can (memory can). `None`
    /// means that [`Store::commit`] has to be used.
    fn commit_now(&self, append: &Append) -> Option<Result<(), StoreError>> {
        let _ = append;
        None
    }

    /// Reads a session's records from the one that holds `from` on, oldest first, at most `limit`
    /// records. An unknown session has none.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if a record in the range cannot be read whole; what stands before
    /// it can be read by a smaller `limit`.
    fn read<'a>(
        &'a self,
        session: &'a SessionId,
        from: Offset,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Arc<Record>>, StoreError>>;

    /// The frozen family of that hash, as JSON text.
    ///
    /// # Errors
    /// [`StoreError::Read`] or [`StoreError::Damaged`].
    fn family(&self, hash: FamilyHash) -> BoxFuture<'_, Result<Option<Arc<str>>, StoreError>>;

    /// Every session, the one with the newest run first.
    ///
    /// # Errors
    /// [`StoreError::Read`] or [`StoreError::Damaged`].
    fn sessions(&self) -> BoxFuture<'_, Result<Vec<SessionSummary>, StoreError>>;

    /// A session by its name.
    ///
    /// # Errors
    /// [`StoreError::Read`] or [`StoreError::Damaged`].
    fn session<'a>(
        &'a self,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Option<SessionSummary>, StoreError>>;

    /// A run by its id.
    ///
    /// # Errors
    /// [`StoreError::Read`] or [`StoreError::Damaged`].
    fn run(&self, run: RunId) -> BoxFuture<'_, Result<Option<RunSummary>, StoreError>>;
}

/// A store refused or failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The append comes from an owner that is not the owner any more, or from a wrong head.
    #[error(
        "session `{session}` has another owner or head: this append is of epoch {}, head {head}",
        epoch.0
    )]
    Fenced {
        /// The session.
        session: SessionId,
        /// The epoch of the append.
        epoch: Epoch,
        /// The head that the append expected.
        head: Offset,
    },
    /// Another process has the store open.
    #[error("the store {path} is in use by {owner}; end that process or choose another --data")]
    InUse {
        /// The store's directory.
        path: String,
        /// Who owns it, for people.
        owner: String,
    },
    /// The store was written by a newer version.
    #[error(
        "the store {path} has format {found} and this version reads up to {known}; \
         use the version that wrote it or a newer one"
    )]
    NewerFormat {
        /// The store's directory.
        path: String,
        /// The format found.
        found: u16,
        /// The newest format known.
        known: u16,
    },
    /// The store could not be opened.
    #[error("the store {path} cannot be opened: {detail}")]
    Open {
        /// The store's directory.
        path: String,
        /// What the system said.
        detail: String,
    },
    /// A stored record is damaged. It is kept as it is.
    #[error("{what} is damaged: {detail}; it is kept for inspection and was not used")]
    Damaged {
        /// Which record.
        what: String,
        /// What is wrong with it.
        detail: String,
    },
    /// A write failed; nothing of it is acknowledged.
    #[error("a write to the store failed: {detail}; free space or mend the disk, then resume")]
    Write {
        /// What the system said.
        detail: String,
    },
    /// An earlier write failed and nobody knows what of it the disk has: the store does nothing more
    /// until it is opened again.
    #[error("the store stopped after a failed write: {detail}; mend the disk and open it again")]
    Broken {
        /// What failed.
        detail: String,
    },
    /// A read failed.
    #[error("a read from the store failed: {detail}")]
    Read {
        /// What the system said.
        detail: String,
    },
    /// The writer's queue is full.
    #[error("the store's writer has too much queued; try again later")]
    Overloaded,
    /// The store is closed.
    #[error("the store is closed; its runtime has ended")]
    Closed,
}

impl StoreError {
    /// The error as a failure of a run.
    #[must_use]
    pub fn failure(&self) -> Failure {
        let code = match self {
            Self::Fenced { .. } | Self::InUse { .. } => ErrorCode::StoreFenced,
            Self::Damaged { .. } | Self::NewerFormat { .. } => ErrorCode::StoreDamaged,
            Self::Open { .. } | Self::Read { .. } => ErrorCode::StoreReadFailed,
            Self::Write { .. } | Self::Broken { .. } => ErrorCode::StoreWriteFailed,
            Self::Overloaded => ErrorCode::Overloaded,
            Self::Closed => ErrorCode::ServiceDown,
        };
        Failure::new(code, self.to_string())
    }
}
