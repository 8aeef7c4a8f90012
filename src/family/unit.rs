//! A family as a supervised unit: it restarts as one, from its journal.

use std::sync::Arc;

use futures::future::BoxFuture;
use kinfolk_actors::agent::{Member, Recovered};
use kinfolk_actors::failure::{ErrorCode, Failure};
use kinfolk_actors::id::{AgentId, Attempt};
use tokio_util::sync::CancellationToken;

use super::activation::{Activation, Living};
use super::agent_actor::{AgentStart, spawn_agent};
use super::load::load;
use crate::hub::{EndedWithout, RunEnd};
use crate::ports::store::StoreError;
use crate::supervise::scope::Scope;
use crate::supervise::unit::{
    Disposition, Exit, Generation, Unit, UnitFailure, UnitId, UnitStatus,
};

/// A family under supervision.
pub(crate) struct FamilyUnit {
    pub id: UnitId,
    pub family: Arc<Activation>,
    /// Called when the lead is at rest, so that the unit is taken down.
    pub rested: Box<dyn Fn(UnitId) + Send + Sync>,
    /// Fires when nothing of the family is left.
    pub gone: CancellationToken,
}

impl FamilyUnit {
    async fn begin(&self, generation: Generation, scope: Scope) -> Result<(), UnitFailure> {
        let family = &self.family;
        let loaded = load(&family.services.journal, &family.session, family.run).await;
        let loaded = loaded.map_err(|error| {
            family.sequencer.troubled(&error);
            UnitFailure::new(error)
        })?;
        let active = loaded.lead_is_active();
        let run = loaded.ledger.run();
        if active && run != Some(family.run) {
            let text = "the session has an unfinished run; resume it before another is started";
            family.sequencer.troubled(&StoreError::Read { detail: text.to_owned() });
            return Err(UnitFailure::new(text));
        }
        let before = loaded.ledger.attempt();
        let attempt = if run == Some(family.run) { Attempt(before.0 + 1) } else { Attempt(1) };
        let frozen = &family.frozen;
        let store_family = (!active).then(|| (frozen.hash, Arc::clone(&frozen.json)));
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
        match self.family.sequencer.trouble() {
            // Another owner has the session: trying again would only take it back and forth.
            Some(error @ (StoreError::Fenced { .. } | StoreError::Damaged { .. })) => {
                return Disposition::GiveUp(error.to_string().into());
            }
            Some(_) | None => {}
        }
        if let Ok(agent) = failure.who.to_string().parse::<AgentId>() {
            self.family.crashed(agent, &failure.text);
        }
        Disposition::UsePolicy
    }

    fn exited(&self, exit: &Exit) {
        if !exit.class.is_failure() && exit.who.to_string() == AgentId::LEAD.to_string() {
            (self.rested)(self.id.clone());
        }
    }

    fn ended(&self, last: &UnitStatus) {
        let family = &self.family;
        let ended = family.hub.ends().borrow().as_ref().is_some_and(|end| end.run == family.run);
        if !ended {
            let why = match last {
                UnitStatus::Failed { reason } => EndedWithout::Broken(self.cause(reason)),
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
    }
}

impl FamilyUnit {
    fn cause(&self, reason: &str) -> Failure {
        match self.family.sequencer.trouble() {
            Some(error) => error.failure(),
            None => Failure::new(ErrorCode::AgentCrashed, reason),
        }
    }
}
