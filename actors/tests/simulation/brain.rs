//! The brains of simulated families, and what was asked of them.

use std::sync::Arc;

use kinfolk_actors::agent::AgentState;
use kinfolk_actors::brain::{Brain, PhaseBrain, StepContext};
use kinfolk_actors::event::{FinishReason, Outcome, Reply};
use kinfolk_actors::id::CallId;
use kinfolk_actors::instruction::{FinishInstruction, Instruction};

use crate::coverage::note;
use crate::dice::{Dice, mix};

/// The default brain.
pub struct Honest;

/// A brain that answers badly now and then. It is pure all the same: the same question about the
/// same state has the same answer.
pub struct Wild {
    pub seed: u64,
}

impl Brain for Honest {
    fn next(&self, context: &StepContext, state: &AgentState) -> Vec<Instruction> {
        noted(context, PhaseBrain.next(context, state))
    }
}

impl Brain for Wild {
    fn next(&self, context: &StepContext, state: &AgentState) -> Vec<Instruction> {
        let counts = [
            u64::from(state.run.requests),
            u64::from(state.run.calls),
            u64::try_from(state.transcript.len()).unwrap(),
            u64::from(state.run.asked),
            u64::from(state.run.compactions),
        ];
        let place = StepContext::PHASES.iter().position(|name| *name == context.name()).unwrap();
        let mut dice = Dice::new(mix(&[self.seed, u64::try_from(place).unwrap(), mix(&counts)]));
        if !dice.one_in(4) {
            return noted(context, PhaseBrain.next(context, state));
        }
        let calls = named(context, state, &mut dice);
        let length = dice.below(4);
        let answer = (0..length).map(|_| wish(&mut dice, &calls)).collect();
        noted(context, answer)
    }
}

fn noted(context: &StepContext, answer: Vec<Instruction>) -> Vec<Instruction> {
    note("context", context.name());
    for instruction in &answer {
        note("instruction", &format!("{:?}", instruction.kind()));
    }
    answer
}

/// Calls that may be named, and some that may not.
fn named(context: &StepContext, state: &AgentState, dice: &mut Dice) -> Vec<CallId> {
    let of = |reply: &Reply| reply.calls.iter().map(|call| call.call).collect();
    let mut calls: Vec<CallId> = match context {
        StepContext::ModelResult { reply } => of(reply),
        _ => state
            .transcript
            .last_turn()
            .map_or(vec![], |turn| turn.calls.iter().map(|(call, _)| call.call).collect()),
    };
    if dice.one_in(3)
        && let Some(call) = calls.first().copied()
    {
        calls.push(CallId { n: call.n + 90, ..call });
    }
    calls.retain(|_| !dice.one_in(4));
    calls
}

fn wish(dice: &mut Dice, calls: &[CallId]) -> Instruction {
    let all = || calls.to_vec();
    let one = calls.first().copied();
    let text: Arc<str> = "what now?".into();
    match (dice.below(15), one) {
        (0, Some(call)) => Instruction::CallTool { call },
        (1, _) => Instruction::CallTools { calls: all() },
        (2, _) => Instruction::ResolveBlocked { calls: all() },
        (3, _) => Instruction::ResolveAborted { calls: all() },
        (4, Some(call)) => Instruction::StartSubagent { call },
        (5, _) => Instruction::StartSubagents { calls: all() },
        (6, Some(call)) => Instruction::StartClientSubagent { call },
        (7, _) => Instruction::StartClientSubagents { calls: all() },
        (8, _) => Instruction::AskText { text },
        (9, _) => Instruction::AskChoice { text, options: vec!["a".into(), "b".into()] },
        (10, _) => Instruction::AskApproval { calls: all() },
        (11, _) => Instruction::Compact,
        (12, _) => Instruction::Finish(FinishInstruction {
            outcome: Outcome::PartialSuccess,
            reason: FinishReason::AgentDecision,
            text: "enough".into(),
            error: None,
            detail: None,
        }),
        (_, _) => Instruction::CallModel,
    }
}
