//! Stores that fail, refuse, panic or are slow: the run goes on or says so, and nobody else waits.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use futures::future::BoxFuture;
use kinfolk_actors::event::Event;
use kinfolk_actors::failure::ErrorCode;
use kinfolk_actors::family::FamilyHash;
use kinfolk_actors::id::{Offset, RunId, SessionId};
use parking_lot::Mutex;

use super::support::{Gate, Model, check_events, family, records, script, session, within};
use crate::ports::store::{Append, Claim, Record, RunSummary, SessionSummary, Store, StoreError};
use crate::runtime::{OutcomeError, Runtime, StartError};
use crate::store::memory::MemoryStore;

/// What a store does to an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    None,
    /// It is not written.
    Write,
    /// Another owner has the session.
    Fenced,
}

type Plan = dyn Fn(&Append) -> Fault + Send + Sync;

/// A store in memory that goes through the writer, and fails as a test plans.
#[derive(Clone, Default)]
pub struct Faulty(Arc<Inner>);

#[derive(Default)]
struct Inner {
    store: MemoryStore,
    plan: Mutex<Option<Arc<Plan>>>,
    panics: AtomicBool,
    slow: AtomicBool,
    /// Claims of the session `bad` panic.
    claims_panic: AtomicBool,
    /// A group gets one verdict too few.
    forgets: AtomicBool,
    /// Reads that fail before one succeeds.
    bad_reads: AtomicUsize,
}

impl Faulty {
    pub fn plan(&self, plan: impl Fn(&Append) -> Fault + Send + Sync + 'static) {
        *self.0.plan.lock() = Some(Arc::new(plan));
    }

    pub fn panic_after_the_next_commit(&self) {
        self.0.panics.store(true, Ordering::SeqCst);
    }

    fn slow() -> Self {
        let store = Self::default();
        store.0.slow.store(true, Ordering::SeqCst);
        store
    }

    async fn commit_planned(&self, group: Vec<Append>) -> Vec<Result<(), StoreError>> {
        if self.0.slow.load(Ordering::SeqCst) {
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
        }
        let plan = self.0.plan.lock().clone();
        let mut verdicts = VecDeque::new();
        for append in group {
            let record = &append.record;
            let verdict = match plan.as_ref().map_or(Fault::None, |plan| plan(&append)) {
                Fault::None => self.0.store.commit(vec![append]).await.remove(0),
                Fault::Write => Err(StoreError::Write { detail: "the disk is full".to_owned() }),
                Fault::Fenced => Err(StoreError::Fenced {
                    session: record.session.clone(),
                    epoch: append.epoch,
                    head: record.first,
                }),
            };
            verdicts.push_back(verdict);
        }
        assert!(!self.0.panics.swap(false, Ordering::SeqCst), "the store panics");
        if self.0.forgets.swap(false, Ordering::SeqCst) {
            verdicts.pop_back();
        }
        verdicts.into()
    }
}

impl Store for Faulty {
    fn claim<'a>(&'a self, session: &'a SessionId) -> BoxFuture<'a, Result<Claim, StoreError>> {
        let panics = self.0.claims_panic.load(Ordering::SeqCst) && session.as_str() == "bad";
        assert!(!panics, "the store panics in a claim");
        self.0.store.claim(session)
    }

    fn commit(&self, group: Vec<Append>) -> BoxFuture<'_, Vec<Result<(), StoreError>>> {
        Box::pin(self.commit_planned(group))
    }

    fn read<'a>(
        &'a self,
        session: &'a SessionId,
        from: Offset,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Arc<Record>>, StoreError>> {
        let left = |left: usize| left.checked_sub(1);
        let failed =
            self.0.bad_reads.fetch_update(Ordering::SeqCst, Ordering::SeqCst, left).is_ok();
        if failed {
            let error = StoreError::Read { detail: "the disk is gone".to_owned() };
            return Box::pin(async { Err(error) });
        }
        self.0.store.read(session, from, limit)
    }

    fn family(&self, hash: FamilyHash) -> BoxFuture<'_, Result<Option<Arc<str>>, StoreError>> {
        self.0.store.family(hash)
    }

    fn sessions(&self) -> BoxFuture<'_, Result<Vec<SessionSummary>, StoreError>> {
        self.0.store.sessions()
    }

    fn session<'a>(
        &'a self,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Option<SessionSummary>, StoreError>> {
        self.0.store.session(session)
    }

    fn run(&self, run: RunId) -> BoxFuture<'_, Result<Option<RunSummary>, StoreError>> {
        self.0.store.run(run)
    }
}

/// A runtime on such a store with the usual model.
async fn on(store: &Faulty, gate: &Gate) -> (Runtime, Model) {
    let model = Model::new(script(), gate);
    let builder = Runtime::builder().store(store.clone()).model("test:m", model.clone());
    (builder.start().await.unwrap(), model)
}

fn of(name: &'static str) -> impl Fn(&Append) -> bool {
    move |append| append.record.session.as_str() == name
}

#[tokio::test]
async fn a_write_that_fails_restarts_the_family_and_the_outcome_is_the_same() {
    // More failures than an agent may have crashes: they are the store's, not the agent's.
    // Behind the reply of one child that is not written, those of the others are refused too.
    let (lead, children) = (&["lead#1"][..], &["a#1", "b#1", "c#1"][..]);
    for (places, failures) in [(lead, 1_usize), (lead, 8), (children, 1), (children, 4)] {
        let (gate, store) = (Gate::closed(places.iter().copied()), Faulty::slow());
        let (runtime, _) = on(&store, &gate).await;
        let session = session(&runtime, "s", family(&gate)).await;
        let run = session.start("Go").await.unwrap();
        for place in places {
            gate.arrived(place, 1).await;
        }
        let left = Mutex::new(failures);
        store.plan(move |_| {
            let mut left = left.lock();
            if *left == 0 {
                return Fault::None;
            }
            *left -= 1;
            Fault::Write
        });
        gate.open();
        let outcome = within("the outcome", run.outcome()).await.unwrap();
        assert_eq!((outcome.error, &*outcome.text), (None, "All is well."), "{failures} failures");
        check_events(&records(&runtime, session.id()).await);
    }
}

#[tokio::test]
async fn a_first_write_that_fails_is_the_starters_answer() {
    let (gate, store) = (Gate::closed([]), Faulty::default());
    let (runtime, _) = on(&store, &gate).await;
    let session = session(&runtime, "s", family(&gate)).await;
    store.plan(|_| Fault::Write);
    let refused = within("the answer", session.start("Go")).await.map(|run| run.id());
    let Err(StartError::Failed(failure)) = refused else { panic!("{refused:?}") };
    assert_eq!(failure.code, ErrorCode::StoreWriteFailed);
    store.plan(|_| Fault::None);
    let run = within("the next start", session.start("Go")).await.unwrap();
    assert_eq!(&*within("the outcome", run.outcome()).await.unwrap().text, "All is well.");
}

#[tokio::test(start_paused = true)]
async fn a_store_that_stays_broken_breaks_the_run_and_no_other_one_and_it_can_be_resumed() {
    let (gate, store) = (Gate::closed(["lead#1"]), Faulty::default());
    let (runtime, _) = on(&store, &gate).await;
    let broken = session(&runtime, "broken", family(&gate)).await;
    let sound = session(&runtime, "sound", family(&gate)).await;
    let mut run = broken.start("Go").await.unwrap();
    let other = sound.start("Go").await.unwrap();
    gate.arrived("lead#1", 2).await;
    store.plan(move |append| if of("broken")(append) { Fault::Write } else { Fault::None });
    gate.open();
    assert_eq!(&*within("the other", other.outcome()).await.unwrap().text, "All is well.");
    let outcome = within("the outcome", run.outcome()).await;
    let Err(OutcomeError::Broken(failure)) = outcome else { panic!("{outcome:?}") };
    assert_eq!(failure.code, ErrorCode::StoreWriteFailed);
    while let Some(event) = within("the rest", run.next()).await {
        let finished = event.to_string().contains("run_finished");
        assert!(!finished, "{event}");
    }
    store.plan(|_| Fault::None);
    let resumed = within("resume", broken.resume()).await.unwrap();
    assert_eq!(&*within("its outcome", resumed.outcome()).await.unwrap().text, "All is well.");
    check_events(&records(&runtime, broken.id()).await);
}

#[tokio::test]
async fn a_session_with_another_owner_is_given_up_at_once() {
    let (gate, store) = (Gate::closed(["lead#1"]), Faulty::default());
    let (runtime, _) = on(&store, &gate).await;
    let session = session(&runtime, "s", family(&gate)).await;
    let run = session.start("Go").await.unwrap();
    gate.arrived("lead#1", 1).await;
    let tries = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&tries);
    store.plan(move |_| {
        *counted.lock() += 1;
        Fault::Fenced
    });
    gate.open();
    let outcome = within("the outcome", run.outcome()).await;
    let Err(OutcomeError::Broken(failure)) = outcome else { panic!("{outcome:?}") };
    assert_eq!((failure.code, *tries.lock()), (ErrorCode::StoreFenced, 1));
}

#[tokio::test]
async fn a_store_that_panics_fails_only_the_appends_in_its_hands() {
    let (gate, store) = (Gate::closed(["lead#1"]), Faulty::default());
    let (runtime, model) = on(&store, &gate).await;
    let session = session(&runtime, "s", family(&gate)).await;
    let run = session.start("Go").await.unwrap();
    gate.arrived("lead#1", 1).await;
    store.panic_after_the_next_commit();
    gate.open();
    let outcome = within("the outcome", run.outcome()).await.unwrap();
    assert_eq!(&*outcome.text, "All is well.");
    let events = records(&runtime, session.id()).await;
    check_events(&events);
    model.check();
    let resumed = events.iter().filter(|one| matches!(one.event, Event::RunResumed(_))).count();
    assert_eq!(resumed, 1);
}

#[tokio::test]
async fn a_slow_store_keeps_the_order_of_many_families() {
    let (gate, store) = (Gate::closed([]), Faulty::slow());
    let (runtime, model) = on(&store, &gate).await;
    let mut runs = Vec::new();
    for n in 0..20 {
        let session = session(&runtime, &format!("s{n}"), family(&gate)).await;
        runs.push(session.start("Go").await.unwrap());
    }
    for run in &runs {
        let outcome = within("the outcome", run.outcome()).await.unwrap();
        assert_eq!(&*outcome.text, "All is well.");
        check_events(&records(&runtime, run.session()).await);
    }
    assert_eq!(model.asked().values().sum::<usize>(), 20 * 9);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_panics_in_claims_of_one_session_leaves_the_others_alone() {
    let (gate, store) = (Gate::closed([]), Faulty::default());
    store.0.claims_panic.store(true, Ordering::SeqCst);
    let (runtime, _) = on(&store, &gate).await;
    let bad = session(&runtime, "bad", family(&gate)).await;
    let refused = within("the bad start", bad.start("Go")).await.err();
    assert!(matches!(refused, Some(StartError::Failed(_))), "{refused:?}");
    let good = session(&runtime, "good", family(&gate)).await;
    let run = within("the good start", good.start("Go")).await.unwrap();
    assert_eq!(&*within("the outcome", run.outcome()).await.unwrap().text, "All is well.");
}

#[tokio::test]
async fn an_append_that_the_store_forgets_to_answer_is_one_that_failed() {
    let (gate, store) = (Gate::closed(["lead#1"]), Faulty::default());
    let (runtime, _) = on(&store, &gate).await;
    let run = session(&runtime, "s", family(&gate)).await.start("Go").await.unwrap();
    gate.arrived("lead#1", 1).await;
    store.0.forgets.store(true, Ordering::SeqCst);
    gate.open();
    assert_eq!(&*within("the outcome", run.outcome()).await.unwrap().text, "All is well.");
}

#[tokio::test(start_paused = true)]
async fn events_outlast_a_read_that_fails_and_say_so_if_all_do() {
    let (gate, store) = (Gate::closed([]), Faulty::default());
    let (runtime, _) = on(&store, &gate).await;
    let mut run = session(&runtime, "s", family(&gate)).await.start("Go").await.unwrap();
    within("the outcome", run.outcome()).await.unwrap();
    store.0.bad_reads.store(3, Ordering::SeqCst);
    assert!(within("an event", run.next()).await.is_some());
    assert_eq!(run.trouble(), None);
    run.seek(Offset(0));
    store.0.bad_reads.store(usize::MAX, Ordering::SeqCst);
    assert!(within("the end", run.next()).await.is_none());
    let gone = StoreError::Read { detail: "the disk is gone".to_owned() };
    assert_eq!(run.trouble(), Some(&gone));
}
