//! What people answer, and what comes from outside: each is taken once.

use std::sync::Arc;

use super::draft::Draft;
use super::{About, Answer, Approve, Deliver, Phase, Refusal, Settled, Verdict, ending};
use crate::brain::StepContext;
use crate::call::{CallResult, CallStatus};
use crate::event::{
    ApprovalSettled, Decision, Ending, Event, FinishReason, LimitReached, Outcome, QuestionAnswered,
};
use crate::id::{AskId, CallId};
use crate::limits::Limits;
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
        About::Limit(met) => settle_limit(&mut draft, answer, met, decision),
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
        About::Limit(met) => settle_limit(draft, &answer, met, Decision::Expired),
        About::Words { .. } => {}
    }
}

fn settle_call(draft: &mut Draft<'_>, answer: &Approve, call: CallId, decision: Decision) {
    settle(draft, answer, decision, None);
    let text = match (decision, &answer.reason) {
        // The call goes straight to its execution; the brain is not asked again.
        (Decision::Approved, _) => return draft.heard(),
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

fn settle_limit(draft: &mut Draft<'_>, answer: &Approve, met: LimitReached, decision: Decision) {
    let approved = decision == Decision::Approved;
    let raised = approved.then(|| answer.raised.unwrap_or_else(|| draft.ledger.doubled(met)));
    settle(draft, answer, decision, raised);
    match decision {
        Decision::DeniedAndStop => stop(draft),
        Decision::Approved => draft.ask_brain(&StepContext::Init),
        Decision::Denied | Decision::Expired | Decision::Withdrawn => {
            draft.fail_at_limit(met.limit);
        }
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
    match draft.state.asks.get(&id) {
        Some(_) if matches!(draft.state.phase, Phase::Ending(_)) => Err(Refusal::StaleAnswer(id)),
        Some(ask) => Ok(ask.about.clone()),
        None => Err(no_more(draft, id)),
    }
}

/// Why an answer comes too late, or to nothing. What is not remembered any more is stale.
fn no_more(draft: &Draft<'_>, id: AskId) -> Refusal {
    let run = &draft.state.run;
    if id.run != draft.machine.run || !draft.state.is_active() {
        return Refusal::StaleAnswer(id);
    }
    if id.agent != draft.machine.id() {
        return Refusal::UnknownAsk(id);
    }
    match run.settled.iter().rev().find(|(n, _)| *n == id.n) {
        Some((_, Settled::Answered)) => Refusal::AlreadyAnswered(id),
        Some((_, Settled::Withdrawn)) => Refusal::StaleAnswer(id),
        None if id.n < run.asked => Refusal::StaleAnswer(id),
        None => Refusal::UnknownAsk(id),
    }
}
