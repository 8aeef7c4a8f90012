//! What the kernel decides, seen from the model's side of an HTTP connection: the compaction of a
//! history that the provider refuses, the guard against loops, a limit that binds the whole tree.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kinfolk::actors::limits::Limits;
use kinfolk::{
    Call, ErrorCode, Family, FinishReason, OpenAi, OpenAiSettings, Outcome, RunOutcome, Runtime,
    Subagent, Tool,
};
use mock_server::{MockServer, PATIENCE, Step, answer, sse};
use serde_json::{Value, json};
use tokio::time::timeout;

#[path = "support/mock_server.rs"]
mod mock_server;

const MODEL: &str = "openai:mock";

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Place {
    at: String,
}

/// A tool that counts how often it really ran, and says the same each time.
fn look(ran: &Arc<AtomicUsize>) -> Tool {
    let ran = Arc::clone(ran);
    Tool::function("look", "Looks at a place", move |place: Place, _: Call| {
        ran.fetch_add(1, Ordering::SeqCst);
        async move { format!("{}: {}", place.at, "white houses and a harbour. ".repeat(20)) }
    })
    .read_only()
}

/// A streamed reply.
fn reply(delta: &Value, finish: &str) -> Vec<Step> {
    let chunk = |delta: &Value, finish: Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        format!("data: {}\n\n", json!({ "choices": [choice] }))
    };
    let usage =
        json!({ "choices": [], "usage": { "prompt_tokens": 100, "completion_tokens": 10 } });
    let end = chunk(&json!({}), finish.into());
    sse(&format!("{}{end}data: {usage}\n\ndata: [DONE]\n\n", chunk(delta, Value::Null)))
}

fn says(text: &str) -> Vec<Step> {
    reply(&json!({ "content": text }), "stop")
}

fn calls(id: &str, name: &str, arguments: &Value) -> Vec<Step> {
    let function = json!({ "name": name, "arguments": arguments.to_string() });
    let call = json!({ "index": 0, "id": id, "type": "function", "function": function });
    reply(&json!({ "tool_calls": [call] }), "tool_calls")
}

fn looks(at: &str) -> Vec<Step> {
    calls(&format!("call_{at}"), "look", &json!({ "at": at }))
}

fn too_large() -> Vec<Step> {
    let message = "This model's maximum context length is 4096 tokens.";
    let error = json!({ "error": { "code": "context_length_exceeded", "message": message } });
    answer(400, "content-type: application/json\r\n", &error.to_string())
}

/// Runs a family against a server that plays these replies.
async fn run(family: Family, replies: Vec<Vec<Step>>) -> (RunOutcome, MockServer) {
    let server = MockServer::start(replies).await;
    let model = OpenAi::new(OpenAiSettings::new(format!("{}/v1", server.url))).unwrap();
    let runtime = Runtime::builder().model(MODEL, model).start().await.unwrap();
    let session = runtime.session("wire").family(family.model(MODEL)).open().await.unwrap();
    let run = session.start("Look around.").await.unwrap();
    let outcome = timeout(PATIENCE, run.outcome()).await.expect("the run does not end").unwrap();
    for request in server.requests() {
        check_pairs(&body(&request));
    }
    (outcome, server)
}

/// The messages of a request.
fn body(request: &str) -> Value {
    let (_, body) = request.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap()
}

/// Each call is answered once, directly behind its message, in order, and nothing else is.
fn check_pairs(body: &Value) {
    let mut awaited: Vec<&str> = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for message in body["messages"].as_array().unwrap() {
        if message["role"] == "tool" {
            assert_eq!(awaited.first().copied(), message["tool_call_id"].as_str(), "{body}");
            awaited.remove(0);
            continue;
        }
        assert!(awaited.is_empty(), "a call without its result: {body}");
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let id = call["id"].as_str().unwrap();
            assert!(!id.is_empty() && seen.insert(id), "{body}");
            awaited.push(id);
        }
    }
    assert!(awaited.is_empty(), "a call without its result: {body}");
}

fn texts(request: &str) -> String {
    let body = body(request);
    let messages = body["messages"].as_array().unwrap().iter();
    messages.map(|message| message["content"].as_str().unwrap_or_default()).collect()
}

#[tokio::test]
async fn d07_a_history_that_the_provider_refuses_is_compacted_and_sent_once_more() {
    let ran = Arc::default();
    let replies = vec![
        looks("north"),
        looks("south"),
        looks("east"),
        too_large(),
        says("Goal: look around. Done: north, south."),
        says("There are houses everywhere."),
    ];
    let family = Family::lead("You look.").tool(look(&ran));
    let (outcome, server) = run(family, replies).await;
    assert_eq!(&*outcome.text, "There are houses everywhere.");
    assert_eq!((outcome.outcome, ran.load(Ordering::SeqCst)), (Outcome::Completed, 3));
    let requests = server.requests();
    assert_eq!(requests.len(), 6);
    assert_eq!(body(&requests[4])["tool_choice"], "none", "a summary calls nothing");
    let last = texts(&requests[5]);
    assert!(last.contains("Done: north, south."), "the notes stand for what was cut: {last}");
    assert!(last.contains("Look around."), "the task stays: {last}");
    assert!(requests[5].len() < requests[3].len(), "less than what was refused");
    // The refused request, the summary and the retry are counted.
    assert_eq!(outcome.usage.model_requests, 6);
}

#[tokio::test]
async fn a_second_overflow_is_terminal() {
    let ran = Arc::default();
    let mut replies = vec![looks("north"), looks("south"), too_large(), says("Goal: look.")];
    replies.push(too_large());
    let family = Family::lead("You look.").tool(look(&ran));
    let (outcome, server) = run(family, replies).await;
    assert_eq!(outcome.error.map(|error| error.code), Some(ErrorCode::ContextFull));
    assert_eq!(server.requests().len(), 5);
}

#[tokio::test]
async fn e05_a_call_that_is_made_again_and_again_runs_three_times() {
    let ran = Arc::default();
    let family = Family::lead("You look.").tool(look(&ran));
    let (outcome, server) = run(family, vec![looks("north")]).await;
    assert_eq!(ran.load(Ordering::SeqCst), 3);
    assert_eq!(outcome.finish_reason, FinishReason::LoopDetected);
    assert_eq!(outcome.error.map(|error| error.code), Some(ErrorCode::LoopDetected));
    assert_eq!(server.requests().len(), 4);
}

#[tokio::test]
async fn e02_a_limit_of_the_family_binds_its_subagents() {
    let ran = Arc::default();
    let delegate =
        calls("call_d", "call_subagent", &json!({ "agent": "scout", "task": "Look everywhere." }));
    let replies = vec![delegate, looks("a"), looks("b"), looks("c"), looks("d"), says("Enough.")];
    let family = Family::lead("You delegate.")
        .tool(look(&ran))
        .subagent(Subagent::explore("scout", "Looks"))
        .limits(Limits::none().steps(3));
    let (outcome, server) = run(family, replies).await;
    assert_eq!(server.requests().len(), 3, "the provider counts three requests in all");
    assert_eq!(outcome.usage.turns, 3);
    assert_eq!(outcome.finish_reason, FinishReason::MaxStepsCompleted);
}
