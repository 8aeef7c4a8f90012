//! What a host hands in may panic: each panic is a result or a failed run with its words, and the
//! next run works.

use std::sync::Arc;

use futures::future::BoxFuture;
use kinfolk_actors::agent::RawReply;
use kinfolk_actors::call::CallStatus;
use kinfolk_actors::event::Outcome;
use kinfolk_actors::failure::ErrorCode;
use parking_lot::Mutex;

use super::support::{At, Gate, check_events, looks, records, session, within};
use crate::definition::Family;
use crate::model::scripted::{Scripted, ScriptedReply};
use crate::ports::model::{Delta, ModelCall, ModelError, ModelProvider};
use crate::ports::tool::Call;
use crate::runtime::{RunOutcome, Runtime, Session};
use crate::tools::tool::Tool;

fn two_turns() -> Scripted {
    let answer = ScriptedReply::text("Done.");
    Scripted::builder().reply("lead", 1, looks("lead")).reply("lead", 2, answer).build()
}

/// `look` panics the first time, with a lock in its hand.
fn panics_once() -> Tool {
    let times = Arc::new(Mutex::new(0));
    Tool::function("look", "Looks.", move |At { at }: At, _: Call| {
        let times = Arc::clone(&times);
        async move {
            tokio::task::yield_now().await;
            let mut times = times.lock();
            *times += 1;
            assert!(*times > 1, "the lens is broken");
            format!("seen {at}")
        }
    })
    .read_only()
}

async fn run(session: &Session) -> RunOutcome {
    let run = within("the start", session.start("Go")).await.unwrap();
    within("the outcome", run.outcome()).await.unwrap()
}

#[tokio::test]
async fn k03_a_tool_that_panics_with_a_lock_in_its_hand_is_an_error_result() {
    let runtime = Runtime::builder().model("test:m", two_turns()).start().await.unwrap();
    let session = session(&runtime, "s", Family::lead("L").tool(panics_once())).await;
    for _ in 0..2 {
        assert_eq!(&*run(&session).await.text, "Done.");
    }
    let shape = check_events(&records(&runtime, session.id()).await);
    let told: Vec<(CallStatus, &str)> =
        shape.values().map(|(_, status, text)| (*status, &**text)).collect();
    let panicked = "the tool `look` panicked: the lens is broken";
    assert_eq!(told, [(CallStatus::Error, panicked), (CallStatus::Ok, "seen lead")]);
}

/// Panics the first time: before it has a future, in it, or when it is dropped.
struct PanicsOnce {
    times: Mutex<usize>,
    way: Way,
    gate: Gate,
}

#[derive(Clone, Copy, Debug)]
enum Way {
    Calling,
    Running,
    Dropped,
}

struct PanicsOnDrop;

impl Drop for PanicsOnDrop {
    fn drop(&mut self) {
        panic!("dropped badly");
    }
}

impl ModelProvider for PanicsOnce {
    fn call<'a>(&'a self, call: ModelCall<'a>) -> BoxFuture<'a, Result<RawReply, ModelError>> {
        let first = {
            let mut times = self.times.lock();
            *times += 1;
            *times == 1
        };
        match self.way {
            Way::Calling => assert!(!first, "no future at all"),
            Way::Running | Way::Dropped => {}
        }
        Box::pin(async move {
            self.gate.pass("begin").await;
            call.deltas.delta(Delta::Text("Do"));
            tokio::task::yield_now().await;
            match self.way {
                Way::Calling => {}
                Way::Running => assert!(!first, "no reply at all"),
                Way::Dropped if first => {
                    let _guard = PanicsOnDrop;
                    self.gate.pass("inside").await;
                }
                Way::Dropped => {}
            }
            Scripted::builder()
                .reply("lead", 1, ScriptedReply::text("Done."))
                .build()
                .call(call)
                .await
        })
    }
}

async fn panicking(way: Way, closed: &[&str]) -> (Runtime, Session, Gate) {
    let gate = Gate::closed(closed.iter().copied());
    let model = PanicsOnce { times: Mutex::new(0), way, gate: gate.clone() };
    let runtime = Runtime::builder().model("test:m", model).start().await.unwrap();
    let session = session(&runtime, "s", Family::lead("L")).await;
    (runtime, session, gate)
}

#[tokio::test]
async fn k03_a_provider_that_panics_fails_the_run_with_its_words() {
    for (way, words) in [(Way::Calling, "no future at all"), (Way::Running, "no reply at all")] {
        let (_runtime, session, _) = panicking(way, &[]).await;
        let outcome = run(&session).await;
        let error = outcome.error.unwrap();
        assert_eq!((outcome.outcome, error.code), (Outcome::Failed, ErrorCode::EffectPanicked));
        assert!(error.message.contains(words), "{way:?}: {}", error.message);
        assert_eq!(&*run(&session).await.text, "Done.", "{way:?}");
    }
}

#[tokio::test]
async fn k03_a_request_that_panics_when_it_is_dropped_still_ends() {
    let (_runtime, session, gate) = panicking(Way::Dropped, &["inside"]).await;
    let first = session.start("Go").await.unwrap();
    gate.arrived("inside", 1).await;
    let outcome = within("the cancel", first.cancel("enough")).await.unwrap();
    assert_eq!(outcome.outcome, Outcome::Cancelled);
    assert_eq!(&*run(&session).await.text, "Done.");
}

/// What a watcher was shown of a reply is void if the request fails, panics or is dropped.
#[tokio::test]
async fn what_was_shown_of_a_lost_reply_is_void() {
    for way in [Way::Running, Way::Dropped] {
        let (_runtime, session, gate) = panicking(way, &["begin", "inside"]).await;
        let mut run = session.start("Go").await.unwrap();
        within("the first event", run.next()).await.unwrap();
        gate.open_at("begin");
        let mut lines = Vec::new();
        let mut cancelled = false;
        while let Some(event) = within("the next event", run.next()).await {
            let line = event.to_string();
            let part = line.contains(r#""text":"Do""#);
            if line.contains(r#""type":"delta""#) {
                lines.push(line);
            }
            if part && matches!(way, Way::Dropped) && !cancelled {
                cancelled = true;
                gate.arrived("inside", 1).await;
                within("the cancel", run.cancel("enough")).await.unwrap();
            }
        }
        let voids: Vec<bool> = lines.iter().map(|line| line.contains(r#""void":true"#)).collect();
        assert_eq!(voids, [false, true], "{way:?}: {lines:?}");
    }
}
