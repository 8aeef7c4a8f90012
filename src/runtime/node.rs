//! The supervision tree of a runtime: the store's writer, the model gateway, and shards that hold
//! the families.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::{BoxFuture, join_all};
use kinfolk_actors::id::SessionId;
use kinfolk_actors::supervision::RestartPolicy;
use kinfolk_actors::time::Millis;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::error::{RuntimeError, StartError};
use super::slot::Slot;
use crate::family::activation::{Activation, Services};
use crate::family::unit::FamilyUnit;
use crate::supervise::supervisor::{AddRefused, Root, StopOrder, Supervisor};
use crate::supervise::unit::UnitId;

/// Families are spread over this many supervisors, so that one's table stays small and its failure
/// touches few. A power of two near the number of cores of a large server.
const SHARDS: usize = 16;

/// How long what is in flight may take to end when the runtime is shut down.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(5);

/// How long a family at rest may take to go. Nothing is in flight then.
const REST_GRACE: Duration = Duration::from_secs(1);

/// A family restarts quickly and often enough that each of its agents can use up its own intensity
/// (five in a minute) before the family as a whole is given up.
const FAMILY_RESTARTS: RestartPolicy = RestartPolicy {
    max_restarts: 15,
    window: Millis(60_000),
    base_backoff: Millis(20),
    max_backoff: Millis(1_000),
};

/// The living tree.
pub(crate) struct Node {
    root: Root,
    shards: Vec<Supervisor>,
    /// Unbounded, but each living family sends one message in its life.
    rested: mpsc::UnboundedSender<Rested>,
    /// Numbers the units: a run that is resumed may come while its last unit is being removed.
    activations: AtomicU64,
    /// Takes down families at rest.
    _janitor: AbortOnDropHandle<()>,
}

/// What happens once nothing of a family is left: the next run of its session, if one was left
/// input.
pub(super) type Next = Box<dyn FnOnce() -> BoxFuture<'static, ()> + Send>;

/// A family that is at rest.
struct Rested {
    shard: usize,
    id: UnitId,
    next: Option<Next>,
}

impl Node {
    /// Starts the tree. Must be called within a tokio runtime.
    pub fn start(services: &Services) -> Result<Self, RuntimeError> {
        let root = Root::start(RestartPolicy::default(), StopOrder::Reverse);
        let top = root.supervisor();
        let refused = |error: AddRefused| RuntimeError::Supervision(error.to_string());
        let journal = Arc::new(services.journal.clone());
        top.add("journal".into(), RestartPolicy::default(), journal).map_err(refused)?;
        let gateway = Arc::new(services.gateway.clone());
        top.add("gateway".into(), RestartPolicy::default(), gateway).map_err(refused)?;
        let mut shards = Vec::with_capacity(SHARDS);
        for n in 0..SHARDS {
            let shard = Supervisor::new(StopOrder::Together);
            let unit = Arc::new(shard.clone());
            top.add(shard_id(n), RestartPolicy::default(), unit).map_err(refused)?;
            shards.push(shard);
        }
        let (rested, at_rest) = mpsc::unbounded_channel();
        let janitor = AbortOnDropHandle::new(tokio::spawn(tidy(shards.clone(), at_rest)));
        Ok(Self { root, shards, rested, activations: AtomicU64::new(0), _janitor: janitor })
    }

    /// Puts a family of a session to work. The token fires when nothing of it is left. Then `next`
    /// is called if its run has given way to another one.
    pub fn activate(
        &self,
        family: Arc<Activation>,
        slot: &Arc<Slot>,
        next: Next,
    ) -> Result<CancellationToken, StartError> {
        let shard = shard_of(&family.session);
        let n = self.activations.fetch_add(1, Ordering::Relaxed);
        let id = UnitId::from(format!("{}/{}#{n}", family.session, family.run).as_str());
        let gone = CancellationToken::new();
        let (tell, all) = (self.rested.clone(), gone.clone());
        let (lives, place) = (Arc::downgrade(&family), Arc::clone(slot));
        let next = Mutex::new(Some(next));
        let rested = Box::new(move |id| {
            let gave_way = lives.upgrade().is_some_and(|family| family.gave_way());
            let next = next.lock().take().filter(|_| gave_way);
            place.follow(next.is_some());
            drop(tell.send(Rested { shard, id, next }));
        });
        let unit = FamilyUnit::new(id.clone(), family, rested, all, Arc::clone(slot) as _);
        match self.shards[shard].add(id, FAMILY_RESTARTS, Arc::new(unit)) {
            Ok(_status) => Ok(gone),
            Err(AddRefused::Exists(_) | AddRefused::ShuttingDown(_)) => {
                Err(StartError::ShuttingDown)
            }
        }
    }

    /// Ends everything: the families first and all at once, so that a slow one neither keeps the
    /// others at work nor takes their time; then what they build on. Returns when nothing is left.
    pub async fn shutdown(&self) {
        let top = self.root.supervisor();
        let ids: Vec<UnitId> = (0..SHARDS).map(shard_id).collect();
        join_all(ids.iter().map(|id| top.stop_unit(id, SHUTDOWN_GRACE))).await;
        self.root.shutdown(SHUTDOWN_GRACE).await;
    }

    /// Has the supervisor of a session's family panic.
    #[cfg(test)]
    pub fn panic_shard(&self, session: &SessionId) {
        self.shards[shard_of(session)].panic_now();
    }

    /// How many units the families' supervisors hold.
    #[cfg(test)]
    pub fn families(&self) -> usize {
        self.shards.iter().map(Supervisor::held).sum()
    }

    #[cfg(test)]
    pub fn root(&self) -> &Root {
        &self.root
    }
}

fn shard_id(n: usize) -> UnitId {
    format!("families-{n}").as_str().into()
}

/// FNV-1a, so that a session keeps its shard in every process.
fn shard_of(session: &SessionId) -> usize {
    let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = session.as_str().bytes().fold(0xcbf2_9ce4_8422_2325, fold);
    usize::try_from(hash % SHARDS as u64).unwrap_or(0)
}

/// Takes down each family that is at rest. A slow one holds up nobody.
async fn tidy(shards: Vec<Supervisor>, mut at_rest: mpsc::UnboundedReceiver<Rested>) {
    let mut going = JoinSet::new();
    while let Some(Rested { shard, id, next }) = at_rest.recv().await {
        while going.join_next().now_or_never().flatten().is_some() {}
        if let Some(shard) = shards.get(shard).cloned() {
            going.spawn(async move {
                shard.stop_unit(&id, REST_GRACE).await;
                if let Some(next) = next {
                    next().await;
                }
            });
        }
    }
}
