//! The first decision of every load: what was in flight when the last generation died.
//!
//! Nothing of the old generation lives. Model requests, summaries and subagents are simply still
//! outstanding; questions and deferred calls go on waiting. A dispatched tool call runs again only
//! if its effect class allows it; otherwise its result is `unknown_outcome`, which the model reads
//! and nobody runs a second time.

use super::draft::Draft;
use super::{Phase, Recovered, ending};
use crate::brain::StepContext;
use crate::call::{CallResult, CallStatus};
use crate::event::{Event, RunResumed};
use crate::id::CallId;
use crate::subagent;
use crate::time::Millis;

pub(super) fn recover(mut draft: Draft<'_>, recovered: &Recovered) -> Vec<Event> {
    // An interrupted run is resumed by a person, not by a load.
    let goes_on = draft.state.is_active() && draft.state.phase != Phase::Interrupted;
    if draft.machine.id().is_lead() && goes_on {
        draft.push(Event::RunResumed(RunResumed {
            attempt: recovered.attempt,
            from_offset: draft.facts.head,
            raised: None,
        }));
    }
    match (&draft.state.phase, &recovered.end) {
        (Phase::Done(_), _) => {}
        (Phase::Resting, _) if draft.machine.id().is_lead() => {}
        (Phase::Resting, None) => subagent::begin(&mut draft),
        (Phase::Resting, Some(end)) => ending::finish_now(&mut draft, end),
        (Phase::Ending(_), _) => recover_ending(&mut draft),
        (
            Phase::Deciding
            | Phase::Thinking { .. }
            | Phase::Acting(_)
            | Phase::Compacting(_)
            | Phase::Asking(_)
            | Phase::Interrupted,
            Some(end),
        ) => {
            settle_unknown(&mut draft);
            ending::begin(&mut draft, end);
        }
        (Phase::Acting(_), None) => recover_turn(&mut draft),
        (Phase::Deciding, None) if !draft.state.has_live_children() => {
            draft.ask_brain(&StepContext::Init);
        }
        (
            Phase::Deciding
            | Phase::Thinking { .. }
            | Phase::Compacting(_)
            | Phase::Asking(_)
            | Phase::Interrupted,
            None,
        ) => {}
    }
    draft.into_events()
}

fn recover_ending(draft: &mut Draft<'_>) {
    settle_unknown(draft);
    draft.finish_ending();
}

fn recover_turn(draft: &mut Draft<'_>) {
    let settled = settle_unknown(draft);
    match draft.state.turn() {
        None => draft.after_turn(),
        Some(_) if settled > 0 => draft.advance(),
        Some(_) => {}
    }
}

/// Settles the dispatched calls that must not run a second time; how many there were.
fn settle_unknown(draft: &mut Draft<'_>) -> usize {
    let Some(turn) = draft.state.turn() else { return 0 };
    let unsafe_calls: Vec<CallId> = turn
        .dispatched()
        .filter(|call| call.effect().is_some_and(|effect| !effect.may_run_again()))
        .map(|call| call.call)
        .collect();
    let text = "the process died while this ran; whether it happened is not known. \
                Look before you do it again.";
    for call in &unsafe_calls {
        let result = CallResult::new(CallStatus::UnknownOutcome, text);
        draft.finish_call(*call, result, Millis::default());
    }
    unsafe_calls.len()
}
