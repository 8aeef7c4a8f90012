//! Scripts: their file, their order, their errors.

use futures::FutureExt;
use kinfolk_actors::context::{ModelRequest, RequestMessage};
use kinfolk_actors::family::ToolChoice;
use kinfolk_actors::id::RequestNo;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::*;
use crate::ports::model::NoDeltas;

const SCRIPT: &str = r#"
[[reply]]
agent = "lead"
text = "I ask."
calls = [
    { name = "call_subagent", arguments = { agent = "helper", task = "Look." } },
    { name = "broken", arguments = "{half" },
    { name = "bare" },
]

[[reply]]
agent = "lead"
turn = 3
error = { code = "model.unavailable", message = "Busy." }

[[reply]]
agent = "lead"
text = "The fourth."
latency = "50ms"
finish = "length"

[[reply]]
agent = "*"
text = "Anybody."

[[reply]]
agent = "helper"
turn = 2
stall = true
"#;

fn request() -> ModelRequest {
    ModelRequest {
        model: "scripted:x".into(),
        system: "12345".into(),
        messages: vec![RequestMessage::User("123".into())],
        tools: [].into(),
        tool_choice: ToolChoice::Auto,
        max_output: None,
    }
}

async fn ask(
    script: &Scripted,
    agent: &str,
    turn: u32,
    deltas: &dyn DeltaSink,
) -> Result<RawReply, ModelError> {
    let request = request();
    let (purpose, number) = (Purpose::Reply, RequestNo(turn));
    script.call(ModelCall { request: &request, agent, purpose, number, deltas }).await
}

#[tokio::test(start_paused = true)]
async fn replies_are_found_by_agent_and_turn() {
    let script: Scripted = SCRIPT.parse().unwrap();
    let first = ask(&script, "lead", 1, &NoDeltas).await.unwrap();
    let call = |n: usize, name: &str, arguments: &str| RawCall {
        provider_id: format!("scripted_1_{n}").into(),
        name: name.into(),
        arguments: arguments.into(),
    };
    let calls = vec![
        call(0, "call_subagent", r#"{"agent":"helper","task":"Look."}"#),
        call(1, "broken", "{half"),
        call(2, "bare", ""),
    ];
    let written = "I ask.".len()
        + calls.iter().map(|call| call.name.len() + call.arguments.len()).sum::<usize>();
    let usage = Usage {
        model_requests: 1,
        input_tokens: 2,
        output_tokens: u64::try_from(written.div_ceil(4)).unwrap(),
        ..Usage::default()
    };
    let expected = RawReply {
        cost: None,
        text: "I ask.".into(),
        calls,
        finish: Finish::ToolCalls,
        usage,
        model: "scripted".into(),
        duration: Millis(0),
        opaque: None,
    };
    assert_eq!(first, expected);

    let third = ask(&script, "lead", 3, &NoDeltas).await.unwrap_err();
    assert_eq!(third.failure, Failure::new(ErrorCode::ModelUnavailable, "Busy."));
    let before = Instant::now();
    let fourth = ask(&script, "lead", 4, &NoDeltas).await.unwrap();
    assert_eq!((fourth.text.as_ref(), fourth.finish), ("The fourth.", Finish::Length));
    assert_eq!(before.elapsed(), Duration::from_millis(50));
    let other = ask(&script, "helper", 1, &NoDeltas).await.unwrap();
    assert_eq!((other.text.as_ref(), other.finish), ("Anybody.", Finish::Stop));
}

#[tokio::test]
async fn what_the_script_does_not_say_fails_or_stalls() {
    let script: Scripted = SCRIPT.parse().unwrap();
    let none = ask(&script, "lead", 2, &NoDeltas).await.unwrap_err();
    let message = "the script has no reply for agent `lead`, turn 2; add one to the script";
    assert_eq!(none.failure, Failure::new(ErrorCode::ModelScriptExhausted, message));
    assert!(ask(&script, "helper", 2, &NoDeltas).now_or_never().is_none());
}

#[derive(Default)]
struct Parts(Mutex<Vec<String>>);

impl DeltaSink for Parts {
    fn is_watched(&self) -> bool {
        true
    }

    fn delta(&self, delta: Delta<'_>) {
        self.0.lock().push(format!("{delta:?}"));
    }
}

#[tokio::test]
async fn a_reply_in_code_is_shown_in_its_parts() {
    let reply = ScriptedReply::text("aéb").call("look", "{}").in_chunks(2);
    let script = Scripted::builder().reply("lead", 1, reply).build();
    let parts = Parts::default();
    ask(&script, "lead", 1, &parts).await.unwrap();
    assert_eq!(*parts.0.lock(), [r#"Text("aé")"#, r#"Text("b")"#, r#"Call("look")"#]);
}

#[test]
fn mistakes_are_told_with_their_place() {
    let told = |text: &str| text.parse::<Scripted>().unwrap_err().to_string();
    let unknown = told("[[reply]]\nagent = \"lead\"\ntxt = \"x\"\n");
    assert!(unknown.contains("line 3") && unknown.contains("unknown field `txt`"), "{unknown}");
    let head = "[[reply]]\nagent = \"a\"\n";
    assert_eq!(
        told(&format!("{head}turn = 1\n{head}turn = 1\n")),
        "the script: reply 2 (a, turn 1): another reply has the same agent, kind and turn"
    );
    assert_eq!(
        told(&format!("{head}turn = 0")),
        "the script: reply 1 (a, turn 0): turns count from 1"
    );
    assert!(told(&format!("{head}latency = \"soon\"")).contains("`soon` is not a latency"));
    assert!(told(&format!("{head}stall = true\ntext = \"x\"")).contains("has no text"));
    let missing = Scripted::from_file("/no/such/script.toml").unwrap_err().to_string();
    assert!(missing.starts_with("the script /no/such/script.toml cannot be read"), "{missing}");
}

#[test]
fn only_a_regular_file_of_a_bounded_size_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let told = |path: &Path| match Scripted::from_file(path).unwrap_err() {
        ScriptError::Read { detail, .. } => detail,
        other => panic!("{other}"),
    };
    for path in [&pipe, dir.path(), Path::new("/dev/zero")] {
        assert_eq!(told(path), "it is no regular file; name a TOML file", "{}", path.display());
    }
    let large = dir.path().join("large");
    std::fs::File::create(&large).unwrap().set_len(MAX_SCRIPT + 1).unwrap();
    assert_eq!(told(&large), "it is larger than 4194304 bytes; no script may be");
}

#[test]
fn a_summary_is_answered_by_its_kind() {
    const SUMMARIES: &str = r#"
[[reply]]
agent = "lead"
text = "The reply."
[[reply]]
agent = "lead"
kind = "summary"
calls = [{ name = "look" }]
[[reply]]
agent = "lead"
kind = "summary_again"
text = "Goal: boats."
[[reply]]
agent = "lead"
kind = "summary"
text = "Goal: more boats."
"#;
    let script: Scripted = SUMMARIES.parse().unwrap();
    let look = ScriptedReply { chunks: 1, ..ScriptedReply::default() }.call("look", "");
    let says = |text: &str| ScriptedReply { chunks: 1, ..ScriptedReply::text(text) };
    let built = Scripted::builder()
        .reply("lead", 1, says("The reply."))
        .summary("lead", 1, look)
        .summary_again("lead", 1, says("Goal: boats."))
        .summary("lead", 2, says("Goal: more boats."))
        .build();
    assert_eq!(script, built);
    let request = request();
    let answer = |purpose, n| {
        let number = RequestNo(n);
        let call =
            ModelCall { request: &request, agent: "lead", purpose, number, deltas: &NoDeltas };
        script.call(call).now_or_never().unwrap()
    };
    assert_eq!(&*answer(Purpose::Reply, 1).unwrap().text, "The reply.");
    assert_eq!(&*answer(Purpose::Summary, 1).unwrap().calls[0].name, "look");
    assert_eq!(&*answer(Purpose::SummaryAgain, 1).unwrap().text, "Goal: boats.");
    assert_eq!(&*answer(Purpose::Summary, 2).unwrap().text, "Goal: more boats.");
    assert_eq!(
        answer(Purpose::Summary, 3).unwrap_err().failure.message.as_ref(),
        "the script has no reply for agent `lead`, turn 3, kind `summary`; add one to the script"
    );
}
