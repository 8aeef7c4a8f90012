//! Words and wishes that reach an agent at work.

use std::sync::Arc;

use super::draft::Draft;
use super::{About, Answer, Ask, Phase, Refusal, Steer, answers};
use crate::brain::StepContext;
use crate::call::{CallResult, CallStatus};
use crate::compaction::NothingToCompact;
use crate::event::{Event, Message, RunResumed, Source, ToolsActivated, UserMessage};
use crate::family::Offer;
use crate::id::{AskId, CallId};
use crate::limits::Limits;
use crate::time::Millis;

/// Messages that may wait for an agent: a queue without a bound only moves the loss to where
/// nobody sees it.
pub const MAX_WAITING: usize = 64;

/// Takes guidance: it enters the history before the next request.
pub(super) fn steer(mut draft: Draft<'_>, steer: &Steer) -> Result<Vec<Event>, Refusal> {
    admit(&draft)?;
    if steer.from.is_some_and(|call| draft.state.run.told.contains(&call)) {
        // Said once before a crash; the answer to it was lost, not the words.
        return Ok(Vec::new());
    }
    if let (Some(from), Some((question, call))) = (steer.from, question_to_parent(&draft)) {
        let answer = Answer { question, text: Arc::clone(&steer.text), by: Some("parent".into()) };
        note_told(&mut draft, from);
        answers::take_answer(&mut draft, &answer, call);
        return Ok(draft.into_events());
    }
    hear(&mut draft, steer);
    if steer.from.is_none() {
        withdraw_approvals(&mut draft);
    }
    draft.heard();
    Ok(draft.into_events())
}

fn hear(draft: &mut Draft<'_>, steer: &Steer) {
    draft.push(Event::Message(Message::User(UserMessage {
        for_call: steer.from,
        ..UserMessage::new(Source::Guidance, Arc::clone(&steer.text))
    })));
}

/// Remembers that the words of that call were taken, although they became an answer.
fn note_told(draft: &mut Draft<'_>, from: CallId) {
    draft.push(Event::Message(Message::User(UserMessage {
        for_call: Some(from),
        ..UserMessage::new(Source::Guidance, "Your parent has answered your question.")
    })));
}

fn question_to_parent(draft: &Draft<'_>) -> Option<(AskId, Option<CallId>)> {
    draft.state.open_asks().find_map(|(id, ask)| match &ask.about {
        About::Words { call, parent: true, .. } => Some((id, *call)),
        About::Words { parent: false, .. } | About::Call(_) | About::Limit(_) => None,
    })
}

/// Whether words may still enter the run.
fn admit(draft: &Draft<'_>) -> Result<(), Refusal> {
    match draft.state.phase {
        Phase::Resting | Phase::Done(_) => return Err(Refusal::AtRest),
        Phase::Ending(_) => return Err(Refusal::AlreadyEnding),
        Phase::Deciding
        | Phase::Thinking { .. }
        | Phase::Acting(_)
        | Phase::Compacting(_)
        | Phase::Asking(_)
        | Phase::Interrupted => {}
    }
    if draft.state.is_sealed() {
        return Err(Refusal::Sealed);
    }
    let waiting = draft.state.pending.len() + draft.state.queued.len();
    if waiting >= MAX_WAITING {
        return Err(Refusal::TooMuchWaiting(waiting));
    }
    Ok(())
}

/// Takes input for the next run; the present one gives way between two rounds.
pub(super) fn queue(mut draft: Draft<'_>, text: &Arc<str>) -> Result<Vec<Event>, Refusal> {
    lead_only(&draft)?;
    match admit(&draft) {
        // Nothing can enter this run, but the next one has room.
        Ok(()) | Err(Refusal::Sealed) => {}
        Err(refusal) => return Err(refusal),
    }
    let message = UserMessage::new(Source::Queued, Arc::clone(text));
    draft.push(Event::Message(Message::User(message)));
    if withdraw_approvals(&mut draft) > 0 {
        draft.heard();
    }
    Ok(draft.into_events())
}

/// A new message makes the approvals that still wait stale: what it wants may be something else,
/// and it must not wait for an answer to what was before. Questions go on waiting. How many there
/// were.
fn withdraw_approvals(draft: &mut Draft<'_>) -> usize {
    let about_call = |(id, ask): (AskId, &Ask)| match ask.about {
        About::Call(call) => Some((id, call)),
        About::Limit(_) | About::Words { .. } => None,
    };
    let open: Vec<(AskId, CallId)> = draft.state.open_asks().filter_map(about_call).collect();
    let text = "not approved before the user's next message, and not run: it is not a failure";
    for (approval, call) in &open {
        draft.withdraw(*approval);
        let result = CallResult::new(CallStatus::Denied, text);
        draft.finish_call(*call, result, Millis::default());
    }
    open.len()
}

/// Has the history compacted before the next request. What is said until then has to be read first,
/// so a history of which nothing could go now is not compacted.
pub(super) fn compact(mut draft: Draft<'_>) -> Result<Vec<Event>, Refusal> {
    admit(&draft)?;
    draft.cut().map_err(|NothingToCompact| Refusal::NothingToCompact)?;
    draft.push(Event::CompactionAsked);
    Ok(draft.into_events())
}

/// Offers tools of the frozen set that were held back.
pub(super) fn activate(mut draft: Draft<'_>, tools: &[Arc<str>]) -> Result<Vec<Event>, Refusal> {
    admit(&draft)?;
    for name in tools {
        let tool = draft.machine.invocation().tool(name);
        let held_back = tool.is_some_and(|tool| tool.offer == Offer::OnceActivated);
        if !held_back || draft.state.run.activated.contains(name) {
            return Err(Refusal::NoSuchTool(Arc::clone(name)));
        }
    }
    draft.push(Event::ToolsActivated(ToolsActivated { tools: tools.to_vec() }));
    Ok(draft.into_events())
}

/// Has the run rest at the next boundary.
pub(super) fn interrupt(mut draft: Draft<'_>, reason: &Arc<str>) -> Result<Vec<Event>, Refusal> {
    lead_only(&draft)?;
    admit(&draft)?;
    if draft.state.phase == Phase::Interrupted {
        return Err(Refusal::AtRest);
    }
    if draft.state.phase == Phase::Deciding {
        draft.interrupt(Arc::clone(reason), None);
    }
    if draft.state.phase != Phase::Interrupted {
        draft.push(Event::InterruptAsked { reason: Arc::clone(reason) });
    }
    Ok(draft.into_events())
}

/// Goes on after an interrupt.
pub(super) fn resume(mut draft: Draft<'_>, raised: Option<Limits>) -> Result<Vec<Event>, Refusal> {
    lead_only(&draft)?;
    if draft.state.phase != Phase::Interrupted {
        return Err(Refusal::NotInterrupted);
    }
    draft.push(Event::RunResumed(RunResumed {
        attempt: crate::id::Attempt(draft.ledger.attempt().0 + 1),
        from_offset: draft.facts.head,
        raised,
    }));
    draft.ask_brain(&StepContext::Init);
    Ok(draft.into_events())
}

fn lead_only(draft: &Draft<'_>) -> Result<(), Refusal> {
    if draft.machine.id().is_lead() { Ok(()) } else { Err(Refusal::NotALead) }
}
