//! The exit codes of the launcher.

use kinfolk_actors::event::{FinishReason, Outcome, RunFinished};

/// The run completed, wholly or in part.
pub const COMPLETED: u8 = 0;
/// The run failed, or something that it needs did.
pub const FAILED: u8 = 1;
/// The command line, the environment or the family file is wrong.
pub const USAGE: u8 = 2;
/// A limit stopped the run, or it was interrupted and can be resumed.
pub const LIMIT: u8 = 3;
/// The run waits for an answer or an approval.
pub const PARKED: u8 = 4;
/// The run was cancelled.
pub const CANCELLED: u8 = 130;

/// The exit code of a run that ended so.
#[must_use]
pub fn exit_code(finished: &RunFinished) -> u8 {
    match (finished.outcome, finished.finish_reason) {
        (Outcome::Completed | Outcome::PartialSuccess, _) => COMPLETED,
        (Outcome::Cancelled, _) => CANCELLED,
        (
            Outcome::Failed,
            FinishReason::MaxStepsExceeded
            | FinishReason::CostLimitExceeded
            | FinishReason::Timeout,
        ) => LIMIT,
        (
            Outcome::Failed,
            FinishReason::Completed
            | FinishReason::UserRequested
            | FinishReason::UserAborted
            | FinishReason::MaxStepsCompleted
            | FinishReason::AgentDecision
            | FinishReason::QueuedMessageInterrupt
            | FinishReason::ErrorRecovery
            | FinishReason::SystemShutdown
            | FinishReason::BudgetCompleted
            | FinishReason::LoopDetected,
        ) => FAILED,
    }
}
