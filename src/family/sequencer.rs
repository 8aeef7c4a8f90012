//! The one place where a session's events get their order.
//!
//! Each agent appends for itself; the sequencer gives out offsets, keeps the family's ledger and
//! hands records to the writer in that order. It belongs to one generation at a time: once that is
//! over, nothing of it is appended any more, and the store refuses what is still on its way.

use std::sync::Arc;

use futures::future::BoxFuture;
use kinfolk_actors::budget::{Facts, Ledger};
use kinfolk_actors::event::Event;
use kinfolk_actors::family::FamilyHash;
use kinfolk_actors::id::{AgentId, Attempt, RunId, SessionId};
use kinfolk_actors::time::Timestamp;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::hub::Hub;
use crate::journal::Journal;
use crate::ports::store::{Append, Claim, Record, StoreError};
use crate::shell::{GenerationOver, NotReserved};
use crate::supervise::unit::Generation;

/// Orders the appends of one session.
pub(crate) struct Sequencer {
    session: SessionId,
    run: RunId,
    journal: Journal,
    hub: Arc<Hub>,
    /// The lock is never held across an await: appends are handed to the writer without waiting.
    open: Mutex<Option<Open>>,
    /// Why the store refused in the generation that was opened last.
    trouble: Mutex<Arc<Trouble>>,
}

/// Why the store refused in one generation. What an earlier generation hears late stays there.
type Trouble = Mutex<Option<StoreError>>;

/// What a live generation appends with.
struct Open {
    generation: Generation,
    claim: Claim,
    ledger: Arc<Ledger>,
    /// The frozen family, to be stored with the first record.
    family: Option<(FamilyHash, Arc<str>)>,
}

impl Sequencer {
    pub fn new(session: SessionId, run: RunId, journal: Journal, hub: Arc<Hub>) -> Self {
        Self { session, run, journal, hub, open: Mutex::new(None), trouble: Mutex::default() }
    }

    /// Opens for a generation that has claimed and loaded the session.
    pub fn open(
        &self,
        generation: Generation,
        claim: Claim,
        ledger: Ledger,
        family: Option<(FamilyHash, Arc<str>)>,
    ) {
        *self.trouble.lock() = Arc::default();
        let ledger = Arc::new(ledger);
        *self.open.lock() = Some(Open { generation, claim, ledger, family });
    }

    /// Closes, whoever had it open. What is on its way to the store is not called back.
    pub fn close(&self) {
        *self.open.lock() = None;
    }

    /// What the agents of a generation may know.
    pub fn facts(&self, generation: Generation, now: Timestamp) -> Result<Facts, GenerationOver> {
        self.with(generation, |open| {
            let ledger = Arc::clone(&open.ledger);
            Facts { now, head: open.claim.head, ledger }
        })
    }

    /// Takes from the ledger what the events of an agent imply.
    pub fn reserve(
        &self,
        generation: Generation,
        agent: AgentId,
        now: Timestamp,
        events: &[Event],
    ) -> Result<(), NotReserved> {
        let reserved = self.with(generation, |open| {
            let run = self.run;
            open.ledger.admit(run, agent, now, events)?;
            let ledger = Arc::make_mut(&mut open.ledger);
            events.iter().for_each(|event| ledger.record(run, agent, now, event));
            Ok::<(), kinfolk_actors::budget::Contended>(())
        });
        match reserved {
            Ok(Ok(())) => Ok(()),
            Ok(Err(kinfolk_actors::budget::Contended)) => Err(NotReserved::Contended),
            Err(GenerationOver) => Err(NotReserved::Over),
        }
    }

    /// Appends the events of one step as one record. The returned future is done when they are
    /// durable and published; dropping it does not call the append back.
    pub fn append(
        &self,
        generation: Generation,
        agent: AgentId,
        at: Timestamp,
        events: Vec<Event>,
    ) -> BoxFuture<'static, Result<(), GenerationOver>> {
        let (told, durable) = oneshot::channel();
        let submitted = self.with(generation, |open| {
            let record = Arc::new(Record {
                session: self.session.clone(),
                run: self.run,
                attempt: open.ledger.attempt(),
                agent,
                at,
                first: open.claim.head,
                events,
            });
            open.claim.head = record.end();
            let append = Append {
                epoch: open.claim.epoch,
                record: Arc::clone(&record),
                family: open.family.take(),
            };
            let (hub, trouble) = (Arc::clone(&self.hub), Arc::clone(&self.trouble.lock()));
            let done = move |verdict| settle(&hub, &trouble, &record, verdict, told);
            // Submitted under the lock, so that the writer sees records in the order of offsets.
            self.journal.append(append, Box::new(done));
        });
        Box::pin(async move {
            submitted?;
            match durable.await {
                Ok(Ok(())) => Ok(()),
                Ok(Err(_)) | Err(_) => Err(GenerationOver),
            }
        })
    }

    /// What the family has used and may still use, if anything is open.
    pub fn ledger(&self) -> Option<Arc<Ledger>> {
        self.open.lock().as_ref().map(|open| Arc::clone(&open.ledger))
    }

    /// The current activation of the run; the first one if nothing is open.
    pub fn attempt(&self) -> Attempt {
        self.open.lock().as_ref().map_or(Attempt(1), |open| open.ledger.attempt())
    }

    /// Notes why the session could not be loaded.
    pub fn troubled(&self, error: &StoreError) {
        *self.trouble.lock() = Arc::new(Mutex::new(Some(error.clone())));
    }

    /// Why the store refused last, if it did.
    pub fn trouble(&self) -> Option<StoreError> {
        self.trouble.lock().lock().clone()
    }

    fn with<T>(
        &self,
        generation: Generation,
        act: impl FnOnce(&mut Open) -> T,
    ) -> Result<T, GenerationOver> {
        let mut open = self.open.lock();
        match open.as_mut() {
            Some(open) if open.generation == generation => Ok(act(open)),
            Some(_) | None => Err(GenerationOver),
        }
    }
}

/// Publishes a durable record and tells its agent.
fn settle(
    hub: &Hub,
    trouble: &Trouble,
    record: &Record,
    verdict: Result<(), StoreError>,
    told: oneshot::Sender<Result<(), StoreError>>,
) {
    match &verdict {
        Ok(()) => hub.publish(record),
        Err(error) => {
            tracing::warn!(session = %record.session, run = %record.run, %error, "append refused");
            // The first refusal is the cause: what was submitted behind it had to be refused too.
            trouble.lock().get_or_insert_with(|| error.clone());
        }
    }
    // The agent may have been killed meanwhile; the next generation reads what is durable.
    let _ = told.send(verdict);
}
