//! What an agent does next. A brain is replaceable, stateless and pure.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::agent::AgentState;
use crate::call::{CallKind, ProposedCall};
use crate::event::{FinishReason, Outcome, Reply};
use crate::failure::Failure;
use crate::id::CallId;
use crate::instruction::{FinishInstruction, Instruction};

/// Where in its loop an agent stands when the brain is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum StepContext {
    /// Input arrived: the user's, or the task of a subagent.
    UserInput,
    /// A model's whole reply arrived. Calls that can't run are settled already.
    ModelResult(Reply),
    /// Every call of the last reply has its result.
    ToolsBatchResult,
    /// A model request failed for good.
    Error(Failure),
}

/// Decides what an agent does next. Pure: the same arguments give the same answer.
pub trait Brain: Send + Sync {
    /// The next instructions. `state` is the fold of before this decision: what the context tells
    /// is not in it yet.
    ///
    /// A finish wins over everything else, calls over a request. Calls can be named only in answer
    /// to the reply that made them; those left out get an error result. An answer from which
    /// nothing follows ends the agent as `harness.brain_stuck`.
    fn next(&self, context: &StepContext, state: &AgentState) -> Vec<Instruction>;
}

/// The default brain: call the model, do what it asks, until it answers in text.
#[derive(Clone, Copy, Debug, Default)]
pub struct PhaseBrain;

impl Brain for PhaseBrain {
    fn next(&self, context: &StepContext, _state: &AgentState) -> Vec<Instruction> {
        match context {
            StepContext::UserInput | StepContext::ToolsBatchResult => vec![Instruction::CallModel],
            StepContext::ModelResult(reply) if reply.calls.is_empty() => {
                vec![answered(&reply.text)]
            }
            StepContext::ModelResult(reply) => batch(&reply.calls),
            StepContext::Error(failure) => vec![failed(failure)],
        }
    }
}

fn answered(text: &Arc<str>) -> Instruction {
    Instruction::Finish(FinishInstruction {
        outcome: Outcome::Completed,
        reason: FinishReason::Completed,
        text: Arc::clone(text),
        error: None,
    })
}

fn failed(failure: &Failure) -> Instruction {
    Instruction::Finish(FinishInstruction {
        outcome: Outcome::Failed,
        reason: FinishReason::ErrorRecovery,
        text: "".into(),
        error: Some(failure.clone()),
    })
}

/// Tools first, subagents last; calls that can't run are settled where they are proposed.
fn batch(calls: &[ProposedCall]) -> Vec<Instruction> {
    let (mut tools, mut subagents): (Vec<CallId>, Vec<CallId>) = (Vec::new(), Vec::new());
    for call in calls {
        match call.kind {
            CallKind::Tool(_) => tools.push(call.call),
            CallKind::Subagent => subagents.push(call.call),
            CallKind::Invalid => {}
        }
    }
    let mut instructions = Vec::new();
    if !tools.is_empty() {
        instructions.push(Instruction::CallTools { calls: tools });
    }
    if !subagents.is_empty() {
        instructions.push(Instruction::StartSubagents { calls: subagents });
    }
    if instructions.is_empty() {
        instructions.push(Instruction::CallModel);
    }
    instructions
}
