//! The rules that only a lead has: it starts runs and is the one exit of a family.

use std::sync::Arc;

use crate::agent::{Draft, Phase, Refusal, Start};
use crate::brain::StepContext;
use crate::budget::Ledger;
use crate::compaction::Trigger;
use crate::event::{Event, Message, RunFinished, RunKind, RunStarted, Source, UserMessage};
use crate::instruction::FinishInstruction;
use crate::time::Timestamp;

/// Begins a run on a lead at rest.
pub(crate) fn start(mut draft: Draft<'_>, start: &Start) -> Result<Vec<Event>, Refusal> {
    if !draft.machine.id().is_lead() {
        return Err(Refusal::NotALead);
    }
    match draft.state.phase {
        Phase::Resting => {}
        Phase::Deciding
        | Phase::Thinking { .. }
        | Phase::Acting(_)
        | Phase::Compacting(_)
        | Phase::Asking(_)
        | Phase::Interrupted
        | Phase::Ending(_)
        | Phase::Done(_) => return Err(Refusal::RunActive),
    }
    let now = draft.facts.head;
    if let Some(prepared) = start.prepared_at.filter(|prepared| *prepared != now) {
        return Err(Refusal::HistoryChanged { prepared, now });
    }
    let input = match start.kind {
        RunKind::Request => Arc::clone(&start.input),
        RunKind::Queued if draft.state.queued.is_empty() => return Err(Refusal::NothingQueued),
        RunKind::Queued => draft.state.queued.join("\n\n").into(),
        RunKind::Compact if draft.cut().is_err() => {
            return Err(Refusal::NothingToCompact);
        }
        RunKind::Compact => "".into(),
    };
    draft.push(Event::RunStarted(RunStarted {
        input: Arc::clone(&input),
        model: Arc::clone(&draft.machine.family.lead.model),
        limits: draft.machine.family.limits(),
        kind: start.kind,
        family: draft.machine.family_hash,
        parent_run: start.parent_run,
    }));
    match start.kind {
        RunKind::Compact => draft.compact(Trigger::Manual),
        RunKind::Request => {
            draft.push(Event::Message(Message::User(UserMessage::new(Source::Input, input))));
            draft.ask_brain(&StepContext::UserInput);
        }
        // What was queued entered the history when the run began.
        RunKind::Queued => draft.ask_brain(&StepContext::UserInput),
    }
    Ok(draft.into_events())
}

/// The terminal event of a run.
pub(crate) fn finished(finish: &FinishInstruction, ledger: &Ledger, now: Timestamp) -> RunFinished {
    RunFinished {
        outcome: finish.outcome,
        finish_reason: finish.reason,
        text: Arc::clone(&finish.text),
        error: finish.error.clone(),
        usage: ledger.total_usage(),
        cost_usd: ledger.cost().known(),
        detail: finish.detail.clone(),
        agents: ledger.agents(),
        duration_ms: now.since(ledger.started()),
    }
}
