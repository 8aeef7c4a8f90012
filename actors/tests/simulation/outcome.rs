//! How work comes out, by lot: replies above all.

use std::sync::Arc;

use kinfolk_actors::agent::{About, Outcome, RawCall, RawReply, Summarised, Work};
use kinfolk_actors::call::CallStatus;
use kinfolk_actors::event::{Finish, Outcome as End};
use kinfolk_actors::failure::{ErrorCode, Failure};
use kinfolk_actors::family::{
    ASK_PARENT, ASK_USER, CALL_SUBAGENT, MESSAGE_SUBAGENT, SPAWN_SUBAGENT, STOP_SUBAGENT,
    TASK_RETURN, WAIT_SUBAGENTS,
};
use kinfolk_actors::id::AgentId;
use kinfolk_actors::machine::Demand;
use kinfolk_actors::time::Millis;
use kinfolk_actors::usage::Usage;
use serde_json::json;

use crate::setting::MODEL;
use crate::world::{Ready, World};

pub fn usage(input_tokens: u64, output_tokens: u64) -> Usage {
    Usage { model_requests: 1, input_tokens, output_tokens, ..Usage::default() }
}

/// Anything that can happen.
pub fn any(world: &mut World, ready: &Ready) -> Outcome {
    match world.dice.below(50) {
        0 => return Outcome::Panicked { message: "oh".into() },
        1 => return Outcome::Gone,
        _ => {}
    }
    if let Demand::Stop(_) = ready.demand
        && world.dice.one_in(2)
    {
        return Outcome::Gone;
    }
    let (Demand::Run(work) | Demand::Stop(work)) = &ready.demand;
    match work {
        Work::Model { .. } if world.dice.one_in(25) => model_failed(world),
        Work::Model { .. } => Outcome::Replied(reply(world, ready.agent)),
        Work::Tool { .. } if world.dice.one_in(8) => Outcome::Deferred,
        Work::Tool { name, .. } => tool(world, name),
        Work::Lease { .. } => Outcome::Leased,
        Work::Audit { .. } => Outcome::Audited { intervene: world.dice.one_in(2) },
        Work::Summary { .. } => summary(world),
        Work::Child { .. } | Work::Tell { .. } | Work::Timer { .. } => Outcome::Gone,
    }
}

/// How everything comes out once a family is left to end: requests are answered in text.
pub fn well(world: &mut World, ready: &Ready) -> Outcome {
    let (Demand::Run(work) | Demand::Stop(work)) = &ready.demand;
    match work {
        Work::Model { .. } => {
            let text = world.word("well");
            Outcome::Replied(said(world, ready.agent, text, vec![]))
        }
        Work::Tool { name, .. } => tool(world, name),
        Work::Lease { .. } => Outcome::Leased,
        Work::Audit { .. } => Outcome::Audited { intervene: false },
        Work::Summary { .. } => summarised(Ok("notes".into())),
        Work::Child { .. } | Work::Tell { .. } | Work::Timer { .. } => Outcome::Gone,
    }
}

/// The end of a subagent's actor without a report.
pub fn lost(world: &mut World) -> Outcome {
    match world.dice.one_in(2) {
        true => Outcome::Gone,
        false => Outcome::Panicked { message: "oh".into() },
    }
}

fn model_failed(world: &mut World) -> Outcome {
    let code = world.dice.one_of(&[0, 0, 1, 2, 3]);
    let code = match code {
        0 => ErrorCode::ModelContextOverflow,
        1 => ErrorCode::ModelUnavailable,
        2 => ErrorCode::ModelQuota,
        _ => ErrorCode::ModelTruncated,
    };
    Outcome::ModelFailed { error: Failure::new(code, "it failed"), usage: usage(7, 0) }
}

fn tool(world: &mut World, name: &str) -> Outcome {
    let status = world.dice.one_of(&[
        CallStatus::Ok,
        CallStatus::Ok,
        CallStatus::Ok,
        CallStatus::Error,
        CallStatus::Timeout,
    ]);
    // Some say the same each time, so that a loop can be seen.
    let text = match world.dice.below(4) {
        0 => world.word("result"),
        1 => "r".repeat(world.dice.index(1_500)).into(),
        _ => format!("{name} says nothing new").into(),
    };
    Outcome::Tool { status, text, duration: Millis(world.dice.below(900)) }
}

fn summary(world: &mut World) -> Outcome {
    match world.dice.below(8) {
        0 => summarised(Err(Failure::new(ErrorCode::CompactionFailed, "it said nothing"))),
        1 => summarised(Ok("n".repeat(9_000).into())),
        _ => summarised(Ok("notes".into())),
    }
}

fn summarised(result: Result<Arc<str>, Failure>) -> Outcome {
    Outcome::Summarised(Summarised { result, usage: usage(30, 9), duration: Millis(5) })
}

fn reply(world: &mut World, agent: AgentId) -> RawReply {
    let many = world.dice.one_in(12);
    let count = if many { 12 } else { 4 };
    let count = world.dice.below(count);
    let mut calls: Vec<RawCall> = (0..count).map(|_| call(world, agent)).collect();
    if world.dice.one_in(6)
        && let Some(first) = calls.first().cloned()
    {
        // The same call again, as models do.
        let times = world.dice.index(4);
        calls.extend(std::iter::repeat_n(first, times));
    }
    let children = world.state(agent).is_some_and(|state| state.has_live_children());
    if children && world.dice.one_in(2) {
        calls.insert(0, to_a_child(world, agent));
    }
    if world.dice.one_in(5) {
        calls.push(raw(TASK_RETURN, r#"{"result":"done"}"#));
    }
    let text = match world.dice.below(6) {
        0 => "".into(),
        1 => "w ".repeat(world.dice.index(700)).into(),
        _ => world.word("say"),
    };
    said(world, agent, text, calls)
}

fn said(world: &mut World, agent: AgentId, text: Arc<str>, calls: Vec<RawCall>) -> RawReply {
    let finish = match (world.dice.below(40), calls.is_empty()) {
        (0, _) => Finish::Length,
        (1, _) => Finish::ContentFilter,
        (_, true) => Finish::Stop,
        (_, false) => Finish::ToolCalls,
    };
    // No provider counts more than it was let.
    let cap = world.state(agent).and_then(|state| state.run.max_output).unwrap_or(200);
    let tokens = world.state(agent).map_or(0, |state| state.run.requested_at);
    let used = match world.dice.below(6) {
        0 => usage(0, 0),
        _ => usage(tokens, 1 + world.dice.below(cap.clamp(1, 200))),
    };
    let opaque = world.dice.one_in(5).then(|| world.word("{\"signed\":1}"));
    let duration = Millis(world.dice.below(2_000));
    RawReply { text, calls, finish, usage: used, model: MODEL.into(), duration, opaque }
}

fn raw(name: &str, arguments: &str) -> RawCall {
    RawCall { provider_id: "".into(), name: name.into(), arguments: arguments.into() }
}

fn call(world: &mut World, agent: AgentId) -> RawCall {
    let n = world.dice.below(9);
    let arguments = match world.dice.below(8) {
        0 => String::new(),
        1 => r#"{"cut"#.to_owned(),
        2 => "[]".to_owned(),
        _ => json!({ "n": n }).to_string(),
    };
    let tools = ["look", "look", "look", "put", "book", "write", "write", "fetch", "order"];
    if world.setting.crowded && world.dice.one_in(2) {
        let tool = world.dice.one_of(&[CALL_SUBAGENT, SPAWN_SUBAGENT]);
        return delegate(world, tool);
    }
    match world.dice.below(20) {
        0..9 => {
            let name = world.dice.one_of(&tools);
            let provider_id = world.dice.one_of(&["", "", "same"]);
            RawCall { provider_id: provider_id.into(), ..raw(name, &arguments) }
        }
        9 => raw("hidden", "{}"),
        10 => {
            let name = world.dice.one_of(&["", "fly", "functions.look"]);
            raw(name, &arguments)
        }
        11..14 => delegate(world, CALL_SUBAGENT),
        14..16 => delegate(world, SPAWN_SUBAGENT),
        16 => {
            let name = world.dice.one_of(&[ASK_USER, ASK_PARENT]);
            let options = if world.dice.one_in(2) { vec!["a", "b"] } else { vec![] };
            raw(name, &json!({ "question": "which?", "options": options }).to_string())
        }
        17 => raw(TASK_RETURN, r#"{"result":"done"}"#),
        _ => to_a_child(world, agent),
    }
}

fn delegate(world: &mut World, tool: &str) -> RawCall {
    let agent = world.dice.one_of(&["scout", "worker", "clerk", "agency", "ghost"]);
    let task = world.word("task");
    let label = world.dice.one_in(2).then_some("l");
    raw(tool, &json!({ "agent": agent, "task": &*task, "label": label }).to_string())
}

/// A call about subagents: real ones mostly, and first those that ask.
fn to_a_child(world: &mut World, agent: AgentId) -> RawCall {
    let mut children: Vec<AgentId> = vec![AgentId(9)];
    if let Some(state) = world.state(agent) {
        let known = state.children.values().filter(|child| {
            !matches!(
                &child.state,
                kinfolk_actors::agent::ChildState::Reported { status: End::Failed, .. }
            )
        });
        children.extend(known.map(|child| child.started.subagent));
    }
    let asking = children.iter().copied().find(|child| asks_its_parent(world, *child));
    let child = asking.unwrap_or_else(|| world.dice.one_of(&children));
    let message = world.word("told");
    match world.dice.below(if asking.is_some() { 10 } else { 4 }) {
        0 => raw(STOP_SUBAGENT, &json!({ "subagent": child }).to_string()),
        1 | 2 if world.dice.one_in(4) => raw(WAIT_SUBAGENTS, "{}"),
        1 | 2 => {
            let wait = json!({ "subagents": [child], "timeout": world.dice.below(30) });
            raw(WAIT_SUBAGENTS, &wait.to_string())
        }
        _ => {
            let tell = json!({ "subagent": child, "message": &*message });
            raw(MESSAGE_SUBAGENT, &tell.to_string())
        }
    }
}

fn asks_its_parent(world: &World, child: AgentId) -> bool {
    world.state(child).is_some_and(|state| {
        state.open_asks().any(|(_, ask)| matches!(&ask.about, About::Words { parent: true, .. }))
    })
}
