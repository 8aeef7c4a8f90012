//! A session: a durable conversation of one family, and the one place where its runs start.

use std::sync::Arc;

use kinfolk_actors::agent::{Command, Start};
use kinfolk_actors::event::{Event, Outcome, RunKind};
use kinfolk_actors::id::{AgentId, Offset, RunId, SessionId};
use uuid::Uuid;

use super::assemble::thaw;
use super::error::{OpenError, StartError};
use super::node::Next;
use super::pending::{Pending, pending};
use super::run::{Handle, Run};
use super::slot::Slot;
use super::{Inner, RunSummary};
use crate::definition::Family;
use crate::family::activation::{Activation, Frozen};
use crate::hub::{EndedWithout, RunEnd};
use crate::ports::store::StoreError;

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

/// A handle to a session. Clones are handles to the same one; dropping them stops nothing.
#[derive(Clone)]
pub struct Session {
    runtime: Arc<Inner>,
    pub(super) slot: Arc<Slot>,
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
        self.begin(Start {
            input: input.into(),
            kind: RunKind::Request,
            parent_run: None,
            prepared_at: None,
        })
        .await
    }

    /// Where the session's stream ends: the offset that its next event will have.
    ///
    /// # Errors
    /// What the store says.
    pub async fn head(&self) -> Result<Offset, StoreError> {
        let summary = self.runtime.services.journal.store().session(self.id()).await?;
        Ok(summary.map_or(Offset(0), |summary| summary.head))
    }

    /// Starts a run whose input was prepared when the stream ended at `prepared`, for example from
    /// what was read of the history. It is refused if the session has gone on since.
    ///
    /// # Errors
    /// As [`Session::start`]; or [`Refusal::HistoryChanged`](kinfolk_actors::agent::Refusal).
    pub async fn start_prepared(
        &self,
        input: impl Into<Arc<str>>,
        prepared: Offset,
    ) -> Result<Run, StartError> {
        let (kind, prepared_at) = (RunKind::Request, Some(prepared));
        self.begin(Start { input: input.into(), kind, parent_run: None, prepared_at }).await
    }

    /// Starts a run that compacts the lead's history and does nothing else. A session that was
    /// opened without a family has that of its newest run.
    ///
    /// # Errors
    /// As [`Session::start`]; or there is nothing to compact.
    pub async fn compact(&self) -> Result<Run, StartError> {
        let mut session = self.clone();
        if session.frozen.is_none() {
            let summary = self.runtime.services.journal.store().session(self.id()).await?;
            let newest = summary.and_then(|summary| summary.newest);
            let newest = newest.ok_or_else(|| StartError::NothingToResume(self.id().clone()))?;
            session.frozen = Some(self.thawed(&newest).await?);
        }
        session
            .begin(Start {
                input: "".into(),
                kind: RunKind::Compact,
                parent_run: None,
                prepared_at: None,
            })
            .await
    }

    async fn begin(&self, start: Start) -> Result<Run, StartError> {
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
        let family = self.activation(run, Arc::clone(&frozen));
        let started = family.wish(AgentId::LEAD, Command::Start(start));
        let handle = Handle::new(&self.runtime, &self.slot, run, from);
        let next = self.next(run, frozen);
        let gone = self.runtime.node.activate(Arc::clone(&family), &self.slot, next)?;
        place.keep(&family, gone);
        match started.await {
            Ok(Ok(())) => Ok(Run::new(handle)),
            Ok(Err(refusal)) => {
                // The next start must not meet what is left of this one.
                self.slot.gone(run).await;
                Err(StartError::Refused(refusal))
            }
            Err(_) => self.after_silence(handle).await,
        }
    }

    /// Starts the run that a run of this session has left input for, once that is over.
    fn next(&self, before: RunId, frozen: Arc<Frozen>) -> Next {
        // Weak: a runtime that nobody holds any more starts nothing.
        let (runtime, slot) = (Arc::downgrade(&self.runtime), Arc::clone(&self.slot));
        let family = self.family.clone();
        Box::new(move || {
            Box::pin(async move {
                // Whoever cancels wants an end of it. What was queued stays in the history.
                let cancelled = slot.hub.ends().borrow().as_ref().is_some_and(|end| {
                    let result = end.result.as_ref();
                    end.run == before && result.is_ok_and(|end| end.outcome == Outcome::Cancelled)
                });
                if let Some(runtime) = runtime.upgrade().filter(|_| !cancelled) {
                    let frozen = Some(frozen);
                    let session = Session { runtime, slot: Arc::clone(&slot), family, frozen };
                    let (kind, parent_run) = (RunKind::Queued, Some(before));
                    let start = Start { input: "".into(), kind, parent_run, prepared_at: None };
                    if let Err(error) = session.begin(start).await {
                        // Its input is not lost: it stands in the history of the next run.
                        tracing::warn!(%error, session = %session.id(), "no run for queued input");
                    }
                }
                slot.follow(false);
            })
        })
    }

    /// The run that is alive in this runtime, if one is. After a run that gave way to
    /// [queued](super::RunControl::queue) input this is the one that was started for it: the call
    /// waits for a run that has ended until nothing of it is left, and for one that starts by
    /// itself until it has. Its events begin with its `run_started`.
    ///
    /// # Errors
    /// What the store says.
    pub async fn active(&self) -> Result<Option<Run>, StoreError> {
        let store = self.runtime.services.journal.store();
        let (run, summary) = loop {
            let Some(run) = self.slot.active().await else { return Ok(None) };
            match store.run(run).await? {
                // Its end is durable before the slot hears of it.
                Some(summary) if summary.finished.is_some() => self.slot.gone(run).await,
                summary => break (run, summary),
            }
        };
        let from = match summary {
            Some(summary) => summary.first,
            None => store.session(self.id()).await?.map_or(Offset(0), |summary| summary.head),
        };
        Ok(Some(Run::new(Handle::new(&self.runtime, &self.slot, run, from))))
    }

    /// What the session's newest run waits for people to say: open approvals and questions, in the
    /// order in which they were asked, its subagents' too. They are read from the journal, so that
    /// those of a run that no process has loaded are found as well. This is the hook of hosts that
    /// look for an interrupt of a human: together with [`RunControl::settled`](super::RunControl::settled) it says when
    /// somebody is waited for and what is asked.
    ///
    /// # Errors
    /// What the store says.
    pub async fn pending(&self) -> Result<Vec<Pending>, StoreError> {
        let store = self.runtime.services.journal.store();
        let newest = store.session(self.id()).await?.and_then(|summary| summary.newest);
        let Some(newest) = newest.filter(|newest| newest.finished.is_none()) else {
            return Ok(Vec::new());
        };
        let records = store.read(self.id(), newest.first, usize::MAX).await?;
        Ok(pending(records.iter().flat_map(|record| record.recorded())))
    }

    /// Goes on with the session's newest run; a finished one only shows its end again. One that was
    /// interrupted is loaded and waits for [`RunControl::resume`](super::RunControl::resume).
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
        let family = self.activation(run, Arc::clone(&frozen));
        let handle = Handle::new(&self.runtime, &self.slot, run, head);
        let next = self.next(run, frozen);
        let gone = self.runtime.node.activate(Arc::clone(&family), &self.slot, next).inspect_err(
            |_| {
                self.slot.hub.end(RunEnd { run, result: Err(EndedWithout::ShutDown) });
            },
        )?;
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
