//! The first decision of every load: what was in flight when the last generation died.
//!
//! Nothing of the old generation lives. Model requests and subagents are simply still outstanding.
//! A dispatched tool call runs again only if its effect class allows it; otherwise its result is
//! `unknown_outcome`, which the model reads and nobody runs a second time.

use super::draft::Draft;
use super::ending::{end_turn, finish_now};
use super::{Left, Phase, Recovered, Turn};
use crate::brain::StepContext;
use crate::call::{CallResult, CallStatus};
use crate::event::{Ending, Event, RunResumed};
use crate::id::CallId;
use crate::subagent;
use crate::time::Millis;

pub(super) fn recover(mut draft: Draft<'_>, recovered: &Recovered) -> Vec<Event> {
    let state = draft.state;
    if draft.machine.id().is_lead() && state.is_active() {
        draft.push(Event::RunResumed(RunResumed {
            attempt: recovered.attempt,
            from_offset: draft.facts.head,
        }));
    }
    match (&state.phase, &recovered.end) {
        (Phase::Done(_), _) => {}
        (Phase::Resting, _) if draft.machine.id().is_lead() => {}
        (Phase::Resting, None) => subagent::begin(&mut draft),
        (Phase::Resting | Phase::Deciding, Some(end)) => finish_now(&mut draft, end),
        (Phase::Deciding, None) => draft.ask_brain(&StepContext::UserInput, None),
        (Phase::Thinking { .. }, None) => {}
        (Phase::Thinking { .. }, Some(end)) => draft.push(Event::Ending(end.clone())),
        (Phase::Acting(turn), end) => recover_turn(&mut draft, turn.clone(), end.as_ref()),
        (Phase::Ending(closing), _) => match &closing.left {
            Left::Nothing => draft.finish_ending(),
            Left::Request(_) => {}
            Left::Turn(turn) => {
                let turn = settle_unknown(&mut draft, turn.clone());
                if turn.is_settled() {
                    draft.finish_ending();
                }
            }
        },
    }
    draft.into_events()
}

fn recover_turn(draft: &mut Draft<'_>, turn: Turn, end: Option<&Ending>) {
    let begun_before = turn.dispatched().count();
    let turn = settle_unknown(draft, turn);
    match end {
        Some(end) => end_turn(draft, turn, end),
        None if turn.is_settled() => draft.ask_brain(&StepContext::ToolsBatchResult, Some(turn)),
        None if turn.dispatched().count() < begun_before => draft.go_on(Some(turn)),
        None => {}
    }
}

/// Settles the dispatched calls that must not run a second time.
fn settle_unknown(draft: &mut Draft<'_>, mut turn: Turn) -> Turn {
    let unsafe_calls: Vec<CallId> = turn
        .dispatched()
        .filter(|call| call.effect().is_some_and(|effect| !effect.may_run_again()))
        .map(|call| call.call)
        .collect();
    for call in unsafe_calls {
        let text = "the process died while this ran; whether it happened is not known. \
                    Look before you do it again.";
        let result = CallResult::new(CallStatus::UnknownOutcome, text);
        draft.finish_call(&mut turn, call, result, Millis::default());
    }
    turn
}
