//! One fixed event of every kind. Golden files hold these values: they never change.

use kinfolk_actors::call::{CallKind, CallResult, CallStatus, EffectClass, ProposedCall};
use kinfolk_actors::event::{
    AgentUsage, Ending, Event, Finish, FinishReason, Message, ModelFailed, ModelRequested, Outcome,
    Reply, RunFinished, RunResumed, RunStarted, SubagentFinished, SubagentStarted, ToolFinished,
    ToolStarted, UserMessage,
};
use kinfolk_actors::failure::{Attribution, ErrorCode, Failure};
use kinfolk_actors::family::{Caps, FamilyHash, Role};
use kinfolk_actors::id::{AgentId, Attempt, CallId, Offset, RequestNo, RunId};
use kinfolk_actors::time::{Millis, Timestamp};
use kinfolk_actors::usage::Usage;
use uuid::Uuid;

use crate::ports::store::Record;

/// How many kinds [`kind_of`] tells apart.
pub(super) const KINDS: usize = 12;

/// A number for each kind of event; a new kind breaks the build here, and then needs a sample.
pub(super) fn kind_of(event: &Event) -> usize {
    match event {
        Event::RunStarted(_) => 0,
        Event::RunResumed(_) => 1,
        Event::Message(Message::User(_)) => 2,
        Event::Message(Message::Assistant(_)) => 3,
        Event::ModelRequest(_) => 4,
        Event::ModelFailed(_) => 5,
        Event::ToolStarted(_) => 6,
        Event::ToolFinished(_) => 7,
        Event::SubagentStarted(_) => 8,
        Event::SubagentFinished(_) => 9,
        Event::Ending(_) => 10,
        Event::RunFinished(_) => 11,
    }
}

fn run() -> RunId {
    RunId(Uuid::from_u128(0x0199_7c0f_fee0_7000_8000_0000_0000_0001))
}

fn call() -> CallId {
    CallId { run: run(), agent: AgentId(1), n: 300 }
}

fn usage() -> Usage {
    Usage { turns: 2, input_tokens: 70_000, cached_input_tokens: 1, ..Usage::default() }
}

fn failure() -> Failure {
    Failure {
        code: ErrorCode::from("model.from_the_future"),
        attribution: Attribution::Provider,
        retryable: true,
        message: "Störung".into(),
    }
}

/// A record with one event of every kind.
pub(super) fn every_event_record() -> Record {
    Record {
        session: "trip-42".parse().unwrap(),
        run: run(),
        attempt: Attempt(2),
        agent: AgentId(1),
        at: Timestamp(1_790_000_000_123),
        first: Offset(7),
        events: every_event(),
    }
}

/// One event of every kind, with every optional part there.
pub(super) fn every_event() -> Vec<Event> {
    starts().into_iter().chain(requests()).chain(tools()).chain(ends()).collect()
}

fn starts() -> [Event; 3] {
    [
        Event::RunStarted(RunStarted {
            input: "Plan a weekend".into(),
            model: "openai:m".into(),
            limits: Caps { max_subagents: 6, max_parallel: 3, max_depth: 1 },
            family: FamilyHash(std::array::from_fn(|at| u8::try_from(at * 8).unwrap())),
            parent_run: Some(RunId(Uuid::from_u128(5))),
        }),
        Event::RunResumed(RunResumed { attempt: Attempt(2), from_offset: Offset(8) }),
        Event::Message(Message::User(UserMessage { text: "hi".into(), for_call: Some(call()) })),
    ]
}

fn requests() -> [Event; 3] {
    [
        Event::ModelRequest(ModelRequested {
            request: RequestNo(1),
            model: "openai:m".into(),
            attempt_no: 1,
            estimated_tokens: 251,
        }),
        Event::ModelFailed(ModelFailed { request: RequestNo(1), error: failure(), usage: usage() }),
        Event::Message(Message::Assistant(Reply {
            request: RequestNo(2),
            text: "I look.".into(),
            calls: vec![ProposedCall {
                call: call(),
                alias: "c300".into(),
                name: "read_file".into(),
                arguments: r#"{"path":"a"}"#.into(),
                kind: CallKind::Tool(EffectClass::Reconcilable),
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
            for_call: call(),
            depth: 1,
        }),
        Event::SubagentFinished(SubagentFinished {
            subagent: AgentId(2),
            status: Outcome::PartialSuccess,
            summary: "half".into(),
            usage: usage(),
            error: Some(failure()),
        }),
        Event::Ending(Ending {
            outcome: Outcome::Cancelled,
            finish_reason: FinishReason::UserRequested,
            reason: "enough".into(),
            error: Some(failure()),
        }),
        Event::RunFinished(RunFinished {
            outcome: Outcome::Failed,
            finish_reason: FinishReason::LoopDetected,
            text: "no".into(),
            error: Some(failure()),
            usage: usage(),
            agents: vec![AgentUsage { agent: AgentId::LEAD, name: "lead".into(), usage: usage() }],
            duration_ms: Millis(60_000),
        }),
    ]
}
