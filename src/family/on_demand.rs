//! Actors that a family starts when there is work of their kind and that leave when the last of it
//! is done: the tool executor and the compactor. They decide nothing and append nothing.

use std::collections::VecDeque;
use std::marker::PhantomData;

use parking_lot::Mutex;
use ractor::{Actor, ActorProcessingErr, ActorRef, SupervisionEvent};

use super::activation::{Activation, Living};
use super::agent_actor;

/// Work that such an actor does.
pub(crate) trait Job: Send + Sized + 'static {
    /// The actor's name in the supervisor's words.
    const ACTOR: &'static str;

    /// Where the family keeps the work of this kind.
    fn desk(family: &Activation) -> &Desk<Self>;

    /// Puts the work in flight. `done` is called once it is over, unless its generation ends.
    fn begin(self, living: &Living, done: impl FnOnce() + Send + 'static);
}

/// The work that waits for an actor. The queue is the family's, so that none is lost between an
/// actor that stops and the next one. It is bounded by what agents have in flight.
pub(crate) struct Desk<J> {
    inner: Mutex<Waiting<J>>,
}

struct Waiting<J> {
    queue: VecDeque<J>,
    worker: Presence,
}

#[derive(Default)]
enum Presence {
    #[default]
    None,
    Starting,
    Alive(ActorRef<WorkerMessage>),
}

pub(crate) enum WorkerMessage {
    /// Work is waiting.
    Look,
    /// One piece of its work is done.
    Done,
    #[cfg(test)]
    Panic,
}

impl<J> Default for Desk<J> {
    fn default() -> Self {
        Self { inner: Mutex::new(Waiting::default()) }
    }
}

impl<J> Default for Waiting<J> {
    fn default() -> Self {
        Self { queue: VecDeque::new(), worker: Presence::None }
    }
}

/// Has a piece of work done; starts an actor for it if none is there or on its way.
pub(crate) fn order<J: Job>(living: &Living, job: J) {
    if J::desk(&living.family).push(job) {
        let this = living.clone();
        agent_actor::adopt(living, J::ACTOR.into(), async move {
            let arguments = this.clone();
            this.scope.spawn(J::ACTOR, Worker::<J>(PhantomData), arguments).await.map(drop)
        });
    }
}

impl<J> Desk<J> {
    /// Whether an actor has to be started for it.
    fn push(&self, job: J) -> bool {
        let mut inner = self.inner.lock();
        inner.queue.push_back(job);
        match &inner.worker {
            Presence::Alive(actor) => {
                // A dead actor is no loss: the family restarts and orders the work again.
                let _ = actor.cast(WorkerMessage::Look);
                false
            }
            Presence::Starting => false,
            Presence::None => {
                inner.worker = Presence::Starting;
                true
            }
        }
    }

    /// Forgets what an ended generation left.
    pub fn clear(&self) {
        *self.inner.lock() = Waiting::default();
    }

    fn arrived(&self, actor: ActorRef<WorkerMessage>) {
        self.inner.lock().worker = Presence::Alive(actor);
    }

    fn take(&self) -> VecDeque<J> {
        std::mem::take(&mut self.inner.lock().queue)
    }

    /// Whether an idle actor may leave: only if nothing came in meanwhile.
    fn leave(&self) -> bool {
        let mut inner = self.inner.lock();
        let empty = inner.queue.is_empty();
        if empty {
            inner.worker = Presence::None;
        }
        empty
    }

    /// Has the actor panic; false if none is there.
    #[cfg(test)]
    pub fn panic_executor(&self) -> bool {
        match &self.inner.lock().worker {
            Presence::Alive(actor) => actor.cast(WorkerMessage::Panic).is_ok(),
            Presence::Starting | Presence::None => false,
        }
    }

    /// Whether an actor is there.
    #[cfg(test)]
    pub fn is_staffed(&self) -> bool {
        matches!(self.inner.lock().worker, Presence::Alive(_))
    }
}

/// The actor.
struct Worker<J>(PhantomData<fn(J)>);

/// What the actor knows.
pub(crate) struct Running {
    living: Living,
    running: usize,
}

impl<J: Job> Actor for Worker<J> {
    type Msg = WorkerMessage;
    type State = Running;
    type Arguments = Living;

    async fn pre_start(
        &self,
        myself: ActorRef<WorkerMessage>,
        living: Living,
    ) -> Result<Running, ActorProcessingErr> {
        J::desk(&living.family).arrived(myself.clone());
        myself.cast(WorkerMessage::Look)?;
        Ok(Running { living, running: 0 })
    }

    async fn handle(
        &self,
        myself: ActorRef<WorkerMessage>,
        message: WorkerMessage,
        state: &mut Running,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            WorkerMessage::Look => {}
            WorkerMessage::Done => state.running -= 1,
            #[cfg(test)]
            WorkerMessage::Panic => panic!("the {} panic on request", J::ACTOR),
        }
        for job in J::desk(&state.living.family).take() {
            state.running += 1;
            let myself = myself.clone();
            // The actor may be gone with its generation; then nobody counts.
            job.begin(&state.living, move || drop(myself.cast(WorkerMessage::Done)));
        }
        if state.running == 0 && J::desk(&state.living.family).leave() {
            myself.stop(None);
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        _myself: ActorRef<WorkerMessage>,
        _event: SupervisionEvent,
        _state: &mut Running,
    ) -> Result<(), ActorProcessingErr> {
        // It starts no actors; nothing that ends can take it along.
        Ok(())
    }
}
