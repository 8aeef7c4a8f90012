//! The rules that only a lead has: it starts runs and is the one exit of a family.

use std::sync::Arc;

use crate::agent::{Phase, Refusal, Start};
use crate::brain::StepContext;
use crate::budget::Facts;
use crate::event::{Event, RunFinished, RunStarted, UserMessage};
use crate::instruction::FinishInstruction;

use crate::agent::Draft;

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
        | Phase::Ending(_)
        | Phase::Done(_) => return Err(Refusal::RunActive),
    }
    draft.restart_numbers();
    draft.push(Event::RunStarted(RunStarted {
        input: Arc::clone(&start.input),
        model: Arc::clone(&draft.machine.family.lead.model),
        limits: draft.machine.family.caps,
        family: draft.machine.family_hash,
        parent_run: start.parent_run,
    }));
    draft.take_input(UserMessage { text: Arc::clone(&start.input), for_call: None });
    draft.ask_brain(&StepContext::UserInput, None);
    Ok(draft.into_events())
}

/// The terminal event of a run.
pub(crate) fn finished(finish: &FinishInstruction, facts: &Facts) -> RunFinished {
    RunFinished {
        outcome: finish.outcome,
        finish_reason: finish.reason,
        text: Arc::clone(&finish.text),
        error: finish.error.clone(),
        usage: facts.total_usage(),
        agents: facts.usage.values().cloned().collect(),
        duration_ms: facts.now.since(facts.run_started),
    }
}
