//! How runs are reached by their ids, by whoever has no handle to them.

use std::sync::Arc;

use kinfolk_actors::id::{Offset, RunId, SessionId};

use super::control::RunControl;
use super::run::Handle;
use super::{Runtime, Slot};
use crate::ports::store::StoreError;

impl Runtime {
    /// A run that is alive in this runtime; none if it is over, or was not loaded here.
    ///
    /// # Errors
    /// What the store says.
    pub async fn control(&self, run: RunId) -> Result<Option<RunControl>, StoreError> {
        let Some(summary) = self.run_summary(run).await? else { return Ok(None) };
        let Some(slot) = self.inner.known_slot(&summary.session) else { return Ok(None) };
        let alive = slot.family_of(run).is_some();
        let handle = || RunControl::new(Handle::new(&self.inner, &slot, run, Offset(0)));
        Ok(alive.then(handle))
    }

    /// The run of a session that is alive in this runtime.
    pub async fn control_of(&self, session: &SessionId) -> Option<RunControl> {
        let slot = self.inner.known_slot(session)?;
        let run = slot.active().await?;
        Some(RunControl::new(Handle::new(&self.inner, &slot, run, Offset(0))))
    }
}

impl super::Inner {
    /// The slot of a session that somebody holds, or whose family is alive.
    fn known_slot(&self, session: &SessionId) -> Option<Arc<Slot>> {
        self.slots.lock().get(session)?.upgrade()
    }
}
