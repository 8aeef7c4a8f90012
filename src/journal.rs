//! The one writer of a store: it commits whatever families have queued as one group, and answers
//! each append once it is durable.
//!
//! The queue outlives the writer's actor. If the actor dies, the appends of the group in its hands
//! are answered with an error, their families' generations are thrown away and loaded again; what
//! was still queued is committed by the next writer.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kinfolk_actors::id::{Offset, SessionId};
use ractor::{Actor, ActorProcessingErr, ActorRef, SupervisionEvent};
use tokio::sync::oneshot;

use crate::panic_text::panic_text;
use crate::ports::store::{Append, Claim, Record, Store, StoreError};
use crate::supervise::queue::{BoundedQueue, PushRefused};
use crate::supervise::scope::Scope;
use crate::supervise::unit::{Generation, Unit, UnitFailure, UnitStatus};

/// How many appends may be queued. A family has at most a handful, so this is thousands of
/// families waiting for one group.
const QUEUE_CAPACITY: usize = 16 * 1024;

/// The most appends of one group: enough that a group's fixed cost is small for each, and few
/// enough that nobody waits long behind a full one.
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
}

enum Item {
    Append {
        append: Append,
        done: Done,
    },
    Claim {
        session: SessionId,
        reply: oneshot::Sender<Result<Claim, StoreError>>,
    },
    #[cfg(test)]
    Panic,
}

impl Journal {
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { shared: Arc::new(Shared { store, queue: BoundedQueue::new(QUEUE_CAPACITY) }) }
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
        match self.shared.queue.try_push(item) {
            Ok(()) => {}
            Err(PushRefused::Full(item)) => refuse(item, &StoreError::Overloaded),
            Err(PushRefused::Closed(item)) => refuse(item, &StoreError::Closed),
        }
    }

    /// Has the writer's actor panic.
    #[cfg(test)]
    pub fn panic_writer(&self) {
        self.push(Item::Panic);
    }
}

fn refuse(item: Item, error: &StoreError) {
    match item {
        Item::Append { append: _, done } => done(Err(error.clone())),
        // Whoever claimed may have gone away; nobody is left to tell.
        Item::Claim { session: _, reply } => drop(reply.send(Err(error.clone()))),
        #[cfg(test)]
        Item::Panic => {}
    }
}

impl Unit for Journal {
    fn start(
        &self,
        _generation: Generation,
        scope: Scope,
    ) -> BoxFuture<'_, Result<(), UnitFailure>> {
        Box::pin(async move {
            let writer = scope.spawn("writer", Writer, Arc::clone(&self.shared)).await?;
            // A bell to a writer that has ended finds nobody; the next one is attached and rung.
            self.shared.queue.attach(move || drop(writer.cast(Bell)));
            Ok(())
        })
    }

    fn ended(&self, _last: &UnitStatus) {
        for item in self.shared.queue.close() {
            refuse(item, &StoreError::Closed);
        }
    }
}

/// Something is queued.
struct Bell;

/// The actor that writes. Committing is all it does, so its handler may wait for the store: nobody
/// needs the writer meanwhile, and what comes in makes the next group.
struct Writer;

impl Actor for Writer {
    type Msg = Bell;
    type State = Arc<Shared>;
    type Arguments = Arc<Shared>;

    async fn pre_start(
        &self,
        _myself: ActorRef<Bell>,
        shared: Arc<Shared>,
    ) -> Result<Arc<Shared>, ActorProcessingErr> {
        Ok(shared)
    }

    async fn handle(
        &self,
        _myself: ActorRef<Bell>,
        _bell: Bell,
        shared: &mut Arc<Shared>,
    ) -> Result<(), ActorProcessingErr> {
        let mut group = Group::default();
        // What is not begun returns to the queue if this writer dies.
        for item in shared.queue.take(GROUP_LIMIT) {
            match item {
                Item::Append { append, done } => group.push(append, done),
                Item::Claim { session, reply } => {
                    // A claim is a barrier: what was submitted before it is settled first.
                    std::mem::take(&mut group).commit(&*shared.store).await;
                    let claimed = claim(&*shared.store, &session).await;
                    // Whoever claimed may have gone away; the claim stands and hurts nobody.
                    drop(reply.send(claimed));
                }
                #[cfg(test)]
                Item::Panic => panic!("the writer panics on request"),
            }
        }
        group.commit(&*shared.store).await;
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        _myself: ActorRef<Bell>,
        _event: SupervisionEvent,
        _shared: &mut Arc<Shared>,
    ) -> Result<(), ActorProcessingErr> {
        // It starts no actors; nothing that ends can take it along.
        Ok(())
    }
}

/// A store that panics fails this claim only; see [`Group::commit`].
async fn claim(store: &dyn Store, session: &SessionId) -> Result<Claim, StoreError> {
    let claimed = AssertUnwindSafe(async { store.claim(session).await }).catch_unwind().await;
    claimed.unwrap_or_else(|panic| {
        let text = panic_text(panic.as_ref());
        tracing::error!(%session, text, "the store panicked in a claim");
        let detail = format!("the store panicked when `{session}` was claimed: {text}");
        Err(StoreError::Write { detail })
    })
}

/// Appends that are committed together. If it is dropped before, each is answered as refused, so
/// that no family waits for a writer that died.
#[derive(Default)]
struct Group {
    appends: Vec<Append>,
    waiting: Vec<Done>,
}

impl Group {
    fn push(&mut self, append: Append, done: Done) {
        self.appends.push(append);
        self.waiting.push(done);
    }

    async fn commit(mut self, store: &dyn Store) {
        if self.appends.is_empty() {
            return;
        }
        let appends = std::mem::take(&mut self.appends);
        // A store that panics fails this group only. If it took the writer along, one append that
        // it cannot bear would use up the writer's restarts and so end every family.
        let committed = AssertUnwindSafe(async { store.commit(appends).await }).catch_unwind();
        let Ok(verdicts) = committed.await else {
            tracing::error!(appends = self.waiting.len(), "the store panicked in a commit");
            return;
        };
        let mut verdicts = verdicts.into_iter();
        for done in self.waiting.drain(..) {
            done(verdicts.next().unwrap_or_else(|| Err(unknown())));
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for done in self.waiting.drain(..) {
            done(Err(unknown()));
        }
    }
}

fn unknown() -> StoreError {
    let detail = "the store or its writer failed inside; it is not known whether this was written";
    StoreError::Write { detail: detail.to_owned() }
}
