//! The supervisor's actor: reads what ractor tells about the actors linked to it.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use ractor::{Actor, ActorId, ActorProcessingErr, ActorRef, Signal, SupervisionEvent};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::life::{Life, MemberId};
use super::unit::ExitClass;

/// Which generation an actor belongs to.
pub(super) type Routes = Mutex<HashMap<ActorId, Arc<Life>>>;

/// The actor to which the actors of a generation are linked.
#[derive(Clone)]
pub(super) struct Host {
    pub(super) listener: ActorRef<ListenerMsg>,
    pub(super) routes: Arc<Routes>,
}

impl Host {
    /// Waits until the supervisor has read all that it was told before, or is dead.
    pub(super) async fn flush(&self) {
        let (done, read) = oneshot::channel();
        if self.listener.cast(ListenerMsg::Flush(done)).is_ok() {
            drop(read.await);
        }
    }

    /// Forgets the actors of a generation that nothing will be told about any more.
    pub(super) fn forget(&self, life: &Life) {
        let unreported = life.unreported();
        let mut routes = self.routes.lock();
        for actor in unreported {
            routes.remove(&actor);
        }
    }
}

/// A living supervisor, as its units see it.
#[derive(Clone)]
pub(super) struct Seat {
    pub(super) host: Host,
    over: CancellationToken,
}

impl Seat {
    /// `over` fires when the generation of the supervisor itself is over.
    pub(super) fn new(host: Host, over: CancellationToken) -> Self {
        Self { host, over }
    }

    pub(super) fn is_up(&self) -> bool {
        !self.over.is_cancelled()
    }

    pub(super) async fn down(&self) {
        self.over.cancelled().await;
    }
}

pub(super) enum ListenerMsg {
    /// An actor ended.
    Down { actor: ActorId, class: ExitClass },
    /// Answer when everything before this is read.
    Flush(oneshot::Sender<()>),
    #[cfg(test)]
    Panic,
}

pub(super) struct Listener {
    routes: Arc<Routes>,
}

impl Listener {
    pub(super) fn new(routes: Arc<Routes>) -> Self {
        Self { routes }
    }

    fn down(&self, actor: ActorId, class: ExitClass) {
        let life = self.routes.lock().remove(&actor);
        if let Some(life) = life {
            life.exited(MemberId::Actor(actor), class);
        }
    }
}

impl Actor for Listener {
    type Msg = ListenerMsg;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<ListenerMsg>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn handle(
        &self,
        _: ActorRef<ListenerMsg>,
        message: ListenerMsg,
        (): &mut (),
    ) -> Result<(), ActorProcessingErr> {
        match message {
            ListenerMsg::Down { actor, class } => self.down(actor, class),
            // Whoever asked may have gone.
            ListenerMsg::Flush(done) => drop(done.send(())),
            #[cfg(test)]
            ListenerMsg::Panic => panic!("the supervisor panics"),
        }
        Ok(())
    }

    /// Classifies only. Events outrank messages, so each goes through the mailbox: what an actor
    /// sent here before it ended is read before its end is.
    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<ListenerMsg>,
        event: SupervisionEvent,
        (): &mut (),
    ) -> Result<(), ActorProcessingErr> {
        let (actor, class) = match event {
            // The state of a killed actor may be half changed: it is dropped here, unread.
            SupervisionEvent::ActorTerminated(actor, _, reason) => (actor, ended(reason)),
            // Its wrapper has noted whether it was a panic, and the text.
            SupervisionEvent::ActorFailed(actor, _) => (actor, ExitClass::Error),
            // ractor has more events with other features.
            _ => return Ok(()),
        };
        let actor = actor.get_id();
        if myself.cast(ListenerMsg::Down { actor, class }).is_err() {
            self.down(actor, class);
        }
        Ok(())
    }
}

/// ractor tells a kill and an abort by these texts only. Nothing here stops an actor with a text.
fn ended(reason: Option<String>) -> ExitClass {
    match reason.as_deref() {
        Some("actor_task_cancelled") => ExitClass::Aborted,
        Some(reason) if reason == Signal::Kill.to_string() => ExitClass::Killed,
        Some(_) | None => ExitClass::Normal,
    }
}
