//! The JSON of a request, written straight from the request's own text: no tree of values is
//! built on the way.

use kinfolk_actors::context::{ModelRequest, RequestCall, RequestMessage};
use kinfolk_actors::family::{ToolChoice, ToolSpec};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// A request that cannot be written.
#[derive(Debug, thiserror::Error)]
pub(super) enum BodyError {
    /// A tool's schema is not JSON.
    #[error("the schema of the tool `{tool}` is not valid JSON: {detail}; correct the schema")]
    Schema {
        /// The tool.
        tool: String,
        /// What is wrong with it.
        detail: serde_json::Error,
    },
    /// The request could not be written as JSON.
    #[error("the request cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// The most tokens of a reply, under the name that the server knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OutputCap {
    name: CapName,
    most: Option<u64>,
}

/// What a server calls the cap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum CapName {
    /// OpenAI itself has retired `max_tokens`.
    MaxCompletionTokens,
    /// Every other server still wants it.
    #[default]
    MaxTokens,
}

impl OutputCap {
    /// A cap for the server at that base URL; none asks for none.
    pub fn new(base_url: &str, cap: Option<u64>) -> Self {
        let is_openai = base_url.trim_end_matches('/') == super::OPENAI_BASE_URL;
        let name = if is_openai { CapName::MaxCompletionTokens } else { CapName::MaxTokens };
        Self { name, most: cap }
    }

    /// The smaller of this cap and that of a request.
    fn and(self, of_request: Option<u64>) -> Self {
        let most = self.most.into_iter().chain(of_request).min();
        Self { most, ..self }
    }
}

impl Serialize for OutputCap {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let name = match self.name {
            CapName::MaxCompletionTokens => "max_completion_tokens",
            CapName::MaxTokens => "max_tokens",
        };
        serializer.collect_map(self.most.map(|most| (name, most)))
    }
}

/// The body of a request to `chat/completions`.
pub(super) fn body(request: &ModelRequest, cap: OutputCap) -> Result<Vec<u8>, BodyError> {
    let mut body = Vec::with_capacity(estimate(request));
    let head = Head {
        model: model_name(&request.model),
        stream: true,
        stream_options: StreamOptions { include_usage: true },
        cap: cap.and(request.max_output),
        messages: Messages(request),
    };
    serde_json::to_writer(&mut body, &head)?;
    if !request.tools.is_empty() {
        // Schemas are JSON text already; they are checked and copied, not parsed into a tree.
        body.pop();
        body.extend_from_slice(b",\"tools\":[");
        for (n, tool) in request.tools.iter().enumerate() {
            if n > 0 {
                body.push(b',');
            }
            append_tool(&mut body, tool)?;
        }
        body.extend_from_slice(b"],\"tool_choice\":\"");
        body.extend_from_slice(choice(request.tool_choice).as_bytes());
        body.extend_from_slice(b"\"}");
    }
    Ok(body)
}

/// What follows the provider in a model's full name.
pub(super) fn model_name(full: &str) -> &str {
    full.split_once(':').map_or(full, |(_, name)| name)
}

fn choice(choice: ToolChoice) -> &'static str {
    match choice {
        ToolChoice::Auto => "auto",
        ToolChoice::Required => "required",
        ToolChoice::None => "none",
    }
}

fn append_tool(body: &mut Vec<u8>, tool: &ToolSpec) -> Result<(), BodyError> {
    let schema = tool.schema.trim();
    serde_json::from_str::<serde::de::IgnoredAny>(schema)
        .map_err(|detail| BodyError::Schema { tool: tool.name.to_string(), detail })?;
    body.extend_from_slice(b"{\"type\":\"function\",\"function\":");
    let named = NamedTool { name: &tool.name, description: &tool.description };
    serde_json::to_writer(&mut *body, &named)?;
    body.pop();
    body.extend_from_slice(b",\"parameters\":");
    body.extend_from_slice(schema.as_bytes());
    body.extend_from_slice(b"}}");
    Ok(())
}

fn estimate(request: &ModelRequest) -> usize {
    let message = |message: &RequestMessage| match message {
        RequestMessage::User(text) | RequestMessage::ToolResult { text, .. } => text.len(),
        RequestMessage::Assistant { text, calls, .. } => {
            text.len() + calls.iter().map(|call| call.arguments.len() + 128).sum::<usize>()
        }
    };
    let tool = |tool: &ToolSpec| tool.schema.len() + tool.description.len() + 128;
    let messages: usize = request.messages.iter().map(|each| message(each) + 64).sum();
    let tools: usize = request.tools.iter().map(tool).sum();
    (request.system.len() + messages + tools) / 8 * 9 + 256
}

#[derive(Serialize)]
struct Head<'a> {
    model: &'a str,
    stream: bool,
    stream_options: StreamOptions,
    #[serde(flatten)]
    cap: OutputCap,
    messages: Messages<'a>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct NamedTool<'a> {
    name: &'a str,
    description: &'a str,
}

/// The system prompt, then the history.
struct Messages<'a>(&'a ModelRequest);

impl Serialize for Messages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let system = Some(&self.0.system).filter(|system| !system.is_empty());
        let system = system.map(|content| Message::System { content });
        let history = self.0.messages.iter().map(Message::from);
        serializer.collect_seq(system.into_iter().chain(history))
    }
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum Message<'a> {
    System {
        content: &'a str,
    },
    User {
        content: &'a str,
    },
    Assistant {
        content: Option<&'a str>,
        #[serde(skip_serializing_if = "Calls::is_empty")]
        tool_calls: Calls<'a>,
    },
    Tool {
        tool_call_id: &'a str,
        content: &'a str,
    },
}

impl<'a> From<&'a RequestMessage> for Message<'a> {
    fn from(message: &'a RequestMessage) -> Self {
        match message {
            RequestMessage::User(content) => Self::User { content },
            RequestMessage::Assistant { text, calls, opaque: _ } => Self::Assistant {
                // Null stands for "only calls"; a message without calls needs a text.
                content: Some(text.as_ref()).filter(|text| !text.is_empty() || calls.is_empty()),
                tool_calls: Calls(calls),
            },
            RequestMessage::ToolResult { id, name: _, text, is_error: _ } => {
                Self::Tool { tool_call_id: id, content: text }
            }
        }
    }
}

struct Calls<'a>(&'a [RequestCall]);

impl Calls<'_> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Calls<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(WireCall))
    }
}

struct WireCall<'a>(&'a RequestCall);

impl Serialize for WireCall<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let function = Function { name: &self.0.name, arguments: &self.0.arguments };
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("id", self.0.id.as_ref())?;
        map.serialize_entry("type", "function")?;
        map.serialize_entry("function", &function)?;
        map.end()
    }
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: &'a str,
}

#[cfg(test)]
mod tests {
    use kinfolk_actors::call::EffectClass;

    use kinfolk_actors::family::{Offer, Placement};

    use super::*;

    fn request() -> ModelRequest {
        ModelRequest {
            model: "openai:org/m-1:free".into(),
            system: "Be \"brief\".".into(),
            messages: vec![
                RequestMessage::User("hi".into()),
                RequestMessage::Assistant {
                    text: "".into(),
                    calls: vec![RequestCall {
                        id: "c_1".into(),
                        name: "look".into(),
                        arguments: r#"{"at":"é"}"#.into(),
                    }],
                    opaque: None,
                },
                RequestMessage::ToolResult {
                    id: "c_1".into(),
                    name: "look".into(),
                    text: "seen".into(),
                    is_error: false,
                },
                RequestMessage::Assistant { text: "".into(), calls: vec![], opaque: None },
            ],
            tools: vec![].into(),
            tool_choice: ToolChoice::Auto,
            max_output: None,
        }
    }

    fn tool(schema: &str) -> ToolSpec {
        ToolSpec {
            name: "look".into(),
            description: "Looks".into(),
            schema: schema.into(),
            effect: EffectClass::ReadOnly,
            placement: Placement::Runtime,
            offer: Offer::Always,
            cost: None,
        }
    }

    const HEAD: &str = concat!(
        r#"{"model":"org/m-1:free","stream":true,"stream_options":{"include_usage":true},"#,
        r#""messages":[{"role":"system","content":"Be \"brief\"."},{"role":"user","content":"hi"},"#,
        r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c_1","type":"function","#,
        r#""function":{"name":"look","arguments":"{\"at\":\"é\"}"}}]},"#,
        r#"{"role":"tool","tool_call_id":"c_1","content":"seen"},{"role":"assistant","content":""}]"#,
    );

    #[test]
    fn a_request_without_tools_names_no_tool_choice() {
        let text = String::from_utf8(body(&request(), OutputCap::default()).unwrap()).unwrap();
        assert_eq!(text, format!("{HEAD}}}"));
    }

    #[test]
    fn tools_carry_their_schema_as_it_stands() {
        let tools = [tool(r#" {"type":"object"} "#), tool(r#"{"type":"object","x":1}"#)].into();
        let request = ModelRequest { tools, tool_choice: ToolChoice::Required, ..request() };
        let text = String::from_utf8(body(&request, OutputCap::default()).unwrap()).unwrap();
        let tool =
            r#"{"type":"function","function":{"name":"look","description":"Looks","parameters":"#;
        let expected = format!(
            r#"{HEAD},"tools":[{tool}{{"type":"object"}}}}}},{tool}{{"type":"object","x":1}}}}}}],"tool_choice":"required"}}"#
        );
        assert_eq!(text, expected);
    }

    #[test]
    fn a_broken_schema_is_named() {
        let request = ModelRequest { tools: [tool("{")].into(), ..request() };
        let error = body(&request, OutputCap::default()).unwrap_err().to_string();
        assert!(error.starts_with("the schema of the tool `look` is not valid JSON"), "{error}");
    }

    #[test]
    fn an_output_cap_goes_by_the_name_that_the_server_knows() {
        let named = |url: &str| {
            let body = body(&request(), OutputCap::new(url, Some(64))).unwrap();
            let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
            (body["max_tokens"].as_u64(), body["max_completion_tokens"].as_u64())
        };
        assert_eq!(named("http://127.0.0.1:8080/v1"), (Some(64), None));
        assert_eq!(named("https://api.openai.com/v1/"), (None, Some(64)));
    }

    #[test]
    fn the_smaller_of_the_caps_of_server_and_request_is_sent() {
        let sent = |server: Option<u64>, of_request: Option<u64>| {
            let request = ModelRequest { max_output: of_request, ..request() };
            let body = body(&request, OutputCap::new("http://127.0.0.1/v1", server)).unwrap();
            let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
            body.get("max_tokens").and_then(serde_json::Value::as_u64)
        };
        assert_eq!(sent(None, None), None);
        assert_eq!(sent(Some(64), None), Some(64));
        assert_eq!(sent(None, Some(32)), Some(32));
        assert_eq!(sent(Some(64), Some(32)), Some(32));
        assert_eq!(sent(Some(16), Some(32)), Some(16));
    }
}
