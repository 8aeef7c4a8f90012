//! The request that an agent's state leads to: system prompt, history, tools.
//!
//! Requests grow only at their end, so that a provider's prefix cache keeps working. All text is
//! shared with the transcript; building one copies pointers.

use std::sync::Arc;

use crate::agent::{AgentMachine, AgentState, Member, Phase};
use crate::call::{CallResult, ProposedCall};
use crate::estimate;
use crate::family::{
    ASK_PARENT, CALL_SUBAGENT, Delivery, MESSAGE_SUBAGENT, Offer, SPAWN_SUBAGENT, STOP_SUBAGENT,
    SubagentSpec, TASK_RETURN, ToolChoice, ToolSpec, WAIT_SUBAGENTS,
};
use crate::transcript::{Entry, Transcript};

/// Everything that a model is sent, in no provider's format.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelRequest {
    /// The model, `provider:name`.
    pub model: Arc<str>,
    /// The system prompt.
    pub system: Arc<str>,
    /// The history, oldest first. Each call has its result directly after its message.
    pub messages: Vec<RequestMessage>,
    /// The tools that may be called.
    pub tools: Arc<[ToolSpec]>,
    /// Whether one must be.
    pub tool_choice: ToolChoice,
    /// The most tokens that the reply may have; none leaves it to the provider.
    pub max_output: Option<u64>,
}

/// One message of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum RequestMessage {
    /// Input to the agent.
    User(Arc<str>),
    /// What the model said.
    Assistant {
        /// The text; empty if it only called tools.
        text: Arc<str>,
        /// The calls.
        calls: Vec<RequestCall>,
        /// Provider blocks that go back verbatim, as JSON text.
        opaque: Option<Arc<str>>,
    },
    /// The result of a call of the assistant message before.
    ToolResult {
        /// The call's id on the wire.
        id: Arc<str>,
        /// The tool's name.
        name: Arc<str>,
        /// What it says.
        text: Arc<str>,
        /// Whether it failed.
        is_error: bool,
    },
}

/// One call in a request.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestCall {
    /// The call's id on the wire.
    pub id: Arc<str>,
    /// The tool's name.
    pub name: Arc<str>,
    /// Its arguments: always one valid JSON object as text.
    pub arguments: Arc<str>,
}

/// Builds the request of an agent that thinks, or the one that it would send next.
#[must_use]
pub fn model_request(machine: &AgentMachine, state: &AgentState) -> ModelRequest {
    let invocation = machine.invocation();
    let mut messages = messages(&state.transcript);
    // What arrives while a request is in flight is not in it, however late it is built.
    if !matches!(state.phase, Phase::Thinking { .. }) {
        messages.extend(state.pending.iter().map(|text| RequestMessage::User(Arc::clone(text))));
    }
    ModelRequest {
        model: Arc::clone(&invocation.model),
        system: system_prompt(machine),
        messages,
        tools: tools(machine, state),
        tool_choice: tool_choice(machine, state),
        max_output: state.run.max_output,
    }
}

/// Whether the model has to call a tool in the request at hand.
pub(crate) fn tool_choice(machine: &AgentMachine, state: &AgentState) -> ToolChoice {
    let plan = machine.invocation().tool_choice;
    match (state.run.requests, state.is_sealed() || machine.invocation().tools.is_empty()) {
        (_, true) => ToolChoice::Auto,
        (0 | 1, false) => plan.first,
        (_, false) => plan.then,
    }
}

/// The estimated tokens of what stands before the history: the system prompt and the tools.
pub(crate) fn head_tokens(machine: &AgentMachine, state: &AgentState) -> u64 {
    let sealed = state.is_sealed();
    let offered = machine.invocation().tools.iter();
    let offered = offered.filter(|tool| !sealed && is_offered(machine, state, tool));
    let role = machine.invocation().prompt.len();
    let subagents = subagents_layer(machine).map_or(0, |layer| layer.len());
    estimate::fixed_by_size(u64::try_from(role + subagents).unwrap_or(u64::MAX), offered)
}

/// The messages of a history.
#[must_use]
pub fn messages(transcript: &Transcript) -> Vec<RequestMessage> {
    let mut messages = Vec::with_capacity(transcript.len() * 2);
    for entry in transcript.entries() {
        append_entry(&mut messages, entry);
    }
    messages
}

fn append_entry(messages: &mut Vec<RequestMessage>, entry: &Entry) {
    match entry {
        Entry::User(text) | Entry::Note(text) | Entry::Summary(text) => {
            messages.push(RequestMessage::User(Arc::clone(text)));
        }
        // Providers refuse a message without content.
        Entry::Text(said) if said.text.trim().is_empty() && said.opaque.is_none() => {}
        Entry::Text(said) => messages.push(RequestMessage::Assistant {
            text: Arc::clone(&said.text),
            calls: Vec::new(),
            opaque: said.opaque.clone(),
        }),
        Entry::Turn(turn) => {
            messages.push(RequestMessage::Assistant {
                text: Arc::clone(&turn.said.text),
                calls: turn.calls.iter().map(|(call, _)| request_call(call)).collect(),
                opaque: turn.said.opaque.clone(),
            });
            messages.extend(turn.calls.iter().map(|(call, result)| tool_result(call, result)));
        }
    }
}

fn request_call(call: &ProposedCall) -> RequestCall {
    RequestCall {
        id: Arc::clone(&call.alias),
        name: call.name_for_wire(),
        arguments: call.arguments_for_wire(),
    }
}

fn tool_result(call: &ProposedCall, result: &CallResult) -> RequestMessage {
    RequestMessage::ToolResult {
        id: Arc::clone(&call.alias),
        name: call.name_for_wire(),
        text: Arc::clone(&result.text),
        is_error: result.status.is_error(),
    }
}

/// The tools that the agent is offered: those of the frozen set that it can use now. The closing
/// request has none.
pub(crate) fn tools(machine: &AgentMachine, state: &AgentState) -> Arc<[ToolSpec]> {
    let all = &machine.invocation().tools;
    if state.is_sealed() {
        return Arc::from([]);
    }
    if all.iter().all(|tool| is_offered(machine, state, tool)) {
        return Arc::clone(all);
    }
    all.iter().filter(|tool| is_offered(machine, state, tool)).cloned().collect()
}

/// An agent is not offered what it could not do: subagents at the greatest depth, a parent to ask
/// for a lead, a return for an agent that answers, a tool that was not activated.
fn is_offered(machine: &AgentMachine, state: &AgentState, tool: &ToolSpec) -> bool {
    let member = match &machine.member {
        Member::Lead => None,
        Member::Subagent(started) => Some(started),
    };
    match tool.name.as_ref() {
        CALL_SUBAGENT | SPAWN_SUBAGENT | WAIT_SUBAGENTS | MESSAGE_SUBAGENT | STOP_SUBAGENT => {
            may_delegate(machine)
        }
        ASK_PARENT => member.is_some(),
        TASK_RETURN => member.is_some_and(|started| started.delivery == Delivery::Return),
        name => match tool.offer {
            Offer::Always => true,
            Offer::OnceActivated => state.run.activated.iter().any(|active| &**active == name),
        },
    }
}

fn may_delegate(machine: &AgentMachine) -> bool {
    machine.depth() < machine.family.caps.max_depth
        && machine.family.subagents.iter().any(|spec| !spec.internal)
}

/// The subagents that a model is told of: not its own kind, and no internal ones.
pub(crate) fn named_subagents(machine: &AgentMachine) -> impl Iterator<Item = &SubagentSpec> {
    let own = machine.subagent_name();
    let told = move |spec: &&SubagentSpec| Some(&*spec.name) != own && !spec.internal;
    machine.family.subagents.iter().filter(told)
}

/// The layers of the system prompt, each only where it applies: the role, then the subagents.
fn system_prompt(machine: &AgentMachine) -> Arc<str> {
    let role = &machine.invocation().prompt;
    subagents_layer(machine)
        .map_or_else(|| Arc::clone(role), |layer| format!("{role}{layer}").into())
}

/// Who can be started.
fn subagents_layer(machine: &AgentMachine) -> Option<String> {
    let invocation = machine.invocation();
    let starts = [CALL_SUBAGENT, SPAWN_SUBAGENT];
    let how: Vec<&str> =
        starts.into_iter().filter(|name| invocation.tool(name).is_some()).collect();
    if how.is_empty() || !may_delegate(machine) {
        return None;
    }
    let mut layer = format!("\n\nSubagents that you can start with `{}`:", how.join("` or `"));
    for spec in named_subagents(machine) {
        layer.push_str(&format!("\n- {}: {}", spec.name, spec.description));
    }
    Some(layer)
}
