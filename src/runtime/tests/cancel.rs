//! Cancels in every phase, twice, late, and racing the end; and what they must leave behind.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kinfolk_actors::call::CallStatus;
use kinfolk_actors::event::{Event, FinishReason, Outcome, Recorded};
use kinfolk_actors::family::Caps;
use kinfolk_actors::id::AgentId;
use kinfolk_actors::policy::Mode;

use super::support::{
    At, Gate, HELPERS, Model, check_events, delegates, family, looks, records, script, session,
    until, within,
};
use crate::definition::{Family, Subagent};
use crate::model::scripted::{Scripted, ScriptedReply};
use crate::ports::tool::Call;
use crate::runtime::{CancelError, RunOutcome, Runtime};
use crate::tools::tool::Tool;

/// How many calls of a tool are alive, now and at most.
#[derive(Clone, Default)]
struct Alive(Arc<(AtomicUsize, AtomicUsize)>);

struct Inside(Alive);

impl Alive {
    fn enter(&self) -> Inside {
        let now = self.0.0.fetch_add(1, Ordering::SeqCst) + 1;
        self.0.1.fetch_max(now, Ordering::SeqCst);
        Inside(self.clone())
    }

    fn now(&self) -> usize {
        self.0.0.load(Ordering::SeqCst)
    }

    fn most(&self) -> usize {
        self.0.1.load(Ordering::SeqCst)
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.0.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A tool `look` that waits at `look:AT`, deaf to its token, and counts.
fn waits(gate: &Gate, alive: &Alive) -> Tool {
    let (gate, alive) = (gate.clone(), alive.clone());
    Tool::function("look", "Looks.", move |At { at }: At, _: Call| {
        let (gate, alive) = (gate.clone(), alive.clone());
        async move {
            let _inside = alive.enter();
            gate.pass(&format!("look:{at}")).await;
            format!("seen {at}")
        }
    })
}

fn assert_cancelled(outcome: &RunOutcome) {
    let RunOutcome { outcome, finish_reason, .. } = outcome;
    assert_eq!((*outcome, *finish_reason), (Outcome::Cancelled, FinishReason::UserRequested));
}

/// A lead with four children, the first of which has a child of its own; all of them look.
fn tree() -> Scripted {
    let four = ["a", "b", "c", "d"];
    let asks = four.iter().fold(ScriptedReply::default(), |asks, to| delegates(asks, to));
    Scripted::builder()
        .reply("lead", 1, asks)
        .reply("a", 1, delegates(ScriptedReply::default(), "deep"))
        .reply("b", 1, looks("b"))
        .reply("c", 1, looks("c"))
        .reply("d", 1, looks("d"))
        .reply("deep", 1, looks("deep"))
        .build()
}

async fn cancel_tree(max_parallel: u32, running: &[&str], queued: &[&str]) {
    let (gate, alive) = (Gate::closed(["look:b", "look:c", "look:deep"]), Alive::default());
    let model = Model::new(tree(), &gate);
    let runtime = Runtime::builder().model("test:m", model.clone()).start().await.unwrap();
    let lead = Family::lead("L").tool(waits(&gate, &alive).read_only());
    let family = ["a", "b", "c", "d", "deep"].iter().fold(lead, |family, name| {
        family.subagent(Subagent::explore(*name, "Helps.").tools(["look", "call_subagent"]))
    });
    let family = family.caps(Caps { max_subagents: 9, max_parallel, max_depth: 2 });
    let session = session(&runtime, "s", family).await;
    let run = session.start("Go").await.unwrap();
    for place in running {
        gate.arrived(&format!("look:{place}"), 1).await;
    }
    let living = runtime.inner.slot(session.id()).family_of(run.id()).unwrap();
    let outcome = within("the cancel", run.cancel("enough")).await.unwrap();
    assert_cancelled(&outcome);
    assert_eq!((living.effects.in_flight(), alive.now(), model.in_flight()), (0, 0, 0));
    for name in queued {
        assert_eq!(model.asked().get(&format!("{name}#1")), None, "{name} never began");
    }
    let events = records(&runtime, session.id()).await;
    let shape = check_events(&events);
    assert!(shape.values().all(|(_, status, _)| *status == CallStatus::Cancelled), "{shape:?}");
    assert!(matches!(events.last().map(|last| &last.event), Some(Event::RunFinished(_))));
    let ended = |one: &&Recorded| match &one.event {
        Event::SubagentFinished(end) => end.status == Outcome::Cancelled,
        _ => false,
    };
    assert_eq!(events.iter().filter(ended).count(), running.len() + 1);
    let asked = model.asked();
    gate.open();
    let next = within("the next start", session.start("Again")).await.unwrap();
    within("its cancel", next.cancel("enough")).await.map(drop).unwrap_or(());
    let before: usize = asked.values().sum();
    assert_eq!(before, 1 + 1 + running.len());
}

#[tokio::test(start_paused = true)]
async fn a05_a_cancel_ends_every_descendant_and_the_queued_ones_never_begin() {
    cancel_tree(3, &["b", "c", "deep"], &["d"]).await;
}

#[tokio::test(start_paused = true)]
async fn a05_the_same_with_fewer_at_once() {
    cancel_tree(2, &["b", "deep"], &["c", "d"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_cancel_works_in_every_phase_and_the_session_goes_on() {
    for place in ["lead#1", "a#1", "look:a", "a#2", "lead#2", "look:lead", "lead#3"] {
        let gate = Gate::closed([place]);
        let model = Model::new(script(), &gate);
        let runtime = Runtime::builder().model("test:m", model.clone()).start().await.unwrap();
        let session = session(&runtime, "s", family(&gate)).await;
        let run = session.start("Go").await.unwrap();
        gate.arrived(place, 1).await;
        let again = run.cancel("enough");
        let (first, second) =
            within("both", async { tokio::join!(run.cancel("enough"), again) }).await;
        assert_cancelled(first.as_ref().unwrap());
        assert_eq!(first, second, "{place}");
        assert_eq!(run.cancel("late").await, Err(CancelError::NotActive), "{place}");
        assert_eq!(model.in_flight(), 0, "{place}");
        check_events(&records(&runtime, session.id()).await);
        gate.open();
        let next = within("the next start", session.start("Go on")).await.unwrap();
        let outcome = within("its outcome", next.outcome()).await.unwrap();
        assert_eq!(&*outcome.text, "All is well.", "{place}");
        check_events(&records(&runtime, session.id()).await);
        model.check_pairs();
    }
}

#[tokio::test]
async fn a_cancel_that_races_the_end_gives_one_end() {
    let gate = Gate::closed([]);
    let runtime =
        Runtime::builder().model("test:m", Model::new(script(), &gate)).start().await.unwrap();
    let session = session(&runtime, "s", family(&gate)).await;
    let (mut cancelled, mut completed) = (0, 0);
    for yields in (0..160).step_by(2) {
        let run = within("the start", session.start("Go")).await.unwrap();
        for _ in 0..yields {
            tokio::task::yield_now().await;
        }
        let answer = within("the cancel", run.cancel("enough")).await;
        let outcome = within("the outcome", run.outcome()).await.unwrap();
        match answer {
            Ok(answer) => {
                assert_cancelled(&answer);
                assert_eq!(answer, outcome);
                cancelled += 1;
            }
            Err(error) => {
                assert_eq!((error, &*outcome.text), (CancelError::NotActive, "All is well."));
                completed += 1;
            }
        }
    }
    check_events(&records(&runtime, session.id()).await);
    assert!(cancelled > 0, "{cancelled} cancelled, {completed} completed");
}

#[tokio::test]
async fn a_family_that_crashed_hears_the_cancel_when_it_is_back() {
    let gate = Gate::closed(["a#1", "b#1", "c#1"]);
    let model = Model::new(script(), &gate);
    let runtime = Runtime::builder().model("test:m", model.clone()).start().await.unwrap();
    let session = session(&runtime, "s", family(&gate)).await;
    let run = session.start("Go").await.unwrap();
    gate.arrived("a#1", 1).await;
    let living = runtime.inner.slot(session.id()).family_of(run.id()).unwrap();
    assert!(living.panic_agent(AgentId::LEAD));
    assert_cancelled(&within("the cancel", run.cancel("enough")).await.unwrap());
    assert_eq!((living.effects.in_flight(), model.in_flight()), (0, 0));
    check_events(&records(&runtime, session.id()).await);
}

#[tokio::test]
async fn dropping_every_handle_stops_nothing() {
    let gate = Gate::closed(["lead#1"]);
    let runtime =
        Runtime::builder().model("test:m", Model::new(script(), &gate)).start().await.unwrap();
    let id = {
        let session = session(&runtime, "s", family(&gate)).await;
        let run = session.start("Go").await.unwrap();
        drop(run.cancel("never polled"));
        run.id()
    };
    gate.arrived("lead#1", 1).await;
    gate.open();
    let joined = runtime.resume(id).await.unwrap();
    let outcome = within("the outcome", joined.outcome()).await.unwrap();
    assert_eq!(&*outcome.text, "All is well.");
}

fn changes() -> Scripted {
    let done = ScriptedReply::text("Done.");
    Scripted::builder().reply("lead", 1, looks("lead")).reply("lead", 2, done).build()
}

fn changing(tool: Tool, workspace: Option<&Path>) -> Family {
    let family = Family::lead("L").tool(tool).approval(Mode::AutoRun);
    match workspace {
        Some(workspace) => family.workspace(workspace),
        None => family,
    }
}

#[tokio::test(start_paused = true)]
async fn changes_in_one_workspace_wait_for_each_other_and_a_cancelled_one_frees_it() {
    let directory = tempfile::tempdir().unwrap();
    let (gate, alive) = (Gate::closed(["look:lead"]), Alive::default());
    let runtime = Runtime::builder().model("test:m", changes()).start().await.unwrap();
    let mut runs = Vec::new();
    for n in 0..3 {
        let family = changing(waits(&gate, &alive), Some(directory.path()));
        let session = session(&runtime, &format!("s{n}"), family).await;
        runs.push(session.start("Go").await.unwrap());
    }
    gate.arrived("look:lead", 1).await;
    assert_cancelled(&within("the first", runs[0].cancel("enough")).await.unwrap());
    gate.arrived("look:lead", 2).await;
    assert_cancelled(&within("the waiting one", runs[2].cancel("enough")).await.unwrap());
    gate.open();
    assert_eq!(&*within("the second", runs[1].outcome()).await.unwrap().text, "Done.");
    assert_eq!((alive.most(), gate.count("look:lead")), (1, 2));
}

#[tokio::test]
async fn families_without_a_workspace_do_not_wait_for_each_other() {
    let (gate, alive) = (Gate::closed(["look:lead"]), Alive::default());
    let runtime = Runtime::builder().model("test:m", changes()).start().await.unwrap();
    let mut runs = Vec::new();
    for n in 0..2 {
        let session =
            session(&runtime, &format!("s{n}"), changing(waits(&gate, &alive), None)).await;
        runs.push(session.start("Go").await.unwrap());
    }
    gate.arrived("look:lead", 2).await;
    gate.open();
    for run in runs {
        assert_eq!(&*within("the outcome", run.outcome()).await.unwrap().text, "Done.");
    }
}

#[tokio::test]
async fn a_change_that_runs_again_after_a_crash_gets_its_lease_first() {
    let directory = tempfile::tempdir().unwrap();
    let (gate, alive) = (Gate::closed(["look:lead"]), Alive::default());
    let runtime = Runtime::builder().model("test:m", changes()).start().await.unwrap();
    let mut runs = Vec::new();
    for n in 0..2 {
        let tool = waits(&gate, &alive).idempotent();
        let session =
            session(&runtime, &format!("s{n}"), changing(tool, Some(directory.path()))).await;
        runs.push(session.start("Go").await.unwrap());
        gate.arrived("look:lead", 1).await;
    }
    let living = runtime.inner.slot(runs[0].session()).family_of(runs[0].id()).unwrap();
    assert!(living.panic_agent(AgentId::LEAD));
    gate.arrived("look:lead", 2).await;
    until(&mut runs[0], "back", |one| matches!(one.event, Event::RunResumed(_))).await;
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
    gate.open();
    for run in runs {
        assert_eq!(&*within("the outcome", run.outcome()).await.unwrap().text, "Done.");
    }
    assert_eq!((alive.most(), gate.count("look:lead")), (1, 3));
}

#[tokio::test]
async fn a_shutdown_ends_all_families_at_once_and_they_can_be_told_apart_from_failed_ones() {
    let gate = Gate::closed(HELPERS.map(|_| "lead#1"));
    let model = Model::new(script(), &gate);
    let runtime = Runtime::builder().model("test:m", model.clone()).start().await.unwrap();
    let mut runs = Vec::new();
    for n in 0..20 {
        let session = session(&runtime, &format!("s{n}"), family(&gate)).await;
        runs.push(session.start("Go").await.unwrap());
    }
    gate.arrived("lead#1", 20).await;
    within("the shutdown", runtime.shutdown()).await;
    assert_eq!(model.in_flight(), 0);
    for run in runs {
        let outcome = within("the outcome", run.outcome()).await;
        assert_eq!(outcome, Err(crate::runtime::OutcomeError::ShutDown));
    }
}
