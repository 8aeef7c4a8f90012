//! Words, pauses and the next input while a run is under way.

use kinfolk_actors::agent::Refusal;
use kinfolk_actors::context::ModelRequest;
use kinfolk_actors::event::{Event, FinishReason, RunKind};
use kinfolk_actors::family::Offer;

use super::scene::{Scene, Setup, calls, setup};
use super::support::{Gate, look, looks, records, within};
use crate::model::scripted::{Scripted, ScriptedReply};
use crate::runtime::{Settled, WishError};

/// A lead that looks once, and answers.
fn looking() -> Setup {
    let script = Scripted::builder()
        .reply("lead", 1, looks("there"))
        .reply("lead", 2, ScriptedReply::text("Done."))
        .reply("lead", 3, ScriptedReply::text("Done again."));
    setup(script.build())
}

/// The place where the tool of [`looking`] waits.
const THERE: &str = "look:there";

async fn open(setup: Setup) -> Scene {
    let gate = Gate::closed([THERE]);
    let mut scene = setup.tool(look(&gate)).open().await;
    scene.gate = gate;
    scene
}

fn refused(refusal: Refusal) -> WishError {
    WishError::Refused(refusal)
}

fn says(request: &ModelRequest, words: &str) -> bool {
    format!("{:?}", request.messages).contains(words)
}

#[tokio::test(start_paused = true)]
async fn words_enter_the_next_request_and_what_is_in_flight_goes_on() {
    let scene = open(looking()).await;
    let run = scene.start().await;
    scene.gate.arrived(THERE, 1).await;
    run.steer("Mind the gap.").await.unwrap();
    scene.gate.open();
    assert_eq!(scene.text(&run).await, "Done.");
    assert!(!says(&scene.model.request("lead#1"), "Mind the gap."));
    let request = scene.model.request("lead#2");
    assert!(says(&request, "seen there") && says(&request, "Mind the gap."), "{request:?}");
    assert_eq!(run.steer("Too late.").await, Err(WishError::NotActive));
}

#[tokio::test(start_paused = true)]
async fn queued_input_makes_the_run_give_way_and_the_next_one_starts_by_itself() {
    let scene = open(looking()).await;
    let run = scene.start().await;
    scene.gate.arrived(THERE, 1).await;
    run.queue("Now this.").await.unwrap();
    scene.gate.open();
    let outcome = within("the first", run.outcome()).await.unwrap();
    assert_eq!(outcome.finish_reason, FinishReason::QueuedMessageInterrupt);
    let next = within("the next", scene.session.active()).await.unwrap().expect("a run");
    assert_ne!(next.id(), run.id());
    assert_eq!(scene.text(&next).await, "Done.");
    assert!(says(&scene.model.request("lead#2"), "Now this."));
    let events = records(&scene.runtime, scene.session.id()).await;
    let kinds: Vec<RunKind> = events
        .iter()
        .filter_map(|recorded| recorded.event.run_started())
        .map(|started| started.kind)
        .collect();
    assert_eq!(kinds, [RunKind::Request, RunKind::Queued]);
    assert!(within("nobody", scene.session.active()).await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_run_holds_nothing_and_goes_on_when_it_is_resumed() {
    let scene = open(looking()).await;
    let run = scene.start().await;
    scene.gate.arrived(THERE, 1).await;
    assert_eq!(run.resume(None).await, Err(refused(Refusal::NotInterrupted)));
    run.interrupt("lunch").await.unwrap();
    scene.gate.open();
    let settled = within("the pause", run.settled()).await.unwrap();
    let Settled::Interrupted(why) = settled else { panic!("{settled:?}") };
    assert_eq!((&*why.reason, why.resumable), ("lunch", true));
    let family = scene.session.slot.family_of(run.id()).unwrap();
    assert_eq!(family.effects.in_flight(), 0);
    drop(family);
    run.steer("And hurry.").await.unwrap();
    let settled = within("still", run.settled()).await.unwrap();
    assert_eq!(settled, Settled::Interrupted(why));
    run.resume(None).await.unwrap();
    assert_eq!(scene.text(&run).await, "Done.");
    assert!(says(&scene.model.request("lead#2"), "And hurry."));
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_was_held_back_is_offered_once_it_is_activated() {
    let hold_back = |family: &mut kinfolk_actors::family::Family| {
        let held = family.lead.tools.iter().cloned().map(|mut tool| {
            if &*tool.name == "ask_user" {
                tool.name = "extra".into();
                tool.offer = Offer::OnceActivated;
                tool.placement = kinfolk_actors::family::Placement::Client;
            }
            tool
        });
        family.lead.tools = held.collect();
    };
    let scene = open(looking().family(hold_back)).await;
    let run = scene.start().await;
    scene.gate.arrived(THERE, 1).await;
    run.activate(["extra"]).await.unwrap();
    let again = run.activate(["extra"]).await;
    assert_eq!(again, Err(refused(Refusal::NoSuchTool("extra".into()))));
    scene.gate.open();
    assert_eq!(scene.text(&run).await, "Done.");
    let offered = |key: &str| {
        let request = scene.model.request(key);
        request.tools.iter().any(|tool| &*tool.name == "extra")
    };
    assert_eq!((offered("lead#1"), offered("lead#2")), (false, true));
}

#[tokio::test(start_paused = true)]
async fn words_wake_a_lead_that_waits_for_its_subagents() {
    let script = Scripted::builder()
        .reply("lead", 1, calls("spawn_subagent", r#"{"agent":"a","task":"Look."}"#))
        .reply("lead", 2, ScriptedReply::text("I wait."))
        .reply("lead", 3, ScriptedReply::text("I still wait."))
        .reply("lead", 4, ScriptedReply::text("Done."))
        .reply("a", 1, ScriptedReply::text("A is done."));
    let scene = setup(script.build()).closed(&["a#1", "lead#3"]).open().await;
    let run = scene.start().await;
    scene.gate.arrived("a#1", 1).await;
    let idle = |event: &Event| match event {
        Event::Message(kinfolk_actors::event::Message::Assistant(reply)) => {
            &*reply.text == "I wait."
        }
        _ => false,
    };
    let mut reader = scene.session.active().await.unwrap().expect("the run");
    super::support::until(&mut reader, "idle", |recorded| idle(&recorded.event)).await;
    run.steer("How is it?").await.unwrap();
    scene.gate.arrived("lead#3", 1).await;
    assert!(says(&scene.model.request("lead#3"), "How is it?"));
    scene.gate.open();
    assert_eq!(scene.text(&run).await, "Done.");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_run_starts_nothing_and_its_queue_stays_in_the_history() {
    let scene = open(looking()).await;
    let run = scene.start().await;
    scene.gate.arrived(THERE, 1).await;
    run.queue("Now this.").await.unwrap();
    run.cancel("enough").await.unwrap();
    assert!(within("nobody", scene.session.active()).await.unwrap().is_none());
    scene.gate.open();
    let next = scene.session.start("Again.").await.unwrap();
    within("the next", next.outcome()).await.unwrap();
    let request = scene.model.request("lead#1");
    assert!(says(&request, "Now this.") && says(&request, "Again."), "{request:?}");
}
