//! One run of a family, as each way of showing it must look.

mod asking;
mod inspect;
mod live;

use std::sync::Arc;

use kinfolk_actors::call::{CallKind, CallResult, CallStatus, EffectClass, Gate, ProposedCall};
use kinfolk_actors::event::{
    AgentUsage, ChildMode, Event, Finish, FinishReason, Message, Outcome, Recorded, Reply,
    RunFinished, RunKind, RunStarted, Source, SubagentFinished, SubagentStarted, ToolFinished,
    ToolStarted, UserMessage,
};
use kinfolk_actors::family::{Delivery, FamilyHash, FamilyLimits, Placement, Role};
use kinfolk_actors::id::{AgentId, Attempt, CallId, Offset, RequestNo, RunId};
use kinfolk_actors::money::Money;
use kinfolk_actors::time::{Millis, Timestamp};
use kinfolk_actors::usage::Usage;

const RUN: RunId = RunId(uuid::Uuid::from_u128(7));
const SUB: AgentId = AgentId(1);
const START: u64 = 1_790_000_000_000;

fn call(agent: AgentId, n: u32) -> CallId {
    CallId { run: RUN, agent, n }
}

fn proposed(id: CallId, name: &str, arguments: &str, kind: CallKind) -> ProposedCall {
    ProposedCall {
        call: id,
        alias: "call_1_0".into(),
        name: name.into(),
        arguments: arguments.into(),
        kind,
        gate: Gate::Pass,
        provider_id: "".into(),
    }
}

fn tokens(input: u64, output: u64) -> Usage {
    let model_requests = 1;
    Usage { model_requests, input_tokens: input, output_tokens: output, ..Usage::default() }
}

fn reply(text: &str, calls: Vec<ProposedCall>, usage: Usage) -> Event {
    let finish = if calls.is_empty() { Finish::Stop } else { Finish::ToolCalls };
    Event::Message(Message::Assistant(Reply {
        cost: None,
        request: RequestNo(1),
        text: text.into(),
        calls,
        finish,
        usage,
        model: "m".into(),
        duration_ms: Millis(5),
        opaque: None,
    }))
}

fn finished(outcome: Outcome, finish_reason: FinishReason, text: &str) -> RunFinished {
    let lead = Usage { turns: 2, tool_calls: 1, ..tokens(1_000, 100) };
    let sub = Usage { turns: 2, tool_calls: 2, ..tokens(500, 50) };
    let mut usage = lead;
    usage.add(&sub);
    RunFinished {
        outcome,
        finish_reason,
        text: text.into(),
        error: None,
        usage,
        cost_usd: None,
        detail: None,
        agents: vec![
            AgentUsage {
                agent: AgentId::LEAD,
                name: "lead".into(),
                usage: lead,
                cost_usd: Some(Money::from_pico(2_000_000_000)),
            },
            AgentUsage { agent: SUB, name: "explorer".into(), usage: sub, cost_usd: None },
        ],
        duration_ms: Millis(3_250),
    }
}

fn sub_started() -> Event {
    Event::SubagentStarted(SubagentStarted {
        subagent: SUB,
        name: "explorer".into(),
        role: Role::Explore,
        task: "count\nthe files".into(),
        label: Some("count \u{1b}[2J".into()),
        write_scope: Vec::new(),
        goal: None,
        context: None,
        mode: ChildMode::Foreground,
        delivery: Delivery::Answer,
        placement: Placement::Runtime,
        for_call: call(AgentId::LEAD, 0),
        depth: 1,
    })
}

fn tool_finished(id: CallId, name: &str, result: (CallStatus, &str), ms: u64) -> Event {
    let (status, text) = result;
    let result = CallResult::new(status, text);
    Event::ToolFinished(ToolFinished {
        call: id,
        name: name.into(),
        result,
        duration_ms: Millis(ms),
    })
}

/// The explorer reads twice, the second time in vain, and reports.
fn explorer_events() -> Vec<Event> {
    let path = r#"{"path":"a.txt"}"#;
    let read = |n| {
        let kind = CallKind::Tool(EffectClass::ReadOnly);
        proposed(call(SUB, n), "read_file", path, kind)
    };
    let started = |n| {
        let (name, arguments) = ("read_file".into(), path.into());
        Event::ToolStarted(ToolStarted { call: call(SUB, n), name, arguments, deadline: None })
    };
    let failed = (CallStatus::Error, "no\nfile \u{9b}31m");
    vec![
        Event::Message(Message::User(UserMessage::new(Source::Input, "count"))),
        reply("", vec![read(0), read(1)], tokens(200, 20)),
        started(0),
        tool_finished(call(SUB, 0), "read_file", (CallStatus::Ok, "x"), 12),
        started(1),
        tool_finished(call(SUB, 1), "read_file", failed, 1_500),
        reply("two", Vec::new(), tokens(300, 30)),
        Event::SubagentFinished(SubagentFinished {
            subagent: SUB,
            status: Outcome::Completed,
            summary: "two".into(),
            finish_reason: FinishReason::Completed,
            usage: Usage { turns: 2, tool_calls: 2, ..tokens(500, 50) },
            error: None,
        }),
    ]
}

/// The lead asks one explorer and answers, an event every quarter of a second.
fn story() -> Vec<Recorded> {
    let lead = AgentId::LEAD;
    let start = RunStarted {
        input: "how many?".into(),
        model: "openai:m".into(),
        limits: FamilyLimits::default(),
        kind: RunKind::Request,
        family: FamilyHash([0; 32]),
        parent_run: None,
    };
    let ask = proposed(call(lead, 0), "call_subagent", "{}", CallKind::Subagent);
    let end = finished(Outcome::Completed, FinishReason::Completed, "There are two.\n");
    let before =
        [Event::RunStarted(start), reply("I ask.", vec![ask], tokens(400, 40)), sub_started()];
    let after = [
        tool_finished(call(lead, 0), "call_subagent", (CallStatus::Ok, "{}"), 2_000),
        reply("There are two.", Vec::new(), tokens(600, 60)),
        Event::RunFinished(end),
    ];
    let by = |agent| move |event| (agent, event);
    let events = before
        .into_iter()
        .map(by(lead))
        .chain(explorer_events().into_iter().map(by(SUB)))
        .chain(after.into_iter().map(by(lead)));
    let place = |(n, (agent, event)): (u64, (AgentId, Event))| Recorded {
        offset: Offset(n),
        session: "trip".parse().unwrap(),
        run: RUN,
        attempt: Attempt(1),
        agent,
        at: Timestamp(START + n * 250),
        event,
    };
    (0..).zip(events).map(place).collect()
}

fn arc(recorded: Recorded) -> crate::events::RunEvent {
    crate::events::RunEvent::Journaled(Arc::new(recorded))
}
