//! The words in which outcomes without a result of their own are told.

use super::is_ending;
use crate::agent::Draft;
use crate::call::{CallResult, CallStatus, EffectClass, ProposedCall};
use crate::failure::{ErrorCode, Failure};

pub(super) fn call_panicked(message: &str) -> CallResult {
    CallResult::new(CallStatus::Error, format!("the tool failed inside: {message}"))
}

/// A change that was stopped in the middle may have happened; the model has to be told.
pub(super) fn tool_stopped(draft: &Draft<'_>, call: &ProposedCall) -> CallResult {
    let CallResult { status, text, full_size } = call_stopped(draft);
    if call.effect().is_none_or(EffectClass::may_run_again) {
        return CallResult { status, text, full_size };
    }
    CallResult::new(status, format!("{text}; whether it happened is not known"))
}

pub(super) fn call_stopped(draft: &Draft<'_>) -> CallResult {
    if is_ending(draft) {
        CallResult::new(CallStatus::Cancelled, "cancelled before it was done")
    } else if draft.state.run.is_out_of_time() {
        CallResult::new(
            CallStatus::Timeout,
            "stopped before it was done: the run's time is used up",
        )
    } else {
        CallResult::new(CallStatus::Error, "the call was stopped before it was done")
    }
}

pub(super) fn stopped_request() -> Failure {
    Failure::new(ErrorCode::ModelCancelled, "the request was stopped because its agent ends")
}

pub(super) fn no_time() -> Failure {
    Failure::new(ErrorCode::LimitTime, "the request was stopped: the run's time is used up")
}

pub(super) fn lost_request() -> Failure {
    Failure::new(ErrorCode::ServiceDown, "the model request was lost; start the run again")
}

pub(super) fn lost_child() -> Failure {
    Failure::new(ErrorCode::AgentCrashed, "the subagent was lost before it could report")
}

pub(super) fn panicked(what: &str, message: &str) -> Failure {
    Failure::new(ErrorCode::EffectPanicked, format!("{what} failed inside: {message}"))
}
