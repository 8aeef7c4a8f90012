//! The workspace's lease: changing tools run one at a time in a workspace, across all families.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use kinfolk_actors::id::{AgentId, CallId};
use parking_lot::Mutex;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

/// The leases of all workspaces of a runtime.
#[derive(Debug, Default)]
pub(crate) struct Leases {
    /// Weak, so that a workspace that nobody uses costs nothing; pruned when one is added.
    by_workspace: Mutex<HashMap<PathBuf, Weak<AsyncMutex<()>>>>,
}

impl Leases {
    /// Waits, first come first served, until the workspace is free. Dropping the future gives up
    /// the place; dropping the guard frees the workspace.
    pub async fn acquire(&self, workspace: &Path) -> OwnedMutexGuard<()> {
        let lease = self.lease(workspace);
        lease.lock_owned().await
    }

    fn lease(&self, workspace: &Path) -> Arc<AsyncMutex<()>> {
        let mut leases = self.by_workspace.lock();
        if let Some(lease) = leases.get(workspace).and_then(Weak::upgrade) {
            return lease;
        }
        leases.retain(|_, lease| lease.strong_count() > 0);
        let lease = Arc::new(AsyncMutex::new(()));
        leases.insert(workspace.to_owned(), Arc::downgrade(&lease));
        lease
    }
}

/// The leases that a family's calls hold, from the grant until the call has its outcome.
#[derive(Debug, Default)]
pub(crate) struct HeldLeases {
    by_call: Mutex<HashMap<CallId, OwnedMutexGuard<()>>>,
    /// Stands for the workspace of a family that has none: its changes wait for each other and
    /// for nobody else's.
    own: Arc<AsyncMutex<()>>,
}

impl HeldLeases {
    /// Gets a call its lease: of the workspace, or of the family if it has none. A call that has
    /// it keeps it. Dropping the future gives up the place.
    pub async fn acquire(&self, call: CallId, leases: &Leases, workspace: Option<&Path>) {
        if self.by_call.lock().contains_key(&call) {
            return;
        }
        let guard = match workspace {
            Some(workspace) => leases.acquire(workspace).await,
            None => Arc::clone(&self.own).lock_owned().await,
        };
        self.hold(call, guard);
    }

    fn hold(&self, call: CallId, guard: OwnedMutexGuard<()>) {
        self.by_call.lock().insert(call, guard);
    }

    pub fn release(&self, call: CallId) {
        self.by_call.lock().remove(&call);
    }

    /// Frees what an agent's calls hold, except those that still need it.
    pub fn keep(&self, agent: AgentId, needs: impl Fn(CallId) -> bool) {
        self.by_call.lock().retain(|call, _| call.agent != agent || needs(*call));
    }

    pub fn release_all(&self) {
        self.by_call.lock().clear();
    }
}
