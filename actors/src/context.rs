//! The request that an agent's state leads to: system prompt, history, tools.
//!
//! Requests grow only at their end, so that a provider's prefix cache keeps working. All text is
//! shared with the transcript; building one copies pointers.

use std::sync::Arc;

use crate::agent::{AgentMachine, AgentState};
use crate::call::{CallResult, ProposedCall};
use crate::family::{CALL_SUBAGENT, Invocation, ToolChoice, ToolSpec};
use crate::transcript::Entry;

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

/// Builds the request of an agent that thinks.
#[must_use]
pub fn model_request(machine: &AgentMachine, state: &AgentState) -> ModelRequest {
    let invocation = machine.invocation();
    let mut messages = Vec::with_capacity(state.transcript.entries().len() * 2);
    for entry in state.transcript.entries() {
        append_entry(&mut messages, entry);
    }
    let tools = tools(machine, invocation);
    let tool_choice = match (state.requests, tools.is_empty()) {
        (_, true) => ToolChoice::Auto,
        (1, false) => invocation.tool_choice.first,
        (_, false) => invocation.tool_choice.then,
    };
    ModelRequest {
        model: Arc::clone(&invocation.model),
        system: system_prompt(machine, invocation),
        messages,
        tools,
        tool_choice,
    }
}

fn append_entry(messages: &mut Vec<RequestMessage>, entry: &Entry) {
    match entry {
        Entry::User(text) => messages.push(RequestMessage::User(Arc::clone(text))),
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

/// The frozen tools; an agent at the greatest depth is not offered what it could not do.
pub(crate) fn tools(machine: &AgentMachine, invocation: &Invocation) -> Arc<[ToolSpec]> {
    if may_delegate(machine, invocation) {
        return Arc::clone(&invocation.tools);
    }
    let offered = invocation.tools.iter().filter(|tool| tool.name.as_ref() != CALL_SUBAGENT);
    offered.cloned().collect()
}

fn may_delegate(machine: &AgentMachine, invocation: &Invocation) -> bool {
    machine.depth() < machine.family.caps.max_depth
        && invocation.tool(CALL_SUBAGENT).is_some()
        && !machine.family.subagents.is_empty()
}

/// The layers of the system prompt, each only where it applies: the role, then the subagents.
fn system_prompt(machine: &AgentMachine, invocation: &Invocation) -> Arc<str> {
    if !may_delegate(machine, invocation) {
        return Arc::clone(&invocation.prompt);
    }
    let mut prompt = invocation.prompt.to_string();
    prompt.push_str("\n\nSubagents that you can start with `call_subagent`:");
    let own = machine.subagent_name();
    for spec in machine.family.subagents.iter().filter(|spec| Some(&*spec.name) != own) {
        prompt.push_str(&format!("\n- {}: {}", spec.name, spec.description));
    }
    prompt.into()
}
