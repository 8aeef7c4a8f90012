//! Subagents that work beside their lead: told, asked, awaited, stopped, heard.

use std::time::Duration;

use kinfolk_actors::event::Event;
use kinfolk_actors::id::AgentId;
use tokio::time::Instant;

use super::scene::{Scene, Setup, calls, setup};
use super::support::{At, Gate, look, looks, records, until, within};
use crate::model::scripted::{ScriptBuilder, Scripted, ScriptedReply};
use crate::ports::tool::Call;
use crate::runtime::Run;
use crate::tools::tool::Tool;

fn spawns(agent: &str) -> ScriptedReply {
    calls("spawn_subagent", &format!(r#"{{"agent":"{agent}","task":"Do it."}}"#))
}

fn tells(subagent: &str, message: &str) -> ScriptedReply {
    let arguments = serde_json::json!({ "subagent": subagent, "message": message });
    calls("message_subagent", &arguments.to_string())
}

fn stops(subagent: &str) -> ScriptedReply {
    calls("stop_subagent", &format!(r#"{{"subagent":"{subagent}"}}"#))
}

fn waits(arguments: &str) -> ScriptedReply {
    calls("wait_subagents", arguments)
}

/// A lead with these replies, the last one plain text, and subagents with theirs.
fn script(lead: &[ScriptedReply]) -> ScriptBuilder {
    (1..).zip(lead).fold(Scripted::builder(), |script, (turn, reply)| {
        script.reply("lead", turn, reply.clone())
    })
}

/// How often words stand in the messages of a request.
fn count(scene: &Scene, key: &str, words: &str) -> usize {
    format!("{:?}", scene.model.request(key).messages).matches(words).count()
}

async fn reported(scene: &Scene, run: &Run) {
    let mut reader = scene.runtime.resume(run.id()).await.unwrap();
    reader.seek(kinfolk_actors::id::Offset(0));
    until(&mut reader, "the notice", |recorded| match &recorded.event {
        Event::Message(kinfolk_actors::event::Message::User(message)) => {
            recorded.agent.is_lead() && message.ended.is_some()
        }
        _ => false,
    })
    .await;
}

async fn results(scene: &Scene, tool: &str) -> Vec<String> {
    let events = records(&scene.runtime, scene.session.id()).await;
    let result = |event: &Event| match event {
        Event::ToolFinished(end) if &*end.name == tool => Some(end.result.text.to_string()),
        _ => None,
    };
    events.iter().filter_map(|recorded| result(&recorded.event)).collect()
}

fn done() -> ScriptedReply {
    ScriptedReply::text("All done.")
}

#[tokio::test(start_paused = true)]
async fn f03_a_notice_that_comes_in_a_long_tool_round_is_in_the_next_request_once() {
    let gate = Gate::closed(["look:long"]);
    let script = script(&[spawns("a"), looks("long"), done(), done()]);
    let script = script.reply("a", 1, ScriptedReply::text("A has it."));
    let scene = setup(script.build()).tool(look(&gate)).open().await;
    let run = scene.start().await;
    gate.arrived("look:long", 1).await;
    reported(&scene, &run).await;
    gate.open();
    assert_eq!(scene.text(&run).await, "All done.");
    assert_eq!(count(&scene, "lead#3", "A has it."), 1);
    assert_eq!(scene.model.asked().get("lead#4"), None);
}

#[tokio::test(start_paused = true)]
async fn f03_a_notice_wakes_an_idle_lead_once() {
    let script = script(&[spawns("a"), ScriptedReply::text("I wait."), done()]);
    let script = script.reply("a", 1, ScriptedReply::text("A has it."));
    let scene = setup(script.build()).closed(&["a#1"]).open().await;
    let run = scene.start().await;
    let mut reader = scene.session.active().await.unwrap().expect("the run");
    until(&mut reader, "idle", |recorded| match &recorded.event {
        Event::Message(kinfolk_actors::event::Message::Assistant(reply)) => {
            &*reply.text == "I wait."
        }
        _ => false,
    })
    .await;
    scene.gate.arrived("a#1", 1).await;
    scene.gate.open();
    assert_eq!(scene.text(&run).await, "All done.");
    assert_eq!(count(&scene, "lead#3", "A has it."), 1);
    assert_eq!(scene.model.asked()["lead#3"], 1);
}

#[tokio::test(start_paused = true)]
async fn words_reach_a_subagent_before_its_next_request() {
    let gate = Gate::closed(["look:long"]);
    let script = script(&[spawns("a"), tells("sub-1", "Look left."), waits("{}"), done()]);
    let script = script.reply("a", 1, looks("long")).reply("a", 2, ScriptedReply::text("Left."));
    let scene = setup(script.build()).tool(look(&gate)).closed(&["lead#2"]).open().await;
    let run = scene.start().await;
    gate.arrived("look:long", 1).await;
    scene.gate.open();
    scene.gate.arrived("lead#3", 1).await;
    gate.open();
    assert_eq!(scene.text(&run).await, "All done.");
    assert_eq!(results(&scene, "message_subagent").await, ["told"]);
    assert_eq!(count(&scene, "a#2", "Look left."), 1);
}

#[tokio::test(start_paused = true)]
async fn f05_a_message_to_a_subagent_that_cannot_hear_says_why() {
    let lead = [
        spawns("a"),
        waits("{}"),
        tells("sub-1", "Hello?"),
        spawns("b"),
        stops("sub-2"),
        tells("sub-2", "Hello?"),
        tells("sub-9", "Hello?"),
        done(),
    ];
    let script = script(&lead).reply("a", 1, ScriptedReply::text("A has it."));
    let scene = setup(script.reply("b", 1, ScriptedReply::stall()).build()).open().await;
    let run = scene.start().await;
    assert_eq!(scene.text(&run).await, "All done.");
    let told = results(&scene, "message_subagent").await;
    assert_eq!(told.len(), 3);
    assert!(told[0].contains("finished"), "{told:?}");
    assert!(told[1].contains("stopped"), "{told:?}");
    assert!(told[2].contains("no subagent sub-9"), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn f06_a_subagent_stuck_in_a_tool_that_hears_nothing_is_stopped_within_the_grace() {
    let stuck =
        Tool::function("stuck", "Never ends.", |_: At, _: Call| std::future::pending::<()>())
            .read_only();
    let lead = [spawns("a"), stops("sub-1"), stops("sub-1"), done()];
    let script = script(&lead).reply("a", 1, calls("stuck", r#"{"at":"x"}"#));
    let scene = setup(script.build()).tool(stuck).closed(&["lead#2"]).open().await;
    let run = scene.start().await;
    let mut reader = scene.session.active().await.unwrap().expect("the run");
    until(&mut reader, "stuck", |recorded| match &recorded.event {
        Event::ToolStarted(started) => &*started.name == "stuck",
        _ => false,
    })
    .await;
    let begun = Instant::now();
    scene.gate.open();
    assert_eq!(scene.text(&run).await, "All done.");
    assert!(begun.elapsed() <= Duration::from_secs(3), "{:?}", begun.elapsed());
    let answers = results(&scene, "stop_subagent").await;
    assert_eq!((answers.len(), &answers[0]), (2, &answers[1]), "the same answer twice");
    assert!(answers[0].contains("cancelled"), "{answers:?}");
}

#[tokio::test(start_paused = true)]
async fn a_wait_gives_up_in_time() {
    let lead = [spawns("a"), waits(r#"{"timeout":5}"#), stops("sub-1"), done()];
    let script = script(&lead).reply("a", 1, ScriptedReply::stall());
    let scene = setup(script.build()).open().await;
    let begun = Instant::now();
    let run = scene.start().await;
    assert_eq!(scene.text(&run).await, "All done.");
    assert_eq!(begun.elapsed(), Duration::from_secs(5));
    let waited = results(&scene, "wait_subagents").await;
    assert!(waited[0].contains("at_work") && waited[0].contains("sub-1"), "{waited:?}");
}

/// A subagent that asks its parent, who tells it.
fn asking(first: ScriptedReply) -> Setup {
    let script = script(&[first, tells("sub-1", "The blue one."), waits("{}"), done(), done()]);
    let script = script.reply("a", 1, calls("ask_parent", r#"{"question":"Which one?"}"#)).reply(
        "a",
        2,
        ScriptedReply::text("Blue it is."),
    );
    setup(script.build())
}

#[tokio::test(start_paused = true)]
async fn a_subagents_question_returns_the_call_that_waits_for_it_and_its_answer_goes_back() {
    for first in [calls("call_subagent", r#"{"agent":"a","task":"Ask."}"#), spawns("a")] {
        let scene = asking(first).closed(&["a#2"]).open().await;
        let run = scene.start().await;
        scene.gate.arrived("a#2", 1).await;
        assert!(scene.model.asked().contains_key("lead#2"));
        scene.gate.open();
        assert_eq!(scene.text(&run).await, "All done.");
        assert_eq!(count(&scene, "a#2", "The blue one."), 1);
        let events = records(&scene.runtime, scene.session.id()).await;
        let asked = |event: &Event| match event {
            Event::Message(kinfolk_actors::event::Message::User(told)) => told.question.is_some(),
            _ => false,
        };
        let told = events.iter().filter(|recorded| asked(&recorded.event)).count();
        assert_eq!(told, 1, "the lead is told once");
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_outlives_the_crash_of_who_asked() {
    let scene = asking(calls("call_subagent", r#"{"agent":"a","task":"Ask."}"#))
        .closed(&["lead#2", "a#2"])
        .open()
        .await;
    let run = scene.start().await;
    scene.gate.arrived("lead#2", 1).await;
    let family = scene.session.slot.family_of(run.id()).unwrap();
    assert!(family.panic_agent(AgentId(1)));
    drop(family);
    scene.gate.arrived("lead#2", 2).await;
    scene.gate.open();
    assert_eq!(scene.text(&run).await, "All done.");
    assert_eq!(count(&scene, "a#2", "The blue one."), 1);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_ends_subagents_in_the_background() {
    let script = script(&[spawns("a"), ScriptedReply::text("I wait.")]);
    let scene = setup(script.reply("a", 1, ScriptedReply::stall()).build()).open().await;
    let run = scene.start().await;
    scene.gate.arrived("a#1", 1).await;
    within("the cancel", run.cancel("enough")).await.unwrap();
    assert_eq!(scene.model.in_flight(), 0);
    let events = records(&scene.runtime, scene.session.id()).await;
    super::support::check_events(&events);
}
