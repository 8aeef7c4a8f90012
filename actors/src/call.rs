//! A tool call: what a model asked for, what that is, and how it ended.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::event::Outcome;
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
    /// A tool that the host or a client runs, with its effect class.
    Client(EffectClass),
    /// The start of a subagent whose notice is the call's result.
    Subagent,
    /// The same, run by the host or a client.
    ClientSubagent,
    /// The start of a subagent that goes on beside its parent.
    Spawn,
    /// The wait for subagents that were spawned.
    Wait,
    /// A message to a subagent.
    Tell,
    /// The end of a subagent, wished by its parent.
    Stop,
    /// A question to the user.
    AskUser,
    /// A question to the parent agent.
    AskParent,
    /// A subagent's result, which ends it.
    Return,
    /// It can't run: its tool or its arguments are unknown. It is settled where it is proposed.
    Invalid,
}

/// Whether a call may run, as the policy said when the reply was taken.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// It may.
    #[default]
    Pass,
    /// A person has to approve it, for this reason.
    Ask(Arc<str>),
    /// A check of the host has to say whether a person is asked.
    Audit {
        /// The check's registered name.
        audit: Arc<str>,
        /// What counts if no such check is registered.
        default: AuditDefault,
    },
    /// It may not, for this reason, and nobody is asked.
    Block(Arc<str>),
}

impl Gate {
    /// Whether the call may run without anyone being asked.
    #[must_use]
    pub fn is_pass(&self) -> bool {
        *self == Self::Pass
    }
}

/// What an audit that is not registered comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditDefault {
    /// The call runs.
    #[default]
    Never,
    /// A person is asked.
    Ask,
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
    /// Whether it may run.
    #[serde(default, skip_serializing_if = "Gate::is_pass")]
    pub gate: Gate,
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

    /// How a subagent ended whose call has this status.
    #[must_use]
    pub fn as_end(self) -> Outcome {
        match self {
            Self::Ok => Outcome::Completed,
            Self::Cancelled => Outcome::Cancelled,
            Self::Timeout
            | Self::Limit
            | Self::Error
            | Self::Denied
            | Self::Blocked
            | Self::Malformed
            | Self::UnknownTool
            | Self::UnknownOutcome => Outcome::Failed,
        }
    }

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
