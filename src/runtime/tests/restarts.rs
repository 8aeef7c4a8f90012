//! Runs at rest that the next runtime on the same store goes on with.

use kinfolk_actors::agent::{RunStanding, Verdict};
use kinfolk_actors::call::CallStatus;
use kinfolk_actors::event::{Event, RunInterrupted};
use kinfolk_actors::id::{CallId, RunId};

use super::scene::{Scene, Setup, calls, change, says, setup};
use super::support::{At, Gate, look, looks, records, within};
use crate::model::scripted::{Scripted, ScriptedReply};
use crate::ports::tool::{Call, ToolAnswer};
use crate::runtime::{Run, Settled, WishError};
use crate::tools::tool::Tool;

/// A store in a directory, and one runtime after the other on it.
struct Place {
    directory: tempfile::TempDir,
    setup: Setup,
}

impl Place {
    fn new(setup: Setup) -> Self {
        Self { directory: tempfile::tempdir().unwrap(), setup }
    }

    async fn open(&self) -> Scene {
        let directory = self.directory.path();
        let sled = |_: &Gate, builder: crate::RuntimeBuilder| builder.sled(directory).unwrap();
        self.setup.clone().open_with(sled, |family| family).await
    }

    /// The next runtime, which goes on with the run.
    async fn reopen(&self, before: Scene, run: RunId) -> (Scene, Run) {
        before.runtime.shutdown().await;
        drop(before);
        let scene = self.open().await;
        let run = scene.runtime.resume(run).await.unwrap();
        (scene, run)
    }
}

fn one(first: ScriptedReply) -> Scripted {
    let done = ScriptedReply::text("Done.");
    Scripted::builder().reply("lead", 1, first).reply("lead", 2, done).build()
}

async fn settled(run: &Run) -> Settled {
    within("the rest", run.settled()).await.unwrap()
}

#[tokio::test]
async fn an_approval_is_answered_in_the_next_runtime_under_the_same_id() {
    let gate = Gate::closed([]);
    let place = Place::new(setup(one(calls("change", r#"{"at":"x"}"#))).tool(change(&gate)));
    let scene = place.open().await;
    let run = scene.start().await;
    let before = scene.parked(&run).await;
    let (yes, id) = (says(before[0].id(), Verdict::Approve), run.id());
    scene.runtime.shutdown().await;
    assert!(within("the end", run.settled()).await.is_err());
    assert_eq!(run.approve(yes.clone()).await, Err(WishError::NotActive));
    assert_eq!(scene.session.pending().await.unwrap(), before, "read without a family");
    drop(run);
    let (scene, run) = place.reopen(scene, id).await;
    assert_eq!(scene.parked(&run).await, before);
    run.approve(yes).await.unwrap();
    assert_eq!(scene.text(&run).await, "Done.");
    assert_eq!(gate.count("change:x"), 1);
}

#[tokio::test]
async fn a_question_of_a_subagent_is_answered_in_the_next_runtime() {
    let script = Scripted::builder()
        .reply("lead", 1, calls("call_subagent", r#"{"agent":"a","task":"Ask."}"#))
        .reply("lead", 2, ScriptedReply::text("Done."))
        .reply("a", 1, calls("ask_user", r#"{"question":"Which?"}"#))
        .reply("a", 2, ScriptedReply::text("That one."));
    let place = Place::new(setup(script.build()));
    let scene = place.open().await;
    let run = scene.start().await;
    let before = scene.parked(&run).await;
    let id = run.id();
    drop(run);
    let (scene, run) = place.reopen(scene, id).await;
    // At once: the family need not be at work again yet.
    run.answer(before[0].id(), "The red one.", None).await.unwrap();
    assert_eq!(scene.text(&run).await, "Done.");
    assert!(format!("{:?}", scene.model.request("a#2").messages).contains("The red one."));
}

#[tokio::test]
async fn a_result_is_delivered_to_the_next_runtime() {
    let later = |_: At, _: Call| async { ToolAnswer::later() };
    let later = Tool::function("later", "Answers later.", later).read_only();
    let place = Place::new(setup(one(calls("later", r#"{"at":"x"}"#))).tool(later));
    let scene = place.open().await;
    let run = scene.start().await;
    assert_eq!(settled(&run).await, Settled::Parked(RunStanding::AwaitingTool));
    let id = run.id();
    drop(run);
    let (scene, run) = place.reopen(scene, id).await;
    assert_eq!(settled(&run).await, Settled::Parked(RunStanding::AwaitingTool));
    let call = deferred(&scene).await;
    run.deliver(call, CallStatus::Ok, "42").await.unwrap();
    assert_eq!(scene.text(&run).await, "Done.");
}

async fn deferred(scene: &Scene) -> CallId {
    let events = records(&scene.runtime, scene.session.id()).await;
    let call = events.iter().find_map(|recorded| match &recorded.event {
        Event::CallDeferred(deferred) => Some(deferred.call),
        _ => None,
    });
    call.unwrap()
}

#[tokio::test]
async fn an_interrupted_run_is_loaded_as_it_is_and_goes_on_when_it_is_told_to() {
    let gate = Gate::closed(["look:x"]);
    let place = Place::new(setup(one(looks("x"))).tool(look(&gate)));
    let scene = place.open().await;
    let run = scene.start().await;
    gate.arrived("look:x", 1).await;
    run.interrupt("lunch").await.unwrap();
    gate.open();
    let lunch = RunInterrupted { reason: "lunch".into(), limit: None, resumable: true };
    assert_eq!(settled(&run).await, Settled::Interrupted(lunch.clone()));
    let id = run.id();
    drop(run);
    let (scene, run) = place.reopen(scene, id).await;
    assert_eq!(settled(&run).await, Settled::Interrupted(lunch));
    assert!(scene.model.asked().is_empty());
    run.resume(None).await.unwrap();
    assert_eq!(scene.text(&run).await, "Done.");
}

#[tokio::test]
async fn a_subagent_in_the_background_goes_on_in_the_next_runtime() {
    let script = Scripted::builder()
        .reply("lead", 1, calls("spawn_subagent", r#"{"agent":"a","task":"Look."}"#))
        .reply("lead", 2, ScriptedReply::text("I wait."))
        .reply("lead", 3, ScriptedReply::text("Done."))
        .reply("a", 1, ScriptedReply::text("A has it."));
    let place = Place::new(setup(script.build()).closed(&["a#1"]));
    let scene = place.open().await;
    let run = scene.start().await;
    scene.gate.arrived("a#1", 1).await;
    let id = run.id();
    drop(run);
    let (scene, run) = place.reopen(scene, id).await;
    scene.gate.arrived("a#1", 1).await;
    scene.gate.open();
    assert_eq!(scene.text(&run).await, "Done.");
    let events = records(&scene.runtime, scene.session.id()).await;
    super::support::check_events(&events);
    let request = format!("{:?}", scene.model.request("lead#3").messages);
    assert_eq!(request.matches("A has it.").count(), 1);
}
