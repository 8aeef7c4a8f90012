//! Tests of supervision, by promise, and the actors and units that they use.

mod cases;
mod overlap;
mod policy;
mod queue;
mod stop;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use kinfolk_actors::supervision::RestartPolicy;
use parking_lot::Mutex;
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::sync::watch;
use tokio::time::Instant;

use super::scope::Scope;
use super::supervisor::{Root, StopOrder, Supervisor};
use super::unit::{
    Disposition, Ending, Exit, ExitClass, Generation, Unit, UnitFailure, UnitStatus,
};

/// Counts living instances, and the most that there ever were at once.
#[derive(Clone, Default)]
struct Census(Arc<(AtomicUsize, AtomicUsize)>);

impl Census {
    fn enter(&self) -> Instance {
        let living = self.0.0.fetch_add(1, Ordering::SeqCst) + 1;
        self.0.1.fetch_max(living, Ordering::SeqCst);
        Instance(self.clone())
    }

    fn living(&self) -> usize {
        self.0.0.load(Ordering::SeqCst)
    }

    fn most(&self) -> usize {
        self.0.1.load(Ordering::SeqCst)
    }
}

struct Instance(Census);

impl Drop for Instance {
    fn drop(&mut self) {
        self.0.0.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A list that hooks and actors write to, in order.
struct Log<T>(Arc<Mutex<Vec<T>>>);

impl<T> Clone for Log<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for Log<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> Log<T> {
    fn push(&self, entry: T) {
        self.0.lock().push(entry);
    }
}

impl<T: Clone> Log<T> {
    fn entries(&self) -> Vec<T> {
        self.0.lock().clone()
    }
}

/// What a test can make a [`Puppet`] do.
enum Act {
    Panic(&'static str),
    Fail(&'static str),
    Quit,
    Kill,
    /// Awaits for ever in the handler.
    Hang,
    /// Blocks its thread until the gate's sender is dropped.
    Block(std::sync::mpsc::Receiver<()>),
    PanicWithLock(Arc<Mutex<u32>>),
    Call(Box<dyn FnOnce() + Send>),
}

/// An actor that does as it is told. What it keeps lives as long as its state.
struct Puppet {
    /// `post_stop` never ends.
    clings: bool,
}

impl Puppet {
    const PLAIN: Self = Self { clings: false };
    const CLINGS: Self = Self { clings: true };
}

type Kept = Box<dyn std::any::Any + Send>;

fn keep(kept: impl Send + 'static) -> Kept {
    Box::new(kept)
}

impl Actor for Puppet {
    type Msg = Act;
    type State = Kept;
    type Arguments = Kept;

    async fn pre_start(&self, _: ActorRef<Act>, kept: Kept) -> Result<Kept, ActorProcessingErr> {
        Ok(kept)
    }

    async fn handle(
        &self,
        myself: ActorRef<Act>,
        act: Act,
        _: &mut Kept,
    ) -> Result<(), ActorProcessingErr> {
        match act {
            Act::Panic(text) => panic!("{text}"),
            Act::Fail(text) => return Err(text.into()),
            Act::Quit => myself.stop(None),
            Act::Kill => myself.kill(),
            Act::Hang => std::future::pending().await,
            Act::Block(gate) => drop(gate.recv()),
            Act::PanicWithLock(lock) => {
                let mut held = lock.lock();
                *held += 1;
                panic!("with a lock");
            }
            Act::Call(call) => call(),
        }
        Ok(())
    }

    async fn post_stop(&self, _: ActorRef<Act>, _: &mut Kept) -> Result<(), ActorProcessingErr> {
        if self.clings {
            std::future::pending::<()>().await;
        }
        Ok(())
    }
}

type Started = Result<(), UnitFailure>;
type StartFn = Box<dyn Fn(Generation, Scope) -> BoxFuture<'static, Started> + Send + Sync>;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Hook {
    Stop(u64),
    Halted(u64),
    Failed(Exit),
    Exited(Exit),
    Ended(UnitStatus),
}

/// A unit whose start is a closure and whose hooks are logged.
struct Play {
    start: StartFn,
    hooks: Log<Hook>,
    disposition: Disposition,
}

impl Play {
    fn new<F>(start: impl Fn(Generation, Scope) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Started> + Send + 'static,
    {
        let start: StartFn = Box::new(move |generation, scope| Box::pin(start(generation, scope)));
        Self { start, hooks: Log::default(), disposition: Disposition::UsePolicy }
    }
}

impl Unit for Play {
    fn start(&self, generation: Generation, scope: Scope) -> BoxFuture<'_, Started> {
        (self.start)(generation, scope)
    }

    fn stop(&self, generation: Generation, _: Instant) -> BoxFuture<'_, ()> {
        self.hooks.push(Hook::Stop(generation.0));
        Box::pin(async {})
    }

    fn halted(&self, generation: Generation) -> BoxFuture<'_, ()> {
        self.hooks.push(Hook::Halted(generation.0));
        Box::pin(async {})
    }

    fn on_failure(&self, failure: &Exit) -> Disposition {
        self.hooks.push(Hook::Failed(failure.clone()));
        self.disposition.clone()
    }

    fn exited(&self, exit: &Exit) {
        self.hooks.push(Hook::Exited(exit.clone()));
    }

    fn ended(&self, last: &UnitStatus) {
        self.hooks.push(Hook::Ended(last.clone()));
    }
}

fn exit(generation: u64, who: &str, class: ExitClass, text: &str) -> Exit {
    Exit { generation: Generation(generation), who: who.into(), class, text: text.into() }
}

fn running(generation: u64) -> UnitStatus {
    UnitStatus::Running { generation: Generation(generation) }
}

/// Waits for a status, at most a minute: of virtual time where the test has paused it.
async fn reach(status: &mut watch::Receiver<UnitStatus>, wanted: &UnitStatus) {
    let reached = status.wait_for(|status| status == wanted);
    let reached = tokio::time::timeout(Duration::from_secs(60), reached).await.is_ok();
    assert!(reached, "wanted {wanted:?}, is {:?}", *status.borrow());
}

fn root() -> Root {
    Root::start(RestartPolicy::default(), StopOrder::Reverse)
}

fn add(supervisor: &Supervisor, id: &str, unit: Play) -> watch::Receiver<UnitStatus> {
    supervisor.add(id.into(), RestartPolicy::default(), Arc::new(unit)).unwrap()
}

/// Hands the current generation's actor to the test.
type Slot = Arc<Mutex<Option<ActorRef<Act>>>>;

fn act(slot: &Slot, act: Act) {
    slot.lock().as_ref().unwrap().cast(act).map_err(drop).unwrap();
}

/// A unit of one puppet, called `lead`, which keeps an instance of the census.
fn solo(census: &Census) -> (Play, Slot) {
    let (slot, census) = (Slot::default(), census.clone());
    let filled = Arc::clone(&slot);
    let unit = Play::new(move |_, scope| {
        let (slot, kept) = (Arc::clone(&filled), keep(census.enter()));
        async move {
            *slot.lock() = Some(scope.spawn("lead", Puppet::PLAIN, kept).await?);
            Ok(())
        }
    });
    (unit, slot)
}

/// Notes at its drop why its generation is over.
struct AsksWhy(Scope, Log<Option<Ending>>);

impl Drop for AsksWhy {
    fn drop(&mut self) {
        self.1.push(self.0.ending());
    }
}
