//! The default brain: call the model, do what it asks, until it answers in text.

use std::sync::Arc;

use super::{Brain, StepContext};
use crate::agent::AgentState;
use crate::call::{CallKind, Gate, ProposedCall};
use crate::event::{FinishReason, Outcome, Reply};
use crate::failure::{ErrorCode, Failure};
use crate::id::CallId;
use crate::instruction::{FinishInstruction, Instruction};

/// The default brain, a machine of phases. It has no state of its own.
#[derive(Clone, Copy, Debug, Default)]
pub struct PhaseBrain;

impl Brain for PhaseBrain {
    fn next(&self, context: &StepContext, state: &AgentState) -> Vec<Instruction> {
        match context {
            StepContext::ModelResult { reply } if reply.calls.is_empty() => {
                vec![answered(&reply.text)]
            }
            StepContext::ModelResult { reply } => batch(reply),
            StepContext::Init
            | StepContext::UserInput
            | StepContext::HumanResponse { .. }
            | StepContext::CompactionResult { .. } => vec![Instruction::CallModel],
            StepContext::ToolResult { .. }
            | StepContext::ToolsBatchResult
            | StepContext::SubagentResult { .. }
            | StepContext::SubagentsBatchResult => after_calls(state),
            StepContext::ApprovedCall { call } => vec![Instruction::CallTool { call: *call }],
            StepContext::HumanAbort { unbegun } => {
                vec![Instruction::ResolveAborted { calls: unbegun.clone() }]
            }
            // Whether it helps is the compaction's own guard's to say.
            StepContext::Error { failure } if failure.code == ErrorCode::ModelContextOverflow => {
                vec![Instruction::Compact]
            }
            StepContext::Error { failure } => vec![failed(failure)],
        }
    }
}

/// Input that was queued meanwhile is not made to wait for the end of the task: the run makes way
/// and the input starts the next one with all that was done in its history.
fn after_calls(state: &AgentState) -> Vec<Instruction> {
    if state.queued.is_empty() {
        return vec![Instruction::CallModel];
    }
    vec![Instruction::Finish(FinishInstruction {
        outcome: Outcome::PartialSuccess,
        reason: FinishReason::QueuedMessageInterrupt,
        text: "".into(),
        error: None,
        detail: None,
    })]
}

fn answered(text: &Arc<str>) -> Instruction {
    Instruction::Finish(FinishInstruction {
        outcome: Outcome::Completed,
        reason: FinishReason::Completed,
        text: Arc::clone(text),
        error: None,
        detail: None,
    })
}

fn failed(failure: &Failure) -> Instruction {
    Instruction::Finish(FinishInstruction {
        outcome: Outcome::Failed,
        reason: FinishReason::ErrorRecovery,
        text: "".into(),
        error: Some(failure.clone()),
        detail: None,
    })
}

/// What may run begins first, so that safe calls never wait for a person; questions come last,
/// because the first of them blocks what stands behind it.
fn batch(reply: &Reply) -> Vec<Instruction> {
    let named = |wanted: fn(&ProposedCall) -> bool| -> Vec<CallId> {
        reply.calls.iter().filter(|call| wanted(call)).map(|call| call.call).collect()
    };
    let parts = [
        (named(|call| call.gate == Gate::Pass && is_tool(call)), tools as fn(Vec<CallId>) -> _),
        (named(|call| call.gate == Gate::Pass && starts_subagent(call)), subagents),
        (named(|call| call.gate == Gate::Pass && is_elsewhere(call)), client_subagents),
        (named(|call| matches!(call.gate, Gate::Block(_))), blocked),
        (named(|call| matches!(call.gate, Gate::Ask(_))), approval),
    ];
    let mut instructions: Vec<Instruction> =
        parts.into_iter().filter(|(calls, _)| !calls.is_empty()).map(|(c, make)| make(c)).collect();
    if reply.calls.iter().all(|call| call.kind == CallKind::Invalid) {
        instructions.push(Instruction::CallModel);
    }
    instructions
}

fn tools(calls: Vec<CallId>) -> Instruction {
    match calls.as_slice() {
        [call] => Instruction::CallTool { call: *call },
        _ => Instruction::CallTools { calls },
    }
}

fn subagents(calls: Vec<CallId>) -> Instruction {
    match calls.as_slice() {
        [call] => Instruction::StartSubagent { call: *call },
        _ => Instruction::StartSubagents { calls },
    }
}

fn client_subagents(calls: Vec<CallId>) -> Instruction {
    match calls.as_slice() {
        [call] => Instruction::StartClientSubagent { call: *call },
        _ => Instruction::StartClientSubagents { calls },
    }
}

fn is_elsewhere(call: &ProposedCall) -> bool {
    call.kind == CallKind::ClientSubagent
}

fn blocked(calls: Vec<CallId>) -> Instruction {
    Instruction::ResolveBlocked { calls }
}

fn approval(calls: Vec<CallId>) -> Instruction {
    Instruction::AskApproval { calls }
}

/// Whether a call is carried out by a tool of the agent or by the agent itself.
fn is_tool(call: &ProposedCall) -> bool {
    match call.kind {
        CallKind::Tool(_)
        | CallKind::Client(_)
        | CallKind::Wait
        | CallKind::Tell
        | CallKind::Stop
        | CallKind::AskUser
        | CallKind::AskParent
        | CallKind::Return => true,
        CallKind::Subagent | CallKind::ClientSubagent | CallKind::Spawn | CallKind::Invalid => {
            false
        }
    }
}

fn starts_subagent(call: &ProposedCall) -> bool {
    match call.kind {
        CallKind::Subagent | CallKind::Spawn => true,
        CallKind::Tool(_)
        | CallKind::Client(_)
        | CallKind::Wait
        | CallKind::Tell
        | CallKind::Stop
        | CallKind::AskUser
        | CallKind::AskParent
        | CallKind::Return
        | CallKind::ClientSubagent
        | CallKind::Invalid => false,
    }
}
