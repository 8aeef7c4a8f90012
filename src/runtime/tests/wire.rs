//! Cancels against a real socket: silent providers, and bytes that come too late.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kinfolk_actors::event::Outcome;

use self::mock_server::{MockServer, SSE, Seen, Step};
use super::support::{At, check_events, records, session, within};
use crate::definition::Family;
use crate::model::openai::{OpenAi, OpenAiSettings};
use crate::ports::tool::Call;
use crate::runtime::{Runtime, Session};
use crate::tools::tool::Tool;

#[path = "../../../tests/support/mock_server.rs"]
mod mock_server;

async fn against(url: &str, marks: &Arc<AtomicUsize>) -> (Runtime, Session) {
    let model = OpenAi::new(OpenAiSettings::new(format!("{url}/v1"))).unwrap();
    let runtime = Runtime::builder().model("openai:m", model).start().await.unwrap();
    let marks = Arc::clone(marks);
    let tool = Tool::function("look", "Looks.", move |At { at }: At, _: Call| {
        marks.fetch_add(1, Ordering::SeqCst);
        async move { at }
    });
    let family = Family::lead("L").tool(tool.read_only());
    let session = session(&runtime, "s", family).await;
    (runtime, session)
}

fn chunk(delta: &str) -> String {
    format!(r#"data: {{"id":"x","model":"m","choices":[{{"index":0,"delta":{delta}}}]}}"#) + "\n\n"
}

fn tool_call() -> String {
    let call = r#"{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"look","arguments":"{\"at\":\"x\"}"}}]}"#;
    let end = r#"data: {"id":"x","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#;
    format!("{}{end}\n\ndata: [DONE]\n\n", chunk(call))
}

#[tokio::test]
async fn a02_a_tool_call_that_comes_after_the_cancel_never_runs() {
    let begun = format!("{SSE}{}", chunk(r#"{"role":"assistant","content":"I lo"}"#));
    let late =
        [Step::Send(begun.into_bytes()), Step::AwaitClose, Step::Send(tool_call().into_bytes())];
    let server = MockServer::start(vec![late.to_vec()]).await;
    let marks = Arc::default();
    let (runtime, session) = against(&server.url, &marks).await;
    let run = session.start("Go").await.unwrap();
    server.wait_until(|seen| seen.requests == 1).await;
    let outcome = within("the cancel", run.cancel("enough")).await.unwrap();
    assert_eq!(outcome.outcome, Outcome::Cancelled);
    let events = records(&runtime, session.id()).await;
    let seen = server.wait_until(|seen| seen.closed_by_client == 1).await;
    assert_eq!(seen, Seen { connections: 1, requests: 1, closed_by_client: 1 });
    assert_eq!(marks.load(Ordering::SeqCst), 0);
    within("shutdown", runtime.shutdown()).await;
    assert_eq!(records(&runtime, session.id()).await, events, "no late event");
    check_events(&events);
}

#[tokio::test]
async fn a02_the_same_call_runs_when_nobody_cancels() {
    let text = chunk(r#"{"content":"Done."}"#);
    let end =
        r#"data: {"id":"x","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    let answer = format!("{text}{end}\n\ndata: [DONE]\n\n");
    let scripts = vec![mock_server::sse(&tool_call()), mock_server::sse(&answer)];
    let server = MockServer::start(scripts).await;
    let marks = Arc::default();
    let (_runtime, session) = against(&server.url, &marks).await;
    let run = session.start("Go").await.unwrap();
    assert_eq!(&*within("the outcome", run.outcome()).await.unwrap().text, "Done.");
    assert_eq!((marks.load(Ordering::SeqCst), server.seen().requests), (1, 2));
}

#[tokio::test]
async fn a03_a_silent_provider_is_left_at_once() {
    let silent = vec![Step::AwaitClose];
    let headers_only = vec![Step::Send(SSE.as_bytes().to_vec()), Step::AwaitClose];
    for script in [silent, headers_only] {
        let server = MockServer::start(vec![script]).await;
        let (_runtime, session) = against(&server.url, &Arc::default()).await;
        for n in 1..=2 {
            let run = within("the start", session.start("Go")).await.unwrap();
            server.wait_until(|seen| seen.requests == n).await;
            let outcome = within("the cancel", run.cancel("enough")).await.unwrap();
            assert_eq!(outcome.outcome, Outcome::Cancelled);
            server.wait_until(|seen| seen.closed_by_client == n).await;
        }
    }
}

/// A listener whose backlog is full: the system answers no further connection.
#[tokio::test]
async fn a03_a_connect_that_never_completes_is_left_at_once() {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut full = tokio::task::JoinSet::new();
    for _ in 0..8 {
        full.spawn(tokio::net::TcpStream::connect(address));
    }
    let (runtime, session) = against(&format!("http://{address}"), &Arc::default()).await;
    let run = within("the start", session.start("Go")).await.unwrap();
    let outcome = within("the cancel", run.cancel("enough")).await.unwrap();
    assert_eq!(outcome.outcome, Outcome::Cancelled);
    check_events(&records(&runtime, session.id()).await);
}
