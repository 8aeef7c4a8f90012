//! Brains that answer badly: whatever they say, each call gets one result and the run one end.

use kinfolk_actors::agent::AgentState;
use kinfolk_actors::brain::{Brain, StepContext};
use kinfolk_actors::call::{CallResult, CallStatus};
use kinfolk_actors::event::{Event, FinishReason, Outcome};
use kinfolk_actors::failure::ErrorCode;
use kinfolk_actors::id::CallId;
use kinfolk_actors::instruction::{FinishInstruction, Instruction};
use kinfolk_actors::usage::Usage;

use crate::bench::{Bench, thinks};
use crate::fixture::*;

/// What a brain says to input, to a reply, and to a settled batch.
struct Says {
    input: Vec<Instruction>,
    reply: Vec<Instruction>,
    batch: Vec<Instruction>,
}

impl Brain for Says {
    fn next(&self, context: &StepContext, _state: &AgentState) -> Vec<Instruction> {
        match context {
            StepContext::UserInput => self.input.clone(),
            StepContext::ModelResult { .. } => self.reply.clone(),
            StepContext::ToolsBatchResult => self.batch.clone(),
            _ => vec![],
        }
    }
}

fn to_reply(reply: Vec<Instruction>) -> Says {
    let ask = || vec![Instruction::CallModel];
    Says { input: ask(), reply, batch: ask() }
}

fn finish(text: &str) -> Instruction {
    Instruction::Finish(FinishInstruction {
        outcome: Outcome::PartialSuccess,
        reason: FinishReason::AgentDecision,
        text: text.into(),
        error: None,
        detail: None,
    })
}

fn run_tools(calls: &[CallId]) -> Instruction {
    Instruction::CallTools { calls: calls.to_vec() }
}

fn two_looks(brain: Says) -> Bench {
    let looks = vec![raw_call("look", "{}"); 2];
    Bench::lead_with(brain, family()).given(&[start("go"), calls(1, looks)])
}

fn left_out() -> CallResult {
    CallResult::new(CallStatus::Blocked, "the agent left this call out")
}

#[track_caller]
fn assert_stuck(lead: &Bench) {
    let error = lead.finished().error.map(|error| error.code);
    assert_eq!(error, Some(ErrorCode::BrainStuck));
    assert_eq!(lead.outstanding(), vec![]);
    let ends = lead.journal.iter().filter(|event| matches!(event, Event::RunFinished(_)));
    assert_eq!(ends.count(), 1);
}

#[test]
fn a_brain_that_answers_nothing_ends_the_run_as_stuck() {
    let silent = || Says { input: vec![], reply: vec![], batch: vec![] };
    assert_stuck(&Bench::lead_with(silent(), family()).given(&[start("go")]));

    let lead = two_looks(to_reply(vec![]));
    assert_stuck(&lead);
    assert_eq!(lead.settled(), [(id(0), left_out()), (id(1), left_out())].into());

    let brain = Says { batch: vec![], ..to_reply(vec![run_tools(&[id(0), id(1)])]) };
    assert_stuck(&two_looks(brain).given(&[done(id(0), "a"), done(id(1), "b")]));

    let lead = Bench::lead_with(to_reply(vec![]), family()).given(&[start("go"), says(1, "hi")]);
    assert_stuck(&lead);
}

#[test]
fn a_run_that_is_stuck_at_once_has_its_own_sums_and_not_those_of_the_run_before() {
    let mut lead = Bench::lead(family()).given(&[start("go"), says(1, "done")]);
    let silent = Says { input: vec![], reply: vec![], batch: vec![] };
    lead.machine.brain = std::sync::Arc::new(silent);
    lead.next_run(2);
    lead.now.0 += 5_000;
    lead.take(&start("again")).unwrap();
    let finished = lead.finished();
    assert_eq!((finished.usage, finished.duration_ms.0), (Usage::default(), 0));
    assert_eq!(finished.agents.len(), 1);
}

#[test]
fn calls_that_a_brain_leaves_out_are_answered_and_the_others_run() {
    let lead = two_looks(to_reply(vec![run_tools(&[id(1)])]));
    assert_eq!(lead.settled(), [(id(0), left_out())].into());
    assert_eq!(lead.given(&[done(id(1), "b")]).outstanding(), thinks(2));
}

#[test]
fn a_brain_may_ask_the_model_again_without_running_anything() {
    let lead = two_looks(to_reply(vec![Instruction::CallModel]));
    assert_eq!(lead.settled(), [(id(0), left_out()), (id(1), left_out())].into());
    assert_eq!(lead.outstanding(), thinks(2));
}

#[test]
fn a_brain_may_finish_early_and_nothing_after_its_finish_counts() {
    let early =
        || vec![run_tools(&[id(0)]), finish("part"), finish("twice"), Instruction::CallModel];
    let lead = two_looks(to_reply(early()));
    assert_eq!(lead.settled(), [(id(0), left_out()), (id(1), left_out())].into());
    let finished = lead.finished();
    assert_eq!((finished.outcome, &*finished.text), (Outcome::PartialSuccess, "part"));
    assert_eq!(lead.outstanding(), vec![]);

    let brain = Says { input: early(), reply: vec![], batch: vec![] };
    let lead = Bench::lead_with(brain, family()).given(&[start("go")]);
    assert_eq!(&*lead.finished().text, "part");
    assert_eq!(lead.journal.len(), 3);
}

#[test]
fn a_request_is_made_once_however_often_it_is_asked_for() {
    let twice = || vec![Instruction::CallModel, Instruction::CallModel];
    let brain = Says { input: twice(), reply: vec![], batch: vec![] };
    let lead = Bench::lead_with(brain, family()).given(&[start("go")]);
    assert_eq!(lead.outstanding(), thinks(1));
    assert_eq!(lead.journal.len(), 3);
}

#[test]
fn calls_that_are_not_open_cannot_be_named() {
    // To input there are none; to a settled batch none any more. Neither may loop.
    let brain = Says { input: vec![run_tools(&[id(0)])], reply: vec![], batch: vec![] };
    assert_stuck(&Bench::lead_with(brain, family()).given(&[start("go")]));

    let again = run_tools(&[id(0), id(1)]);
    let brain = Says { batch: vec![again.clone()], ..to_reply(vec![again]) };
    assert_stuck(&two_looks(brain).given(&[done(id(0), "a"), done(id(1), "b")]));

    // Naming none of the open ones leaves them all out, and asks the model again.
    let lead = two_looks(to_reply(vec![run_tools(&[id(8)])]));
    assert_eq!(lead.settled(), [(id(0), left_out()), (id(1), left_out())].into());
    assert_eq!(lead.outstanding(), thinks(2));
}
