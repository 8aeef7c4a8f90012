//! What can go wrong at the runtime's surface, one type a question.

use kinfolk_actors::agent::Refusal;
use kinfolk_actors::failure::Failure;
use kinfolk_actors::id::{InvalidId, RunId, SessionId};

use super::assemble::FamilyError;
use crate::ports::store::StoreError;

/// A runtime did not start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuntimeError {
    /// Its store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Its supervisors did not come up.
    #[error("the runtime did not start: {0}")]
    Supervision(String),
}

/// A session was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Its name is not a valid session id.
    #[error(transparent)]
    Name(#[from] InvalidId),
    /// Its family cannot be used.
    #[error(transparent)]
    Family(#[from] FamilyError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A run was not started or resumed.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The session has a run that is not finished.
    #[error(
        "session `{session}` has the unfinished run {run}; wait for it, cancel it or resume it"
    )]
    RunActive {
        /// The session.
        session: SessionId,
        /// Its unfinished run.
        run: RunId,
    },
    /// The session was opened without a family, which only a resume can do without.
    #[error("session `{0}` was opened without a family; give it one with `SessionBuilder::family`")]
    NoFamily(SessionId),
    /// The session has no run to resume.
    #[error("session `{0}` has no run to resume; start one")]
    NothingToResume(SessionId),
    /// The store has no such run.
    #[error("there is no run {0} in the store")]
    NoSuchRun(RunId),
    /// The journal names a frozen family that the store does not have.
    #[error("run {0} cannot be resumed: the store lost the family that it was started with")]
    FamilyLost(RunId),
    /// The session cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The session does not take the run as it stands.
    #[error(transparent)]
    Refused(Refusal),
    /// The family could not begin.
    #[error(transparent)]
    Failed(Failure),
    /// The runtime is shutting down.
    #[error("the runtime is shutting down")]
    ShuttingDown,
}

impl From<FamilyError> for StartError {
    fn from(error: FamilyError) -> Self {
        Self::Open(OpenError::Family(error))
    }
}

/// A run has no outcome to show.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutcomeError {
    /// The family could not go on and could not journal an end either. The run can be resumed once
    /// the cause is mended.
    #[error("the run could not go on: {0}")]
    Broken(Failure),
    /// The runtime was shut down before the run ended. The run can be resumed.
    #[error("the runtime was shut down before the run ended; it can be resumed")]
    ShutDown,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A cancel did not reach the run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CancelError {
    /// The run is over.
    #[error("the run is over; there is nothing to cancel")]
    NotActive,
    /// The run ended without a terminal event.
    #[error(transparent)]
    Outcome(#[from] OutcomeError),
}

/// A wish did not get into its run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WishError {
    /// The run does not take it; nothing has changed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The run does not live in this runtime: it is over, or was not resumed here.
    #[error("the run is not at work here; it is over, or has to be resumed first")]
    NotActive,
    /// More waits for the run than it can hold; nothing has changed.
    #[error("more waits for the run than it can hold; try again when it has caught up")]
    Overloaded,
    /// The family restarted in the middle. Whether the wish was taken is in the run's events.
    #[error(
        "the family restarted while it was told; look at the run's events before it is repeated"
    )]
    Unknown,
}
