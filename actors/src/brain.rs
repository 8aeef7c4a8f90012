//! What an agent does next. A brain is replaceable, stateless and pure.

mod phase;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use self::phase::PhaseBrain;
use crate::agent::AgentState;
use crate::event::Reply;
use crate::failure::Failure;
use crate::id::CallId;
use crate::instruction::Instruction;

/// Where in its loop an agent stands when the brain is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
// A reply is moved a few times and never kept: its sums need no box.
#[allow(clippy::large_enum_variant)]
pub enum StepContext {
    /// The agent goes on without anything new: after a resume, or a limit that was raised.
    Init,
    /// Input arrived: the user's, guidance, a notice, or the task of a subagent.
    UserInput,
    /// A model's whole reply arrived. Calls that can't run are settled already.
    ModelResult {
        /// The reply. Each call says whether it may run.
        reply: Reply,
    },
    /// The one tool call of the last reply has its result.
    ToolResult {
        /// Which.
        call: CallId,
    },
    /// Every call of the last reply has its result; the last of them was a tool's.
    ToolsBatchResult,
    /// The one subagent call of the last reply has its result.
    SubagentResult {
        /// Which.
        call: CallId,
    },
    /// Every call of the last reply has its result; subagents were among them.
    SubagentsBatchResult,
    /// A person approved a call. The machine does not ask then: an approved call goes straight to
    /// its execution. The phase is there for hosts that drive a brain themselves.
    ApprovedCall {
        /// Which.
        call: CallId,
    },
    /// A person answered a question of the brain.
    HumanResponse {
        /// The answer.
        answer: Arc<str>,
    },
    /// A person aborts. The agent ends whatever the brain answers.
    HumanAbort {
        /// Calls that have not begun.
        unbegun: Vec<CallId>,
    },
    /// A compaction has ended, well or not.
    CompactionResult {
        /// Whether the summary stands.
        ok: bool,
    },
    /// A model request failed for good.
    Error {
        /// Why.
        failure: Failure,
    },
}

impl StepContext {
    /// The names of the phases in which the machine asks: all but `approved_call`.
    pub const PHASES: [&'static str; 11] = [
        "init",
        "user_input",
        "model_result",
        "tool_result",
        "tools_batch_result",
        "subagent_result",
        "subagents_batch_result",
        "human_response",
        "human_abort",
        "compaction_result",
        "error",
    ];

    /// The phase's name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Init => "init",
            Self::UserInput => "user_input",
            Self::ModelResult { .. } => "model_result",
            Self::ToolResult { .. } => "tool_result",
            Self::ToolsBatchResult => "tools_batch_result",
            Self::SubagentResult { .. } => "subagent_result",
            Self::SubagentsBatchResult => "subagents_batch_result",
            Self::ApprovedCall { .. } => "approved_call",
            Self::HumanResponse { .. } => "human_response",
            Self::HumanAbort { .. } => "human_abort",
            Self::CompactionResult { .. } => "compaction_result",
            Self::Error { .. } => "error",
        }
    }
}

/// Decides what an agent does next. Pure: the same arguments give the same answer.
pub trait Brain: Send + Sync {
    /// The next instructions, carried out in order until one of them blocks the agent. `state` is
    /// the fold of all that was decided before the question.
    ///
    /// Calls can be named only in answer to the reply that made them; those left out get a result
    /// that says so. What is named against the policy is not run. An answer from which nothing
    /// follows ends the agent as `harness.brain_stuck`.
    fn next(&self, context: &StepContext, state: &AgentState) -> Vec<Instruction>;
}
