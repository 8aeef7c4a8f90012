//! The life of one unit, from generation to generation, as one sequential task.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use kinfolk_actors::supervision::{FailureHistory, RestartPolicy, Verdict};
use kinfolk_actors::time::{Millis, Timestamp};
use tokio::sync::watch;
use tokio::time::Instant;

use super::life::{Bond, Fault, Life};
use super::listener::Seat;
use super::scope::Scope;
use super::unit::{
    Disposition, Ending, Exit, ExitClass, Generation, Tag, Unit, UnitFailure, UnitId, UnitStatus,
};

/// When a stop was asked for: the instant at which what is left is killed.
pub(super) type StopRequest = watch::Receiver<Option<Instant>>;

/// Where the supervisor of a unit is to be found.
pub(super) enum Place {
    /// Under a supervisor, which may be down for a while.
    Under(watch::Receiver<Option<Seat>>),
    /// On top of the tree.
    Top,
}

/// What a unit's task works with.
pub(super) struct Driver {
    pub(super) id: UnitId,
    pub(super) unit: Arc<dyn Unit>,
    pub(super) policy: RestartPolicy,
    pub(super) place: Place,
    pub(super) stop: StopRequest,
    pub(super) status: watch::Sender<UnitStatus>,
    pub(super) history: FailureHistory,
    pub(super) added: Instant,
}

/// How a generation ended.
enum End {
    Failed { failure: Exit, wish: Disposition },
    Stop(Instant),
    SupervisorDied,
}

/// What follows a failure.
enum Next {
    StartAfter(Duration),
    GiveUp(Arc<str>),
}

impl Driver {
    /// Runs generation after generation until the unit is stopped or fails for good.
    pub(super) async fn drive(mut self) {
        let last = self.live_on().await;
        self.hook("ended", async { self.unit.ended(&last) }).await;
        self.status.send_replace(last);
    }

    async fn live_on(&mut self) -> UnitStatus {
        let mut generation = Generation::FIRST;
        loop {
            let Some(seat) = self.seat().await else { return UnitStatus::Stopped };
            let end = self.live(generation, seat.as_ref()).await;
            let next = generation.next();
            match end {
                End::Stop(_) => return UnitStatus::Stopped,
                End::SupervisorDied => self.announce(UnitStatus::Waiting),
                End::Failed { failure, wish } => match self.verdict(&failure, wish) {
                    Next::GiveUp(reason) => return UnitStatus::Failed { reason },
                    Next::StartAfter(wait) => {
                        self.announce(UnitStatus::BackingOff { next, wait });
                        let stop = stop_requested(&mut self.stop);
                        if tokio::time::timeout(wait, stop).await.is_ok() {
                            return UnitStatus::Stopped;
                        }
                    }
                },
            }
            generation = next;
        }
    }

    /// Waits until the supervisor is up. `None` when the unit is to stop instead; `Some(None)` on
    /// top of the tree.
    async fn seat(&mut self) -> Option<Option<Seat>> {
        let Place::Under(seats) = &mut self.place else {
            return self.stop.borrow().is_none().then_some(None);
        };
        let up = |seat: &Option<Seat>| seat.as_ref().is_some_and(Seat::is_up);
        tokio::select! {
            biased;
            _ = stop_requested(&mut self.stop) => None,
            seat = seats.wait_for(up) => seat.ok().map(|seat| seat.clone()),
        }
    }

    /// One generation, from its start until nothing of it is left.
    async fn live(&mut self, generation: Generation, seat: Option<&Seat>) -> End {
        self.announce(UnitStatus::Starting { generation });
        let life = EndOnDrop(Life::new(self.id.clone(), generation));
        let life = &life.0;
        let host = seat.map(|seat| seat.host.clone());
        let scope = Scope::new(Arc::clone(life), host.clone());

        let end = self.run(life, scope, seat).await;
        match &end {
            End::Failed { .. } => {}
            End::SupervisorDied => life.poison(Ending::SupervisorDied),
            End::Stop(deadline) => {
                self.announce(UnitStatus::Stopping { generation });
                self.wind_down(life, *deadline).await;
                life.poison(Ending::Stopped);
            }
        }
        self.announce(UnitStatus::Halting { generation });
        life.halt().await;
        if let Some(host) = &host {
            // The states of killed actors lie in the supervisor's queue until it has read them.
            host.flush().await;
            host.forget(life);
        }
        while let Some((exit, _)) = life.pop_exit() {
            self.hook("exited", async { self.unit.exited(&exit) }).await;
        }
        self.hook("halted", async { self.unit.halted(generation).await }).await;
        end
    }

    /// Starts the generation and watches over it until it has to end.
    async fn run(&mut self, life: &Arc<Life>, scope: Scope, seat: Option<&Seat>) -> End {
        let (generation, unit) = (life.generation(), Arc::clone(&self.unit));
        let start = async { unit.start(generation, scope).await };
        let starting = AssertUnwindSafe(start).catch_unwind().fuse();
        tokio::pin!(starting);
        loop {
            let failed = tokio::select! {
                biased;
                () = supervisor_down(seat) => return End::SupervisorDied,
                deadline = stop_requested(&mut self.stop) => return End::Stop(deadline),
                (exit, bond) = life.next_exit() => match (exit.class.is_failure(), bond) {
                    (true, Bond::Together) => Some(exit),
                    (true, Bond::Alone) | (false, _) => self.tell_exited(&exit).await,
                },
                outcome = &mut starting => match outcome {
                    Ok(Ok(())) => {
                        self.announce(UnitStatus::Running { generation });
                        None
                    }
                    Ok(Err(failure)) => Some(of_unit(generation, start_failed(&failure))),
                    Err(panic) => Some(of_unit(generation, Fault::panicked(panic.as_ref()))),
                },
            };
            match failed {
                Some(_) if seat.is_some_and(|seat| !seat.is_up()) => return End::SupervisorDied,
                Some(failure) => {
                    life.poison(Ending::Failed);
                    let asked = async { unit.on_failure(&failure) };
                    let wish = self.hook("on_failure", asked).await;
                    return End::Failed { failure, wish: wish.unwrap_or(Disposition::UsePolicy) };
                }
                None => {}
            }
        }
    }

    async fn tell_exited(&self, exit: &Exit) -> Option<Exit> {
        let hook = async { self.unit.exited(exit) };
        let panic = AssertUnwindSafe(hook).catch_unwind().await.err()?;
        Some(of_unit(exit.generation, Fault::panicked(panic.as_ref())))
    }

    /// The orderly part of a stop. It ends at the deadline, or at once when an actor fails.
    async fn wind_down(&self, life: &Life, deadline: Instant) {
        life.close();
        let generation = life.generation();
        let orderly = async {
            self.hook("stop", async { self.unit.stop(generation, deadline).await }).await;
            life.stop_actors().await;
        };
        tokio::select! {
            biased;
            () = life.over().cancelled() => {}
            outcome = tokio::time::timeout_at(deadline, orderly) => if outcome.is_err() {
                tracing::warn!(unit = %self.id, %generation, "not stopped by its deadline: killed");
            },
        }
    }

    fn verdict(&mut self, failure: &Exit, wish: Disposition) -> Next {
        let next = match wish {
            Disposition::GiveUp(reason) => Next::GiveUp(reason),
            Disposition::RestartAfter(wait) => Next::StartAfter(wait),
            Disposition::UsePolicy => {
                let now = Timestamp(Millis::from(self.added.elapsed()).0);
                match self.history.failed(&self.policy, now) {
                    Verdict::RestartAfter(wait) => Next::StartAfter(wait.into()),
                    Verdict::GiveUp => Next::GiveUp(too_often(&self.policy, failure)),
                }
            }
        };
        let Exit { generation, who, class, text } = failure;
        match &next {
            Next::StartAfter(wait) => {
                tracing::warn!(unit = %self.id, %generation, %who, ?class, %text, ?wait, "failed: restarts");
            }
            Next::GiveUp(reason) => {
                tracing::error!(unit = %self.id, %generation, %who, ?class, %text, %reason, "failed for good");
            }
        }
        next
    }

    fn announce(&self, status: UnitStatus) {
        self.status.send_replace(status);
    }

    /// Runs a hook; its panic is logged and goes no further.
    async fn hook<T>(&self, name: &'static str, work: impl Future<Output = T>) -> Option<T> {
        let outcome = AssertUnwindSafe(work).catch_unwind().await;
        let tell = |payload: Box<dyn std::any::Any + Send>| {
            let text = Fault::panicked(payload.as_ref()).text;
            tracing::error!(unit = %self.id, hook = name, %text, "a hook of the unit panicked");
        };
        outcome.map_err(tell).ok()
    }
}

/// Ends the generation if its driver is dropped: when its supervisor is.
struct EndOnDrop(Arc<Life>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.poison(Ending::SupervisorDied);
        self.0.kill();
    }
}

/// Resolves when the unit is to stop. Never when nobody is left who could ask.
async fn stop_requested(stop: &mut StopRequest) -> Instant {
    let asked = stop.wait_for(Option::is_some).await.ok().and_then(|deadline| *deadline);
    match asked {
        Some(deadline) => deadline,
        None => std::future::pending().await,
    }
}

async fn supervisor_down(seat: Option<&Seat>) {
    match seat {
        Some(seat) => seat.down().await,
        None => std::future::pending().await,
    }
}

fn of_unit(generation: Generation, fault: Fault) -> Exit {
    Exit { generation, who: Tag::unit(), class: fault.class, text: fault.text }
}

fn start_failed(failure: &UnitFailure) -> Fault {
    Fault { class: ExitClass::Error, text: failure.text() }
}

fn too_often(policy: &RestartPolicy, failure: &Exit) -> Arc<str> {
    let (times, window) = (policy.max_restarts, Duration::from(policy.window));
    let Exit { who, text, .. } = failure;
    format!("more than {times} failures within {window:?}; the last one, of `{who}`: {text}").into()
}
