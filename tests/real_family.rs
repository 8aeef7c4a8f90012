//! A family on a real model: llama.cpp with 135 million parameters. Runs under the conditions that
//! `real_model.rs` names. Only structure is checked: the model is small and says what it likes.

#[path = "support/real_server.rs"]
mod real_server;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kinfolk::actors::event::{Event, Finish, FinishReason, Message, Outcome};
use kinfolk::actors::family::ToolChoicePlan;
use kinfolk::events::{ProgressKind, RunEvent};
use kinfolk::{Call, Family, OpenAi, OpenAiSettings, Run, Runtime, Subagent, Tool, ToolChoice};
use tokio::time::timeout;

use real_server::{PATIENCE, Server, server, slots_are_idle};

const MODEL: &str = "openai:smollm2-135m-instruct";

/// The most tokens of one reply. The model rambles; what rounding makes of it differs from machine
/// to machine. Three replies of this size and their prompts stay under the window of 2,048, so that
/// no run ends for want of room.
const MAX_OUTPUT: u64 = 256;

/// A call first, then words.
const CALL_THEN_TALK: ToolChoicePlan =
    ToolChoicePlan { first: ToolChoice::Required, then: ToolChoice::None };

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct City {
    #[schemars(length(max = 20))]
    city: String,
}

/// A tool that counts how often it really ran.
fn weather(ran: &Arc<AtomicUsize>) -> Tool {
    let ran = Arc::clone(ran);
    Tool::function("weather", "The weather of a city today", move |city: City, _: Call| {
        ran.fetch_add(1, Ordering::SeqCst);
        async move { format!("{}: rain, 9 degrees", city.city) }
    })
    .read_only()
}

async fn runtime(server: &Server) -> Runtime {
    let settings = OpenAiSettings::new(format!("{}/v1", server.url));
    let model = OpenAi::new(OpenAiSettings { max_output: Some(MAX_OUTPUT), ..settings }).unwrap();
    Runtime::builder().model(MODEL, model).start().await.unwrap()
}

async fn events(run: &mut Run) -> Vec<Event> {
    let mut events = Vec::new();
    let all = async {
        while let Some(event) = run.next().await {
            if let RunEvent::Journaled(recorded) = event {
                events.push(recorded.event.clone());
            }
        }
    };
    timeout(PATIENCE, all).await.expect("the run does not end");
    events
}

/// Each call that the model proposed has exactly one result. It was required to call, and did,
/// unless its output limit cut the call off before it was whole.
fn check_pairs(events: &[Event]) {
    let proposed = events.iter().filter_map(|event| match event {
        Event::Message(Message::Assistant(reply)) => Some(reply.calls.iter().map(|c| c.call)),
        _ => None,
    });
    let mut proposed: Vec<_> = proposed.flatten().collect();
    let finished = events.iter().filter_map(|event| match event {
        Event::ToolFinished(finished) => Some(finished.call),
        _ => None,
    });
    let mut finished: Vec<_> = finished.collect();
    proposed.sort();
    finished.sort();
    let cut = events.iter().any(|event| match event {
        Event::Message(Message::Assistant(reply)) => reply.finish == Finish::Length,
        _ => false,
    });
    assert!(cut || !proposed.is_empty(), "required to call, the model did not: {events:?}");
    assert_eq!(proposed, finished);
}

#[tokio::test]
async fn a_real_model_leads_a_family_through_real_calls_and_is_cancelled() {
    let Some(server) = server().await else {
        eprintln!("skipped: set KINFOLK_REAL_MODEL=required to run it against a real model");
        return;
    };
    let runtime = runtime(&server).await;
    a_tool_is_really_called(&runtime).await;
    a_subagent_works_and_reports(&runtime).await;
    a_cancel_frees_the_slot(&runtime, &server).await;
}

async fn a_tool_is_really_called(runtime: &Runtime) {
    let ran = Arc::default();
    let family = Family::lead("Answer in one short sentence.")
        .tool(weather(&ran))
        .tool_choice(CALL_THEN_TALK);
    let session = runtime.session("tool").family(family).open().await.unwrap();
    let mut run = session.start("How is the weather in Esbjerg?").await.unwrap();
    let events = events(&mut run).await;
    check_pairs(&events);
    assert!(ran.load(Ordering::SeqCst) > 0, "no tool ran: {events:?}");
    let outcome = run.outcome().await.unwrap();
    assert_eq!(
        (outcome.outcome, outcome.finish_reason),
        (Outcome::Completed, FinishReason::Completed)
    );
    assert!(!outcome.text.trim().is_empty());
    assert!(outcome.usage.input_tokens > 0 && outcome.usage.output_tokens > 0);
    assert_eq!(outcome.usage.turns, 2);
}

async fn a_subagent_works_and_reports(runtime: &Runtime) {
    let ran = Arc::default();
    let family = Family::lead("Give one short task to the scout.")
        .tool(weather(&ran))
        .tool_choice(CALL_THEN_TALK)
        .subagent(
            Subagent::explore("scout", "Looks up the weather")
                .prompt("Answer in one short sentence.")
                .tool_choice(CALL_THEN_TALK),
        );
    let session = runtime.session("scout").family(family).open().await.unwrap();
    let mut run = session.start("Ask the scout about Esbjerg.").await.unwrap();
    let events = events(&mut run).await;
    check_pairs(&events);
    let started = events.iter().filter(|event| matches!(event, Event::SubagentStarted(_))).count();
    let reported =
        events.iter().filter(|event| matches!(event, Event::SubagentFinished(_))).count();
    // Which tool the model takes is its own choice; a subagent that it starts always reports.
    assert_eq!(started, reported);
    let outcome = run.outcome().await.unwrap();
    assert_eq!(outcome.outcome, Outcome::Completed, "{outcome:?}");
    assert_eq!(outcome.agents.len(), 1 + started);
    assert!(outcome.agents.iter().all(|agent| agent.usage.output_tokens > 0));
}

async fn a_cancel_frees_the_slot(runtime: &Runtime, server: &Server) {
    let family = Family::lead("You tell very long stories.");
    let session = runtime.session("story").family(family).open().await.unwrap();
    let mut run = session.start("Tell a story of a hundred sentences.").await.unwrap();
    let control = run.control();
    let begun = async {
        while let Some(event) = run.next().await {
            let RunEvent::Progress(progress) = &event else { continue };
            if matches!(progress.kind, ProgressKind::Delta { .. }) {
                return;
            }
        }
        panic!("the run ended before anything was said");
    };
    timeout(PATIENCE, begun).await.expect("nothing is said");
    let outcome = control.cancel("enough").await.unwrap();
    assert_eq!(outcome.outcome, Outcome::Cancelled);
    let idle = timeout(Duration::from_secs(5), slots_are_idle(&server.url));
    idle.await.expect("the slot is not freed");
    // The session lives on.
    let next = session.start("Say hello.").await.unwrap();
    next.cancel("that is all").await.unwrap();
}
