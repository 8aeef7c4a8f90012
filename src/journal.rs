//! The one writer of a store: it commits whatever families have queued as one group, and answers
//! each append once it is durable.
//!
//! The queue outlives the writer's actor. If the actor dies, the appends of the group in its hands
//! are answered with an error, their families' generations are thrown away and loaded again; what
//! was still queued is committed by the next writer.

use std::sync::Arc;

use futures::future::BoxFuture;
use kinfolk_actors::id::{Offset, SessionId};
use parking_lot::Mutex;
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::sync::oneshot;

use crate::ports::store::{Append, Claim, Record, Store, StoreError};
use crate::supervise::{Bell, BoundedQueue, Generation, Scope, Unit, UnitFailure};

/// How many appends may be queued. A family has at most a handful, so this is thousands of
/// families waiting for one group.
const QUEUE_CAPACITY: usize = 16 * 1024;

/// The most appends of one group, and about the most bytes: a group is held in memory twice.
const GROUP_LIMIT: usize = 1024;

/// What an append's submitter is told, exactly once, in journal order.
pub(crate) type Done = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// The handle through which families write and read. Clones share one writer.
#[derive(Clone)]
pub(crate) struct Journal {
    shared: Arc<Shared>,
}

struct Shared {
    store: Arc<dyn Store>,
    queue: BoundedQueue<Item>,
    /// Held by whoever commits, so that a writer that is being replaced cannot overlap the next.
    committing: tokio::sync::Mutex<()>,
    bell: Mutex<Option<Bell>>,
}

enum Item {
    Append { append: Append, done: Done },
    Claim { session: SessionId, reply: oneshot::Sender<Result<Claim, StoreError>> },
}

impl Journal {
    pub fn new(store: Arc<dyn Store>) -> Self {
        let shared = Shared {
            store,
            queue: BoundedQueue::new(QUEUE_CAPACITY),
            committing: tokio::sync::Mutex::new(()),
            bell: Mutex::new(None),
        };
        Self { shared: Arc::new(shared) }
    }

    /// The store, for reading.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.shared.store
    }

    /// Submits an append. Appends are committed in the order in which they were submitted. `done`
    /// is called once, from whichever thread commits; for a store that answers at once, before
    /// this returns.
    pub fn append(&self, append: Append, done: Done) {
        match self.shared.store.commit_now(&append) {
            Some(verdict) => done(verdict),
            None => self.push(Item::Append { append, done }),
        }
    }

    /// Claims a session, after everything that was submitted before.
    ///
    /// # Errors
    /// What the store says, or [`StoreError::Closed`] if the writer went away.
    pub async fn claim(&self, session: &SessionId) -> Result<Claim, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.push(Item::Claim { session: session.clone(), reply });
        answer.await.unwrap_or(Err(StoreError::Closed))
    }

    /// Reads all records of a session from an offset on.
    ///
    /// # Errors
    /// What the store says.
    pub async fn read_all(
        &self,
        session: &SessionId,
        from: Offset,
    ) -> Result<Vec<Arc<Record>>, StoreError> {
        self.shared.store.read(session, from, usize::MAX).await
    }

    fn push(&self, item: Item) {
        if let Err(refused) = self.shared.queue.try_push(item) {
            refuse(refused.into_inner(), &StoreError::Overloaded);
            return;
        }
        self.ring();
    }

    fn ring(&self) {
        if let Some(bell) = self.shared.bell.lock().as_ref() {
            bell.ring();
        }
    }
}

fn refuse(item: Item, error: &StoreError) {
    match item {
        Item::Append { append: _, done } => done(Err(error.clone())),
        // Whoever claimed may have gone away; nobody is left to tell.
        Item::Claim { session: _, reply } => drop(reply.send(Err(error.clone()))),
    }
}
