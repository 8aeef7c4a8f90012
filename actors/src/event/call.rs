//! How calls and subagents begin and end.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::call::CallResult;
use crate::event::{FinishReason, Outcome};
use crate::failure::Failure;
use crate::family::{Delivery, Placement, Role};
use crate::id::{AgentId, CallId};
use crate::time::{Millis, Timestamp};
use crate::usage::Usage;

/// See [`Event::ToolStarted`](super::Event::ToolStarted).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolStarted {
    /// The call.
    pub call: CallId,
    /// The tool.
    pub name: Arc<str>,
    /// Its arguments as JSON text.
    pub arguments: Arc<str>,
    /// When it gives up by itself, for a call that only waits.
    #[serde(default, rename = "deadline_ms", skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
}

/// See [`Event::ToolFinished`](super::Event::ToolFinished).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolFinished {
    /// The call.
    pub call: CallId,
    /// The tool's name as the model wrote it.
    pub name: Arc<str>,
    /// How it ended and what the model reads.
    #[serde(flatten)]
    pub result: CallResult,
    /// How long it ran; zero if it never did.
    pub duration_ms: Millis,
}

/// See [`Event::SubagentStarted`](super::Event::SubagentStarted). Holds all that the subagent needs to start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubagentStarted {
    /// The new agent.
    pub subagent: AgentId,
    /// Which subagent of the family it is.
    pub name: Arc<str>,
    /// What it may do.
    pub role: Role,
    /// What it has to do.
    pub task: Arc<str>,
    /// A name that the caller chose; it need not be unique.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<Arc<str>>,
    /// The paths that it may change, if the caller named them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub write_scope: Vec<Arc<str>>,
    /// What the run is for, so that the task can be seen in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<Arc<str>>,
    /// The newest summary of its parent's history, if there is one. Never the transcript itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Arc<str>>,
    /// Whether its parent waits for it.
    pub mode: ChildMode,
    /// How its end is told from its talk.
    pub delivery: Delivery,
    /// Who runs it.
    pub placement: Placement,
    /// The call that it serves.
    pub for_call: CallId,
    /// How deep it is below the lead, from 1.
    pub depth: u32,
}

/// See [`Event::SubagentFinished`](super::Event::SubagentFinished). The completion notice is derived from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubagentFinished {
    /// The agent; the same as the envelope's.
    pub subagent: AgentId,
    /// How it ended.
    pub status: Outcome,
    /// What it reports: its last reply, or why it failed.
    pub summary: Arc<str>,
    /// Why it ended.
    pub finish_reason: FinishReason,
    /// What it used, its own subagents not included.
    pub usage: Usage,
    /// The failure, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
}

/// Whether a parent waits for a subagent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChildMode {
    /// Its notice is the result of the call that started it.
    #[default]
    Foreground,
    /// The call has returned; its notice comes as a message.
    Background,
}

/// See [`Event::CallAudited`](super::Event::CallAudited).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallAudited {
    /// The call.
    pub call: CallId,
    /// Whether a person has to be asked.
    pub intervene: bool,
}

/// See [`Event::CallDeferred`](super::Event::CallDeferred).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallDeferred {
    /// The call. Its id is the token by which the result is delivered.
    pub call: CallId,
}

/// See [`Event::ToolsActivated`](super::Event::ToolsActivated).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolsActivated {
    /// The tools, by name.
    pub tools: Vec<Arc<str>>,
}
