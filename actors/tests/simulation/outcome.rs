//! How work comes out, by lot: replies above all.

use std::sync::Arc;

use kinfolk_actors::agent::{About, Audited, Outcome, RawCall, RawReply, Summarised, Work};
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

use crate::coverage::note;
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
        Work::Audit { .. } => Outcome::Audited(audited(world)),
        Work::Summary { .. } => summary(world, ready.agent),
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
        Work::Audit { .. } => Outcome::Audited(Audited::Fine),
        Work::Summary { .. } => summarised(world, ready.agent, Ok("notes".into())),
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

fn audited(world: &mut World) -> Audited {
    world.dice.one_of(&[Audited::Fine, Audited::Intervene, Audited::Unregistered])
}

fn model_failed(world: &mut World) -> Outcome {
    let code = world.dice.one_of(&[0, 0, 1, 2, 3]);
    let code = match code {
        0 => ErrorCode::ModelContextOverflow,
        1 => ErrorCode::ModelUnavailable,
        2 => ErrorCode::ModelQuota,
        _ => ErrorCode::ModelTruncated,
    };
    Outcome::ModelFailed { error: Failure::new(code, "it failed"), usage: usage(7, 0), cost: None }
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
    Outcome::Tool { status, text, duration: duration(world, 900) }
}

fn summary(world: &mut World, agent: AgentId) -> Outcome {
    let result = match world.dice.below(8) {
        0 => Err(Failure::new(ErrorCode::CompactionFailed, "it said nothing")),
        1 => Ok("n".repeat(9_000).into()),
        _ => Ok("notes".into()),
    };
    summarised(world, agent, result)
}

/// A summary takes what is set aside for it, and another try what there is room for besides.
fn summarised(world: &mut World, agent: AgentId, result: Result<Arc<str>, Failure>) -> Outcome {
    let compaction = world.state(agent).and_then(|state| state.compaction());
    let most = compaction.map_or(9, |compaction| compaction.max_output);
    let input = world.state(agent).map_or(30, |state| state.transcript.tokens());
    let last = usage(input, 1 + world.dice.below(most.max(1)));
    let usage = retried(world, agent, last);
    let (fallback, cost) = (None, None);
    Outcome::Summarised(Summarised { result, fallback, usage, cost, duration: Millis(5) })
}

fn reply(world: &mut World, agent: AgentId) -> RawReply {
    let many = world.dice.one_in(12);
    let count = if many { 12 } else { 4 };
    let count = world.dice.below(count);
    let mut calls: Vec<RawCall> = (0..count).map(|_| call(world, agent)).collect();
    if let Some(again) = stubborn(world, agent) {
        return said(world, agent, "again".into(), vec![again]);
    }
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

/// The one call of the last turn once more: a model that goes round in circles.
fn stubborn(world: &mut World, agent: AgentId) -> Option<RawCall> {
    let state = world.state(agent)?;
    let last = match state.transcript.last_turn()?.calls.as_slice() {
        [(last, _)] => raw(&last.name, &last.arguments),
        _ => return None,
    };
    (world.dice.below(5) < 4).then_some(last)
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
    let duration = duration(world, 2_000);
    // Some tries failed before it, as far as there was room for one more.
    let used = retried(world, agent, used);
    let model = MODEL.into();
    RawReply { text, calls, finish, usage: used, cost: None, model, duration, opaque }
}

/// The usage with that of tries that failed before: a runtime sends again what the ledger has room
/// for.
fn retried(world: &mut World, agent: AgentId, mut last: Usage) -> Usage {
    let mut failed = Usage::default();
    while world.dice.one_in(4) {
        let mut more = failed;
        more.add(&last);
        let Ok(most) = world.ledger.plan_retry(agent, MODEL, &more, None) else { break };
        note("case", "retried");
        failed = more;
        last.output_tokens = last.output_tokens.min(most.unwrap_or(u64::MAX));
    }
    failed.add(&last);
    failed
}

/// How long something says that it took: now and then more than there is.
fn duration(world: &mut World, below: u64) -> Millis {
    let usual = world.dice.below(below);
    Millis(if world.dice.one_in(40) { u64::MAX } else { usual })
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
            // The longest wait that can be written is one that a model may write.
            let short = world.dice.below(30);
            let timeout = if world.dice.one_in(8) { u64::MAX } else { short };
            let wait = json!({ "subagents": [child], "timeout": timeout });
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
