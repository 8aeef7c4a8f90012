//! The handle of one generation: starts its actors and tasks, and knows whether it is over.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};

use futures::FutureExt;
use futures::future::BoxFuture;
use ractor::concurrency::JoinHandle;
use ractor::{
    Actor, ActorId, ActorProcessingErr, ActorRef, ActorRuntime, SpawnErr, SupervisionEvent,
};
use tokio::sync::oneshot;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tokio_util::task::AbortOnDropHandle;

use super::life::{Bond, Fault, Hold, Joined, Life, Member, MemberId};
use super::listener::Host;
use super::unit::{Ending, ExitClass, Generation, Tag, UnitFailure, UnitId};

/// Nothing was started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SpawnRefused {
    /// The generation is over or about to stop.
    #[error("generation {generation} of `{unit}` is over: nothing starts in it any more")]
    Over {
        /// The unit.
        unit: UnitId,
        /// Its generation.
        generation: Generation,
    },
    /// The actor failed or was killed in `pre_start`.
    #[error("`{who}` did not start: {text}")]
    StartFailed {
        /// The actor.
        who: Tag,
        /// How: whether it panicked, returned an error or was killed.
        class: ExitClass,
        /// The text of the panic or error.
        text: Arc<str>,
    },
}

/// The handle of one generation of one unit. Clones are the same handle; actors may keep one.
#[derive(Clone)]
pub(crate) struct Scope {
    life: Arc<Life>,
    host: Option<Host>,
}

impl Scope {
    pub(super) fn new(life: Arc<Life>, host: Option<Host>) -> Self {
        Self { life, host }
    }

    /// Whether the generation is over. Effects on its behalf check this first and then do nothing.
    #[cfg_attr(not(test), expect(dead_code, reason = "what tests ask"))]
    pub(crate) fn is_over(&self) -> bool {
        self.life.over().is_cancelled()
    }

    /// Resolves when the generation is over.
    #[cfg_attr(not(test), expect(dead_code, reason = "what tests ask"))]
    pub(crate) fn over(&self) -> WaitForCancellationFutureOwned {
        self.life.over().clone().cancelled_owned()
    }

    /// Why the generation is over; `None` while it is not. Clean-up in a `Drop` can ask this.
    #[cfg_attr(not(test), expect(dead_code, reason = "what tests ask"))]
    pub(crate) fn ending(&self) -> Option<Ending> {
        self.life.ending()
    }

    pub(super) fn over_token(&self) -> CancellationToken {
        self.life.over().clone()
    }

    /// Starts an actor whose failure ends the generation, and waits for its `pre_start`.
    ///
    /// If the caller goes away meanwhile, the actor still belongs to the generation.
    ///
    /// # Errors
    ///
    /// When the generation is over, or when `pre_start` fails. Neither ends the generation.
    pub(crate) async fn spawn<A: Actor>(
        &self,
        tag: impl Into<Tag>,
        actor: A,
        arguments: A::Arguments,
    ) -> Result<ActorRef<A::Msg>, SpawnRefused> {
        self.spawn_bound(Bond::Together, tag.into(), actor, arguments).await
    }

    /// Starts an actor whose failure is reported to [`exited`](super::unit::Unit::exited) and
    /// changes nothing else. It still ends with the generation. Else like [`spawn`](Self::spawn).
    #[cfg_attr(not(test), expect(dead_code, reason = "what tests ask"))]
    pub(crate) async fn spawn_alone<A: Actor>(
        &self,
        tag: impl Into<Tag>,
        actor: A,
        arguments: A::Arguments,
    ) -> Result<ActorRef<A::Msg>, SpawnRefused> {
        self.spawn_bound(Bond::Alone, tag.into(), actor, arguments).await
    }

    /// Starts a task that ends with the generation. Its panic or error ends the generation.
    ///
    /// # Errors
    ///
    /// When the generation is over.
    pub(crate) fn spawn_task(
        &self,
        tag: impl Into<Tag>,
        work: impl Future<Output = Result<(), UnitFailure>> + Send + 'static,
    ) -> Result<(), SpawnRefused> {
        self.life.spawn_task(tag.into(), work)
    }

    async fn spawn_bound<A: Actor>(
        &self,
        bond: Bond,
        tag: Tag,
        actor: A,
        arguments: A::Arguments,
    ) -> Result<ActorRef<A::Msg>, SpawnRefused> {
        let fault = Arc::new(OnceLock::new());
        let (life, slot) = (Arc::clone(&self.life), Arc::clone(&fault));
        let wrapped = Supervised { inner: actor, life, bond, fault: slot };
        let (actor, started) = self.record(tag.clone(), wrapped, arguments)?;
        let Err(error) = started.await else { return Ok(actor) };

        let id = actor.get_id();
        if let Some(host) = &self.host {
            host.routes.lock().remove(&id);
        }
        self.life.never_started(MemberId::Actor(id));
        Err(match fault.get() {
            Some(Fault { class, text }) => {
                SpawnRefused::StartFailed { who: tag, class: *class, text: Arc::clone(text) }
            }
            None => {
                SpawnRefused::StartFailed { who: tag, class: ExitClass::Killed, text: error.text() }
            }
        })
    }

    /// Starts the actor's task and records it, before any code of the actor runs. Both locks are
    /// held over this, so neither a halt nor an event about the actor can come in between.
    fn record<A: Actor>(
        &self,
        tag: Tag,
        actor: Supervised<A>,
        arguments: A::Arguments,
    ) -> Result<(ActorRef<A::Msg>, Started), SpawnRefused> {
        let mut routes = self.host.as_ref().map(|host| host.routes.lock());
        let mut members = self.life.members.lock();
        self.life.admits(&members)?;
        let (bond, fault) = (actor.bond, Arc::clone(&actor.fault));
        let spawned = match &self.host {
            Some(host) => {
                ActorRuntime::spawn_linked_instant(None, actor, arguments, host.listener.get_cell())
            }
            None => ActorRuntime::spawn_instant(None, actor, arguments),
        };
        let (actor, starting) = spawned.map_err(|error| SpawnRefused::StartFailed {
            who: tag.clone(),
            class: ExitClass::Error,
            text: error.to_string().into(),
        })?;
        let id = actor.get_id();
        let (joined, mut started) = join(starting);
        if let Some(routes) = &mut routes {
            routes.insert(id, Arc::clone(&self.life));
        }
        let watch = routes.is_none().then(|| self.watch(id, joined.clone()));
        let hold = Hold::Actor(actor.get_cell());
        let member = Member { tag, bond, fault, hold, joined: joined.clone(), watch };
        members.living.insert(MemberId::Actor(id), member);
        let started = Box::pin(async move {
            // Joining is what drives the start forward; it goes on without this if dropped.
            tokio::select! {
                biased;
                outcome = &mut started => outcome.unwrap_or_else(|_| Err(gone())),
                () = joined => started.try_recv().unwrap_or_else(|_| Err(gone())),
            }
        });
        Ok((actor, started))
    }

    /// Reports the end of an actor that has no supervisor above it. Any end but a kill of ours is a
    /// failure then.
    fn watch(&self, id: ActorId, joined: Joined) -> AbortOnDropHandle<()> {
        let life = Arc::clone(&self.life);
        AbortOnDropHandle::new(tokio::spawn(async move {
            joined.await;
            life.exited(MemberId::Actor(id), ExitClass::Aborted);
        }))
    }
}

fn gone() -> UnitFailure {
    UnitFailure::new("it was gone before it had started")
}

/// The outcome of an actor's start.
type Started = BoxFuture<'static, Result<(), UnitFailure>>;

type Starting = JoinHandle<Result<JoinHandle<()>, SpawnErr>>;

/// The whole life of an actor's tasks, and the outcome of its start.
fn join(starting: Starting) -> (Joined, oneshot::Receiver<Result<(), UnitFailure>>) {
    let (tell, started) = oneshot::channel();
    let joined = async move {
        let running = match starting.await {
            Ok(Ok(running)) => running,
            Ok(Err(error)) => return drop(tell.send(Err(UnitFailure::new(error)))),
            Err(error) => return drop(tell.send(Err(UnitFailure::new(error)))),
        };
        // A caller that went away is no reason to stop joining.
        drop(tell.send(Ok(())));
        drop(running.await);
    };
    (joined.boxed().shared(), started)
}

/// An actor under supervision: tells a panic from an error, and ends the generation on the spot.
struct Supervised<A> {
    inner: A,
    life: Arc<Life>,
    bond: Bond,
    fault: Arc<OnceLock<Fault>>,
}

impl<A> Supervised<A> {
    async fn guard<T>(
        &self,
        work: impl Future<Output = Result<T, ActorProcessingErr>>,
    ) -> Result<T, ActorProcessingErr> {
        let fault = match AssertUnwindSafe(work).catch_unwind().await {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(error)) => Fault { class: ExitClass::Error, text: error.to_string().into() },
            Err(payload) => Fault::panicked(payload.as_ref()),
        };
        let text = Arc::clone(&fault.text);
        self.fault.get_or_init(|| fault);
        Err(text.to_string().into())
    }

    /// Like `guard`, for an actor that has started.
    async fn guard_running(
        &self,
        work: impl Future<Output = Result<(), ActorProcessingErr>>,
    ) -> Result<(), ActorProcessingErr> {
        let outcome = self.guard(work).await;
        if outcome.is_err() && self.bond == Bond::Together {
            self.life.poison(Ending::Failed);
        }
        outcome
    }
}

// Each call is made inside the guarded future: a panic may come before the first poll.
impl<A: Actor> Actor for Supervised<A> {
    type Msg = A::Msg;
    type State = A::State;
    type Arguments = A::Arguments;

    async fn pre_start(
        &self,
        myself: ActorRef<A::Msg>,
        arguments: A::Arguments,
    ) -> Result<A::State, ActorProcessingErr> {
        self.guard(async { self.inner.pre_start(myself, arguments).await }).await
    }

    async fn post_start(
        &self,
        myself: ActorRef<A::Msg>,
        state: &mut A::State,
    ) -> Result<(), ActorProcessingErr> {
        self.guard_running(async { self.inner.post_start(myself, state).await }).await
    }

    async fn post_stop(
        &self,
        myself: ActorRef<A::Msg>,
        state: &mut A::State,
    ) -> Result<(), ActorProcessingErr> {
        self.guard_running(async { self.inner.post_stop(myself, state).await }).await
    }

    async fn handle(
        &self,
        myself: ActorRef<A::Msg>,
        message: A::Msg,
        state: &mut A::State,
    ) -> Result<(), ActorProcessingErr> {
        self.guard_running(async { self.inner.handle(myself, message, state).await }).await
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<A::Msg>,
        event: SupervisionEvent,
        state: &mut A::State,
    ) -> Result<(), ActorProcessingErr> {
        self.guard_running(async { self.inner.handle_supervisor_evt(myself, event, state).await })
            .await
    }
}
