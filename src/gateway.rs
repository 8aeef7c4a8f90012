//! The model gateway: every family's requests to models go through it, and it decides whose turn
//! it is. Families wait in a round, so that one that fans out cannot starve another; a parent that
//! waits for its children holds no place.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use kinfolk_actors::failure::{ErrorCode, Failure};
use kinfolk_actors::id::SessionId;
use parking_lot::Mutex;
use ractor::{Actor, ActorProcessingErr, ActorRef, SupervisionEvent};
use tokio::sync::oneshot;

use crate::supervise::scope::Scope;
use crate::supervise::unit::{Generation, Unit, UnitFailure};

/// How long a request waits for a gateway that is being restarted, in steps of [`RETRY_WAIT`].
const RETRIES: u32 = 600;
const RETRY_WAIT: Duration = Duration::from_millis(50);

/// The handle through which effects ask for their turn.
#[derive(Clone)]
pub(crate) struct Gateway {
    shared: Arc<Shared>,
}

struct Shared {
    capacity: usize,
    /// Places taken. It outlives the actor, since the requests that hold them do.
    taken: AtomicUsize,
    actor: Mutex<Option<ActorRef<GatewayMessage>>>,
}

/// A place for one request; dropping it gives the place to whoever is next.
pub(crate) struct Permit {
    shared: Arc<Shared>,
}

pub(crate) enum GatewayMessage {
    Acquire {
        session: SessionId,
        reply: oneshot::Sender<Permit>,
    },
    Released,
    #[cfg(test)]
    Panic,
}

impl Gateway {
    pub fn new(capacity: usize) -> Self {
        let shared = Shared { capacity, taken: AtomicUsize::new(0), actor: Mutex::new(None) };
        Self { shared: Arc::new(shared) }
    }

    /// Waits for a place. Dropping the future gives up the turn.
    ///
    /// # Errors
    /// A failure of code `harness.service_down`, if the gateway does not come back.
    pub async fn acquire(&self, session: &SessionId) -> Result<Permit, Failure> {
        for _ in 0..RETRIES {
            let (reply, answer) = oneshot::channel();
            let asked =
                self.shared.cast(GatewayMessage::Acquire { session: session.clone(), reply });
            if asked && let Ok(permit) = answer.await {
                return Ok(permit);
            }
            tokio::time::sleep(RETRY_WAIT).await;
        }
        let message = "the model gateway is down and did not come back; restart the runtime";
        Err(Failure::new(ErrorCode::ServiceDown, message))
    }

    #[cfg(test)]
    pub fn panic(&self) {
        self.shared.cast(GatewayMessage::Panic);
    }
}

impl Shared {
    fn cast(&self, message: GatewayMessage) -> bool {
        self.actor.lock().as_ref().is_some_and(|actor| actor.cast(message).is_ok())
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.shared.taken.fetch_sub(1, Ordering::AcqRel);
        self.shared.cast(GatewayMessage::Released);
    }
}

impl Unit for Gateway {
    fn start(
        &self,
        _generation: Generation,
        scope: Scope,
    ) -> BoxFuture<'_, Result<(), UnitFailure>> {
        Box::pin(async move {
            scope.spawn("gateway", GatewayActor, Arc::clone(&self.shared)).await?;
            Ok(())
        })
    }
}

/// The actor that gives out places.
struct GatewayActor;

/// Who waits: a queue a session, and the sessions in a round.
struct Waiting {
    shared: Arc<Shared>,
    round: VecDeque<SessionId>,
    by_session: HashMap<SessionId, VecDeque<oneshot::Sender<Permit>>>,
}

impl Waiting {
    fn enqueue(&mut self, session: SessionId, reply: oneshot::Sender<Permit>) {
        let queue = self.by_session.entry(session.clone()).or_default();
        if queue.is_empty() {
            self.round.push_back(session);
        }
        queue.push_back(reply);
    }

    /// Gives free places to the next sessions of the round.
    fn serve(&mut self) {
        while self.shared.taken.load(Ordering::Acquire) < self.shared.capacity {
            let Some(reply) = self.next() else { return };
            self.shared.taken.fetch_add(1, Ordering::AcqRel);
            let permit = Permit { shared: Arc::clone(&self.shared) };
            // Whoever gave up waiting hands the permit back by dropping it.
            drop(reply.send(permit));
        }
    }

    fn next(&mut self) -> Option<oneshot::Sender<Permit>> {
        loop {
            let session = self.round.pop_front()?;
            let queue = self.by_session.get_mut(&session)?;
            let reply = queue.pop_front();
            if queue.is_empty() {
                self.by_session.remove(&session);
            } else {
                self.round.push_back(session);
            }
            if let Some(reply) = reply.filter(|reply| !reply.is_closed()) {
                return Some(reply);
            }
        }
    }
}

impl Actor for GatewayActor {
    type Msg = GatewayMessage;
    type State = Waiting;
    type Arguments = Arc<Shared>;

    async fn pre_start(
        &self,
        myself: ActorRef<GatewayMessage>,
        shared: Arc<Shared>,
    ) -> Result<Waiting, ActorProcessingErr> {
        *shared.actor.lock() = Some(myself);
        Ok(Waiting { shared, round: VecDeque::new(), by_session: HashMap::new() })
    }

    async fn handle(
        &self,
        _myself: ActorRef<GatewayMessage>,
        message: GatewayMessage,
        waiting: &mut Waiting,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            GatewayMessage::Acquire { session, reply } => waiting.enqueue(session, reply),
            GatewayMessage::Released => {}
            #[cfg(test)]
            GatewayMessage::Panic => panic!("the gateway panics on request"),
        }
        waiting.serve();
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        _myself: ActorRef<GatewayMessage>,
        _event: SupervisionEvent,
        _waiting: &mut Waiting,
    ) -> Result<(), ActorProcessingErr> {
        // It starts no actors; nothing that ends can take it along.
        Ok(())
    }
}
