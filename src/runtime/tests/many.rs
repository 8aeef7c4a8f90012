//! Many families, many runs, many runtimes, and watchers of all kinds.

use std::time::Duration;

use futures::{FutureExt as _, StreamExt as _};
use kinfolk_actors::event::Event;
use kinfolk_actors::id::Offset;

use super::store_faults::Faulty;
use super::support::{
    Gate, Model, check_events, family, look, looks, records, script, session, within,
};
use crate::definition::Family;
use crate::events::RunEvent;
use crate::model::scripted::{Scripted, ScriptedReply};
use crate::runtime::{Run, Runtime, RuntimeBuilder, StartError};

async fn many(builder: RuntimeBuilder, families: usize) {
    let gate = Gate::closed([]);
    let model = Model::new(script(), &gate);
    let runtime = builder.model("test:m", model.clone()).start().await.unwrap();
    let mut runs = Vec::new();
    for n in 0..families {
        let session = session(&runtime, &format!("s{n}"), family(&gate)).await;
        runs.push(session.start("Go").await.unwrap());
    }
    for run in &runs {
        assert_eq!(&*within("the outcome", run.outcome()).await.unwrap().text, "All is well.");
        check_events(&records(&runtime, run.session()).await);
    }
    model.check_pairs();
    assert_eq!(model.asked().values().sum::<usize>(), families * 9);
    within("shutdown", runtime.shutdown()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_hundred_families_end_on_a_store_that_answers_at_once() {
    many(Runtime::builder(), 200).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_hundred_families_end_on_a_store_with_a_writer() {
    many(Runtime::builder().store(Faulty::default()), 200).await;
}

#[tokio::test]
async fn several_runtimes_live_in_one_process() {
    within("all", async { tokio::join!(many(Runtime::builder(), 5), many(Runtime::builder(), 5)) })
        .await;
}

#[tokio::test]
async fn runs_of_a_session_follow_each_other_and_keep_the_history() {
    let gate = Gate::closed([]);
    let model = Model::new(script(), &gate);
    let runtime = Runtime::builder().model("test:m", model.clone()).start().await.unwrap();
    let session = session(&runtime, "s", family(&gate)).await;
    let mut runs: Vec<Run> = Vec::new();
    for n in 0..5 {
        let run = within("the start", session.start(format!("Go {n}"))).await.unwrap();
        within("the outcome", run.outcome()).await.unwrap();
        runs.push(run);
    }
    model.check_pairs();
    check_events(&records(&runtime, session.id()).await);
    for run in runs {
        let late = within("an earlier outcome", run.outcome()).await.unwrap();
        assert_eq!(&*late.text, "All is well.");
        let of_run = run.id();
        let events: Vec<RunEvent> = within("its stream", run.into_stream().collect()).await;
        assert!(events.iter().all(|event| event.run() == of_run));
        let journaled: Vec<Offset> = events.iter().filter_map(RunEvent::offset).collect();
        let dense = journaled.windows(2).all(|pair| pair[1].0 == pair[0].0 + 1);
        assert!(dense && !journaled.is_empty(), "{journaled:?}");
    }
}

#[tokio::test]
async fn a_session_has_one_run_at_a_time() {
    let gate = Gate::closed(["lead#1"]);
    let model = Model::new(script(), &gate);
    let runtime = Runtime::builder().model("test:m", model).start().await.unwrap();
    let session = session(&runtime, "s", family(&gate)).await;
    let (one, two) = tokio::join!(session.start("One"), session.start("Two"));
    let (run, refused) = match (one, two) {
        (Ok(run), Err(refused)) | (Err(refused), Ok(run)) => (run, refused),
        (one, two) => panic!("{:?} {:?}", one.is_ok(), two.is_ok()),
    };
    assert!(matches!(refused, StartError::RunActive { run: active, .. } if active == run.id()));
    gate.open();
    within("the outcome", run.outcome()).await.unwrap();
    let next = within("the next", session.start("Three")).await.unwrap();
    within("its outcome", next.outcome()).await.unwrap();
}

#[tokio::test]
async fn a_watcher_far_behind_reads_every_event_once() {
    let turns = 400;
    let mut script = Scripted::builder();
    for turn in 1..turns {
        // A new place each time: who looks at the same again and again is stopped.
        script = script.reply("lead", turn, looks(&format!("place {turn}")));
    }
    let script = script.reply("lead", turns, ScriptedReply::text("At last.")).build();
    let gate = Gate::closed(["lead#2"]);
    let model = Model::new(script, &gate);
    let runtime = Runtime::builder().model("test:m", model).start().await.unwrap();
    let session = session(&runtime, "s", Family::lead("L").tool(look(&gate))).await;
    let mut run = session.start("Go").await.unwrap();
    let mut seen = vec![journaled(within("the first", run.next()).await)];
    gate.arrived("lead#2", 1).await;
    while let Some(event) = run.next().now_or_never().flatten() {
        seen.push(journaled(Some(event)));
    }
    // It listens now, and does not look again before everything is over.
    gate.open();
    within("the outcome", run.outcome()).await.unwrap();
    while let Some(event) = within("the next", run.next()).await {
        seen.push(journaled(Some(event)));
    }
    let head = records(&runtime, session.id()).await.len();
    assert!(head > 1_500, "{head} events");
    let read: Vec<u64> = seen.into_iter().flatten().map(|offset| offset.0).collect();
    assert_eq!(read, (0..u64::try_from(head).unwrap()).collect::<Vec<_>>());
    run.seek(Offset(1_000));
    assert_eq!(journaled(within("after a seek", run.next()).await), Some(Offset(1_000)));
    run.seek(Offset(1_000_000));
    while let Some(event) = within("nothing is there", run.next()).await {
        assert_eq!(event.offset(), None, "{event}");
    }
}

/// Waits until the supervisors hold no family any more.
async fn all_gone(runtime: &Runtime) {
    within("the janitor", async {
        while runtime.inner.node.families() > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
}

fn journaled(event: Option<RunEvent>) -> Option<Offset> {
    event.and_then(|event| event.offset())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_runs_leave_nothing_behind() {
    let script = Scripted::builder().reply("lead", 1, ScriptedReply::text("Hi.")).build();
    let runtime = Runtime::builder().model("test:m", script).start().await.unwrap();
    for n in 0..1_000 {
        let session = session(&runtime, &format!("s{n}"), Family::lead("L")).await;
        let run = session.start("Go").await.unwrap();
        within("the outcome", run.outcome()).await.unwrap();
    }
    all_gone(&runtime).await;
    drop(session(&runtime, "last", Family::lead("L")).await);
    let slots = runtime.inner.slots.lock();
    assert!(slots.len() <= 2, "{} slots", slots.len());
}

#[tokio::test(start_paused = true)]
async fn a_family_that_failed_for_good_leaves_too() {
    let store = Faulty::default();
    let gate = Gate::closed(["lead#1"]);
    let model = Model::new(script(), &gate);
    let builder = Runtime::builder().store(store.clone());
    let runtime = builder.model("test:m", model).start().await.unwrap();
    let session = session(&runtime, "s", family(&gate)).await;
    let run = session.start("Go").await.unwrap();
    gate.arrived("lead#1", 1).await;
    store.plan(|_| super::store_faults::Fault::Fenced);
    gate.open();
    assert!(within("the outcome", run.outcome()).await.is_err());
    all_gone(&runtime).await;
    let events = records(&runtime, session.id()).await;
    assert!(!events.iter().any(|one| matches!(one.event, Event::RunFinished(_))));
}
