//! What the calls of a raw reply turn out to be: runnable, or settled where they stand.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{AgentMachine, AgentState};
use crate::call::{CallKind, CallResult, CallStatus, EffectClass, ProposedCall, read_arguments};
use crate::context;
use crate::event::Finish;
use crate::family::{CALL_SUBAGENT, Role};
use crate::id::CallId;

/// One call as a provider's adapter read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawCall {
    /// The provider's own id; empty if it gave none.
    pub provider_id: Arc<str>,
    /// The tool's name.
    pub name: Arc<str>,
    /// The arguments as text.
    pub arguments: Arc<str>,
}

/// How many calls of one reply may run; those beyond get a result that says so.
pub const MAX_CALLS: u32 = 128;

/// A call, and its result if it can't run.
pub(super) struct Proposal {
    pub call: ProposedCall,
    pub refused: Option<CallResult>,
}

/// The arguments of `call_subagent`.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SubagentArguments {
    pub agent: Arc<str>,
    pub task: Arc<str>,
    #[serde(default)]
    pub label: Option<Arc<str>>,
    #[serde(default)]
    pub write_scope: Vec<Arc<str>>,
}

/// Numbers the calls of a reply and finds out which can run.
///
/// The same provider id with the same name and arguments in one reply is one call; with different
/// ones it is two.
pub(super) fn propose(
    machine: &AgentMachine,
    state: &AgentState,
    raw: &[RawCall],
    finish: &Finish,
) -> Vec<Proposal> {
    let mut distinct: Vec<&RawCall> = Vec::with_capacity(raw.len());
    for call in raw {
        let repeated = !call.provider_id.is_empty() && distinct.contains(&call);
        if !repeated {
            distinct.push(call);
        }
    }
    let number = |(place, call): (u32, &RawCall)| {
        let n = state.calls.saturating_add(place);
        let classified = match place < MAX_CALLS {
            true => classify(machine, call, finish),
            false => Err(one_too_many()),
        };
        let (kind, refused) = match classified {
            Ok(kind) => (kind, None),
            Err(result) => (CallKind::Invalid, Some(result)),
        };
        Proposal { call: numbered(machine, state, n, call, kind), refused }
    };
    (0..).zip(distinct).map(number).collect()
}

fn numbered(
    machine: &AgentMachine,
    state: &AgentState,
    n: u32,
    call: &RawCall,
    kind: CallKind,
) -> ProposedCall {
    let arguments: Arc<str> = match call.arguments.trim() {
        "" => "{}".into(),
        _ => Arc::clone(&call.arguments),
    };
    ProposedCall {
        call: CallId { run: machine.run, agent: machine.id(), n },
        alias: format!("call_{}_{n}", state.runs).into(),
        name: Arc::clone(&call.name),
        arguments,
        kind,
        provider_id: Arc::clone(&call.provider_id),
    }
}

/// What a call is, or the result that it gets instead of running.
fn classify(
    machine: &AgentMachine,
    call: &RawCall,
    finish: &Finish,
) -> Result<CallKind, CallResult> {
    if *finish == Finish::Length {
        let text = "the reply was cut by its output limit; the call was not run, make it again";
        return Err(CallResult::new(CallStatus::Malformed, text));
    }
    let tool = machine.invocation().tool(&call.name).ok_or_else(|| unknown_tool(machine, call))?;
    let arguments = read_arguments(&call.arguments)
        .map_err(|error| CallResult::new(CallStatus::Malformed, error))?;
    if tool.name.as_ref() == CALL_SUBAGENT {
        check_subagent(machine, arguments).map(|()| CallKind::Subagent)
    } else {
        check_approval(machine, &call.name, tool.effect).map(|()| CallKind::Tool(tool.effect))
    }
}

fn one_too_many() -> CallResult {
    let text = format!("one reply may make at most {MAX_CALLS} calls; make the others next");
    CallResult::new(CallStatus::Limit, text)
}

fn unknown_tool(machine: &AgentMachine, call: &RawCall) -> CallResult {
    let offered = context::tools(machine, machine.invocation());
    let known: Vec<&str> = offered.iter().map(|tool| &*tool.name).collect();
    let text = format!("there is no tool `{}`; the tools are: {}", call.name, known.join(", "));
    CallResult::new(CallStatus::UnknownTool, text)
}

fn check_approval(
    machine: &AgentMachine,
    name: &str,
    effect: EffectClass,
) -> Result<(), CallResult> {
    if machine.only_looks() && effect != EffectClass::ReadOnly {
        let text = format!("`{name}` changes things and this agent only looks; it was not run");
        return Err(CallResult::new(CallStatus::Blocked, text));
    }
    if machine.family.approval.allows(effect) {
        return Ok(());
    }
    let text = format!(
        "`{name}` changes things and was not run: the approval mode is manual. \
         Whoever starts the run can allow it: `--approval auto-run`, or \
         `ApprovalMode::AutoRun` in Rust."
    );
    Err(CallResult::new(CallStatus::Blocked, text))
}

fn check_subagent(
    machine: &AgentMachine,
    arguments: serde_json::Map<String, serde_json::Value>,
) -> Result<(), CallResult> {
    let arguments = read_subagent(arguments)?;
    if machine.depth() >= machine.family.caps.max_depth {
        let text = format!(
            "subagents may be at most {} deep and this agent is at depth {}; do the task yourself",
            machine.family.caps.max_depth,
            machine.depth()
        );
        return Err(CallResult::new(CallStatus::Limit, text));
    }
    let Some(spec) = machine.family.subagent(&arguments.agent) else {
        let known: Vec<&str> = machine.family.subagents.iter().map(|spec| &*spec.name).collect();
        let text = format!(
            "there is no subagent `{}`; the subagents are: {}",
            arguments.agent,
            known.join(", ")
        );
        return Err(CallResult::new(CallStatus::Error, text));
    };
    if machine.only_looks() && spec.role != Role::Explore {
        let text = format!("`{}` may change things and this agent only looks", spec.name);
        return Err(CallResult::new(CallStatus::Blocked, text));
    }
    Ok(())
}

/// Reads the arguments of `call_subagent`.
pub(super) fn read_subagent(
    arguments: serde_json::Map<String, serde_json::Value>,
) -> Result<SubagentArguments, CallResult> {
    serde_json::from_value(serde_json::Value::Object(arguments)).map_err(|error| {
        let text = format!("the arguments of `{CALL_SUBAGENT}` do not fit: {error}");
        CallResult::new(CallStatus::Malformed, text)
    })
}
