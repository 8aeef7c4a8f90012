//! A tool call: what a model asked for, what that is, and how it ended.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::id::CallId;
use crate::text::{Bounded, bounded};

/// What a tool may do to the world. It decides what runs in parallel, what needs approval, and
/// what happens to a call that was running when the process died.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectClass {
    /// Changes nothing; may run in parallel and again.
    ReadOnly,
    /// Changes something, but running it again with the same call id changes nothing more.
    Idempotent,
    /// Changes something; whether it happened can be asked.
    Reconcilable,
    /// Changes something; never run a second time.
    Changing,
}

impl EffectClass {
    /// Whether a call of this class may run again after a crash cut it off.
    #[must_use]
    pub fn may_run_again(self) -> bool {
        match self {
            Self::ReadOnly | Self::Idempotent => true,
            Self::Reconcilable | Self::Changing => false,
        }
    }
}

/// What a proposed call turned out to be when the reply was taken. Frozen then, so that a later
/// change of settings does not change an old decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallKind {
    /// A tool of the agent, with its effect class.
    Tool(EffectClass),
    /// The start of a subagent.
    Subagent,
    /// It can't run: its tool or its arguments are unknown. It is settled where it is proposed.
    Invalid,
}

/// One call as the reply proposed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposedCall {
    /// The runtime's own id.
    pub call: CallId,
    /// The id on the wire: unique in the agent's transcript, at most 26 bytes of `a-z 0-9 _`.
    pub alias: Arc<str>,
    /// The tool's name as the model wrote it.
    pub name: Arc<str>,
    /// The arguments as the model wrote them; `{}` if it wrote nothing.
    pub arguments: Arc<str>,
    /// What it is.
    pub kind: CallKind,
    /// The provider's own id, kept as an opaque alias; empty if it gave none.
    pub provider_id: Arc<str>,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallStatus {
    /// It ran and succeeded.
    Ok,
    /// It ran and failed, or its subagent did.
    Error,
    /// Its deadline passed.
    Timeout,
    /// It was ended by a cancel, or never began because of one.
    Cancelled,
    /// A person refused it.
    Denied,
    /// The approval mode does not allow it and nobody can be asked.
    Blocked,
    /// Its arguments could not be read or do not fit the tool's schema.
    Malformed,
    /// The agent has no tool of that name.
    UnknownTool,
    /// It was running when the process died; whether it happened is not known.
    UnknownOutcome,
    /// A limit forbids it.
    Limit,
}

impl CallStatus {
    /// Every status, in the order of the stored numbers.
    pub const ALL: [Self; 10] = [
        Self::Ok,
        Self::Error,
        Self::Timeout,
        Self::Cancelled,
        Self::Denied,
        Self::Blocked,
        Self::Malformed,
        Self::UnknownTool,
        Self::UnknownOutcome,
        Self::Limit,
    ];

    /// Whether the model should read the result as an error.
    #[must_use]
    pub fn is_error(self) -> bool {
        self != Self::Ok
    }
}

/// The settled end of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallResult {
    /// How it ended.
    pub status: CallStatus,
    /// What the model reads, at most the result cap plus a mark.
    #[serde(rename = "result")]
    pub text: Arc<str>,
    /// The full size in bytes, if the text was cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_size: Option<u64>,
}

impl CallResult {
    /// The most bytes of one result that a model reads; what is longer is cut with a mark. A
    /// result of this size is about 8,000 tokens, a quarter of the smallest assumed window.
    pub const CAP: usize = 32 * 1024;

    /// A result, cut to the cap.
    #[must_use]
    pub fn new(status: CallStatus, text: impl Into<Arc<str>>) -> Self {
        let Bounded { text, full_size } = bounded(&text.into(), Self::CAP);
        Self { status, text, full_size }
    }
}

/// Reads a model's argument text: nothing or white space means no arguments.
///
/// # Errors
/// What is wrong with the text, for the model: it is not JSON, or not an object.
pub fn read_arguments(text: &str) -> Result<serde_json::Map<String, serde_json::Value>, String> {
    if text.trim().is_empty() {
        return Ok(serde_json::Map::new());
    }
    match serde_json::from_str(text) {
        Ok(serde_json::Value::Object(map)) => Ok(map),
        Ok(_) => Err("the arguments must be one JSON object".to_owned()),
        Err(error) => Err(format!("the arguments are not valid JSON: {error}")),
    }
}
