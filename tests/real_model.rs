//! The adapter for chat completions against a real model: llama.cpp with 135 million parameters.
//!
//! Runs against `KINFOLK_REAL_MODEL_URL` if it is set (the server's address without `/v1`), or
//! with `KINFOLK_REAL_MODEL=required` against a server that it installs and starts itself; then it
//! fails if there is none. Without either it says that it is skipped. Only the structure of replies
//! is checked: the model is small.

#[path = "support/real_server.rs"]
mod real_server;

use std::sync::Arc;
use std::time::Duration;

use kinfolk::model::openai::{OpenAi, OpenAiSettings};
use kinfolk::ports::model::{
    Delta, DeltaSink, ModelCall, ModelError, ModelProvider, NoDeltas, Purpose,
};
use kinfolk_actors::agent::RawReply;
use kinfolk_actors::call::EffectClass;
use kinfolk_actors::context::{ModelRequest, RequestCall, RequestMessage};
use kinfolk_actors::event::Finish;
use kinfolk_actors::failure::ErrorCode;
use kinfolk_actors::family::{Offer, Placement, ToolChoice, ToolSpec};
use kinfolk_actors::id::RequestNo;
use tokio::sync::Notify;
use tokio::time::timeout;

use real_server::{PATIENCE, server, slots_are_idle};

fn request(choice: ToolChoice, messages: Vec<RequestMessage>) -> ModelRequest {
    let schema = r#"{"type":"object","properties":{"city":{"type":"string","maxLength":20}},"required":["city"]}"#;
    let weather = ToolSpec {
        name: "weather".into(),
        description: "The weather of a city today".into(),
        schema: schema.into(),
        effect: EffectClass::ReadOnly,
        placement: Placement::Runtime,
        offer: Offer::Always,
        cost: None,
    };
    ModelRequest {
        model: "openai:smollm2-135m-instruct".into(),
        system: "Answer in one short sentence.".into(),
        messages,
        tools: [weather].into(),
        tool_choice: choice,
        max_output: None,
    }
}

async fn ask(
    adapter: &OpenAi,
    request: &ModelRequest,
    deltas: &dyn DeltaSink,
) -> Result<RawReply, ModelError> {
    let call =
        ModelCall { request, agent: "lead", purpose: Purpose::Reply, number: RequestNo(1), deltas };
    timeout(PATIENCE, adapter.call(call)).await.expect("the model does not end")
}

#[tokio::test]
async fn a_real_model_calls_a_tool_answers_overflows_and_is_cancelled() {
    let Some(server) = server().await else {
        eprintln!("skipped: set KINFOLK_REAL_MODEL=required to run it against a real model");
        return;
    };
    let adapter = OpenAi::new(OpenAiSettings::new(format!("{}/v1", server.url))).unwrap();
    let question = RequestMessage::User("How is the weather in Esbjerg?".into());
    tool_round(&adapter, &question).await;

    let long = RequestMessage::User("All work and no play. ".repeat(1000).into());
    let error = ask(&adapter, &request(ToolChoice::None, vec![long]), &NoDeltas).await;
    assert_eq!(error.unwrap_err().failure.code, ErrorCode::ModelContextOverflow);

    cancel(&adapter, &server.url).await;
}

/// A forced call, then its result and a text.
async fn tool_round(adapter: &OpenAi, question: &RequestMessage) {
    let first = request(ToolChoice::Required, vec![question.clone()]);
    let reply = ask(adapter, &first, &NoDeltas).await.unwrap();
    assert_eq!(reply.finish, Finish::ToolCalls, "{reply:?}");
    assert!(reply.usage.input_tokens > 0 && reply.usage.output_tokens > 0, "{reply:?}");
    let call = &reply.calls[0];
    assert_eq!(call.name.as_ref(), "weather");
    let arguments: serde_json::Value = serde_json::from_str(&call.arguments).unwrap();
    assert!(arguments["city"].is_string(), "{arguments}");

    let id: Arc<str> = "call_1".into();
    let called = RequestCall {
        id: Arc::clone(&id),
        name: Arc::clone(&call.name),
        arguments: Arc::clone(&call.arguments),
    };
    let said = RequestMessage::Assistant { text: reply.text, calls: vec![called], opaque: None };
    let result = RequestMessage::ToolResult {
        id,
        name: Arc::clone(&call.name),
        text: "Rain, 9 degrees.".into(),
        is_error: false,
    };
    let second = request(ToolChoice::None, vec![question.clone(), said, result]);
    let reply = ask(adapter, &second, &NoDeltas).await.unwrap();
    assert!(!reply.text.trim().is_empty() && reply.calls.is_empty(), "{reply:?}");
    assert_eq!(reply.usage.model_requests, 1);
}

/// Tells when something of a reply was shown.
#[derive(Default)]
struct Begun(Notify);

impl DeltaSink for Begun {
    fn is_watched(&self) -> bool {
        true
    }

    fn delta(&self, _delta: Delta<'_>) {
        self.0.notify_one();
    }
}

/// Dropping a request in the middle frees the server's slot.
async fn cancel(adapter: &OpenAi, url: &str) {
    let begun = Begun::default();
    let story = RequestMessage::User("Tell a very long story of a hundred sentences.".into());
    let request = request(ToolChoice::None, vec![story]);
    tokio::select! {
        biased;
        () = begun.0.notified() => {}
        reply = ask(adapter, &request, &begun) => panic!("it ended before anything: {reply:?}"),
    }
    timeout(Duration::from_secs(5), slots_are_idle(url)).await.expect("the slot is not freed");
}
