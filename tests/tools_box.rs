//! A toolbox runs every call to one result, whatever the tool does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use kinfolk::ports::tool::{Call, RunTool, ToolAnswer, ToolOutput};
use kinfolk::tools::answer::Json;
use kinfolk::tools::tool::{DEFAULT_TIMEOUT, Tool};
use kinfolk::tools::toolbox::{CANCEL_GRACE, Dispatch, OUTPUT_CAP, Ran, Toolbox, ToolboxError};
use kinfolk_actors::call::{CallStatus, EffectClass};
use kinfolk_actors::family::{Offer, Placement, ToolSpec};
use kinfolk_actors::id::{AgentId, CallId, RunId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

#[derive(Deserialize, JsonSchema)]
struct City {
    /// The city's English name.
    name: String,
    days: Option<u8>,
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

#[derive(Serialize)]
struct Report {
    city: String,
    sunny: bool,
}

fn call_id() -> CallId {
    CallId { run: RunId(uuid::Uuid::from_u128(1)), agent: AgentId::LEAD, n: 4 }
}

fn dispatch<'a>(name: &'a str, arguments: &'a str, token: &CancellationToken) -> Dispatch<'a> {
    Dispatch { name, call: call_id(), arguments, workspace: None, cancelled: token.clone() }
}

async fn run(tool: Tool, arguments: &str) -> ToolOutput {
    let name = tool.name().to_owned();
    let toolbox = Toolbox::new([tool]).unwrap();
    let ran = toolbox.run(dispatch(&name, arguments, &CancellationToken::new())).await;
    ran.output().unwrap()
}

fn output(status: CallStatus, text: &str) -> ToolOutput {
    ToolOutput { status, text: text.into() }
}

fn weather() -> Tool {
    Tool::function("weather", "Weather of a city", |city: City, _: Call| async move {
        match city.name.as_str() {
            "Atlantis" => Err("no such city"),
            _ => Ok(Report { city: city.name, sunny: city.days.is_none() }),
        }
    })
}

#[test]
fn a_function_has_a_plain_object_schema_and_is_changing_until_told_otherwise() {
    let spec = weather().spec().clone();
    assert_eq!(spec.effect, EffectClass::Changing);
    assert_eq!(weather().read_only().spec().effect, EffectClass::ReadOnly);
    assert_eq!(weather().idempotent().spec().effect, EffectClass::Idempotent);
    assert_eq!(weather().read_only().changing().spec().effect, EffectClass::Changing);
    assert_eq!(weather().time_limit(), DEFAULT_TIMEOUT);
    let schema: Value = serde_json::from_str(&spec.schema).unwrap();
    let days =
        json!({ "type": ["integer", "null"], "format": "uint8", "minimum": 0, "maximum": 255 });
    let expected = json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "description": "The city's English name." },
            "days": days,
        },
        "required": ["name"],
    });
    assert_eq!(schema, expected);
    let nothing = Tool::function("now", "", |_: Nothing, _| async { "12:00" });
    let schema: Value = serde_json::from_str(&nothing.spec().schema).unwrap();
    assert_eq!(schema, json!({ "type": "object", "properties": {} }));
}

#[tokio::test]
async fn an_answer_reaches_the_model_as_text_or_json_and_an_error_as_its_message() {
    let sunny = run(weather(), r#"{"name":"Esbjerg"}"#).await;
    let expected: Value = json!({ "city": "Esbjerg", "sunny": true });
    assert_eq!(sunny, ToolOutput::ok(expected.to_string()));
    let missing = run(weather(), r#"{"name":"Atlantis"}"#).await;
    assert_eq!(missing, ToolOutput::error("no such city"));
    let text = Tool::function("t", "", |_: Nothing, _| async { "as it is".to_owned() });
    assert_eq!(run(text, "").await, ToolOutput::ok("as it is"));
    let list = Tool::function("t", "", |_: Nothing, _| async { Json(vec![1, 2]) });
    assert_eq!(run(list, " ").await, ToolOutput::ok("[1,2]"));
    let id = Tool::function("t", "", |_: Nothing, call: Call| async move { call.id().to_string() });
    assert_eq!(run(id, "{}").await, ToolOutput::ok(call_id().to_string()));
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_malformed_and_the_message_names_the_path() {
    for (arguments, text) in [
        (r#"{"name": 7}"#, "the arguments do not fit:\n- at `/name`: 7 is not of type \"string\""),
        ("{}", "the arguments do not fit:\n- \"name\" is a required property"),
        ("[]", "the arguments must be one JSON object"),
    ] {
        let refused = run(weather(), arguments).await;
        assert_eq!(refused, output(CallStatus::Malformed, text), "{arguments}");
    }
    let cut_off = run(weather(), r#"{"name""#).await;
    assert_eq!(cut_off.status, CallStatus::Malformed);
    let long = format!(r#"{{"name": {:?}}}"#, vec![7; 10_000]);
    let long = run(weather(), &long).await;
    assert!(long.text.ends_with(" [cut]") && long.text.len() < 600, "{}", long.text);
}

#[tokio::test]
async fn an_unknown_tool_is_answered_with_those_that_exist() {
    let toolbox = Toolbox::new([weather()]).unwrap();
    let ran = toolbox.run(dispatch("wether", "{}", &CancellationToken::new())).await;
    let text = "no tool `wether`; the tools are: weather";
    assert_eq!(ran.output().unwrap(), output(CallStatus::UnknownTool, text));
}

#[tokio::test]
async fn a_panic_is_an_error_result_with_its_text() {
    let later = Tool::function("t", "", |city: City, _| async move {
        assert!(city.name.is_empty(), "{} is not empty", city.name);
    });
    let expected = ToolOutput::error("the tool `t` panicked: Rome is not empty");
    assert_eq!(run(later, r#"{"name":"Rome"}"#).await, expected);
    let at_once = Tool::function("t", "", |city: City, _| {
        assert!(city.name.is_empty(), "not empty");
        async {}
    });
    let expected = ToolOutput::error("the tool `t` panicked: not empty");
    assert_eq!(run(at_once, r#"{"name":"Rome"}"#).await, expected);
}

/// What a tool that never answers leaves behind.
#[derive(Clone, Default)]
struct Traces {
    dropped: Arc<AtomicBool>,
    token: Arc<parking_lot::Mutex<Option<CancellationToken>>>,
}

/// Set when a tool's future is dropped.
struct Dropped(Arc<AtomicBool>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Traces {
    fn tool(&self) -> Tool {
        let traces = self.clone();
        Tool::function("endless", "", move |_: Nothing, call: Call| {
            let guard = Dropped(Arc::clone(&traces.dropped));
            *traces.token.lock() = Some(call.cancelled());
            async move {
                let _guard = guard;
                std::future::pending::<()>().await;
            }
        })
    }

    /// Whether the future was dropped and the call's own token fired.
    fn ended(&self) -> (bool, bool) {
        let told = self.token.lock().as_ref().is_some_and(CancellationToken::is_cancelled);
        (self.dropped.load(Ordering::SeqCst), told)
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_over_its_time_is_dropped_and_its_own_work_is_told() {
    let traces = Traces::default();
    let limit = Duration::from_secs(3);
    let toolbox = Toolbox::new([traces.tool().timeout(limit)]).unwrap();
    let ran = toolbox.run(dispatch("endless", "", &CancellationToken::new())).await;
    let output = output(CallStatus::Timeout, "it took longer than its limit of 3s");
    assert_eq!((ran.duration.as_secs(), ran.output().unwrap()), (3, output));
    assert_eq!(traces.ended(), (true, true));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_tool_that_does_not_end_is_dropped_after_a_grace() {
    let traces = Traces::default();
    let toolbox = Toolbox::new([traces.tool()]).unwrap();
    let token = CancellationToken::new();
    let cancel = async {
        sleep(Duration::from_secs(2)).await;
        token.cancel();
    };
    let (ran, ()) = tokio::join!(toolbox.run(dispatch("endless", "", &token)), cancel);
    let output = output(CallStatus::Cancelled, "cancelled before it was done");
    assert_eq!(
        (ran.duration.as_secs(), ran.output().unwrap()),
        (2 + CANCEL_GRACE.as_secs(), output)
    );
    assert_eq!(traces.ended(), (true, true));
}

#[tokio::test(start_paused = true)]
async fn within_the_grace_a_success_stays_a_success_and_a_failure_is_the_cancels() {
    for (outcome, expected) in [
        (Ok("saved"), ToolOutput::ok("saved")),
        (Err("stopped half way"), output(CallStatus::Cancelled, "stopped half way")),
    ] {
        let tool = Tool::function("t", "", move |_: Nothing, call: Call| async move {
            call.cancelled().cancelled().await;
            outcome
        });
        let toolbox = Toolbox::new([tool]).unwrap();
        let token = CancellationToken::new();
        let cancel = async { token.cancel() };
        let (ran, ()) = tokio::join!(toolbox.run(dispatch("t", "", &token)), cancel);
        assert_eq!(ran, Ran { answer: expected.into(), duration: Duration::ZERO });
    }
}

/// The blocked thread itself stays lost until the tool gives it back, as here at the end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_blocks_its_thread_holds_up_neither_its_time_limit_nor_a_cancel() {
    let (release, blocked) = std::sync::mpsc::channel::<()>();
    let blocked = Arc::new(parking_lot::Mutex::new(blocked));
    let (begun, mut begins) = tokio::sync::mpsc::unbounded_channel();
    let tool = Tool::function("t", "", move |_: Nothing, _| {
        let (blocked, begun) = (Arc::clone(&blocked), begun.clone());
        async move {
            let _ = begun.send(());
            let _ = blocked.lock().recv();
        }
    });
    let token = CancellationToken::new();
    let quick = Toolbox::new([tool.clone().timeout(Duration::from_millis(50))]).unwrap();
    let ran = quick.run(dispatch("t", "", &token)).await;
    let late = output(CallStatus::Timeout, "it took longer than its limit of 50ms");
    assert_eq!(ran.output().unwrap(), late);
    assert_eq!(begins.recv().await, Some(()));
    release.send(()).unwrap();

    let patient = Toolbox::new([tool]).unwrap();
    let cancel = async {
        begins.recv().await;
        token.cancel();
    };
    let (ran, ()) = tokio::join!(patient.run(dispatch("t", "", &token)), cancel);
    assert_eq!(
        ran.output().unwrap(),
        output(CallStatus::Cancelled, "cancelled before it was done")
    );
    release.send(()).unwrap();
}

#[tokio::test]
async fn a_call_cancelled_beforehand_never_begins() {
    let traces = Traces::default();
    let token = CancellationToken::new();
    token.cancel();
    let toolbox = Toolbox::new([traces.tool()]).unwrap();
    let ran = toolbox.run(dispatch("endless", "", &token)).await;
    assert_eq!(ran.output().unwrap(), output(CallStatus::Cancelled, "cancelled before it began"));
    assert!(traces.token.lock().is_none());
}

#[tokio::test(start_paused = true)]
async fn dropping_the_call_drops_the_tool_and_fires_its_token() {
    let traces = Traces::default();
    let toolbox = Toolbox::new([traces.tool()]).unwrap();
    let token = CancellationToken::new();
    let call = toolbox.run(dispatch("endless", "", &token));
    assert!(tokio::time::timeout(Duration::from_secs(1), call).await.is_err());
    assert_eq!(traces.ended(), (true, true));
    assert!(!token.is_cancelled(), "the caller's token is the caller's");
}

#[tokio::test]
async fn a_tool_can_say_that_it_answers_later() {
    let tool = Tool::function("t", "", |_: Nothing, _| async { ToolAnswer::later() });
    let toolbox = Toolbox::new([tool]).unwrap();
    let ran = toolbox.run(dispatch("t", "", &CancellationToken::new())).await;
    assert_eq!(ran.answer, ToolAnswer::Later);
}

#[tokio::test]
async fn an_output_is_cut_before_it_is_kept() {
    let tool = Tool::function("t", "", |_: Nothing, _| async { "x".repeat(OUTPUT_CAP + 1) });
    let text = run(tool, "").await.text;
    let mark = format!("\n[cut: the first {OUTPUT_CAP} of {} bytes are shown]", OUTPUT_CAP + 1);
    assert!(*text == *format!("{}{mark}", "x".repeat(OUTPUT_CAP)));
}

struct Silent;

impl RunTool for Silent {
    fn run(&self, _: Call) -> BoxFuture<'static, ToolAnswer> {
        Box::pin(async { ToolOutput::ok("").into() })
    }
}

fn named(name: &str, schema: &str) -> Tool {
    let effect = EffectClass::ReadOnly;
    let (name, schema) = (name.into(), schema.into());
    let spec = ToolSpec {
        name,
        description: "".into(),
        schema,
        effect,
        placement: Placement::Runtime,
        offer: Offer::Always,
        cost: None,
    };
    Tool::new(spec, Silent)
}

#[test]
fn a_tool_that_providers_would_refuse_is_refused_by_name() {
    let object = r#"{"type":"object"}"#;
    for name in ["", "a b", "ä", "a.b", &"x".repeat(65)] {
        let error = Toolbox::new([named(name, object)]).unwrap_err();
        assert_eq!(error, ToolboxError::Name { name: name.to_owned() });
    }
    assert!(Toolbox::new([named(&"x".repeat(64), object), named("A-b_9", object)]).is_ok());
    let twice = Toolbox::new([named("a", object), named("b", object), named("a", object)]);
    assert_eq!(twice.unwrap_err(), ToolboxError::Duplicate { name: "a".into() });
    for schema in ["", "true", r#"{"type":"string"}"#, r#"{"type":"object","required":7}"#] {
        let error = Toolbox::new([named("a", schema)]).unwrap_err();
        let by_name = matches!(&error, ToolboxError::Schema { name, .. } if name.as_ref() == "a");
        assert!(by_name, "{schema}: {error}");
    }
}
