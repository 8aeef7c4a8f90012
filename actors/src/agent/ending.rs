//! The end of an agent from outside: admission closes first, then what is in flight is stopped,
//! and only when the last of it is gone does the terminal event follow.

use super::draft::Draft;
use super::{Phase, Refusal};
use crate::brain::StepContext;
use crate::call::{CallResult, CallStatus};
use crate::event::{Ending, Event};
use crate::instruction::FinishInstruction;

/// Begins to end an agent that may have work in flight.
pub(super) fn cancel(mut draft: Draft<'_>, ending: &Ending) -> Result<Vec<Event>, Refusal> {
    match &draft.state.phase {
        Phase::Resting if draft.machine.id().is_lead() => Err(Refusal::AtRest),
        Phase::Done(_) => Err(Refusal::AtRest),
        Phase::Ending(_) => Err(Refusal::AlreadyEnding),
        Phase::Resting
        | Phase::Deciding
        | Phase::Thinking { .. }
        | Phase::Acting(_)
        | Phase::Compacting(_)
        | Phase::Asking(_)
        | Phase::Interrupted => {
            begin(&mut draft, ending);
            Ok(draft.into_events())
        }
    }
}

/// Closes admission; ends at once if nothing is in flight.
pub(super) fn begin(draft: &mut Draft<'_>, ending: &Ending) {
    draft.push(Event::Ending(ending.clone()));
    let unbegun = draft.unbegun();
    if !unbegun.is_empty() {
        // The brain may say how its calls are settled; the agent ends whatever it says.
        let context = StepContext::HumanAbort { unbegun };
        let instructions = draft.machine.brain.next(&context, &draft.state);
        draft.resolve_aborted(&instructions);
    }
    let unbegun = draft.unbegun();
    let result = CallResult::new(CallStatus::Cancelled, "cancelled before it began");
    draft.refuse_calls(&unbegun, &result);
    let elsewhere = deferred(draft);
    let text = "cancelled before its answer came; whether it happened is not known";
    draft.refuse_calls(&elsewhere, &CallResult::new(CallStatus::Cancelled, text));
    draft.finish_ending();
}

/// What somebody outside has begun cannot be stopped from here; whether it happened is not known.
fn deferred(draft: &Draft<'_>) -> Vec<crate::id::CallId> {
    let turn = draft.state.turn().into_iter();
    turn.flat_map(|turn| turn.deferred().map(|call| call.call)).collect()
}

/// Ends an agent that has nothing in flight.
pub(super) fn finish_now(draft: &mut Draft<'_>, ending: &Ending) {
    draft.finish_now(&FinishInstruction {
        outcome: ending.outcome,
        reason: ending.finish_reason,
        text: std::sync::Arc::clone(&ending.text),
        error: ending.error.clone(),
        detail: None,
    });
}
