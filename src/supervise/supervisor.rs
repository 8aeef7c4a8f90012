//! The supervisor: an actor to which the actors of its units are linked, and the table of units.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, join_all};
use kinfolk_actors::supervision::{FailureHistory, RestartPolicy};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::driver::{Driver, Place};
use super::listener::{Host, Listener, Routes, Seat};
use super::scope::Scope;
use super::unit::{Generation, Unit, UnitFailure, UnitId, UnitStatus};

/// In which order a supervisor stops its units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopOrder {
    /// One after the other, the last added first: for units that build on those before them.
    Reverse,
    /// All at once: for units that do not know each other.
    Together,
}

/// The supervisor did not take the unit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AddRefused {
    /// A unit of this name is there, perhaps a failed one that was not removed.
    #[error("a unit `{0}` exists already: stop it first")]
    Exists(UnitId),
    /// The supervisor stops or has stopped.
    #[error("unit `{0}` was not added: its supervisor is shutting down")]
    ShuttingDown(UnitId),
}

/// Holds units and restarts them. Clones are the same supervisor.
///
/// It is a unit itself: add it to another one, which starts it, restarts it when it fails, and
/// stops it with all its units. Until it is started its units wait. The table of units is not part
/// of its actor, so they come back with it.
#[derive(Clone)]
pub(crate) struct Supervisor {
    table: Arc<Table>,
}

struct Table {
    order: StopOrder,
    routes: Arc<Routes>,
    seat: watch::Sender<Option<Seat>>,
    // Held for a few instructions only.
    units: Mutex<Units>,
}

#[derive(Default)]
struct Units {
    closed: bool,
    added: u64,
    entries: HashMap<UnitId, Entry>,
}

struct Entry {
    place: u64,
    handle: UnitHandle,
    _driver: AbortOnDropHandle<()>,
}

#[derive(Clone)]
struct UnitHandle {
    stop: Arc<watch::Sender<Option<Instant>>>,
    status: watch::Receiver<UnitStatus>,
}

impl Supervisor {
    /// A supervisor without units. It runs once it is added to another one.
    pub(crate) fn new(order: StopOrder) -> Self {
        let (seat, _) = watch::channel(None);
        let (routes, units) = (Arc::default(), Mutex::default());
        Self { table: Arc::new(Table { order, routes, seat, units }) }
    }

    /// Adds a unit and starts it in the background. Watch the status for how that goes. Must be
    /// called within a tokio runtime.
    ///
    /// # Errors
    ///
    /// When the name is taken or the supervisor is shutting down.
    pub(crate) fn add(
        &self,
        id: UnitId,
        policy: RestartPolicy,
        unit: Arc<dyn Unit>,
    ) -> Result<watch::Receiver<UnitStatus>, AddRefused> {
        let mut units = self.table.units.lock();
        if units.closed {
            return Err(AddRefused::ShuttingDown(id));
        }
        if units.entries.contains_key(&id) {
            return Err(AddRefused::Exists(id));
        }
        let place = Place::Under(self.table.seat.subscribe());
        let (handle, driver) = launch(id.clone(), policy, unit, place);
        let status = handle.status.clone();
        units.added += 1;
        let place = units.added;
        units.entries.insert(id, Entry { place, handle, _driver: driver });
        Ok(status)
    }

    /// The status of a unit, to read or to watch; `None` if there is no such unit.
    #[cfg_attr(not(test), expect(dead_code, reason = "what tests ask"))]
    pub(crate) fn status(&self, id: &UnitId) -> Option<watch::Receiver<UnitStatus>> {
        self.table.units.lock().entries.get(id).map(|entry| entry.handle.status.clone())
    }

    /// Stops a unit, in order for the length of `grace` and by force then, and removes it. Returns
    /// when nothing of it is left; at once if there is no such unit. A second caller waits too.
    ///
    /// If this is dropped, the unit stops all the same, but is not removed.
    pub(crate) async fn stop_unit(&self, id: &UnitId, grace: Duration) {
        self.stop_by(id, Instant::now() + grace).await;
    }

    async fn stop_by(&self, id: &UnitId, deadline: Instant) {
        let handle = self.table.units.lock().entries.get(id).map(|entry| entry.handle.clone());
        let Some(handle) = handle else { return };
        handle.stop_by(deadline).await;
        let mut units = self.table.units.lock();
        // A new unit may have taken the name meanwhile.
        if units.entries.get(id).is_some_and(|entry| Arc::ptr_eq(&entry.handle.stop, &handle.stop))
        {
            units.entries.remove(id);
        }
    }

    /// Makes the actor of the supervisor panic, if it is up.
    #[cfg(test)]
    pub(crate) fn panic_now(&self) {
        if let Some(seat) = self.table.seat.borrow().as_ref() {
            drop(seat.host.listener.cast(super::listener::ListenerMsg::Panic));
        }
    }

    /// How many units are in the table.
    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        self.table.units.lock().entries.len()
    }

    /// Takes no more units, and stops those that are there.
    async fn stop_all(&self, deadline: Instant) {
        let ids = {
            let mut units = self.table.units.lock();
            units.closed = true;
            let mut ids: Vec<(u64, UnitId)> =
                units.entries.iter().map(|(id, entry)| (entry.place, id.clone())).collect();
            ids.sort_unstable_by(|a, b| b.cmp(a));
            ids
        };
        match self.table.order {
            StopOrder::Reverse => {
                for (_, id) in &ids {
                    self.stop_by(id, deadline).await;
                }
            }
            StopOrder::Together => {
                join_all(ids.iter().map(|(_, id)| self.stop_by(id, deadline))).await;
            }
        }
    }
}

impl Unit for Supervisor {
    fn start(&self, _: Generation, scope: Scope) -> BoxFuture<'_, Result<(), UnitFailure>> {
        Box::pin(async move {
            let routes = Arc::clone(&self.table.routes);
            let listener = Listener::new(Arc::clone(&routes));
            let listener = scope.spawn("supervisor", listener, ()).await?;
            let seat = Seat::new(Host { listener, routes }, scope.over_token());
            self.table.seat.send_replace(Some(seat));
            Ok(())
        })
    }

    fn stop(&self, _: Generation, deadline: Instant) -> BoxFuture<'_, ()> {
        Box::pin(self.stop_all(deadline))
    }

    fn halted(&self, _: Generation) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.table.seat.send_replace(None);
            let statuses: Vec<watch::Receiver<UnitStatus>> = {
                let units = self.table.units.lock();
                units.entries.values().map(|entry| entry.handle.status.clone()).collect()
            };
            // Each unit halts by itself when its seat is gone. An error means its driver is gone.
            join_all(statuses.into_iter().map(|mut status| async move {
                drop(status.wait_for(UnitStatus::is_at_rest).await);
            }))
            .await;
        })
    }

    fn ended(&self, _: &UnitStatus) {
        let mut units = self.table.units.lock();
        units.closed = true;
        for entry in units.entries.values() {
            entry.handle.ask_to_stop(Instant::now());
        }
    }
}

impl UnitHandle {
    /// The earliest deadline that anyone asked for counts, as long as the stop has not begun.
    fn ask_to_stop(&self, deadline: Instant) {
        self.stop.send_if_modified(|asked| {
            let sooner = asked.is_none_or(|asked| deadline < asked);
            if sooner {
                *asked = Some(deadline);
            }
            sooner
        });
    }

    async fn stop_by(&self, deadline: Instant) {
        self.ask_to_stop(deadline);
        // An error means that the driver is gone, and its actors with it.
        drop(self.status.clone().wait_for(UnitStatus::is_final).await);
    }
}

fn launch(
    id: UnitId,
    policy: RestartPolicy,
    unit: Arc<dyn Unit>,
    place: Place,
) -> (UnitHandle, AbortOnDropHandle<()>) {
    let (stop, stop_asked) = watch::channel(None);
    let (status, status_seen) = watch::channel(UnitStatus::Waiting);
    let (history, added) = (FailureHistory::default(), Instant::now());
    let driver = Driver { id, unit, policy, place, stop: stop_asked, status, history, added };
    let driver = AbortOnDropHandle::new(tokio::spawn(driver.drive()));
    (UnitHandle { stop: Arc::new(stop), status: status_seen }, driver)
}

/// The supervisor on top of a tree. Dropping it kills the tree without waiting; end it with
/// [`shutdown`](Self::shutdown).
pub(crate) struct Root {
    supervisor: Supervisor,
    handle: UnitHandle,
    _driver: AbortOnDropHandle<()>,
}

impl Root {
    /// Starts a tree. Must be called within a tokio runtime.
    pub(crate) fn start(policy: RestartPolicy, order: StopOrder) -> Self {
        let supervisor = Supervisor::new(order);
        let unit = Arc::new(supervisor.clone());
        let (handle, driver) = launch("root".into(), policy, unit, Place::Top);
        Self { supervisor, handle, _driver: driver }
    }

    /// The supervisor, to add units to.
    pub(crate) fn supervisor(&self) -> &Supervisor {
        &self.supervisor
    }

    /// The status of the supervisor itself.
    #[cfg_attr(not(test), expect(dead_code, reason = "what tests ask"))]
    pub(crate) fn status(&self) -> watch::Receiver<UnitStatus> {
        self.handle.status.clone()
    }

    /// Stops all units, in order for the length of `grace` and by force then, and the supervisor
    /// last. Returns when nothing of the tree is left. If dropped, the stop goes on.
    pub(crate) async fn shutdown(&self, grace: Duration) {
        self.handle.stop_by(Instant::now() + grace).await;
    }
}
