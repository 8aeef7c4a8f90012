//! A request as the explorer reads it: the task, and the calls that were made for it so far.

use kinfolk_actors::context::{ModelRequest, RequestMessage};
use kinfolk_actors::family::{CALL_SUBAGENT, ToolChoice, ToolSpec};
use serde_json::{Map, Value};

use super::PlannedCall;

/// What matters of a request.
pub(super) struct View<'a> {
    request: &'a ModelRequest,
    /// The newest input.
    pub task: &'a str,
    /// The calls since then with their results, oldest first.
    pub exchanges: Vec<Exchange<'a>>,
}

/// A call that was made and what came of it.
pub(super) struct Exchange<'a> {
    pub name: &'a str,
    pub arguments: Map<String, Value>,
    pub result: &'a str,
    pub is_error: bool,
}

impl<'a> View<'a> {
    pub fn new(request: &'a ModelRequest) -> Self {
        let mut view = Self { request, task: "", exchanges: Vec::new() };
        let mut asked = &[][..];
        for message in &request.messages {
            match message {
                RequestMessage::User(text) => {
                    view.task = text;
                    view.exchanges.clear();
                }
                RequestMessage::Assistant { calls, .. } => asked = calls.as_slice(),
                RequestMessage::ToolResult { id, name, text, is_error } => {
                    let call = asked.iter().find(|call| call.id == *id);
                    let arguments =
                        call.and_then(|call| serde_json::from_str(&call.arguments).ok());
                    view.exchanges.push(Exchange {
                        name,
                        arguments: arguments.unwrap_or_default(),
                        result: text,
                        is_error: *is_error,
                    });
                }
            }
        }
        view
    }

    /// Whether the agent leads others, or did in this task.
    pub fn leads(&self) -> bool {
        self.tool(CALL_SUBAGENT).is_some() || self.made(CALL_SUBAGENT).next().is_some()
    }

    /// The calls of a tool that were made.
    pub fn made(&self, tool: &str) -> impl Iterator<Item = &Exchange<'a>> {
        self.exchanges.iter().filter(move |exchange| exchange.name == tool)
    }

    /// The call that was made with just these arguments.
    pub fn find(&self, call: &PlannedCall) -> Option<&Exchange<'a>> {
        self.made(call.name).find(|exchange| exchange.arguments == call.arguments)
    }

    /// Whether a tool can be called in this request.
    pub fn can(&self, tool: &str) -> bool {
        self.request.tool_choice != ToolChoice::None && self.tool(tool).is_some()
    }

    fn tool(&self, name: &str) -> Option<&ToolSpec> {
        self.request.tools.iter().find(|tool| tool.name.as_ref() == name)
    }

    /// The schema of a tool's arguments; null if it has none.
    pub fn schema(&self, tool: &str) -> Value {
        let schema = self.tool(tool).and_then(|tool| serde_json::from_str(&tool.schema).ok());
        schema.unwrap_or_default()
    }

    /// A call with each argument under the first of its names that the tool's schema has. An
    /// argument without such a name is left out.
    pub fn call(&self, tool: &'static str, arguments: &[(&[&str], Value)]) -> PlannedCall {
        let schema = self.schema(tool);
        let has = |name: &str| schema["properties"].get(name).is_some();
        let mut named = Map::new();
        for (names, value) in arguments {
            if let Some(name) = names.iter().find(|name| has(name)) {
                named.insert((*name).to_owned(), value.clone());
            }
        }
        PlannedCall { name: tool, arguments: named }
    }
}
