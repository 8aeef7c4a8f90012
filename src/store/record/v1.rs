//! Version 1 of a record, which is only read any more: it is [taken up](upcast) to version 2, with
//! what its writer could not know filled in. Never edited.

mod upcast;

use std::sync::Arc;

use serde::Deserialize;

use super::parts::{CallIdV1, FailureV1, ToolFinishedV1, UsageV1};

/// The events of one append.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct RecordV1 {
    pub prev: Option<u64>,
    pub first: u64,
    pub session: Arc<str>,
    pub run: [u8; 16],
    pub attempt: u32,
    pub agent: u32,
    pub at: u64,
    pub events: Vec<EventV1>,
}

/// One event.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) enum EventV1 {
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

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct RunStartedV1 {
    pub input: Arc<str>,
    pub model: Arc<str>,
    pub max_subagents: u32,
    pub max_parallel: u32,
    pub max_depth: u32,
    pub family: [u8; 32],
    pub parent_run: Option<[u8; 16]>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct ReplyV1 {
    pub request: u32,
    pub text: Arc<str>,
    pub calls: Vec<ProposedCallV1>,
    pub finish: Arc<str>,
    pub usage: UsageV1,
    pub model: Arc<str>,
    pub duration_ms: u64,
    pub opaque: Option<Arc<str>>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct ProposedCallV1 {
    pub call: CallIdV1,
    pub alias: Arc<str>,
    pub name: Arc<str>,
    pub arguments: Arc<str>,
    pub kind: u32,
    pub provider_id: Arc<str>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct SubagentStartedV1 {
    pub subagent: u32,
    pub name: Arc<str>,
    pub role: u32,
    pub task: Arc<str>,
    pub label: Option<Arc<str>>,
    pub write_scope: Vec<Arc<str>>,
    pub for_call: CallIdV1,
    pub depth: u32,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct SubagentFinishedV1 {
    pub subagent: u32,
    pub status: u32,
    pub summary: Arc<str>,
    pub usage: UsageV1,
    pub error: Option<FailureV1>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct RunFinishedV1 {
    pub outcome: u32,
    pub finish_reason: u32,
    pub text: Arc<str>,
    pub error: Option<FailureV1>,
    pub usage: UsageV1,
    pub agents: Vec<AgentUsageV1>,
    pub duration_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct AgentUsageV1 {
    pub agent: u32,
    pub name: Arc<str>,
    pub usage: UsageV1,
}
