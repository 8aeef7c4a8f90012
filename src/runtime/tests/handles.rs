//! What a runtime owes to those who hold handles: it lets go of everything with the last one, two
//! who resume one run are told the same, and nobody waits for somebody else's retry.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kinfolk_actors::agent::RawReply;
use kinfolk_actors::failure::{ErrorCode, Failure};
use kinfolk_actors::id::{AgentId, RunId};
use tokio::time::Instant;
use uuid::Uuid;

use super::support::{At, Gate, Model, delegates, family, looks, script, session, within};
use crate::definition::{Family, Subagent};
use crate::model::scripted::{Scripted, ScriptedReply};
use crate::ports::model::{ModelCall, ModelError, ModelProvider};
use crate::ports::tool::Call;
use crate::runtime::Runtime;
use crate::runtime::slot::Slot;
use crate::tools::tool::Tool;

struct InFlight(Arc<AtomicUsize>);

impl InFlight {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(count))
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A tool that counts itself and never ends.
fn endless(gate: &Gate, count: &Arc<AtomicUsize>) -> Tool {
    let (gate, count) = (gate.clone(), Arc::clone(count));
    Tool::function("look", "Looks.", move |At { at }: At, _: Call| {
        let (gate, running) = (gate.clone(), InFlight::new(&count));
        async move {
            let _running = running;
            gate.pass(&format!("look:{at}")).await;
            std::future::pending::<String>().await
        }
    })
    .read_only()
}

#[tokio::test]
async fn the_last_handle_takes_everything_along_and_frees_the_store() {
    let directory = tempfile::tempdir().unwrap();
    let (gate, count) = (Gate::closed(["a#1"]), Arc::default());
    let asks = delegates(delegates(ScriptedReply::default(), "a"), "b");
    let model = Model::new(
        Scripted::builder().reply("lead", 1, asks).reply("b", 1, looks("b")).build(),
        &gate,
    );
    let builder = Runtime::builder().sled(directory.path()).unwrap();
    let runtime = builder.model("test:m", model.clone()).start().await.unwrap();
    let lead = Family::lead("L").tool(endless(&gate, &count));
    let session = session(
        &runtime,
        "s",
        lead.subagent(Subagent::explore("a", "Asks.")).subagent(Subagent::explore("b", "Looks.")),
    )
    .await;
    let run = session.start("Go").await.unwrap();
    gate.arrived("a#1", 1).await;
    gate.arrived("look:b", 1).await;
    assert_eq!((model.in_flight(), count.load(Ordering::SeqCst)), (1, 1));
    let store = Arc::downgrade(runtime.store());
    drop((runtime, session, run));
    within("everything is let go", async {
        while model.in_flight() + count.load(Ordering::SeqCst) + store.strong_count() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    assert!(Runtime::builder().sled(directory.path()).is_ok(), "the store is still locked");
}

#[tokio::test]
async fn whoever_comes_second_waits_until_the_first_is_at_work_or_gone() {
    let slot = Arc::new(Slot::new("s".parse().unwrap()));
    let run = RunId(Uuid::now_v7());
    let first = slot.occupy(run).await.map_err(drop).unwrap();
    let mut second = Box::pin(slot.occupy(run));
    assert!((&mut second).now_or_never().is_none(), "joined a run that nobody is at work on");
    drop(first);
    assert!(within("the place", second).await.is_ok());
}

/// Is told to wait by its provider, the first time.
struct SlowsDown {
    calls: Arc<AtomicUsize>,
    gate: Gate,
}

impl ModelProvider for SlowsDown {
    fn call<'a>(&'a self, call: ModelCall<'a>) -> BoxFuture<'a, Result<RawReply, ModelError>> {
        Box::pin(async move {
            if self.calls.fetch_add(1, Ordering::SeqCst) == 0 {
                self.gate.pass("slow").await;
                let failure = Failure::new(ErrorCode::ModelRateLimited, "slow down");
                let wait = Some(Duration::from_secs(20));
                return Err(ModelError { retry_after: wait, ..ModelError::from(failure) });
            }
            let answer = ScriptedReply::text("Done.");
            Scripted::builder().reply("lead", 1, answer).build().call(call).await
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_waits_to_be_sent_again_holds_no_place() {
    let (calls, gate) = (Arc::default(), Gate::closed([]));
    let model = SlowsDown { calls: Arc::clone(&calls), gate: gate.clone() };
    let builder = Runtime::builder().model_concurrency(1).model("test:m", model);
    let runtime = builder.start().await.unwrap();
    let begun = Instant::now();
    let a = session(&runtime, "a", Family::lead("L")).await.start("Go").await.unwrap();
    gate.arrived("slow", 1).await;
    let b = session(&runtime, "b", Family::lead("L")).await.start("Go").await.unwrap();
    assert_eq!(&*within("the other family", b.outcome()).await.unwrap().text, "Done.");
    assert!(begun.elapsed() < Duration::from_secs(20), "it waited for the first one's retry");
    assert_eq!(&*within("the slow one", a.outcome()).await.unwrap().text, "Done.");
    assert!(begun.elapsed() >= Duration::from_secs(20));
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_crashes_again_waits_longer_each_time() {
    let gate = Gate::closed(["lead#1"]);
    let model = Model::new(script(), &gate);
    let runtime = Runtime::builder().model("test:m", model).start().await.unwrap();
    let session = session(&runtime, "s", family(&gate)).await;
    let run = session.start("Go").await.unwrap();
    gate.arrived("lead#1", 1).await;
    let alive = runtime.inner.slot(run.session()).family_of(run.id()).unwrap();
    for (times, wait) in (2..).zip([100, 200, 400]) {
        let crashed = Instant::now();
        assert!(alive.panic_agent(AgentId::LEAD));
        gate.arrived("lead#1", times).await;
        let (waited, wait) = (crashed.elapsed(), Duration::from_millis(wait));
        assert!(waited >= wait && waited < wait * 2, "{waited:?} instead of {wait:?}");
    }
    drop(alive);
    gate.open();
    let outcome = within("the outcome", run.outcome()).await.unwrap();
    assert_eq!(&*outcome.text, "All is well.");
}
