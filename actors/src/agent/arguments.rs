//! The arguments of the calls that an agent carries out itself.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::call::{CallResult, CallStatus, read_arguments};
use crate::id::AgentId;
use crate::time::Millis;

/// Of `call_subagent` and `spawn_subagent`.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Delegate {
    pub agent: Arc<str>,
    pub task: Arc<str>,
    #[serde(default)]
    pub label: Option<Arc<str>>,
    #[serde(default)]
    pub write_scope: Vec<Arc<str>>,
}

/// Of `wait_subagents`.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wait {
    /// Whom to wait for; all that are at work if nobody is named.
    #[serde(default)]
    pub subagents: Vec<AgentId>,
    /// Seconds, if the wait gives up at all.
    #[serde(default)]
    pub timeout: Option<u64>,
}

/// Of `message_subagent`.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tell {
    pub subagent: AgentId,
    pub message: Arc<str>,
}

/// Of `stop_subagent`.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Stop {
    pub subagent: AgentId,
}

/// Of `ask_user` and `ask_parent`.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Ask {
    pub question: Arc<str>,
    #[serde(default)]
    pub options: Vec<Arc<str>>,
}

/// Of `task_return`.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Return {
    pub result: Arc<str>,
}

impl Wait {
    /// How long the wait may take.
    pub fn patience(&self) -> Option<Millis> {
        self.timeout.map(|seconds| Millis(seconds.saturating_mul(1000)))
    }
}

/// Reads the arguments of a call, or says what is wrong with them, for the model.
pub(super) fn read<T: DeserializeOwned>(tool: &str, text: &str) -> Result<T, CallResult> {
    let malformed = |text: String| CallResult::new(CallStatus::Malformed, text);
    let arguments = read_arguments(text).map_err(malformed)?;
    serde_json::from_value(serde_json::Value::Object(arguments))
        .map_err(|error| malformed(format!("the arguments of `{tool}` do not fit: {error}")))
}

/// The subagent that a call names as its `subagent`.
pub(super) fn target(text: &str) -> Option<AgentId> {
    #[derive(Deserialize)]
    struct Target {
        subagent: AgentId,
    }
    serde_json::from_str::<Target>(text).ok().map(|target| target.subagent)
}

/// Whether a wait with these arguments is for that subagent.
pub(super) fn waits_for(text: &str, subagent: AgentId) -> bool {
    let wait: Option<Wait> = serde_json::from_str(text).ok();
    wait.is_some_and(|wait| wait.subagents.is_empty() || wait.subagents.contains(&subagent))
}
