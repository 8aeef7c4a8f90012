//! What people answer, and what comes from outside: each is taken once.

use std::sync::Arc;

use super::draft::Draft;
use super::{About, Answer, Approve, Deliver, Phase, Refusal, Verdict, ending};
use crate::brain::StepContext;
use crate::call::{CallResult, CallStatus};
use crate::event::{
    ApprovalSettled, Decision, Ending, Event, FinishReason, Outcome, QuestionAnswered,
};
use crate::id::{AskId, CallId};
use crate::limits::{LimitKind, Limits};
use crate::time::Millis;

/// Takes the answer to an approval.
pub(super) fn approve(mut draft: Draft<'_>, answer: &Approve) -> Result<Vec<Event>, Refusal> {
    let about = open_ask(&draft, answer.approval)?;
    let decision = match answer.verdict {
        Verdict::Approve => Decision::Approved,
        Verdict::Deny => Decision::Denied,
        Verdict::DenyAndStop => Decision::DeniedAndStop,
    };
    match about {
        About::Call(call) => settle_call(&mut draft, answer, call, decision),
        About::Limit(limit) => settle_limit(&mut draft, answer, limit, decision),
        About::Words { .. } => return Err(Refusal::UnknownAsk(answer.approval)),
    }
    Ok(draft.into_events())
}

/// Nobody answered in time.
pub(super) fn expire(draft: &mut Draft<'_>, approval: AskId) {
    let Some(about) = draft.state.asks.get(&approval).map(|ask| ask.about.clone()) else { return };
    let answer = Approve { approval, verdict: Verdict::Deny, by: None, reason: None, raised: None };
    match about {
        About::Call(call) => settle_call(draft, &answer, call, Decision::Expired),
        About::Limit(limit) => settle_limit(draft, &answer, limit, Decision::Expired),
        About::Words { .. } => {}
    }
}

fn settle_call(draft: &mut Draft<'_>, answer: &Approve, call: CallId, decision: Decision) {
    settle(draft, answer, decision, None);
    let text = match (decision, &answer.reason) {
        (Decision::Approved, _) => {
            // The call goes straight to its execution; the brain only keeps its books.
            draft.machine.brain.next(&StepContext::ApprovedCall { call }, &draft.state);
            return draft.advance();
        }
        (Decision::Expired, _) => {
            "nobody approved it in time, so it was not run: it is not a failure, do without".into()
        }
        (Decision::Denied | Decision::DeniedAndStop | Decision::Withdrawn, None) => {
            "refused by the user and not run: it is not a failure, do without".into()
        }
        (Decision::Denied | Decision::DeniedAndStop | Decision::Withdrawn, Some(reason)) => {
            format!("refused by the user and not run, it is not a failure: {reason}")
        }
    };
    draft.finish_call(call, CallResult::new(CallStatus::Denied, text), Millis::default());
    if decision == Decision::DeniedAndStop {
        return stop(draft);
    }
    draft.heard();
}

fn settle_limit(draft: &mut Draft<'_>, answer: &Approve, limit: LimitKind, decision: Decision) {
    let approved = decision == Decision::Approved;
    let raised =
        approved.then(|| answer.raised.unwrap_or_else(|| doubled(draft.ledger.limits(), limit)));
    settle(draft, answer, decision, raised);
    match decision {
        Decision::DeniedAndStop => stop(draft),
        Decision::Approved => draft.ask_brain(&StepContext::Init),
        Decision::Denied | Decision::Expired | Decision::Withdrawn => draft.fail_at_limit(limit),
    }
}

fn settle(draft: &mut Draft<'_>, answer: &Approve, decision: Decision, raised: Option<Limits>) {
    draft.push(Event::ApprovalSettled(ApprovalSettled {
        approval: answer.approval,
        decision,
        by: answer.by.clone(),
        reason: answer.reason.clone(),
        raised,
    }));
}

/// A person wants an end of it.
fn stop(draft: &mut Draft<'_>) {
    let ending = Ending {
        outcome: Outcome::Cancelled,
        finish_reason: FinishReason::UserAborted,
        reason: "a person refused a call and stopped the run".into(),
        text: "".into(),
        error: None,
    };
    ending::begin(draft, &ending);
}

/// The limits with one of them doubled.
fn doubled(mut limits: Limits, limit: LimitKind) -> Limits {
    let twice = |count: Option<u64>| count.map(|count| count.saturating_mul(2));
    match limit {
        LimitKind::Steps => limits.max_steps = twice(limits.max_steps),
        LimitKind::ToolCalls => limits.max_tool_calls = twice(limits.max_tool_calls),
        LimitKind::Tokens => limits.max_tokens = twice(limits.max_tokens),
        LimitKind::Cost => limits.max_cost = limits.max_cost.map(|money| money.times(2)),
        LimitKind::Time => {
            limits.max_time = limits.max_time.map(|time| Millis(time.0.saturating_mul(2)));
        }
    }
    limits
}

/// Takes the answer to a question.
pub(super) fn answer(mut draft: Draft<'_>, answer: &Answer) -> Result<Vec<Event>, Refusal> {
    let about = open_ask(&draft, answer.question)?;
    let About::Words { call, .. } = about else {
        return Err(Refusal::UnknownAsk(answer.question));
    };
    take_answer(&mut draft, answer, call);
    Ok(draft.into_events())
}

pub(super) fn take_answer(draft: &mut Draft<'_>, answer: &Answer, call: Option<CallId>) {
    draft.push(Event::QuestionAnswered(QuestionAnswered {
        question: answer.question,
        answer: Arc::clone(&answer.text),
        by: answer.by.clone(),
    }));
    match call {
        Some(call) => {
            let result = CallResult::new(CallStatus::Ok, Arc::clone(&answer.text));
            draft.finish_call(call, result, Millis::default());
            draft.heard();
        }
        None => draft.ask_brain(&StepContext::HumanResponse { answer: Arc::clone(&answer.text) }),
    }
}

/// Takes the result of a call that is answered from outside.
pub(super) fn deliver(mut draft: Draft<'_>, deliver: &Deliver) -> Result<Vec<Event>, Refusal> {
    let awaited = draft
        .state
        .turn()
        .is_some_and(|turn| turn.deferred().any(|call| call.call == deliver.call));
    if !awaited {
        return Err(Refusal::NotAwaited(deliver.call));
    }
    let result = CallResult::new(deliver.status, Arc::clone(&deliver.text));
    draft.finish_call(deliver.call, result, Millis::default());
    draft.heard();
    Ok(draft.into_events())
}

/// What an open question is about, or why it cannot be answered.
fn open_ask(draft: &Draft<'_>, id: AskId) -> Result<About, Refusal> {
    let Some(ask) = draft.state.asks.get(&id) else {
        let of_this_run = id.run == draft.machine.run && draft.state.is_active();
        let refusal = if of_this_run { Refusal::UnknownAsk } else { Refusal::StaleAnswer };
        return Err(refusal(id));
    };
    match ask.settled {
        Some(Decision::Withdrawn) => Err(Refusal::StaleAnswer(id)),
        Some(
            Decision::Approved | Decision::Denied | Decision::DeniedAndStop | Decision::Expired,
        ) => Err(Refusal::AlreadyAnswered(id)),
        None if matches!(draft.state.phase, Phase::Ending(_)) => Err(Refusal::StaleAnswer(id)),
        None => Ok(ask.about.clone()),
    }
}
