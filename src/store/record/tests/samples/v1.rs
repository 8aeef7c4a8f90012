//! What `record-v1.bin` holds, as it is read today.

use kinfolk_actors::call::{CallKind, CallResult, CallStatus, EffectClass, Gate, ProposedCall};
use kinfolk_actors::event::{
    AgentUsage, ChildMode, Ending, Event, Finish, FinishReason, Message, ModelFailed,
    ModelRequested, Outcome, Reply, RunFinished, RunKind, RunResumed, RunStarted, Source,
    SubagentFinished, SubagentStarted, ToolFinished, ToolStarted, UserMessage,
};
use kinfolk_actors::family::{Caps, Delivery, FamilyHash, FamilyLimits, Placement, Role};
use kinfolk_actors::id::{AgentId, Attempt, Offset, RequestNo, RunId};
use kinfolk_actors::limits::{ChildBudget, Limits, OnLimit};
use kinfolk_actors::time::Millis;
use kinfolk_actors::usage::Usage;
use uuid::Uuid;

use super::{call, failure};

/// One event of every kind that version 1 knew, with every optional part there, and with what is
/// read for what version 1 did not say.
pub(in super::super) fn every_event() -> Vec<Event> {
    starts().into_iter().chain(requests()).chain(tools()).chain(ends()).collect()
}

fn starts() -> [Event; 3] {
    [
        Event::RunStarted(RunStarted {
            input: "Plan a weekend".into(),
            model: "openai:m".into(),
            limits: FamilyLimits {
                caps: Caps { max_subagents: 6, max_parallel: 3, max_depth: 1 },
                limits: Limits::none(),
                on_limit: OnLimit::Finish,
                child_budget: ChildBudget::Share,
            },
            kind: RunKind::Request,
            family: FamilyHash(std::array::from_fn(|at| u8::try_from(at * 8).unwrap())),
            parent_run: Some(RunId(Uuid::from_u128(5))),
        }),
        Event::RunResumed(RunResumed { attempt: Attempt(2), from_offset: Offset(8), raised: None }),
        Event::Message(Message::User(UserMessage {
            text: "hi".into(),
            source: Source::Input,
            for_call: Some(call()),
            question: None,
            ended: None,
        })),
    ]
}

fn requests() -> [Event; 3] {
    [
        Event::ModelRequest(ModelRequested {
            request: RequestNo(1),
            model: "openai:m".into(),
            attempt_no: 1,
            estimated_tokens: 251,
            closing: None,
            max_output: None,
        }),
        Event::ModelFailed(ModelFailed {
            request: RequestNo(1),
            error: failure(),
            usage: usage(),
            cost: None,
        }),
        Event::Message(Message::Assistant(Reply {
            cost: None,
            request: RequestNo(2),
            text: "I look.".into(),
            calls: vec![ProposedCall {
                call: call(),
                alias: "c300".into(),
                name: "read_file".into(),
                arguments: r#"{"path":"a"}"#.into(),
                kind: CallKind::Tool(EffectClass::Reconcilable),
                gate: Gate::Pass,
                provider_id: "call_x".into(),
            }],
            finish: Finish::Other("paused".into()),
            usage: usage(),
            model: "m-2026".into(),
            duration_ms: Millis(1500),
            opaque: Some("[]".into()),
        })),
    ]
}

fn tools() -> [Event; 2] {
    [
        Event::ToolStarted(ToolStarted {
            call: call(),
            name: "read_file".into(),
            arguments: r#"{"path":"a"}"#.into(),
            deadline: None,
        }),
        Event::ToolFinished(ToolFinished {
            call: call(),
            name: "read_file".into(),
            result: CallResult {
                status: CallStatus::UnknownOutcome,
                text: "?".into(),
                full_size: Some(99_999),
            },
            duration_ms: Millis(3),
        }),
    ]
}

fn ends() -> [Event; 4] {
    [
        Event::SubagentStarted(SubagentStarted {
            subagent: AgentId(2),
            name: "scout".into(),
            role: Role::Task,
            task: "look".into(),
            label: Some("north".into()),
            write_scope: vec!["src".into(), "docs".into()],
            goal: None,
            context: None,
            mode: ChildMode::Foreground,
            delivery: Delivery::Answer,
            placement: Placement::Runtime,
            for_call: call(),
            depth: 1,
        }),
        Event::SubagentFinished(SubagentFinished {
            subagent: AgentId(2),
            status: Outcome::PartialSuccess,
            summary: "half".into(),
            finish_reason: FinishReason::Completed,
            usage: usage(),
            error: Some(failure()),
        }),
        Event::Ending(Ending {
            outcome: Outcome::Cancelled,
            finish_reason: FinishReason::UserRequested,
            reason: "enough".into(),
            text: "".into(),
            error: Some(failure()),
        }),
        Event::RunFinished(RunFinished {
            outcome: Outcome::Failed,
            finish_reason: FinishReason::LoopDetected,
            text: "no".into(),
            error: Some(failure()),
            usage: usage(),
            cost_usd: None,
            detail: None,
            agents: vec![AgentUsage {
                agent: AgentId::LEAD,
                name: "lead".into(),
                usage: usage(),
                cost_usd: None,
            }],
            duration_ms: Millis(60_000),
        }),
    ]
}

fn usage() -> Usage {
    Usage { turns: 2, input_tokens: 70_000, cached_input_tokens: 1, ..Usage::default() }
}
