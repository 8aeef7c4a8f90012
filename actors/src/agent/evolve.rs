//! The fold of events into state. It touches what an event names, never the whole transcript.

use std::mem;
use std::sync::Arc;

use super::{AgentState, Child, Closing, Left, Phase, Turn};
use crate::event::{Event, Message, Reply, SubagentStarted, ToolFinished};
use crate::id::CallId;
use crate::transcript::{Entry, Said};

pub(super) fn evolve(state: &mut AgentState, event: &Event) {
    match event {
        Event::RunStarted(_) => {
            state.phase = Phase::Deciding;
            state.children.clear();
            state.runs += 1;
            state.requests = 0;
            state.calls = 0;
        }
        Event::RunResumed(_) => {}
        Event::Message(Message::User(message)) => {
            state.transcript.push(Entry::User(Arc::clone(&message.text)));
            state.phase = Phase::Deciding;
        }
        Event::Message(Message::Assistant(reply)) => take_reply(state, reply),
        Event::ModelRequest(requested) => {
            state.requests = requested.request.0;
            state.phase = Phase::Thinking { request: requested.request };
        }
        Event::ModelFailed(_) => request_over(state),
        Event::ToolStarted(started) => {
            if let Some(turn) = open_turn(state) {
                turn.dispatch(started.call);
            }
        }
        Event::ToolFinished(finished) => settle(state, finished),
        Event::SubagentStarted(started) => enter_child(state, started),
        Event::SubagentFinished(finished) => state.phase = Phase::Done(Box::new(finished.clone())),
        Event::Ending(ending) => {
            let left = match mem::take(&mut state.phase) {
                Phase::Thinking { request } => Left::Request(request),
                Phase::Acting(turn) => Left::Turn(turn),
                Phase::Ending(closing) => closing.left,
                Phase::Resting | Phase::Deciding | Phase::Done(_) => Left::Nothing,
            };
            state.phase = Phase::Ending(Box::new(Closing { ending: ending.clone(), left }));
        }
        Event::RunFinished(_) => {
            state.phase = Phase::Resting;
            state.children.clear();
        }
    }
}

fn take_reply(state: &mut AgentState, reply: &Reply) {
    state.calls += u32::try_from(reply.calls.len()).unwrap_or(u32::MAX);
    if reply.calls.is_empty() {
        state.transcript.push(Entry::Text(Said::from(reply)));
        request_over(state);
    } else {
        state.phase = Phase::Acting(Turn::new(reply));
    }
}

fn request_over(state: &mut AgentState) {
    match &mut state.phase {
        Phase::Ending(closing) => closing.left = Left::Nothing,
        Phase::Resting
        | Phase::Deciding
        | Phase::Thinking { .. }
        | Phase::Acting(_)
        | Phase::Done(_) => state.phase = Phase::Deciding,
    }
}

fn open_turn(state: &mut AgentState) -> Option<&mut Turn> {
    match &mut state.phase {
        Phase::Acting(turn) => Some(turn),
        Phase::Ending(closing) => match &mut closing.left {
            Left::Turn(turn) => Some(turn),
            Left::Nothing | Left::Request(_) => None,
        },
        Phase::Resting | Phase::Deciding | Phase::Thinking { .. } | Phase::Done(_) => None,
    }
}

fn enter_child(state: &mut AgentState, started: &SubagentStarted) {
    let child = Child { started: started.clone(), settled: None };
    state.children.insert(started.for_call, child);
}

/// Settles a call, and moves the turn into the transcript once it was the last.
fn settle(state: &mut AgentState, finished: &ToolFinished) {
    settle_child(state, finished.call, finished);
    let Some(turn) = open_turn(state) else { return };
    turn.settle(finished.call, finished.result.clone());
    if !turn.is_settled() {
        return;
    }
    let turn = match &mut state.phase {
        Phase::Ending(closing) => match mem::replace(&mut closing.left, Left::Nothing) {
            Left::Turn(turn) => turn,
            Left::Nothing | Left::Request(_) => return,
        },
        phase => match mem::replace(phase, Phase::Deciding) {
            Phase::Acting(turn) => turn,
            Phase::Resting
            | Phase::Deciding
            | Phase::Thinking { .. }
            | Phase::Ending(_)
            | Phase::Done(_) => return,
        },
    };
    if let Ok(settled) = turn.into_settled() {
        state.transcript.push(Entry::Turn(settled));
    }
}

fn settle_child(state: &mut AgentState, call: CallId, finished: &ToolFinished) {
    if let Some(child) = state.children.get_mut(&call) {
        child.settled = Some(finished.result.status);
    }
}
