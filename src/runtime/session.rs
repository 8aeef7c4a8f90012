//! A session: a durable conversation of one family, and the one place where its runs start.

use std::sync::{Arc, Weak};

use kinfolk_actors::agent::{Command, Refusal, Start};
use kinfolk_actors::event::Event;
use kinfolk_actors::failure::{ErrorCode, Failure};
use kinfolk_actors::id::{AgentId, Offset, RunId, SessionId};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::assemble::thaw;
use super::error::{OpenError, StartError};
use super::run::{Handle, Run};
use super::{Inner, RunSummary};
use crate::definition::Family;
use crate::family::activation::{Activation, Frozen};
use crate::hub::{EndedWithout, Hub, RunEnd};

/// Describes a session that is about to be opened.
#[must_use = "a session is opened by `open`"]
pub struct SessionBuilder {
    runtime: Arc<Inner>,
    name: String,
    family: Option<Family>,
}

impl SessionBuilder {
    pub(super) fn new(runtime: Arc<Inner>, name: &str) -> Self {
        Self { runtime, name: name.to_owned(), family: None }
    }

    /// The family that the session's next runs have. Runs that are resumed keep the one that was
    /// frozen at their start, and take from this one what cannot be frozen: its tools' functions,
    /// by their names, and its brain.
    pub fn family(mut self, family: Family) -> Self {
        self.family = Some(family);
        self
    }

    /// Opens the session. Nothing is written before its first run starts.
    ///
    /// # Errors
    /// The name or the family cannot be used.
    pub async fn open(self) -> Result<Session, OpenError> {
        let id: SessionId = self.name.parse()?;
        let frozen = match &self.family {
            Some(family) => Some(Arc::new(self.runtime.registry.assemble(family)?)),
            None => None,
        };
        let slot = self.runtime.slot(&id);
        Ok(Session { runtime: self.runtime, slot, family: self.family, frozen })
    }
}

/// A session in this runtime, whoever holds handles to it.
pub(crate) struct Slot {
    pub session: SessionId,
    pub hub: Arc<Hub>,
    active: Mutex<Option<Active>>,
}

/// The activation that holds the session.
struct Active {
    run: RunId,
    /// Weak: its supervisor holds it while it lives, and a session at rest holds nothing of it.
    family: Weak<Activation>,
    gone: CancellationToken,
    /// Until a family is at work: fires when it is, or when the place is free again.
    decided: Option<CancellationToken>,
}

impl Active {
    /// Has whoever waits for the place look again.
    fn decide(self) {
        if let Some(decided) = self.decided {
            decided.cancel();
        }
    }
}

impl Slot {
    pub fn new(session: SessionId) -> Self {
        Self { session, hub: Arc::new(Hub::new()), active: Mutex::default() }
    }

    /// The living family of a run.
    pub fn family_of(&self, run: RunId) -> Option<Arc<Activation>> {
        let active = self.active.lock();
        active.as_ref().filter(|active| active.run == run)?.family.upgrade()
    }

    /// Waits until nothing of a run is left in this runtime.
    pub async fn gone(&self, run: RunId) {
        let gone = {
            let active = self.active.lock();
            active.as_ref().filter(|active| active.run == run).map(|active| active.gone.clone())
        };
        if let Some(gone) = gone {
            gone.cancelled().await;
        }
    }

    /// Takes the session for a run. A run that has ended is waited for; one that has not is an
    /// error. Whoever took the session without having a family at work yet is waited for too: it
    /// may fail, and then nobody would be at work. Cancel-safe.
    pub(super) async fn occupy(self: &Arc<Self>, run: RunId) -> Result<Place, RunId> {
        loop {
            let leaving = {
                let mut active = self.active.lock();
                match active.as_ref().filter(|active| !active.gone.is_cancelled()) {
                    None => {
                        let gone = CancellationToken::new();
                        let decided = Some(CancellationToken::new());
                        *active = Some(Active { run, family: Weak::new(), gone, decided });
                        return Ok(Place { slot: Arc::clone(self), run, kept: false });
                    }
                    Some(Active { decided: Some(decided), .. }) => decided.clone(),
                    Some(other) if self.has_ended(other.run) => other.gone.clone(),
                    Some(other) => return Err(other.run),
                }
            };
            leaving.cancelled().await;
        }
    }

    pub fn has_ended(&self, run: RunId) -> bool {
        self.hub.ends().borrow().as_ref().is_some_and(|end| end.run == run)
    }
}

/// A session taken for a run that is not at work yet. Dropping it frees the session.
pub(super) struct Place {
    slot: Arc<Slot>,
    run: RunId,
    kept: bool,
}

impl Place {
    fn keep(mut self, family: &Arc<Activation>, gone: CancellationToken) {
        self.kept = true;
        let family = Arc::downgrade(family);
        let kept = Active { run: self.run, family, gone, decided: None };
        let taken = self.slot.active.lock().replace(kept);
        taken.into_iter().for_each(Active::decide);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.kept {
            let mut active = self.slot.active.lock();
            if let Some(taken) = active.take_if(|active| active.run == self.run) {
                // Whoever waits for the place looks again.
                taken.gone.cancel();
                taken.decide();
            }
        }
    }
}

/// A handle to a session. Clones are handles to the same one; dropping them stops nothing.
#[derive(Clone)]
pub struct Session {
    runtime: Arc<Inner>,
    slot: Arc<Slot>,
    family: Option<Family>,
    frozen: Option<Arc<Frozen>>,
}

impl Session {
    /// The session's name.
    #[must_use]
    pub fn id(&self) -> &SessionId {
        &self.slot.session
    }

    /// Starts a run. It is durable when this returns, and goes on whether its handle is kept or
    /// not. If the future is dropped the run may have started all the same.
    ///
    /// # Errors
    /// The session has an unfinished run, or no family; or the run could not be made durable.
    pub async fn start(&self, input: impl Into<Arc<str>>) -> Result<Run, StartError> {
        let session = self.id().clone();
        let frozen = self.frozen.clone().ok_or_else(|| StartError::NoFamily(session.clone()))?;
        let run = RunId(Uuid::now_v7());
        let active = |run| StartError::RunActive { session: session.clone(), run };
        let place = self.slot.occupy(run).await.map_err(active)?;
        let summary = self.runtime.services.journal.store().session(&session).await?;
        let newest = summary.as_ref().and_then(|summary| summary.newest.as_ref());
        if let Some(unfinished) = newest.filter(|newest| newest.finished.is_none()) {
            return Err(active(unfinished.run));
        }
        let from = summary.map_or(Offset(0), |summary| summary.head);
        let family = self.activation(run, frozen);
        let start = Start { input: input.into(), parent_run: None };
        let started = family.wish(AgentId::LEAD, Command::Start(start));
        let handle = Handle::new(&self.runtime, &self.slot, run, from);
        let gone = self.runtime.node.activate(Arc::clone(&family), &self.slot)?;
        place.keep(&family, gone);
        match started.await {
            Ok(Ok(())) => Ok(Run::new(handle)),
            Ok(Err(refusal)) => Err(refused(&refusal)),
            Err(_) => self.after_silence(handle).await,
        }
    }

    /// Goes on with the session's newest run; a finished one only shows its end again.
    ///
    /// # Errors
    /// The session has no run, or it cannot be loaded.
    pub async fn resume(&self) -> Result<Run, StartError> {
        let summary = self.runtime.services.journal.store().session(self.id()).await?;
        let newest = summary.and_then(|summary| summary.newest);
        let newest = newest.ok_or_else(|| StartError::NothingToResume(self.id().clone()))?;
        self.resume_run(newest).await
    }

    /// Goes on with a run of the session. A finished one only shows its end; one that is alive in
    /// this runtime is joined.
    pub(super) async fn resume_run(&self, summary: RunSummary) -> Result<Run, StartError> {
        let run = summary.run;
        if let Some(finished) = summary.finished {
            return Ok(Run::new(Handle::new(&self.runtime, &self.slot, run, finished)));
        }
        let store = self.runtime.services.journal.store();
        let head = store.session(self.id()).await?.map_or(Offset(0), |summary| summary.head);
        let place = match self.slot.occupy(run).await {
            Ok(place) => place,
            Err(alive) if alive == run => {
                return Ok(Run::new(Handle::new(&self.runtime, &self.slot, run, head)));
            }
            Err(run) => return Err(StartError::RunActive { session: self.id().clone(), run }),
        };
        let frozen = self.thawed(&summary).await?;
        self.slot.hub.goes_on(run);
        let family = self.activation(run, frozen);
        let handle = Handle::new(&self.runtime, &self.slot, run, head);
        let gone =
            self.runtime.node.activate(Arc::clone(&family), &self.slot).inspect_err(|_| {
                self.slot.hub.end(RunEnd { run, result: Err(EndedWithout::ShutDown) });
            })?;
        place.keep(&family, gone);
        Ok(Run::new(handle))
    }

    /// The family that a run was started with.
    async fn thawed(&self, summary: &RunSummary) -> Result<Arc<Frozen>, StartError> {
        let store = self.runtime.services.journal.store();
        let lost = || StartError::FamilyLost(summary.run);
        let records = store.read(self.id(), summary.first, 1).await?;
        let mut events = records.iter().flat_map(|record| &record.events);
        let hash = events.find_map(Event::run_started).map(|started| started.family);
        let hash = hash.ok_or_else(lost)?;
        if let Some(frozen) = self.frozen.as_ref().filter(|frozen| frozen.hash == hash) {
            return Ok(Arc::clone(frozen));
        }
        let json = store.family(hash).await?.ok_or_else(lost)?;
        let revived = self.runtime.registry.revive(thaw(&json)?, self.family.as_ref())?;
        Ok(Arc::new(revived))
    }

    fn activation(&self, run: RunId, frozen: Arc<Frozen>) -> Arc<Activation> {
        let services = Arc::clone(&self.runtime.services);
        let (session, hub) = (self.id().clone(), Arc::clone(&self.slot.hub));
        Arc::new(Activation::new(session, run, frozen, services, hub))
    }

    /// The start was not answered: its generation ended first. The run may be durable all the same.
    async fn after_silence(&self, handle: Handle) -> Result<Run, StartError> {
        let store = self.runtime.services.journal.store();
        if store.run(handle.run).await?.is_some() {
            return Ok(Run::new(handle));
        }
        let mut ends = self.slot.hub.ends();
        let run = handle.run;
        let of_run = |end: &Option<RunEnd>| end.as_ref().is_some_and(|e| e.run == run);
        let end = ends.wait_for(of_run).await.map(|end| end.clone());
        match end.ok().flatten().map(|end| end.result) {
            Some(Ok(_)) => Ok(Run::new(handle)),
            Some(Err(EndedWithout::Broken(failure))) => Err(StartError::Failed(failure)),
            Some(Err(EndedWithout::ShutDown)) | None => Err(StartError::ShuttingDown),
        }
    }
}

fn refused(refusal: &Refusal) -> StartError {
    StartError::Failed(Failure::new(ErrorCode::AgentCrashed, refusal.to_string()))
}
