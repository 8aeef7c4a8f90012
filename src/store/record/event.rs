//! The persisted events. The same rules as in [`stored`](super::stored): variants are numbered by
//! their order, so new ones come at the end, and no struct here is ever edited once released.
//!
//! Enums of the domain are stored as numbers ([`number`](super::number)), but for error codes and
//! finishes, which are text so that unknown ones survive. Tool arguments and provider blocks are
//! text.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// One event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum EventV1 {
    RunStarted(RunStartedV1),
    RunResumed { attempt: u32, from_offset: u64 },
    UserMessage { text: Arc<str>, for_call: Option<CallIdV1> },
    Reply(ReplyV1),
    ModelRequest { request: u32, model: Arc<str>, attempt_no: u32, estimated_tokens: u64 },
    ModelFailed { request: u32, error: FailureV1, usage: UsageV1 },
    ToolStarted { call: CallIdV1, name: Arc<str>, arguments: Arc<str> },
    ToolFinished(ToolFinishedV1),
    SubagentStarted(SubagentStartedV1),
    SubagentFinished(SubagentFinishedV1),
    Ending { outcome: u32, finish_reason: u32, reason: Arc<str>, error: Option<FailureV1> },
    RunFinished(RunFinishedV1),
}

/// A call: run, agent, place among the agent's calls.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CallIdV1 {
    pub run: [u8; 16],
    pub agent: u32,
    pub n: u32,
}

/// Pairs of a kind's number and its count, zeros left out. A kind that the reader does not know is
/// passed over, so that a new kind needs no new version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct UsageV1(pub Vec<(u32, u64)>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FailureV1 {
    pub code: Arc<str>,
    pub attribution: u32,
    pub retryable: bool,
    pub message: Arc<str>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunStartedV1 {
    pub input: Arc<str>,
    pub model: Arc<str>,
    pub max_subagents: u32,
    pub max_parallel: u32,
    pub max_depth: u32,
    pub family: [u8; 32],
    pub parent_run: Option<[u8; 16]>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ReplyV1 {
    pub request: u32,
    pub text: Arc<str>,
    pub calls: Vec<ProposedCallV1>,
    pub finish: Arc<str>,
    pub usage: UsageV1,
    pub model: Arc<str>,
    pub duration_ms: u64,
    pub opaque: Option<Arc<str>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ProposedCallV1 {
    pub call: CallIdV1,
    pub alias: Arc<str>,
    pub name: Arc<str>,
    pub arguments: Arc<str>,
    pub kind: u32,
    pub provider_id: Arc<str>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ToolFinishedV1 {
    pub call: CallIdV1,
    pub name: Arc<str>,
    pub status: u32,
    pub text: Arc<str>,
    pub full_size: Option<u64>,
    pub duration_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SubagentStartedV1 {
    pub subagent: u32,
    pub name: Arc<str>,
    pub role: u32,
    pub task: Arc<str>,
    pub label: Option<Arc<str>>,
    pub write_scope: Vec<Arc<str>>,
    pub for_call: CallIdV1,
    pub depth: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SubagentFinishedV1 {
    pub subagent: u32,
    pub status: u32,
    pub summary: Arc<str>,
    pub usage: UsageV1,
    pub error: Option<FailureV1>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunFinishedV1 {
    pub outcome: u32,
    pub finish_reason: u32,
    pub text: Arc<str>,
    pub error: Option<FailureV1>,
    pub usage: UsageV1,
    pub agents: Vec<AgentUsageV1>,
    pub duration_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct AgentUsageV1 {
    pub agent: u32,
    pub name: Arc<str>,
    pub usage: UsageV1,
}
