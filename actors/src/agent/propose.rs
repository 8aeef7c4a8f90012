//! What the calls of a raw reply turn out to be: runnable, or settled where they stand.

use std::sync::Arc;

use super::arguments::{self, Delegate};
use super::gate::gate;
use super::{AgentMachine, AgentState, Member};
use crate::call::{CallKind, CallResult, CallStatus, Gate, ProposedCall, read_arguments};
use crate::context;
use crate::event::{ChildMode, Finish};
use crate::family::{
    ASK_PARENT, ASK_USER, CALL_SUBAGENT, Delivery, MESSAGE_SUBAGENT, Placement, Role,
    SPAWN_SUBAGENT, STOP_SUBAGENT, TASK_RETURN, ToolSpec, WAIT_SUBAGENTS,
};
use crate::id::CallId;
use crate::policy::gate::Audit;

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
        let n = state.run.calls.saturating_add(place);
        let classified = match place < MAX_CALLS {
            true => classify(machine, state, call, finish),
            false => Err(one_too_many()),
        };
        let (kind, gate, refused) = match classified {
            Ok((kind, gate)) => (kind, gate, None),
            Err(result) => (CallKind::Invalid, Gate::Pass, Some(result)),
        };
        Proposal { call: numbered(machine, state, (n, kind, gate), call), refused }
    };
    let mut proposals: Vec<Proposal> = (0..).zip(distinct).map(number).collect();
    refuse_early_return(&mut proposals);
    proposals
}

/// A call that ends its agent must stand last: what stands behind it could not have its result.
fn refuse_early_return(proposals: &mut [Proposal]) {
    let ends = |proposal: &Proposal| proposal.call.kind == CallKind::Return;
    let Some((_, before)) = proposals.split_last() else { return };
    if !before.iter().any(ends) {
        return;
    }
    for proposal in proposals {
        let text = format!(
            "`{TASK_RETURN}` ends the task and must be the last call of a reply; \
             none of this reply's calls was run, make them again in order"
        );
        proposal.call.kind = CallKind::Invalid;
        proposal.call.gate = Gate::Pass;
        proposal.refused.get_or_insert_with(|| CallResult::new(CallStatus::Error, text));
    }
}

fn numbered(
    machine: &AgentMachine,
    state: &AgentState,
    (n, kind, gate): (u32, CallKind, Gate),
    call: &RawCall,
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
        gate,
        provider_id: Arc::clone(&call.provider_id),
    }
}

/// What a call is and whether it may run, or the result that it gets instead of running.
fn classify(
    machine: &AgentMachine,
    state: &AgentState,
    call: &RawCall,
    finish: &Finish,
) -> Result<(CallKind, Gate), CallResult> {
    if *finish == Finish::Length {
        let text = "the reply was cut by its output limit; the call was not run, make it again";
        return Err(CallResult::new(CallStatus::Malformed, text));
    }
    if state.is_sealed() {
        let text = "this is the last answer and calls no more tools; nothing was run";
        return Err(CallResult::new(CallStatus::Limit, text));
    }
    too_deep(machine, call)?;
    let offered = context::tools(machine, state);
    let tool = offered.iter().find(|tool| tool.name == call.name);
    let tool = tool.ok_or_else(|| unknown_tool(&offered, call))?;
    let arguments = call.arguments.as_ref();
    read_arguments(arguments).map_err(|why| CallResult::new(CallStatus::Malformed, why))?;
    let kind = match tool.name.as_ref() {
        CALL_SUBAGENT => delegate(machine, arguments, ChildMode::Foreground)?,
        SPAWN_SUBAGENT => delegate(machine, arguments, ChildMode::Background)?,
        WAIT_SUBAGENTS => readable::<arguments::Wait>(tool, arguments, CallKind::Wait)?,
        MESSAGE_SUBAGENT => readable::<arguments::Tell>(tool, arguments, CallKind::Tell)?,
        STOP_SUBAGENT => readable::<arguments::Stop>(tool, arguments, CallKind::Stop)?,
        ASK_USER => readable::<arguments::Ask>(tool, arguments, CallKind::AskUser)?,
        ASK_PARENT => ask_parent(machine, tool, arguments)?,
        TASK_RETURN => task_return(machine, tool, arguments)?,
        _ => return Ok((tool_kind(tool), gate(machine, tool, arguments, Audit::NotAsked))),
    };
    Ok((kind, Gate::Pass))
}

/// An agent at the greatest depth is not offered the tools that start subagents; one that has them
/// and tries is told why they are gone.
fn too_deep(machine: &AgentMachine, call: &RawCall) -> Result<(), CallResult> {
    let starts = [CALL_SUBAGENT, SPAWN_SUBAGENT].contains(&&*call.name);
    let may = machine.depth() < machine.family.caps.max_depth;
    if may || !starts || machine.invocation().tool(&call.name).is_none() {
        return Ok(());
    }
    let text = format!(
        "subagents may be at most {} deep and this agent is at depth {}; do the task yourself",
        machine.family.caps.max_depth,
        machine.depth()
    );
    Err(CallResult::new(CallStatus::Limit, text))
}

fn tool_kind(tool: &ToolSpec) -> CallKind {
    match tool.placement {
        Placement::Runtime => CallKind::Tool(tool.effect),
        Placement::Client => CallKind::Client(tool.effect),
    }
}

fn readable<T: serde::de::DeserializeOwned>(
    tool: &ToolSpec,
    arguments: &str,
    kind: CallKind,
) -> Result<CallKind, CallResult> {
    arguments::read::<T>(&tool.name, arguments).map(|_| kind)
}

fn ask_parent(
    machine: &AgentMachine,
    tool: &ToolSpec,
    arguments: &str,
) -> Result<CallKind, CallResult> {
    match machine.member {
        Member::Lead => {
            let text = format!("the lead has no parent to ask; use `{ASK_USER}` or decide");
            Err(CallResult::new(CallStatus::Error, text))
        }
        Member::Subagent(_) => readable::<arguments::Ask>(tool, arguments, CallKind::AskParent),
    }
}

fn task_return(
    machine: &AgentMachine,
    tool: &ToolSpec,
    arguments: &str,
) -> Result<CallKind, CallResult> {
    match &machine.member {
        Member::Subagent(started) if started.delivery == Delivery::Return => {
            readable::<arguments::Return>(tool, arguments, CallKind::Return)
        }
        Member::Lead | Member::Subagent(_) => {
            let text = "this agent ends by an answer without calls, not by a return";
            Err(CallResult::new(CallStatus::Error, text))
        }
    }
}

fn one_too_many() -> CallResult {
    let text = format!("one reply may make at most {MAX_CALLS} calls; make the others next");
    CallResult::new(CallStatus::Limit, text)
}

fn unknown_tool(offered: &[ToolSpec], call: &RawCall) -> CallResult {
    let known: Vec<&str> = offered.iter().map(|tool| &*tool.name).collect();
    let text = format!("there is no tool `{}`; the tools are: {}", call.name, known.join(", "));
    CallResult::new(CallStatus::UnknownTool, text)
}

fn delegate(
    machine: &AgentMachine,
    arguments: &str,
    mode: ChildMode,
) -> Result<CallKind, CallResult> {
    let tool = match mode {
        ChildMode::Foreground => CALL_SUBAGENT,
        ChildMode::Background => SPAWN_SUBAGENT,
    };
    let arguments: Delegate = arguments::read(tool, arguments)?;
    let Some(spec) = machine.family.subagent(&arguments.agent) else {
        let known: Vec<&str> = context::named_subagents(machine).map(|spec| &*spec.name).collect();
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
    Ok(match (mode, spec.placement) {
        (ChildMode::Background, Placement::Runtime) => CallKind::Spawn,
        (ChildMode::Foreground, Placement::Runtime) => CallKind::Subagent,
        (ChildMode::Foreground | ChildMode::Background, Placement::Client) => {
            CallKind::ClientSubagent
        }
    })
}
