//! What becomes of questions to people.

use std::sync::Arc;

use super::super::{About, AgentState, Ask, CallState, Phase, Wait, repeats};
use super::calls::open_turn;
use crate::event::{
    ApprovalRequested, ApprovalSettled, ApprovalSubject, Decision, QuestionAnswered, QuestionAsked,
    QuestionKind,
};
use crate::id::{AskId, CallId};

pub(super) fn request_approval(state: &mut AgentState, requested: &ApprovalRequested) {
    let about = match &requested.subject {
        ApprovalSubject::Tool { call, .. } => {
            await_person(state, *call, requested.approval);
            About::Call(*call)
        }
        ApprovalSubject::Limit { limit } => {
            state.phase = Phase::Asking(requested.approval);
            About::Limit(*limit)
        }
    };
    let ask = Ask { about, deadline: requested.deadline, settled: None };
    state.asks.insert(requested.approval, ask);
}

pub(super) fn settle_approval(state: &mut AgentState, settled: &ApprovalSettled) {
    let Some(ask) = state.asks.get_mut(&settled.approval) else { return };
    ask.settled = Some(settled.decision);
    match (&ask.about, settled.decision) {
        (About::Call(call), Decision::Approved) => {
            let call = *call;
            if let Some(turn) = open_turn(&mut state.phase) {
                turn.set_state(call, CallState::Proposed);
            }
        }
        (About::Call(call), Decision::Denied | Decision::DeniedAndStop) => {
            let call = *call;
            let denied = state.turn().and_then(|turn| turn.call(call));
            let digest = denied.map(|entry| repeats::digest(&entry.proposed));
            state.run.denied.extend(digest);
        }
        (About::Call(_), Decision::Expired | Decision::Withdrawn) => {}
        (About::Limit(_), Decision::Approved) => state.run.limit = None,
        (
            About::Limit(_),
            Decision::Denied | Decision::DeniedAndStop | Decision::Expired | Decision::Withdrawn,
        ) => {}
        (About::Words { .. }, _) => {}
    }
    leave(state, settled.approval);
}

pub(super) fn ask(state: &mut AgentState, asked: &QuestionAsked) {
    match asked.call {
        Some(call) => await_person(state, call, asked.question),
        None => state.phase = Phase::Asking(asked.question),
    }
    let about = About::Words {
        call: asked.call,
        parent: asked.kind == QuestionKind::Parent,
        text: Arc::clone(&asked.text),
    };
    state.asks.insert(asked.question, Ask { about, deadline: None, settled: None });
}

pub(super) fn answer(state: &mut AgentState, answered: &QuestionAnswered) {
    if let Some(ask) = state.asks.get_mut(&answered.question) {
        ask.settled = Some(Decision::Approved);
    }
    leave(state, answered.question);
}

fn await_person(state: &mut AgentState, call: CallId, ask: AskId) {
    if let Some(turn) = open_turn(&mut state.phase) {
        turn.set_state(call, CallState::Waiting(Wait::Person(ask)));
    }
}

/// An agent that did nothing but ask goes on.
fn leave(state: &mut AgentState, ask: AskId) {
    if state.phase == Phase::Asking(ask) {
        state.phase = Phase::Deciding;
    }
}
