//! The effects that a family has in flight: each is one task with one outcome, also on panic,
//! stop and kill.

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use kinfolk_actors::agent::{Key, Outcome};
use kinfolk_actors::id::AgentId;
use parking_lot::Mutex;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::panic_text::panic_text;

/// The effects of one family. They outlive the agents' shells, so that a generation can be ended
/// as a whole.
#[derive(Default)]
pub(crate) struct Effects {
    /// The lock is never held across an await.
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// Set while a generation is being ended: nothing new starts.
    closed: bool,
    tasks: JoinSet<()>,
    stops: HashMap<(AgentId, Key), CancellationToken>,
    /// Effects that were told to stop before they began; they never begin.
    stopped_early: HashSet<(AgentId, Key)>,
}

/// A running effect's own end of its stop signal.
#[derive(Clone, Debug)]
pub(crate) struct StopSignal(pub CancellationToken);

impl Effects {
    /// Puts an effect in flight. `work` gets its stop signal; once that has fired it has `grace` to
    /// come to an outcome of its own before it is dropped and [`Outcome::Gone`] is reported.
    /// `report` is called exactly once, unless the whole generation is ended.
    pub fn start<W, F>(
        self: &Arc<Self>,
        owner: (AgentId, Key),
        grace: Duration,
        work: W,
        report: impl FnOnce(Outcome) + Send + 'static,
    ) where
        W: FnOnce(StopSignal) -> F,
        F: Future<Output = Outcome> + Send + 'static,
    {
        let stop = CancellationToken::new();
        let mut inner = self.inner.lock();
        if inner.closed {
            return;
        }
        if inner.stopped_early.remove(&owner) {
            drop(inner);
            return report(Outcome::Gone);
        }
        let work = work(StopSignal(stop.clone()));
        inner.stops.insert(owner, stop.clone());
        // Weak: the tasks belong to the effects, which must not live on because of them.
        let effects = Arc::downgrade(self);
        while inner.tasks.try_join_next().is_some() {}
        inner.tasks.spawn(async move {
            // Around all of it: work that is dropped when its grace is over may panic in that too.
            let ending = AssertUnwindSafe(async {
                tokio::select! {
                    biased;
                    outcome = work => outcome,
                    () = expired(&stop, grace) => Outcome::Gone,
                }
            });
            let outcome = ending.catch_unwind().await.unwrap_or_else(|panic| Outcome::Panicked {
                message: panic_text(panic.as_ref()).into(),
            });
            if let Some(effects) = effects.upgrade() {
                effects.inner.lock().stops.remove(&owner);
            }
            report(outcome);
        });
    }

    /// Asks an effect to stop. Its outcome still comes. One that is still on its way here (a tool
    /// call or a summary in its actor's queue) never begins and reports [`Outcome::Gone`].
    pub fn stop(&self, owner: (AgentId, Key)) {
        let mut inner = self.inner.lock();
        match inner.stops.get(&owner) {
            Some(stop) => stop.cancel(),
            None if matches!(owner.1, Key::Tool(_) | Key::Summary(_)) => {
                inner.stopped_early.insert(owner);
            }
            None => {}
        }
    }

    /// Owns a helper of the generation that has no outcome of its own.
    pub fn adopt(&self, helper: impl Future<Output = ()> + Send + 'static) {
        let mut inner = self.inner.lock();
        if !inner.closed {
            inner.tasks.spawn(helper);
        }
    }

    /// Ends every effect without an outcome and waits until none runs any more. Afterwards the next
    /// generation may start new ones.
    pub async fn end_generation(&self) {
        let mut tasks = {
            let mut inner = self.inner.lock();
            inner.closed = true;
            inner.stops.clear();
            inner.stopped_early.clear();
            std::mem::take(&mut inner.tasks)
        };
        tasks.shutdown().await;
        self.inner.lock().closed = false;
    }

    /// Ends every effect without an outcome and without waiting, for good: nothing starts any more.
    /// For a family whose supervisor is dropped, so that nobody is left to wait.
    pub fn abort(&self) {
        let tasks = {
            let mut inner = self.inner.lock();
            inner.closed = true;
            inner.stops.clear();
            std::mem::take(&mut inner.tasks)
        };
        // Aborts them all.
        drop(tasks);
    }

    /// How many effects are in flight.
    #[cfg(test)]
    pub fn in_flight(&self) -> usize {
        self.inner.lock().stops.len()
    }
}

/// Done once a stop was asked for and the grace is over.
async fn expired(stop: &CancellationToken, grace: Duration) {
    stop.cancelled().await;
    if !grace.is_zero() {
        tokio::time::sleep(grace).await;
    }
}
