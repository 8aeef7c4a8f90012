//! What a brain asks for: plain data that can be journaled, replayed, moved and mocked.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::event::{FinishReason, Outcome};
use crate::failure::Failure;
use crate::id::CallId;

/// One wish of a brain. Calls are named by reference; their bodies are in the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Instruction {
    /// Ask the model for the next reply.
    CallModel,
    /// Run one call.
    CallTool {
        /// Which.
        call: CallId,
    },
    /// Run these calls, as parallel as their effects allow.
    CallTools {
        /// In the model's order.
        calls: Vec<CallId>,
    },
    /// Give these calls the result that the policy forbids them.
    ResolveBlocked {
        /// In the model's order.
        calls: Vec<CallId>,
    },
    /// Give these calls the result that they were cancelled before they began.
    ResolveAborted {
        /// In the model's order.
        calls: Vec<CallId>,
    },
    /// Start a subagent for one call.
    StartSubagent {
        /// Which.
        call: CallId,
    },
    /// Start subagents for these calls, as many at once as the caps allow.
    StartSubagents {
        /// In the model's order.
        calls: Vec<CallId>,
    },
    /// Have the host or a client run a subagent for one call.
    StartClientSubagent {
        /// Which.
        call: CallId,
    },
    /// Have the host or a client run subagents for these calls.
    StartClientSubagents {
        /// In the model's order.
        calls: Vec<CallId>,
    },
    /// Ask a person for text.
    AskText {
        /// The question.
        text: Arc<str>,
    },
    /// Ask a person to choose.
    AskChoice {
        /// The question.
        text: Arc<str>,
        /// What can be chosen.
        options: Vec<Arc<str>>,
    },
    /// Ask a person whether these calls may run.
    AskApproval {
        /// In the model's order.
        calls: Vec<CallId>,
    },
    /// Compact the history, then go on.
    Compact,
    /// End the agent: the run if it is the lead's, otherwise the subagent's task.
    Finish(FinishInstruction),
}

/// The kinds of instruction, for executors, counts and tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InstructionKind {
    /// See [`Instruction::CallModel`].
    CallModel,
    /// See [`Instruction::CallTool`].
    CallTool,
    /// See [`Instruction::CallTools`].
    CallTools,
    /// See [`Instruction::ResolveBlocked`].
    ResolveBlocked,
    /// See [`Instruction::ResolveAborted`].
    ResolveAborted,
    /// See [`Instruction::StartSubagent`].
    StartSubagent,
    /// See [`Instruction::StartSubagents`].
    StartSubagents,
    /// See [`Instruction::StartClientSubagent`].
    StartClientSubagent,
    /// See [`Instruction::StartClientSubagents`].
    StartClientSubagents,
    /// See [`Instruction::AskText`].
    AskText,
    /// See [`Instruction::AskChoice`].
    AskChoice,
    /// See [`Instruction::AskApproval`].
    AskApproval,
    /// See [`Instruction::Compact`].
    Compact,
    /// See [`Instruction::Finish`].
    Finish,
}

impl InstructionKind {
    /// Every kind.
    pub const ALL: [Self; 14] = [
        Self::CallModel,
        Self::CallTool,
        Self::CallTools,
        Self::ResolveBlocked,
        Self::ResolveAborted,
        Self::StartSubagent,
        Self::StartSubagents,
        Self::StartClientSubagent,
        Self::StartClientSubagents,
        Self::AskText,
        Self::AskChoice,
        Self::AskApproval,
        Self::Compact,
        Self::Finish,
    ];
}

impl Instruction {
    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> InstructionKind {
        match self {
            Self::CallModel => InstructionKind::CallModel,
            Self::CallTool { .. } => InstructionKind::CallTool,
            Self::CallTools { .. } => InstructionKind::CallTools,
            Self::ResolveBlocked { .. } => InstructionKind::ResolveBlocked,
            Self::ResolveAborted { .. } => InstructionKind::ResolveAborted,
            Self::StartSubagent { .. } => InstructionKind::StartSubagent,
            Self::StartSubagents { .. } => InstructionKind::StartSubagents,
            Self::StartClientSubagent { .. } => InstructionKind::StartClientSubagent,
            Self::StartClientSubagents { .. } => InstructionKind::StartClientSubagents,
            Self::AskText { .. } => InstructionKind::AskText,
            Self::AskChoice { .. } => InstructionKind::AskChoice,
            Self::AskApproval { .. } => InstructionKind::AskApproval,
            Self::Compact => InstructionKind::Compact,
            Self::Finish(_) => InstructionKind::Finish,
        }
    }

    /// The calls that it names.
    #[must_use]
    pub fn calls(&self) -> &[CallId] {
        match self {
            Self::CallTool { call }
            | Self::StartSubagent { call }
            | Self::StartClientSubagent { call } => std::slice::from_ref(call),
            Self::CallTools { calls }
            | Self::ResolveBlocked { calls }
            | Self::ResolveAborted { calls }
            | Self::StartSubagents { calls }
            | Self::StartClientSubagents { calls }
            | Self::AskApproval { calls } => calls,
            Self::CallModel
            | Self::AskText { .. }
            | Self::AskChoice { .. }
            | Self::Compact
            | Self::Finish(_) => &[],
        }
    }
}

/// How an agent ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishInstruction {
    /// How.
    pub outcome: Outcome,
    /// Why.
    pub reason: FinishReason,
    /// The answer or report.
    pub text: Arc<str>,
    /// The failure, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// What the reason does not say, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Arc<str>>,
}
