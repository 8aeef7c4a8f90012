//! A family as a supervised unit: it restarts as one, from its journal.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::BoxFuture;
use kinfolk_actors::agent::{Member, Recovered};
use kinfolk_actors::failure::{ErrorCode, Failure};
use kinfolk_actors::id::{AgentId, Attempt};
use tokio_util::sync::CancellationToken;

use super::activation::{Activation, Crashed, Living};
use super::agent_actor::{AgentStart, spawn_agent};
use super::load::load;
use crate::hub::{EndedWithout, RunEnd};
use crate::ports::store::{Claim, StoreError};
use crate::supervise::scope::Scope;
use crate::supervise::unit::{
    Disposition, Exit, Generation, Tag, Unit, UnitFailure, UnitId, UnitStatus,
};

/// A family under supervision.
pub(crate) struct FamilyUnit {
    pub id: UnitId,
    pub family: Arc<Activation>,
    /// Called when the lead is at rest, so that the unit is taken down.
    pub rested: Box<dyn Fn(UnitId) + Send + Sync>,
    told: AtomicBool,
    /// Fires when nothing of the family is left.
    pub gone: CancellationToken,
    /// The session's place in the runtime: kept while the family lives, so that whoever opens the
    /// session again meets this family and does not start a second one.
    _place: Arc<dyn Any + Send + Sync>,
}

impl FamilyUnit {
    /// A family that is about to be supervised.
    pub fn new(
        id: UnitId,
        family: Arc<Activation>,
        rested: Box<dyn Fn(UnitId) + Send + Sync>,
        gone: CancellationToken,
        place: Arc<dyn Any + Send + Sync>,
    ) -> Self {
        let told = AtomicBool::new(false);
        Self { id, family, rested, told, gone, _place: place }
    }

    /// Has the unit taken down; asking once is enough, however it ends.
    fn rests(&self) {
        if !self.told.swap(true, Ordering::AcqRel) {
            (self.rested)(self.id.clone());
        }
    }

    async fn begin(&self, generation: Generation, scope: Scope) -> Result<(), UnitFailure> {
        let family = &self.family;
        let (journal, frozen) = (&family.services.journal, &family.frozen);
        let loaded = load(journal, &family.session, family.run, &frozen.family).await;
        let loaded = loaded.map_err(|error| {
            family.sequencer.troubled(&error);
            UnitFailure::new(error)
        })?;
        let active = loaded.lead_is_active();
        let run = loaded.ledger.run();
        if active && run != Some(family.run) {
            // Whoever started that run owns the session; this one comes too late.
            let Claim { epoch, head } = loaded.claim;
            let fenced = StoreError::Fenced { session: family.session.clone(), epoch, head };
            family.sequencer.troubled(&fenced);
            return Err(UnitFailure::new(fenced));
        }
        let before = loaded.ledger.attempt();
        let attempt = if run == Some(family.run) { Attempt(before.0 + 1) } else { Attempt(1) };
        let store_family = (!active).then(|| (frozen.hash, Arc::clone(&frozen.json)));
        if let Some(finished) = &loaded.finished {
            // Its terminal event became durable, but whoever wrote it died before it was told.
            family.hub.end(RunEnd { run: family.run, result: Ok(Arc::clone(finished)) });
        }
        family.sequencer.open(generation, loaded.claim, loaded.ledger.clone(), store_family);
        family.set_loaded(loaded);
        let living = Living { family: Arc::clone(family), generation, scope };
        let recovered = Recovered { attempt, end: family.given_up(AgentId::LEAD) };
        let state = family.take_state(AgentId::LEAD);
        spawn_agent(&living, AgentStart { member: Member::Lead, state, recovered }).await?;
        Ok(())
    }
}

impl Unit for FamilyUnit {
    fn start(
        &self,
        generation: Generation,
        scope: Scope,
    ) -> BoxFuture<'_, Result<(), UnitFailure>> {
        Box::pin(self.begin(generation, scope))
    }

    fn halted(&self, _generation: Generation) -> BoxFuture<'_, ()> {
        Box::pin(self.family.end_generation())
    }

    fn on_failure(&self, failure: &Exit) -> Disposition {
        self.family.failed(self.cause(&failure.text));
        match self.family.sequencer.trouble() {
            // Trying again would take the session back and forth between its owners, or meet the
            // same damage and the same stopped store.
            Some(
                error @ (StoreError::Fenced { .. }
                | StoreError::Damaged { .. }
                | StoreError::Broken { .. }),
            ) => return Disposition::GiveUp(error.to_string().into()),
            // The store's failure is no agent's.
            Some(_) => return Disposition::UsePolicy,
            None => {}
        }
        let agent = match failure.who {
            Tag::Agent(agent) => agent,
            Tag::Named(_) => return Disposition::UsePolicy,
        };
        match self.family.crashed(agent, &failure.text) {
            // Each agent's own intensity bounds this, so that several that crash side by side do
            // not use up the family's.
            Crashed::Counted(wait) => Disposition::RestartAfter(wait),
            Crashed::InItsEnd => Disposition::UsePolicy,
        }
    }

    fn exited(&self, exit: &Exit) {
        if !exit.class.is_failure() && exit.who == Tag::Agent(AgentId::LEAD) {
            self.rests();
        }
    }

    fn ended(&self, last: &UnitStatus) {
        let family = &self.family;
        let ended = family.hub.ends().borrow().as_ref().is_some_and(|end| end.run == family.run);
        if !ended {
            let why = match last {
                UnitStatus::Failed { reason } => EndedWithout::Broken(self.cause(reason)),
                UnitStatus::Stopped if self.family.is_at_rest() => {
                    EndedWithout::Broken(self.never_began())
                }
                UnitStatus::Waiting
                | UnitStatus::Starting { .. }
                | UnitStatus::Running { .. }
                | UnitStatus::Stopping { .. }
                | UnitStatus::Halting { .. }
                | UnitStatus::BackingOff { .. }
                | UnitStatus::Stopped => EndedWithout::ShutDown,
            };
            family.hub.end(RunEnd { run: family.run, result: Err(why) });
        }
        family.close();
        self.gone.cancel();
        if matches!(last, UnitStatus::Failed { .. }) {
            // A stopped unit is being removed by whoever stopped it; this one has to ask for it.
            self.rests();
        }
    }
}

impl Drop for FamilyUnit {
    /// A supervisor that is dropped waits for nothing, so [`Unit::halted`] may never have run: what
    /// is in flight would keep the family, and with it the store, for as long as it likes.
    fn drop(&mut self) {
        self.family.effects.abort();
        self.family.close();
    }
}

impl FamilyUnit {
    /// Why the lead is at rest although its run has no end: the order to start died with the
    /// generation that took it, before anything of the run was durable.
    fn never_began(&self) -> Failure {
        self.family.last_failure().unwrap_or_else(|| {
            Failure::new(ErrorCode::AgentCrashed, "the run was never begun; start it again")
        })
    }

    fn cause(&self, reason: &str) -> Failure {
        match self.family.sequencer.trouble() {
            Some(error) => error.failure(),
            None => Failure::new(ErrorCode::AgentCrashed, reason),
        }
    }
}
