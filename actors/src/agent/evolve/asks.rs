//! What becomes of questions to people.

use std::sync::Arc;

use super::super::{About, AgentState, Ask, CallState, Phase, Settled, Wait, repeats};
use super::calls::open_turn;
use crate::event::{
    ApprovalRequested, ApprovalSettled, ApprovalSubject, Decision, LimitReached, QuestionAnswered,
    QuestionAsked, QuestionKind,
};
use crate::id::{AskId, CallId};

pub(super) fn request_approval(state: &mut AgentState, requested: &ApprovalRequested) {
    let about = match &requested.subject {
        ApprovalSubject::Tool { call, .. } => {
            await_person(state, *call, requested.approval);
            About::Call(*call)
        }
        ApprovalSubject::Limit { limit, scope } => {
            state.phase = Phase::Asking(requested.approval);
            About::Limit(LimitReached { limit: *limit, scope: *scope })
        }
    };
    enter(state, requested.approval, Ask { about, deadline: requested.deadline });
}

pub(super) fn settle_approval(state: &mut AgentState, settled: &ApprovalSettled) {
    let how = match settled.decision {
        Decision::Approved | Decision::Denied | Decision::DeniedAndStop | Decision::Expired => {
            Settled::Answered
        }
        Decision::Withdrawn => Settled::Withdrawn,
    };
    let Some(ask) = take(state, settled.approval, how) else { return };
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
            if let Some(digest) = digest {
                state.run.denied.push(digest);
            }
        }
        (About::Call(_), Decision::Expired | Decision::Withdrawn) => {}
        (About::Limit(_), Decision::Approved) => state.run.limit = None,
        (
            About::Limit(_),
            Decision::Denied | Decision::DeniedAndStop | Decision::Expired | Decision::Withdrawn,
        ) => {}
        (
            About::Words { .. },
            Decision::Approved
            | Decision::Denied
            | Decision::DeniedAndStop
            | Decision::Expired
            | Decision::Withdrawn,
        ) => {}
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
    enter(state, asked.question, Ask { about, deadline: None });
}

pub(super) fn answer(state: &mut AgentState, answered: &QuestionAnswered) {
    take(state, answered.question, Settled::Answered);
    leave(state, answered.question);
}

pub(super) fn withdraw(state: &mut AgentState, question: AskId) {
    take(state, question, Settled::Withdrawn);
    leave(state, question);
}

fn enter(state: &mut AgentState, id: AskId, ask: Ask) {
    state.run.asked = state.run.asked.max(id.n.saturating_add(1));
    state.asks.insert(id, ask);
}

/// What was asked, if it waits no more from here on. Only how it was settled is remembered.
fn take(state: &mut AgentState, id: AskId, how: Settled) -> Option<Ask> {
    let ask = state.asks.remove(&id)?;
    state.run.settled.push((id.n, how));
    Some(ask)
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
