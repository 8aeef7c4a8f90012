//! What can be done to a run while it lives, by whoever has a handle to it.
//!
//! Every wish returns once it is durable, or says why it was not taken. A future that is dropped
//! does not call its wish back.

use std::sync::Arc;
use std::time::Duration;

use kinfolk_actors::agent::{
    Answer, Approve, Cause, Command, Deliver, Refusal, RunStanding, Steer,
};
use kinfolk_actors::call::CallStatus;
use kinfolk_actors::event::{Event, RunFinished, RunInterrupted};
use kinfolk_actors::id::{AgentId, AskId, CallId, RunId, SessionId};
use kinfolk_actors::limits::Limits;

use super::error::{CancelError, OutcomeError, WishError};
use super::run::{Handle, ended};
use crate::family::activation::{Activation, NotSent};
use crate::hub::{EndedWithout, Rest, RunEnd};
use crate::ports::store::StoreError;

/// How long a cancel waits before it is repeated, because the family restarted under it or has
/// more to do than it can take; doubled with each time up to the longest.
const CANCEL_WAIT: Duration = Duration::from_millis(5);
const LONGEST_CANCEL_WAIT: Duration = Duration::from_millis(200);

/// How a run ended: the terminal event.
pub type RunOutcome = RunFinished;

/// How a run came to rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// It is over.
    Finished(Box<RunOutcome>),
    /// The whole family waits for somebody outside: a person, a client, a later answer.
    Parked(RunStanding),
    /// It was interrupted and waits to be [resumed](RunControl::resume).
    Interrupted(RunInterrupted),
}

/// Reaches a run without reading its events. Clones reach the same run; dropping one stops nothing.
#[derive(Clone)]
pub struct RunControl {
    pub(super) handle: Handle,
}

impl RunControl {
    pub(super) fn new(handle: Handle) -> Self {
        Self { handle }
    }

    /// The run's id.
    #[must_use]
    pub fn id(&self) -> RunId {
        self.handle.run
    }

    /// The session's name.
    #[must_use]
    pub fn session(&self) -> &SessionId {
        &self.handle.slot.session
    }

    /// Says something to the lead: it enters the history before the next request, and what is in
    /// flight goes on. Messages that a host has gathered meanwhile are drained into the run this
    /// way. A lead that waits for subagents in the background, or whose run is parked on a
    /// question, hears it as well.
    ///
    /// # Errors
    /// The run is over, is ending, or writes its last answer; or too much waits to be heard.
    pub async fn steer(&self, text: impl Into<Arc<str>>) -> Result<(), WishError> {
        self.wish_lead(Command::Steer(Steer { text: text.into(), from: None })).await
    }

    /// Leaves input for the next run. The present one gives way between two rounds, and its session
    /// starts the next one by itself; [`Session::active`](super::Session::active) is the way to it.
    ///
    /// # Errors
    /// The run is over or is ending, or too much waits to be heard.
    pub async fn queue(&self, text: impl Into<Arc<str>>) -> Result<(), WishError> {
        self.wish_lead(Command::Queue { text: text.into() }).await
    }

    /// Answers an approval. The first answer stands; the call of an approval goes straight to its
    /// execution. What is open: [`Session::pending`](super::Session::pending).
    ///
    /// # Errors
    /// It was answered before, is not asked any more, or never was.
    pub async fn approve(&self, answer: Approve) -> Result<(), WishError> {
        let approval = answer.approval;
        let gone = Refusal::StaleAnswer(approval);
        self.wish(approval.agent, Command::Approve(answer), gone).await
    }

    /// Answers a question, `by` whom the host says. The first answer stands. A subagent's question
    /// to its parent can be answered too, before the parent does.
    ///
    /// # Errors
    /// It was answered before, is not asked any more, or never was.
    pub async fn answer(
        &self,
        question: AskId,
        text: impl Into<Arc<str>>,
        by: Option<Arc<str>>,
    ) -> Result<(), WishError> {
        let command = Command::Answer(Answer { question, text: text.into(), by });
        self.wish(question.agent, command, Refusal::StaleAnswer(question)).await
    }

    /// Delivers the result of a call that a client runs, or whose tool said that it answers later.
    ///
    /// # Errors
    /// The call does not wait for a result from outside; it was delivered before, or never asked.
    pub async fn deliver(
        &self,
        call: CallId,
        status: CallStatus,
        text: impl Into<Arc<str>>,
    ) -> Result<(), WishError> {
        let command = Command::Deliver(Deliver { call, status, text: text.into() });
        self.wish(call.agent, command, Refusal::NotAwaited(call)).await
    }

    /// Has the lead's history compacted before its next request.
    ///
    /// # Errors
    /// The run is over, is ending, or writes its last answer.
    pub async fn compact(&self) -> Result<(), WishError> {
        self.wish_lead(Command::Compact).await
    }

    /// Offers the lead tools of its frozen set that were held back.
    ///
    /// # Errors
    /// One of them is no such tool, or is offered already; then none is.
    pub async fn activate<T: Into<Arc<str>>>(
        &self,
        tools: impl IntoIterator<Item = T>,
    ) -> Result<(), WishError> {
        let tools = tools.into_iter().map(Into::into).collect();
        self.wish_lead(Command::Activate { tools }).await
    }

    /// Has the run rest between two rounds. It can be resumed, also by another process.
    ///
    /// # Errors
    /// The run is over, rests already, is ending, or writes its last answer.
    pub async fn interrupt(&self, reason: impl Into<Arc<str>>) -> Result<(), WishError> {
        self.wish_lead(Command::Interrupt { reason: reason.into() }).await
    }

    /// Goes on with an interrupted run, with `raised` limits if a limit had stopped it. A run that
    /// another process left interrupted is loaded first, by
    /// [`Runtime::resume`](super::Runtime::resume) or [`Session::resume`](super::Session::resume).
    ///
    /// # Errors
    /// The run is not interrupted ([`Refusal::NotInterrupted`]), or is not loaded.
    pub async fn resume(&self, raised: Option<Limits>) -> Result<(), WishError> {
        self.wish_lead(Command::Resume { raised }).await
    }

    /// The run's family, while it lives here.
    pub(super) fn family(&self) -> Option<Arc<Activation>> {
        self.handle.slot.family_of(self.handle.run)
    }

    async fn wish_lead(&self, command: Command) -> Result<(), WishError> {
        self.wish(AgentId::LEAD, command, Refusal::AtRest).await
    }

    /// Sends a command to an agent of the run. `gone` is the refusal of an agent that is over.
    async fn wish(&self, agent: AgentId, command: Command, gone: Refusal) -> Result<(), WishError> {
        let Handle { slot, run, .. } = &self.handle;
        let family = slot.family_of(*run).ok_or(WishError::NotActive)?;
        if !agent.is_lead() {
            tokio::select! {
                biased;
                () = family.roster.is_known() => {}
                () = ended(&self.handle) => return Err(WishError::NotActive),
            }
        }
        let sent = family.send(agent, None, command);
        // The family must be able to end while its answer is awaited.
        drop(family);
        let answer = sent.map_err(|not_sent| match not_sent {
            NotSent::Full => WishError::Overloaded,
            NotSent::Gone if agent.is_lead() => WishError::NotActive,
            NotSent::Gone => WishError::Refused(gone),
        })?;
        match answer.await {
            Ok(verdict) => Ok(verdict?),
            Err(_) if slot.has_ended(*run) => Err(WishError::NotActive),
            Err(_) => Err(WishError::Unknown),
        }
    }

    /// Waits for the run's end, however often it rests before. May be called before, while and
    /// after events are read. Cancel-safe.
    ///
    /// # Errors
    /// The run has no terminal event in this runtime: the family could not go on, or the runtime
    /// was shut down. It can be resumed.
    pub async fn outcome(&self) -> Result<RunOutcome, OutcomeError> {
        let mut ends = self.handle.slot.hub.ends();
        loop {
            let end = ends.borrow_and_update().clone();
            if let Some(finished) = self.finished(end).await? {
                return Ok(finished);
            }
            if ends.changed().await.is_err() {
                return Err(OutcomeError::ShutDown);
            }
        }
    }

    /// Waits until the run rests: it is over, the whole family waits for somebody outside, or it is
    /// interrupted. A run that rests already is told at once; one that goes on has to be asked
    /// again. Cancel-safe.
    ///
    /// # Errors
    /// As [`RunControl::outcome`].
    pub async fn settled(&self) -> Result<Settled, OutcomeError> {
        let hub = &self.handle.slot.hub;
        let (mut ends, mut rests) = (hub.ends(), hub.rests());
        loop {
            let end = ends.borrow_and_update().clone();
            let rest = rests.borrow_and_update().clone();
            if let Some(finished) = self.finished(end).await? {
                return Ok(Settled::Finished(Box::new(finished)));
            }
            match rest.filter(|(run, _)| *run == self.handle.run) {
                Some((_, Rest::Parked(standing))) => return Ok(Settled::Parked(standing)),
                Some((_, Rest::Interrupted(why))) => {
                    return Ok(Settled::Interrupted(RunInterrupted::clone(&why)));
                }
                None => {}
            }
            let changed = tokio::select! {
                changed = ends.changed() => changed,
                changed = rests.changed() => changed,
            };
            if changed.is_err() {
                return Err(OutcomeError::ShutDown);
            }
        }
    }

    /// The run's terminal event, if it has one, or why it ended without. `end` is how the session's
    /// latest activation ended.
    async fn finished(&self, end: Option<RunEnd>) -> Result<Option<RunOutcome>, OutcomeError> {
        let end = end.filter(|end| end.run == self.handle.run).map(|end| end.result);
        if let Some(Ok(finished)) = end {
            return Ok(Some(RunOutcome::clone(&finished)));
        }
        // A later run of the session may have ended since, an earlier process may have ended this
        // one, or its end became durable and nobody was told.
        match (self.stored_outcome().await, end) {
            (Ok(Some(finished)), _) => Ok(Some(finished)),
            (_, Some(Err(EndedWithout::Broken(failure)))) => Err(OutcomeError::Broken(failure)),
            (_, Some(Err(EndedWithout::ShutDown))) => Err(OutcomeError::ShutDown),
            (Err(error), _) => Err(error.into()),
            (Ok(None), _) => Ok(None),
        }
    }

    async fn stored_outcome(&self) -> Result<Option<RunOutcome>, StoreError> {
        let store = self.handle.runtime.services.journal.store();
        let summary = store.run(self.handle.run).await?;
        let Some(offset) = summary.and_then(|summary| summary.finished) else { return Ok(None) };
        let records = store.read(&self.handle.slot.session, offset, 1).await?;
        let mut events = records.iter().flat_map(|record| &record.events);
        Ok(events.find_map(Event::run_finished).cloned())
    }

    /// Cancels the whole family and waits until all of it is dead and the terminal event is
    /// durable. Dropping the future does not call the cancel back once it was taken.
    ///
    /// # Errors
    /// The run is over already, or the family could not go on.
    pub async fn cancel(&self, reason: impl Into<Arc<str>>) -> Result<RunOutcome, CancelError> {
        self.end(Cause::Requested, reason.into()).await
    }

    /// As [`RunControl::cancel`], for a person who pressed stop: the run ends as `user_aborted`.
    ///
    /// # Errors
    /// As [`RunControl::cancel`].
    pub async fn abort(&self, reason: impl Into<Arc<str>>) -> Result<RunOutcome, CancelError> {
        self.end(Cause::Aborted, reason.into()).await
    }

    async fn end(&self, cause: Cause, reason: Arc<str>) -> Result<RunOutcome, CancelError> {
        let mut wait = CANCEL_WAIT;
        // Ends with the family at the latest: one that has ended is nobody's any more.
        while let Some(family) = self.handle.slot.family_of(self.handle.run) {
            let reason = Arc::clone(&reason);
            match family.wish(AgentId::LEAD, Command::Cancel { cause, reason }).await {
                Ok(Ok(()) | Err(Refusal::AlreadyEnding)) => {
                    let outcome = self.outcome().await?;
                    self.handle.slot.gone(self.handle.run).await;
                    return Ok(outcome);
                }
                Ok(Err(_)) => break,
                Err(_) if self.handle.slot.has_ended(self.handle.run) => break,
                // The generation ended under the wish, or the queue is full; a later one is taken.
                Err(_) => {
                    drop(family);
                    tokio::time::sleep(wait).await;
                    wait = (wait * 2).min(LONGEST_CANCEL_WAIT);
                }
            }
        }
        Err(CancelError::NotActive)
    }
}
