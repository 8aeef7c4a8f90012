//! The persisted events. The same rules as in [`stored`](super::stored): variants are numbered by
//! their order, so new ones come at the end, and no struct here is ever edited once released. A
//! type's version is its own: what is new here starts with 1.
//!
//! Enums of the domain are stored as numbers ([`number`](super::number)), but for error codes and
//! finishes, which are text so that unknown ones survive. Tool arguments and provider blocks are
//! text.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::parts::{
    AmountV1, AskIdV1, CallIdV1, FailureV1, LimitsV1, MoreV1, ScopeV1, ToolFinishedV1, UsageV1,
};

/// One event, and what later versions of the program know beside it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct EntryV2 {
    pub event: EventV2,
    pub more: MoreV1,
}

/// One event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum EventV2 {
    RunStarted(RunStartedV2),
    RunResumed { attempt: u32, from_offset: u64, raised: Option<LimitsV1> },
    UserMessage(UserMessageV2),
    Reply(ReplyV2),
    ModelRequest(ModelRequestV2),
    ModelFailed { request: u32, error: FailureV1, usage: UsageV1, cost: Option<u64> },
    ToolStarted { call: CallIdV1, name: Arc<str>, arguments: Arc<str>, deadline: Option<u64> },
    ToolFinished(ToolFinishedV1),
    SubagentStarted(SubagentStartedV2),
    SubagentFinished(SubagentFinishedV2),
    Ending(EndingV2),
    RunFinished(RunFinishedV2),
    RunInterrupted { reason: Arc<str>, limit: Option<u32>, resumable: bool },
    CallAudited { call: CallIdV1, intervene: bool },
    CallDeferred { call: CallIdV1 },
    ToolsActivated { tools: Vec<Arc<str>> },
    ApprovalRequested(ApprovalRequestedV1),
    ApprovalSettled(ApprovalSettledV1),
    QuestionAsked(QuestionAskedV1),
    QuestionAnswered { question: AskIdV1, answer: Arc<str>, by: Option<Arc<str>> },
    CompactionAsked,
    InterruptAsked { reason: Arc<str> },
    CompactionStarted(CompactionStartedV1),
    CompactionFinished(CompactionFinishedV1),
    LimitWarning { limit: u32, scope: ScopeV1, used: AmountV1, of: AmountV1 },
    LimitReached { limit: u32, scope: ScopeV1 },
    QuestionWithdrawn { question: AskIdV1 },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunStartedV2 {
    pub input: Arc<str>,
    pub model: Arc<str>,
    pub max_subagents: u32,
    pub max_parallel: u32,
    pub max_depth: u32,
    pub limits: LimitsV1,
    pub on_limit: u32,
    pub child_budget: u32,
    pub kind: u32,
    pub family: [u8; 32],
    pub parent_run: Option<[u8; 16]>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct UserMessageV2 {
    pub text: Arc<str>,
    pub source: u32,
    pub for_call: Option<CallIdV1>,
    pub question: Option<AskIdV1>,
    /// An outcome and a finish reason.
    pub ended: Option<(u32, u32)>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ReplyV2 {
    pub request: u32,
    pub text: Arc<str>,
    pub calls: Vec<ProposedCallV2>,
    pub finish: Arc<str>,
    pub usage: UsageV1,
    pub model: Arc<str>,
    pub duration_ms: u64,
    pub opaque: Option<Arc<str>>,
    /// Picodollars.
    pub cost: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ProposedCallV2 {
    pub call: CallIdV1,
    pub alias: Arc<str>,
    pub name: Arc<str>,
    pub arguments: Arc<str>,
    pub kind: u32,
    pub gate: GateV1,
    pub provider_id: Arc<str>,
}

/// Whether a call may run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum GateV1 {
    Pass,
    Ask(Arc<str>),
    Audit { audit: Arc<str>, default: u32 },
    Block(Arc<str>),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ModelRequestV2 {
    pub request: u32,
    pub model: Arc<str>,
    pub attempt_no: u32,
    pub estimated_tokens: u64,
    pub closing: Option<u32>,
    pub max_output: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SubagentStartedV2 {
    pub subagent: u32,
    pub name: Arc<str>,
    pub role: u32,
    pub task: Arc<str>,
    pub label: Option<Arc<str>>,
    pub write_scope: Vec<Arc<str>>,
    pub goal: Option<Arc<str>>,
    pub context: Option<Arc<str>>,
    pub mode: u32,
    pub delivery: u32,
    pub placement: u32,
    pub for_call: CallIdV1,
    pub depth: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SubagentFinishedV2 {
    pub subagent: u32,
    pub status: u32,
    pub summary: Arc<str>,
    pub finish_reason: u32,
    pub usage: UsageV1,
    pub error: Option<FailureV1>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct EndingV2 {
    pub outcome: u32,
    pub finish_reason: u32,
    pub reason: Arc<str>,
    pub text: Arc<str>,
    pub error: Option<FailureV1>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunFinishedV2 {
    pub outcome: u32,
    pub finish_reason: u32,
    pub text: Arc<str>,
    pub error: Option<FailureV1>,
    pub usage: UsageV1,
    /// Picodollars.
    pub cost: Option<u64>,
    pub detail: Option<Arc<str>>,
    pub agents: Vec<AgentUsageV2>,
    pub duration_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct AgentUsageV2 {
    pub agent: u32,
    pub name: Arc<str>,
    pub usage: UsageV1,
    /// Picodollars.
    pub cost: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ApprovalRequestedV1 {
    pub approval: AskIdV1,
    pub subject: ApprovalSubjectV1,
    pub reason: Arc<str>,
    /// Milliseconds since the Unix epoch.
    pub deadline: Option<u64>,
}

/// What is to be approved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum ApprovalSubjectV1 {
    Tool { call: CallIdV1, name: Arc<str>, arguments: Arc<str>, digest: [u8; 32] },
    Limit { limit: u32, scope: ScopeV1 },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ApprovalSettledV1 {
    pub approval: AskIdV1,
    pub decision: u32,
    pub by: Option<Arc<str>>,
    pub reason: Option<Arc<str>>,
    pub raised: Option<LimitsV1>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct QuestionAskedV1 {
    pub question: AskIdV1,
    pub kind: u32,
    pub text: Arc<str>,
    pub options: Vec<Arc<str>>,
    pub call: Option<CallIdV1>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CompactionStartedV1 {
    pub n: u32,
    pub trigger: u32,
    pub tokens: u64,
    pub entries: u32,
    pub max_output: u64,
    pub model: Arc<str>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CompactionFinishedV1 {
    pub n: u32,
    pub ok: bool,
    pub summary: Option<Arc<str>>,
    pub tokens_before: u64,
    pub tokens_after: u64,
    pub gained: bool,
    pub error: Option<FailureV1>,
    pub model: Arc<str>,
    pub usage: UsageV1,
    pub duration_ms: u64,
    /// Picodollars.
    pub cost: Option<u64>,
}
