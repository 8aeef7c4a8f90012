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
    /// Run these calls, as parallel as their effects allow.
    CallTools {
        /// In the model's order.
        calls: Vec<CallId>,
    },
    /// Start subagents for these calls, as many at once as the caps allow.
    StartSubagents {
        /// In the model's order.
        calls: Vec<CallId>,
    },
    /// End the agent: the run if it is the lead's, otherwise the subagent's task.
    Finish(FinishInstruction),
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
}
