//! Small histories, requests and replies.

use std::sync::Arc;

use kinfolk_actors::call::{CallKind, CallResult, CallStatus, EffectClass, ProposedCall};
use kinfolk_actors::context::{ModelRequest, RequestMessage, messages};
use kinfolk_actors::event::{Finish, Reply};
use kinfolk_actors::family::{ToolChoice, ToolSpec};
use kinfolk_actors::id::{AgentId, CallId, RequestNo, RunId};
use kinfolk_actors::profile::ModelProfile;
use kinfolk_actors::time::Millis;
use kinfolk_actors::transcript::{Entry, Said, SettledTurn, Transcript};
use kinfolk_actors::usage::Usage;

/// A text of exactly so many tokens.
pub fn words(tokens: u64) -> Arc<str> {
    "abc ".repeat(usize::try_from(tokens).unwrap()).into()
}

pub fn user(text: impl Into<Arc<str>>) -> Entry {
    Entry::User(text.into())
}

pub fn text(text: impl Into<Arc<str>>) -> Entry {
    Entry::Text(Said { text: text.into(), opaque: None })
}

pub fn call(n: u32, arguments: &str) -> ProposedCall {
    ProposedCall {
        call: CallId { run: RunId(uuid::Uuid::nil()), agent: AgentId::LEAD, n },
        alias: format!("c{n}").into(),
        name: "read".into(),
        arguments: arguments.into(),
        kind: CallKind::Tool(EffectClass::ReadOnly),
        gate: Default::default(),
        provider_id: "".into(),
    }
}

/// A result that may be longer than the cap, as histories of older versions hold it.
pub fn result(text: impl Into<Arc<str>>) -> CallResult {
    CallResult { status: CallStatus::Ok, text: text.into(), full_size: None }
}

/// A turn whose calls have results of so many tokens each.
pub fn turn(first: u32, results: &[u64]) -> Entry {
    let calls = (first..).zip(results);
    let calls = calls.map(|(n, tokens)| (call(n, r#"{"path":"a"}"#), result(words(*tokens))));
    let said = Said { text: "Reading.".into(), opaque: None };
    Entry::Turn(SettledTurn { said, calls: calls.collect() })
}

pub fn transcript(entries: impl IntoIterator<Item = Entry>) -> Transcript {
    let mut transcript = Transcript::default();
    entries.into_iter().for_each(|entry| transcript.push(entry));
    transcript
}

/// The entries of a history, to be indexed.
pub fn list(history: &Transcript) -> Vec<Arc<Entry>> {
    history.entries().cloned().collect()
}

pub fn tool(schema_tokens: u64) -> ToolSpec {
    ToolSpec {
        name: "read".into(),
        description: words(schema_tokens),
        schema: r#"{"type":"object"}"#.into(),
        effect: EffectClass::ReadOnly,
        placement: Default::default(),
        offer: Default::default(),
        cost: None,
    }
}

pub fn request(transcript: &Transcript) -> ModelRequest {
    ModelRequest {
        model: "openai:large".into(),
        system: "You work.".into(),
        messages: messages(transcript),
        tools: Arc::from([tool(10)]),
        tool_choice: ToolChoice::Auto,
        max_output: None,
    }
}

pub fn reply(text: &str, finish: Finish) -> Reply {
    Reply {
        cost: None,
        request: RequestNo(1),
        text: text.into(),
        calls: vec![],
        finish,
        usage: Usage::default(),
        model: "large".into(),
        duration_ms: Millis(0),
        opaque: None,
    }
}

pub fn profile(window: u64, response: u64) -> ModelProfile {
    ModelProfile { window, response, ..ModelProfile::unknown() }
}

/// What a strict provider checks: it starts with input, no reply is empty, each call has its
/// result directly after its message and in its order, and no result is without its call.
#[track_caller]
pub fn assert_accepted(messages: &[RequestMessage]) {
    assert!(matches!(messages.first(), Some(RequestMessage::User(_))), "{:?}", messages.first());
    let mut open: Vec<Arc<str>> = vec![];
    for message in messages {
        match message {
            RequestMessage::ToolResult { id, .. } => {
                assert!(!open.is_empty(), "a result without its call: {id}");
                assert_eq!(open.remove(0), *id);
            }
            RequestMessage::User(_) => assert_eq!(open, [], "calls without results"),
            RequestMessage::Assistant { text, calls, opaque } => {
                assert_eq!(open, [], "calls without results");
                let empty = text.trim().is_empty() && calls.is_empty() && opaque.is_none();
                assert!(!empty, "an empty reply");
                open = calls.iter().map(|call| Arc::clone(&call.id)).collect();
            }
        }
    }
    assert_eq!(open, [], "calls without results");
}

/// The input of a request, in order.
pub fn inputs(messages: &[RequestMessage]) -> Vec<&str> {
    let input = |message: &'_ RequestMessage| matches!(message, RequestMessage::User(_));
    let texts = messages.iter().filter(|message| input(message)).map(|message| match message {
        RequestMessage::User(text) => &**text,
        RequestMessage::Assistant { text, .. } | RequestMessage::ToolResult { text, .. } => text,
    });
    texts.collect()
}
