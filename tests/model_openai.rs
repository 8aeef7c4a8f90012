//! The adapter for chat completions against a server that sends just the bytes of each case.

use std::path::Path;
use std::time::Duration;

use kinfolk::model::openai::{OpenAi, OpenAiSettings};
use kinfolk::ports::model::{
    Delta, DeltaSink, ModelCall, ModelError, ModelProvider, NoDeltas, Purpose,
};
use kinfolk_actors::agent::{RawCall, RawReply};
use kinfolk_actors::context::{ModelRequest, RequestMessage};
use kinfolk_actors::event::Finish;
use kinfolk_actors::failure::ErrorCode;
use kinfolk_actors::family::ToolChoice;
use kinfolk_actors::id::RequestNo;
use kinfolk_actors::usage::Usage;
use mock_server::{MockServer, PATIENCE, SSE, Seen, Step, answer, sse};
use secrecy::SecretString;
use tokio::sync::mpsc;
use tokio::time::timeout;

#[path = "support/mock_server.rs"]
mod mock_server;

fn case(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(name);
    std::fs::read_to_string(path).unwrap()
}

fn request() -> ModelRequest {
    ModelRequest {
        model: "openai:m-test".into(),
        system: "Be brief.".into(),
        messages: vec![RequestMessage::User("hi".into())],
        tools: [].into(),
        tool_choice: ToolChoice::Auto,
        max_output: None,
    }
}

async fn call(adapter: &OpenAi, deltas: &dyn DeltaSink) -> Result<RawReply, ModelError> {
    let request = request();
    let call = ModelCall {
        request: &request,
        agent: "lead",
        purpose: Purpose::Reply,
        number: RequestNo(1),
        deltas,
    };
    timeout(PATIENCE, adapter.call(call)).await.expect("the adapter hangs")
}

fn adapter(url: &str) -> OpenAi {
    OpenAi::new(OpenAiSettings::new(format!("{url}/v1"))).unwrap()
}

/// Asks a server that answers with this script.
async fn ask(script: Vec<Step>) -> Result<RawReply, ModelError> {
    let server = MockServer::start(vec![script]).await;
    call(&adapter(&server.url), &NoDeltas).await
}

async fn code(script: Vec<Step>) -> ErrorCode {
    ask(script).await.unwrap_err().failure.code
}

fn raw(id: &str, name: &str, arguments: &str) -> RawCall {
    RawCall { provider_id: id.into(), name: name.into(), arguments: arguments.into() }
}

/// Passes on what is shown.
struct Watcher(mpsc::UnboundedSender<String>);

impl DeltaSink for Watcher {
    fn is_watched(&self) -> bool {
        true
    }

    fn delta(&self, delta: Delta<'_>) {
        let _ = self.0.send(format!("{delta:?}"));
    }
}

#[tokio::test]
async fn a_request_is_sent_with_its_key_and_the_reply_is_read() {
    let server = MockServer::start(vec![sse(&case("C04.sse"))]).await;
    let settings = OpenAiSettings::new(format!("{}/v1?a=b", server.url));
    let adapter = OpenAi::new(settings.with_key(SecretString::from("sk-1"))).unwrap();
    let (sender, mut shown) = mpsc::unbounded_channel();
    let reply = call(&adapter, &Watcher(sender)).await.unwrap();
    let usage = Usage { model_requests: 1, input_tokens: 43, output_tokens: 7, ..Usage::default() };
    assert_eq!((reply.text.as_ref(), reply.finish, reply.usage), ("Hi", Finish::Stop, usage));
    assert_eq!((reply.model.as_ref(), reply.calls), ("m-test", vec![]));
    assert_eq!(shown.recv().await.as_deref(), Some(r#"Text("Hi")"#));

    let sent = server.requests().remove(0);
    let (head, body) = sent.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /v1/chat/completions?a=b HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("\r\nauthorization: Bearer sk-1\r\n"), "{head}");
    let expected = concat!(
        r#"{"model":"m-test","stream":true,"stream_options":{"include_usage":true},"#,
        r#""messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"hi"}]}"#,
    );
    assert_eq!(body, expected);
}

/// Cases B01 to B04, B07, B08: calls as servers send them.
#[tokio::test]
async fn b01_to_b08_calls_of_many_servers() {
    let line = r#"{"path":"m.txt","text":"x"}"#;
    let half = r#"{"path":"notes.txt","text":"half a sen"#;
    let notes = ["call_p1", "call_p2", "call_p3"];
    let noted = |(n, id): (usize, &&str)| raw(id, "add_note", &format!("{{\"n\": {}}}", n + 1));
    let cases = [
        ("B01.sse", vec![raw("call_w1", "get_tide", r#"{"port":"Esbjerg"}"#)]),
        ("B02a.sse", notes.iter().enumerate().map(noted).collect()),
        ("B02b.sse", vec![raw("call_q", "add_note", r#"{"n":7}"#)]),
        ("B02c.sse", vec![raw("call_r", "add_note", r#"{"n":8}"#)]),
        ("B03a.sse", vec![raw("call_e", "list_sessions", "")]),
        ("B03b.sse", vec![raw("call_e", "list_sessions", "")]),
        ("B04.sse", vec![raw("call_bad", "append_line", half)]),
        ("B07.sse", vec![raw("call_same", "append_line", line); 2]),
        ("B08.sse", vec![raw("", "read_page", r#"{"n":1}"#), raw("", "read_page", r#"{"n":2}"#)]),
    ];
    for (name, expected) in cases {
        let reply = ask(sse(&case(name))).await.unwrap();
        assert_eq!((reply.calls, reply.finish), (expected, Finish::ToolCalls), "{name}");
    }
}

/// Case C01.
#[tokio::test]
async fn c01_characters_that_reads_cut_stay_whole() {
    let case: serde_json::Value = serde_json::from_str(&case("C01.chunks.json")).unwrap();
    let chunks: Vec<Vec<u8>> = case["chunks_hex"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hex| {
            let hex = hex.as_str().unwrap();
            let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
            (0..hex.len()).step_by(2).map(byte).collect()
        })
        .collect();
    let head = Step::Send(SSE.as_bytes().to_vec());
    let mut in_chunks = vec![head.clone()];
    for chunk in &chunks {
        in_chunks.push(Step::Send(chunk.clone()));
        in_chunks.push(Step::Sleep(Duration::from_millis(5)));
    }
    let in_bytes = vec![head, Step::Drip(chunks.concat())];
    for script in [in_chunks, in_bytes] {
        let reply = ask(script).await.unwrap();
        assert_eq!(reply.text.as_ref(), case["expected_text"].as_str().unwrap());
    }
    assert_eq!(
        code(vec![Step::Send([SSE.as_bytes(), b"data: \xFF\n\n"].concat())]).await,
        ErrorCode::ModelProtocol
    );
}

/// Case C02.
#[tokio::test]
async fn c02_comments_empty_events_and_pings_mean_nothing() {
    let reply = ask(sse(&case("C02.sse"))).await.unwrap();
    assert_eq!((reply.text.as_ref(), reply.finish), ("Hello", Finish::Stop));
}

/// Reads the steps of a case; a cancel of the client is its closing of the connection.
fn steps(name: &str) -> Vec<Step> {
    let step = |line: &str| {
        let step: serde_json::Value = serde_json::from_str(line).unwrap();
        match (step["send"].as_str(), step["sleep_ms"].as_u64()) {
            (Some(text), _) => Step::Send(text.as_bytes().to_vec()),
            (None, Some(millis)) if millis < 10_000 => Step::Sleep(Duration::from_millis(millis)),
            (None, _) => Step::AwaitClose,
        }
    };
    let head = Step::Send(SSE.as_bytes().to_vec());
    std::iter::once(head).chain(case(name).lines().map(step)).collect()
}

fn impatient(url: &str, idle: Duration, progress: Duration) -> OpenAi {
    let settings = OpenAiSettings::new(url);
    let settings = OpenAiSettings { idle_timeout: idle, progress_timeout: progress, ..settings };
    OpenAi::new(settings).unwrap()
}

/// Case C03.
#[tokio::test]
async fn c03_comments_are_life_and_silence_is_not() {
    let idle = Duration::from_millis(1500);
    let server = MockServer::start(vec![steps("C03.steps.jsonl"), steps("A03.steps.jsonl")]).await;
    let adapter = impatient(&server.url, idle, PATIENCE);
    assert_eq!(call(&adapter, &NoDeltas).await.unwrap().text.as_ref(), "ab");
    let adapter = impatient(&server.url, Duration::from_millis(300), PATIENCE);
    let error = call(&adapter, &NoDeltas).await.unwrap_err();
    assert_eq!(error.failure.code, ErrorCode::ModelTimeout);
    assert!(error.failure.message.contains("sent nothing for 300ms"), "{error}");
    server.wait_until(|seen| seen.closed_by_client == 1).await;
}

#[tokio::test]
async fn a_stream_of_comments_alone_ends_at_the_progress_deadline() {
    let comment = [Step::Send(b": wait\n\n".to_vec()), Step::Sleep(Duration::from_millis(20))];
    let mut script = vec![Step::Send(SSE.as_bytes().to_vec())];
    script.extend(std::iter::repeat_n(comment, 1000).flatten());
    let server = MockServer::start(vec![script]).await;
    let adapter = impatient(&server.url, PATIENCE, Duration::from_millis(300));
    let error = call(&adapter, &NoDeltas).await.unwrap_err();
    assert_eq!(error.failure.code, ErrorCode::ModelTimeout);
    assert!(error.failure.message.contains("did not go on for 300ms"), "{error}");
}

/// Case C05.
#[tokio::test]
async fn c05_an_error_in_a_stream_is_an_error() {
    for name in ["C05a.sse", "C05c.sse"] {
        let error = ask(sse(&case(name))).await.unwrap_err();
        assert_eq!(
            (error.failure.code, error.failure.retryable),
            (ErrorCode::ModelUnavailable, true)
        );
    }
    let refused = r#"data: {"error":{"type":"invalid_request_error","message":"bad"}}"#;
    assert_eq!(code(sse(&format!("{refused}\n\n"))).await, ErrorCode::ModelBadRequest);
}

/// Case C06.
#[tokio::test]
async fn c06_where_a_stream_ends() {
    let bodies: Vec<serde_json::Value> = serde_json::from_str(&case("C06.json")).unwrap();
    let mut ends = Vec::new();
    for body in &bodies {
        let end = match ask(sse(body["body"].as_str().unwrap())).await {
            Ok(reply) => format!("{} {}", reply.text, reply.finish.as_str()),
            Err(error) => error.failure.code.to_string(),
        };
        ends.push((body["id"].as_str().unwrap(), end));
    }
    let expected = [
        ("eof_no_done", "model.truncated"),
        ("done_no_finish", "Hello stop"),
        ("finish_no_done", "Hello stop"),
        ("empty_choices_then_done", "Hel stop"),
        ("eof_inside_tool_args", "model.truncated"),
    ];
    assert_eq!(ends, expected.map(|(id, end)| (id, end.to_owned())));
}

#[tokio::test]
async fn a_stream_that_breaks_in_the_middle_is_truncated() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 9999\r\n\r\n";
    let hello = "data: {\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\n\n";
    let script = vec![Step::Send(format!("{head}{hello}").into_bytes())];
    assert_eq!(code(script).await, ErrorCode::ModelTruncated);
}

#[tokio::test]
async fn statuses_become_codes_and_waits() {
    let error = |status, body: &'static str| async move { code(answer(status, "", body)).await };
    assert_eq!(error(401, r#"{"error":{"message":"no"}}"#).await, ErrorCode::ModelUnauthorized);
    assert_eq!(error(404, "nothing here").await, ErrorCode::ModelNotFound);
    assert_eq!(error(503, "").await, ErrorCode::ModelUnavailable);
    assert_eq!(error(302, "").await, ErrorCode::ModelBadRequest);
    let overflow = r#"{"error":{"code":400,"message":"request (6021 tokens) exceeds the available context size (2048 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":6021,"n_ctx":2048}}"#;
    assert_eq!(error(400, overflow).await, ErrorCode::ModelContextOverflow);
    let quota = r#"{"error":{"code":"insufficient_quota","message":"pay"}}"#;
    assert_eq!(error(429, quota).await, ErrorCode::ModelQuota);
    let limited = ask(answer(429, "retry-after: 3\r\n", "{}")).await.unwrap_err();
    assert_eq!(limited.failure.code, ErrorCode::ModelRateLimited);
    assert_eq!(limited.retry_after, Some(Duration::from_secs(3)));
    assert_eq!(limited.usage, Usage { model_requests: 1, ..Usage::default() });

    let json = "content-type: application/json\r\n";
    assert_eq!(code(answer(200, json, r#"{"choices":[]}"#)).await, ErrorCode::ModelProtocol);
    assert_eq!(code(answer(200, json, r#"{"error":"busy"}"#)).await, ErrorCode::ModelUnavailable);
    assert_eq!(code(sse("data: <html>\n\n")).await, ErrorCode::ModelProtocol);
}

#[tokio::test]
async fn messages_say_what_to_do_and_hold_no_secret() {
    let long = "é".repeat(2000);
    let server = MockServer::start(vec![answer(401, "", &long)]).await;
    let url = server.url.replace("http://", "http://me:pass@") + "/v1?token=hidden";
    let settings = OpenAiSettings::new(url).with_key(SecretString::from("sk-1"));
    let settings = OpenAiSettings { key_variable: Some("MY_KEY".to_owned()), ..settings };
    let error = call(&OpenAi::new(settings).unwrap(), &NoDeltas).await.unwrap_err();
    let expected = format!(
        "{}/v1/chat/completions refused the request (status 401) with: {}; \
         set MY_KEY to a key that may use the model",
        server.url,
        "é".repeat(250)
    );
    assert_eq!(error.failure.message.as_ref(), expected);
}

#[tokio::test]
async fn a_port_without_a_server_is_unreachable() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error = call(&adapter(&url), &NoDeltas).await.unwrap_err();
    assert_eq!(error.failure.code, ErrorCode::ModelUnreachable);
    let start = format!("cannot reach the model server at {url}/v1/chat/completions: ");
    assert!(error.failure.message.starts_with(&start), "{error}");
    assert!(error.failure.message.ends_with("start the server or correct the base URL"), "{error}");
}

/// Cases A02 and A03: dropping the future closes the connection at once, and late bytes are lost.
#[tokio::test]
async fn a02_a03_dropping_a_request_closes_its_connection() {
    let nothing = vec![Step::AwaitClose];
    let scripts = vec![steps("A02.steps.jsonl"), steps("A03.steps.jsonl"), nothing];
    let server = MockServer::start(scripts).await;
    let adapter = adapter(&server.url);
    let request = request();
    for n in 1..=3 {
        let (sender, mut shown) = mpsc::unbounded_channel();
        let watcher = Watcher(sender);
        let number = RequestNo(1);
        let call = ModelCall {
            request: &request,
            agent: "lead",
            purpose: Purpose::Reply,
            number,
            deltas: &watcher,
        };
        let begun = async {
            match n {
                3 => drop(server.wait_until(|seen| seen.requests == 3).await),
                _ => drop(timeout(PATIENCE, shown.recv()).await.expect("nothing was shown")),
            }
        };
        tokio::select! {
            biased;
            () = begun => {}
            reply = adapter.call(call) => panic!("the request ended by itself: {reply:?}"),
        }
        let seen = server.wait_until(|seen| seen.closed_by_client == n).await;
        assert_eq!(seen, Seen { connections: n, requests: n, closed_by_client: n });
    }
}

#[tokio::test]
async fn connections_are_used_again_and_a_dead_one_costs_no_request() {
    let hi =
        "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\n";
    let body = format!("{hi}data: [DONE]\n\n");
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";
    let kept = format!("{head}content-length: {}\r\n\r\n{body}", body.len()).into_bytes();
    // The server answers twice on one connection, reads a third request there and closes.
    let twice = vec![
        Step::Send(kept.clone()),
        Step::NextRequest,
        Step::Send(kept.clone()),
        Step::NextRequest,
    ];
    let server = MockServer::start(vec![twice, vec![Step::Send(kept)]]).await;
    let adapter = adapter(&server.url);
    let mut requests = Vec::new();
    for _ in 0..3 {
        requests.push(call(&adapter, &NoDeltas).await.unwrap().usage.model_requests);
    }
    assert_eq!(requests, [1, 1, 2]);
    let expected = Seen { connections: 2, requests: 4, closed_by_client: 0 };
    assert_eq!(server.seen(), expected);
}

#[tokio::test]
async fn a_first_connection_that_dies_is_not_tried_again() {
    let server = MockServer::start(vec![vec![]]).await;
    let error = call(&adapter(&server.url), &NoDeltas).await.unwrap_err();
    assert_eq!(error.failure.code, ErrorCode::ModelUnavailable);
    assert_eq!(server.seen().requests, 1);
}
