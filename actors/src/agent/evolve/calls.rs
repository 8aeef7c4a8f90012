//! What becomes of calls and of the subagents that they start.

use std::mem;
use std::sync::Arc;

use super::super::{AgentState, CallState, Child, ChildState, Left, Phase, Turn};
use crate::agent::arguments;
use crate::call::CallKind;
use crate::event::{
    CallAudited, ChildMode, FinishReason, Outcome, SubagentStarted, ToolFinished, ToolStarted,
    UserMessage,
};
use crate::id::CallId;
use crate::transcript::Entry;

pub(super) fn start(state: &mut AgentState, started: &ToolStarted) {
    let Some(turn) = open_turn(&mut state.phase) else { return };
    turn.dispatch(started.call, started.deadline);
    let stops = turn.call(started.call).is_some_and(|call| call.proposed.kind == CallKind::Stop);
    if stops && let Some(target) = arguments::target(&started.arguments) {
        for child in state.children.values_mut() {
            if child.started.subagent == target && child.is_live() {
                child.state = ChildState::Stopping;
            }
        }
    }
}

pub(super) fn audited(state: &mut AgentState, audited: &CallAudited) {
    // A call that a person has to see is asked about in the same record.
    if let Some(turn) = open_turn(&mut state.phase) {
        turn.set_state(audited.call, CallState::Proposed);
    }
}

pub(super) fn deferred(state: &mut AgentState, call: CallId) {
    if let Some(turn) = open_turn(&mut state.phase) {
        turn.set_state(call, CallState::Deferred);
    }
}

pub(super) fn enter_child(state: &mut AgentState, started: &SubagentStarted) {
    let child = Child { started: started.clone(), state: ChildState::Live, asked: None };
    state.children.insert(started.for_call, child);
}

/// A subagent in the background has ended. Its notice enters the history before the next request,
/// or is held for the call that waits for it.
pub(super) fn take_notice(state: &mut AgentState, message: &UserMessage) {
    let Some(call) = message.for_call else { return };
    let held = is_awaited(state, call, message.ended);
    if let (Some(child), Some((status, _))) = (state.children.get_mut(&call), message.ended) {
        let held = held.then(|| Arc::clone(&message.text));
        child.state = ChildState::Reported { status, held };
    }
    if !held {
        state.pending.push(Arc::clone(&message.text));
    }
}

/// A subagent asks. One whose call waited for it goes on in the background.
pub(super) fn take_question(state: &mut AgentState, message: &UserMessage) {
    let Some(child) = message.for_call.and_then(|call| state.children.get_mut(&call)) else {
        return;
    };
    child.asked = message.question;
    child.started.mode = ChildMode::Background;
}

/// Whether a call that has begun waits for the subagent of that call.
fn is_awaited(state: &AgentState, child: CallId, ended: Option<(Outcome, FinishReason)>) -> bool {
    let Some(subagent) = state.children.get(&child).map(|child| child.started.subagent) else {
        return false;
    };
    state.turn().is_some_and(|turn| {
        turn.dispatched().any(|call| match call.kind {
            CallKind::Wait => arguments::waits_for(&call.arguments, subagent),
            // A stop says only how it ended; one that was faster has a report to be read.
            CallKind::Stop => {
                arguments::target(&call.arguments) == Some(subagent)
                    && ended.is_some_and(|(status, _)| status == Outcome::Cancelled)
            }
            CallKind::Tool(_)
            | CallKind::Client(_)
            | CallKind::Subagent
            | CallKind::ClientSubagent
            | CallKind::Spawn
            | CallKind::Tell
            | CallKind::AskUser
            | CallKind::AskParent
            | CallKind::Return
            | CallKind::Invalid => false,
        })
    })
}

/// Settles a call, and moves the turn into the transcript once it was the last.
pub(super) fn settle(state: &mut AgentState, finished: &ToolFinished) {
    settle_child(state, finished);
    release_held(state, finished.call);
    let Some(turn) = open_turn(&mut state.phase) else { return };
    turn.settle(finished.call, finished.result.clone());
    if !turn.is_settled() {
        return;
    }
    let turn = match &mut state.phase {
        Phase::Ending(closing) => match mem::replace(&mut closing.left, Left::Nothing) {
            Left::Turn(turn) => turn,
            Left::Nothing | Left::Request(_) | Left::Summary(_) => return,
        },
        phase => match mem::replace(phase, Phase::Deciding) {
            Phase::Acting(turn) => turn,
            Phase::Resting
            | Phase::Deciding
            | Phase::Thinking { .. }
            | Phase::Compacting(_)
            | Phase::Asking(_)
            | Phase::Interrupted
            | Phase::Ending(_)
            | Phase::Done(_) => return,
        },
    };
    if let Ok(settled) = turn.into_settled() {
        for (call, result) in &settled.calls {
            state.run.repeats.count(call, result);
        }
        state.transcript.push(Entry::Turn(settled));
    }
}

/// A subagent whose notice is the call's result has reported with it.
fn settle_child(state: &mut AgentState, finished: &ToolFinished) {
    let Some(child) = state.children.get_mut(&finished.call) else { return };
    if child.started.mode == ChildMode::Foreground && child.is_live() {
        let status = finished.result.status.as_end();
        child.state = ChildState::Reported { status, held: None };
    }
}

/// The notices that a call waited for are in its result now.
fn release_held(state: &mut AgentState, call: CallId) {
    let Some(call) = state.turn().and_then(|turn| turn.call(call)) else { return };
    let arguments = Arc::clone(&call.proposed.arguments);
    let released: fn(&str, crate::id::AgentId) -> bool = match call.proposed.kind {
        CallKind::Wait => arguments::waits_for,
        CallKind::Stop => |arguments, subagent| arguments::target(arguments) == Some(subagent),
        CallKind::Tool(_)
        | CallKind::Client(_)
        | CallKind::Subagent
        | CallKind::ClientSubagent
        | CallKind::Spawn
        | CallKind::Tell
        | CallKind::AskUser
        | CallKind::AskParent
        | CallKind::Return
        | CallKind::Invalid => return,
    };
    for child in state.children.values_mut() {
        if let ChildState::Reported { held, .. } = &mut child.state
            && released(&arguments, child.started.subagent)
        {
            *held = None;
        }
    }
}

pub(super) fn open_turn(phase: &mut Phase) -> Option<&mut Turn> {
    match phase {
        Phase::Acting(turn) => Some(turn),
        Phase::Ending(closing) => match &mut closing.left {
            Left::Turn(turn) => Some(turn),
            Left::Nothing | Left::Request(_) | Left::Summary(_) => None,
        },
        Phase::Resting
        | Phase::Deciding
        | Phase::Thinking { .. }
        | Phase::Compacting(_)
        | Phase::Asking(_)
        | Phase::Interrupted
        | Phase::Done(_) => None,
    }
}
