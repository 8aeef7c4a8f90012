//! The end of an agent from outside: admission closes first, then what is in flight is stopped,
//! and only when the last of it is gone does the terminal event follow.

use super::draft::Draft;
use super::{Phase, Refusal, Turn};
use crate::call::{CallResult, CallStatus};
use crate::event::{Ending, Event};
use crate::id::CallId;
use crate::instruction::FinishInstruction;
use crate::time::Millis;

/// Begins to end an agent that may have work in flight.
pub(super) fn cancel(mut draft: Draft<'_>, ending: &Ending) -> Result<Vec<Event>, Refusal> {
    match &draft.state.phase {
        Phase::Resting if draft.machine.id().is_lead() => Err(Refusal::AtRest),
        Phase::Done(_) => Err(Refusal::AtRest),
        Phase::Ending(_) => Err(Refusal::AlreadyEnding),
        Phase::Resting | Phase::Deciding => {
            finish_now(&mut draft, ending);
            Ok(draft.into_events())
        }
        Phase::Thinking { .. } => {
            draft.push(Event::Ending(ending.clone()));
            Ok(draft.into_events())
        }
        Phase::Acting(turn) => {
            let turn = turn.clone();
            end_turn(&mut draft, turn, ending);
            Ok(draft.into_events())
        }
    }
}

/// Closes admission for the calls of a turn; ends at once if none of them is in flight.
pub(super) fn end_turn(draft: &mut Draft<'_>, mut turn: Turn, ending: &Ending) {
    draft.push(Event::Ending(ending.clone()));
    let unbegun: Vec<CallId> = turn.waiting().map(|call| call.call).collect();
    for call in unbegun {
        let result = CallResult::new(CallStatus::Cancelled, "cancelled before it began");
        draft.finish_call(&mut turn, call, result, Millis::default());
    }
    if turn.is_settled() {
        finish_now(draft, ending);
    }
}

/// Ends an agent that has nothing in flight.
pub(super) fn finish_now(draft: &mut Draft<'_>, ending: &Ending) {
    draft.finish(&FinishInstruction {
        outcome: ending.outcome,
        reason: ending.finish_reason,
        text: "".into(),
        error: ending.error.clone(),
    });
}
