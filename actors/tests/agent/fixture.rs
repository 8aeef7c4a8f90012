//! A small family, and short names for the events, commands and outcomes of the examples.

mod people;

use std::sync::Arc;

use kinfolk_actors::agent::{Cause, Command, Key, Outcome, RawCall, RawReply, Recovered, Start};
use kinfolk_actors::budget::account::Scope;
use kinfolk_actors::call::{CallKind, CallResult, CallStatus, EffectClass, Gate, ProposedCall};
use kinfolk_actors::event::{
    ChildMode, Ending, Event, Finish, FinishReason, LimitReached, Message, ModelFailed,
    ModelRequested, Reply, RunKind, RunStarted, Source, SubagentFinished, SubagentStarted,
    ToolFinished, ToolStarted, UserMessage,
};
use kinfolk_actors::failure::Failure;
use kinfolk_actors::family::{
    ASK_PARENT, ASK_USER, CALL_SUBAGENT, Caps, Delivery, Family, FamilyHash, Invocation,
    MESSAGE_SUBAGENT, Offer, Placement, Role, SPAWN_SUBAGENT, STOP_SUBAGENT, SubagentSpec,
    TASK_RETURN, ToolChoicePlan, ToolSpec, WAIT_SUBAGENTS,
};
use kinfolk_actors::id::{AgentId, Attempt, CallId, RequestNo, RunId};
use kinfolk_actors::limits::{ChildBudget, LimitKind, Limits, OnLimit};
use kinfolk_actors::policy::{Mode, Policy};
use kinfolk_actors::time::Millis;
use kinfolk_actors::usage::Usage;
use uuid::Uuid;

pub use self::people::*;

pub const LOOK: CallKind = CallKind::Tool(EffectClass::ReadOnly);
pub const PUT: CallKind = CallKind::Tool(EffectClass::Idempotent);
pub const BOOK: CallKind = CallKind::Tool(EffectClass::Reconcilable);
pub const WRITE: CallKind = CallKind::Tool(EffectClass::Changing);
pub const MODEL: &str = "test:model";
pub const HASH: FamilyHash = FamilyHash([7; 32]);
/// What the one run of most examples is called.
pub const RUN: RunId = RunId(Uuid::from_u128(1));

pub fn tool(name: &str, effect: EffectClass) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: "".into(),
        schema: "{}".into(),
        effect,
        placement: Placement::Runtime,
        offer: Offer::Always,
        cost: None,
    }
}

/// `look` reads, `put` is idempotent, `book` reconcilable, `write` changing.
fn invocation() -> Invocation {
    Invocation {
        prompt: "You are one of a family.".into(),
        model: MODEL.into(),
        tools: [
            tool("look", EffectClass::ReadOnly),
            tool("put", EffectClass::Idempotent),
            tool("book", EffectClass::Reconcilable),
            tool("write", EffectClass::Changing),
            tool(CALL_SUBAGENT, EffectClass::ReadOnly),
        ]
        .into(),
        tool_choice: ToolChoicePlan::default(),
        limits: Limits::default(),
    }
}

/// A lead that may start `scout`, and every tool runs.
pub fn family() -> Family {
    let scout = SubagentSpec {
        name: "scout".into(),
        description: "Looks".into(),
        role: Role::Explore,
        invocation: invocation(),
        delivery: Delivery::Answer,
        placement: Placement::Runtime,
        internal: false,
    };
    Family {
        lead: invocation(),
        subagents: vec![scout],
        caps: Caps::default(),
        limits: Limits::default(),
        on_limit: OnLimit::default(),
        child_budget: ChildBudget::default(),
        policy: policy(Mode::AutoRun),
        approval_timeout: None,
        compaction: Default::default(),
        commands: Default::default(),
        models: Default::default(),
        workspace: None,
    }
}

pub fn policy(mode: Mode) -> Policy {
    Policy { mode, ..Policy::default() }
}

pub fn manual() -> Family {
    Family { policy: policy(Mode::Manual), ..family() }
}

pub fn capped(max_subagents: u32, max_parallel: u32, max_depth: u32) -> Family {
    Family { caps: Caps { max_subagents, max_parallel, max_depth }, ..family() }
}

/// Call `n` of the lead.
pub fn id(n: u32) -> CallId {
    CallId { run: RUN, agent: AgentId::LEAD, n }
}

pub fn usage(model_requests: u64, input_tokens: u64, output_tokens: u64) -> Usage {
    Usage { model_requests, input_tokens, output_tokens, ..Usage::default() }
}

// Raw replies.

pub fn raw_call(name: &str, arguments: &str) -> RawCall {
    RawCall { provider_id: "".into(), name: name.into(), arguments: arguments.into() }
}

pub fn with_id(provider_id: &str, name: &str, arguments: &str) -> RawCall {
    RawCall { provider_id: provider_id.into(), ..raw_call(name, arguments) }
}

pub fn ask_scout(task: &str) -> RawCall {
    raw_call(CALL_SUBAGENT, &serde_json::json!({ "agent": "scout", "task": task }).to_string())
}

pub fn reply(text: &str, calls: Vec<RawCall>) -> RawReply {
    let finish = if calls.is_empty() { Finish::Stop } else { Finish::ToolCalls };
    RawReply {
        text: text.into(),
        calls,
        finish,
        usage: usage(1, 10, 5),
        cost: None,
        model: MODEL.into(),
        duration: Millis(3),
        opaque: None,
    }
}

// Commands.

pub fn start(input: &str) -> Command {
    Command::Start(Start {
        input: input.into(),
        kind: RunKind::Request,
        parent_run: None,
        prepared_at: None,
    })
}

pub fn settle(key: Key, outcome: Outcome) -> Command {
    Command::Settle { key, outcome }
}

pub fn replied(request: u32, reply: RawReply) -> Command {
    settle(Key::Model(RequestNo(request)), Outcome::Replied(reply))
}

pub fn says(request: u32, text: &str) -> Command {
    replied(request, reply(text, vec![]))
}

pub fn calls(request: u32, calls: Vec<RawCall>) -> Command {
    replied(request, reply("", calls))
}

pub fn tool_ok(text: &str) -> Outcome {
    Outcome::Tool { status: CallStatus::Ok, text: text.into(), duration: Millis(2) }
}

pub fn done(call: CallId, text: &str) -> Command {
    settle(Key::Tool(call), tool_ok(text))
}

pub fn leased(call: CallId) -> Command {
    settle(Key::Lease(call), Outcome::Leased)
}

pub fn cancel() -> Command {
    Command::Cancel { cause: Cause::Requested, reason: "enough".into() }
}

pub fn recovered(attempt: u32) -> Command {
    Command::Recovered(Recovered { attempt: Attempt(attempt), end: None })
}

pub fn recovered_to_end(attempt: u32, end: Ending) -> Command {
    Command::Recovered(Recovered { attempt: Attempt(attempt), end: Some(end) })
}

pub fn report(started: &SubagentStarted, summary: &str) -> SubagentFinished {
    SubagentFinished {
        subagent: started.subagent,
        status: kinfolk_actors::event::Outcome::Completed,
        summary: summary.into(),
        finish_reason: FinishReason::Completed,
        usage: usage(1, 10, 5),
        error: None,
    }
}

// Events.

pub fn run_started(input: &str, family: &Family) -> Event {
    Event::RunStarted(RunStarted {
        input: input.into(),
        model: MODEL.into(),
        limits: family.limits(),
        kind: RunKind::Request,
        family: HASH,
        parent_run: None,
    })
}

pub fn user(text: &str) -> Event {
    Event::Message(Message::User(UserMessage::new(Source::Input, text)))
}

/// The estimate is left out: the bench compares it nowhere but in its own example.
pub fn requested(request: u32) -> Event {
    Event::ModelRequest(ModelRequested {
        request: RequestNo(request),
        model: MODEL.into(),
        attempt_no: 1,
        estimated_tokens: 0,
        closing: None,
        max_output: None,
    })
}

pub fn model_failed(request: u32, error: Failure, usage: Usage) -> Event {
    Event::ModelFailed(ModelFailed { request: RequestNo(request), error, usage, cost: None })
}

/// The message of a raw reply whose calls turned out to be `calls`.
pub fn assistant(request: u32, raw: &RawReply, calls: &[ProposedCall]) -> Event {
    Event::Message(Message::Assistant(Reply {
        request: RequestNo(request),
        text: Arc::clone(&raw.text),
        calls: calls.to_vec(),
        finish: raw.finish.clone(),
        usage: raw.usage,
        cost: raw.cost,
        model: Arc::clone(&raw.model),
        duration_ms: raw.duration,
        opaque: raw.opaque.clone(),
    }))
}

/// Call `n` of the lead's first run as proposed.
pub fn proposed(n: u32, raw: &RawCall, kind: CallKind) -> ProposedCall {
    let arguments = if raw.arguments.trim().is_empty() { "{}" } else { &raw.arguments };
    ProposedCall {
        call: id(n),
        alias: format!("call_1_{n}").into(),
        name: Arc::clone(&raw.name),
        arguments: arguments.into(),
        kind,
        gate: Gate::Pass,
        provider_id: Arc::clone(&raw.provider_id),
    }
}

pub fn begun(call: &ProposedCall) -> Event {
    Event::ToolStarted(ToolStarted {
        call: call.call,
        name: Arc::clone(&call.name),
        arguments: Arc::clone(&call.arguments),
        deadline: None,
    })
}

pub fn ended(call: &ProposedCall, result: CallResult, duration: u64) -> Event {
    Event::ToolFinished(ToolFinished {
        call: call.call,
        name: Arc::clone(&call.name),
        result,
        duration_ms: Millis(duration),
    })
}

pub fn refused(call: &ProposedCall, status: CallStatus, text: &str) -> Event {
    ended(call, CallResult::new(status, text), 0)
}

pub fn scout_started(number: u32, call: &ProposedCall, task: &str) -> SubagentStarted {
    SubagentStarted {
        subagent: AgentId(number),
        name: "scout".into(),
        role: Role::Explore,
        task: task.into(),
        label: None,
        write_scope: vec![],
        goal: Some("go".into()),
        context: None,
        mode: ChildMode::Foreground,
        delivery: Delivery::Answer,
        placement: Placement::Runtime,
        for_call: call.call,
        depth: 1,
    }
}

pub fn ending_by_cancel() -> Ending {
    Ending {
        outcome: kinfolk_actors::event::Outcome::Cancelled,
        finish_reason: FinishReason::UserRequested,
        reason: "enough".into(),
        text: "".into(),
        error: None,
    }
}

/// The outcome of a subagent that took no time.
pub fn reported_by(report: SubagentFinished) -> Outcome {
    Outcome::Child { report: Box::new(report), duration: Millis::default() }
}

/// The family with every tool that there is.
pub fn full() -> Family {
    let client =
        |name: &str, effect| ToolSpec { placement: Placement::Client, ..tool(name, effect) };
    let read = EffectClass::ReadOnly;
    let own = [
        SPAWN_SUBAGENT,
        WAIT_SUBAGENTS,
        MESSAGE_SUBAGENT,
        STOP_SUBAGENT,
        ASK_USER,
        ASK_PARENT,
        TASK_RETURN,
    ];
    let more = own.map(|name| tool(name, read)).into_iter().chain([
        client("fetch", read),
        client("order", EffectClass::Changing),
        ToolSpec { offer: Offer::OnceActivated, ..tool("hidden", read) },
    ]);
    let tools: Arc<[ToolSpec]> = invocation().tools.iter().cloned().chain(more).collect();
    let mut family = family();
    family.lead.tools = Arc::clone(&tools);
    family.subagents[0].invocation.tools = tools;
    let agency = SubagentSpec {
        name: "agency".into(),
        placement: Placement::Client,
        ..family.subagents[0].clone()
    };
    family.subagents.push(agency);
    family
}

/// The limits of a family, and what happens at them.
pub fn limited(limits: Limits, on_limit: OnLimit) -> Family {
    Family { limits, on_limit, ..full() }
}

pub fn limit(kind: LimitKind) -> Event {
    let scope = Scope::Family;
    Event::LimitReached(LimitReached { limit: kind, scope })
}
