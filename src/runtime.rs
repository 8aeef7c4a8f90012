//! The runtime that a host embeds: one store, its writer, a model gateway, and the families that
//! are alive. Several can live in one process; nothing of it is global.

mod assemble;
mod attend;
mod builder;
mod control;
mod error;
mod node;
mod pending;
mod reach;
mod run;
mod session;
mod slot;

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use kinfolk_actors::id::{RunId, SessionId};
use parking_lot::Mutex;

pub use self::assemble::FamilyError;
pub use self::attend::Attended;
pub use self::builder::RuntimeBuilder;
pub use self::control::{RunControl, RunOutcome, Settled};
pub use self::error::{CancelError, OpenError, OutcomeError, RuntimeError, StartError, WishError};
pub use self::pending::{Pending, PendingAsk};
pub use self::run::Run;
pub use self::session::{Session, SessionBuilder};

use self::assemble::Registry;
use self::node::Node;
use self::slot::Slot;
use crate::family::activation::Services;
use crate::ports::store::{RunSummary, SessionSummary, Store, StoreError};

/// A runtime. Clones are handles to the same one; it ends with [`Runtime::shutdown`], or, less
/// orderly, when the last handle of it, of its sessions and of its runs is dropped.
#[derive(Clone)]
pub struct Runtime {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    services: Arc<Services>,
    registry: Registry,
    node: Node,
    /// Weak, so that a session that nobody holds costs nothing; pruned when one is opened.
    slots: Mutex<HashMap<SessionId, Weak<Slot>>>,
}

impl Runtime {
    /// Describes a runtime.
    pub fn builder() -> RuntimeBuilder {
        RuntimeBuilder::default()
    }

    /// Names a session. It is created by its first run.
    pub fn session(&self, name: &str) -> SessionBuilder {
        SessionBuilder::new(Arc::clone(&self.inner), name)
    }

    /// Goes on with a run: one that was cut off continues where its journal ends, also one that
    /// waits for a person or a client; one that was interrupted on purpose or by a limit is loaded
    /// and waits for [`RunControl::resume`]; a finished one only shows its end again. Model, tools and limits are those that were frozen at its start; tools
    /// from functions are found again by their names among the runtime's
    /// [tools](RuntimeBuilder::tool), and the brain is the default one. A host whose family has
    /// more than that opens the session with it and calls [`Session::resume`].
    ///
    /// # Errors
    /// No such run, or its session cannot be opened.
    pub async fn resume(&self, run: RunId) -> Result<Run, StartError> {
        let summary = self.run_summary(run).await?.ok_or(StartError::NoSuchRun(run))?;
        let session = self.session(summary.session.as_str()).open().await?;
        session.resume_run(summary).await
    }

    /// Every session of the store, the one with the newest run first.
    ///
    /// # Errors
    /// What the store says.
    pub async fn sessions(&self) -> Result<Vec<SessionSummary>, StoreError> {
        self.store().sessions().await
    }

    /// A run of the store.
    ///
    /// # Errors
    /// What the store says.
    pub async fn run_summary(&self, run: RunId) -> Result<Option<RunSummary>, StoreError> {
        self.store().run(run).await
    }

    /// The store, for reading. Writing past the runtime makes it lose its sessions.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        self.inner.services.journal.store()
    }

    /// Ends the runtime: what is in flight is stopped, nothing is journaled as finished, and every
    /// run can be resumed later. Returns when nothing of it runs any more.
    pub async fn shutdown(&self) {
        self.inner.node.shutdown().await;
    }
}

impl Inner {
    /// The one slot of a session in this runtime.
    fn slot(&self, session: &SessionId) -> Arc<Slot> {
        let mut slots = self.slots.lock();
        if let Some(slot) = slots.get(session).and_then(Weak::upgrade) {
            return slot;
        }
        slots.retain(|_, slot| slot.strong_count() > 0);
        let slot = Arc::new(Slot::new(session.clone()));
        slots.insert(session.clone(), Arc::downgrade(&slot));
        slot
    }
}

#[cfg(test)]
mod tests;
