//! Where a session's events go once they are durable: to whoever watches, without waiting for
//! anyone. A watcher that falls behind re-reads from the store.

use std::sync::{Arc, OnceLock};

use kinfolk_actors::agent::RunStanding;
use kinfolk_actors::event::{Event, RunFinished, RunInterrupted};
use kinfolk_actors::failure::Failure;
use kinfolk_actors::id::RunId;
use tokio::sync::{broadcast, watch};

use crate::events::{Progress, RunEvent};
use crate::ports::store::Record;

/// How many events a live watcher may be behind before it has to re-read.
const LIVE_BUFFER: usize = 1024;

/// The live end of one session's stream.
#[derive(Debug)]
pub(crate) struct Hub {
    /// Made for the first watcher: its buffer is allocated as a whole, and most sessions have none.
    live: OnceLock<broadcast::Sender<RunEvent>>,
    ended: watch::Sender<Option<RunEnd>>,
    resting: watch::Sender<Option<(RunId, Rest)>>,
}

/// How a whole family rests before its run ends.
#[derive(Clone, Debug)]
pub(crate) enum Rest {
    /// It waits for somebody outside.
    Parked(RunStanding),
    /// It waits to be resumed.
    Interrupted(Arc<RunInterrupted>),
}

/// How the session's latest activation ended.
#[derive(Clone, Debug)]
pub(crate) struct RunEnd {
    /// The run.
    pub run: RunId,
    /// Its terminal event, or why there is none.
    pub result: Result<Arc<RunFinished>, EndedWithout>,
}

/// Why an activation ended without a terminal event. Its run can be resumed.
#[derive(Clone, Debug)]
pub(crate) enum EndedWithout {
    /// The family could not go on.
    Broken(Failure),
    /// The runtime was shut down.
    ShutDown,
}

impl Hub {
    pub fn new() -> Self {
        let (ended, resting) = (watch::Sender::new(None), watch::Sender::new(None));
        Self { live: OnceLock::new(), ended, resting }
    }

    /// Whether building progress is worth the work.
    pub fn is_watched(&self) -> bool {
        self.live.get().is_some_and(|live| live.receiver_count() > 0)
    }

    /// Starts to listen. Events before this have to be read from the store.
    pub fn subscribe(&self) -> broadcast::Receiver<RunEvent> {
        self.live.get_or_init(|| broadcast::Sender::new(LIVE_BUFFER)).subscribe()
    }

    /// Tells watchers of a durable record, in the order of the journal.
    pub fn publish(&self, record: &Record) {
        if self.is_watched() {
            for recorded in record.recorded() {
                self.tell(RunEvent::Journaled(Arc::new(recorded)));
            }
        }
        if let Some(Event::RunFinished(finished)) = record.events.last() {
            self.end(RunEnd { run: record.run, result: Ok(Arc::new(finished.clone())) });
        }
    }

    /// Tells watchers how work goes on.
    pub fn progress(&self, progress: Progress) {
        self.tell(RunEvent::Progress(Arc::new(progress)));
    }

    fn tell(&self, event: RunEvent) {
        if let Some(live) = self.live.get() {
            // Nobody listening any more is no error.
            let _ = live.send(event);
        }
    }

    /// Records that an activation is over.
    pub fn end(&self, end: RunEnd) {
        self.ended.send_replace(Some(end));
    }

    /// Forgets how an earlier activation of a run ended, since another one goes on with it.
    pub fn goes_on(&self, run: RunId) {
        self.wakes();
        self.ended.send_if_modified(|end| end.take_if(|end| end.run == run).is_some());
    }

    /// Records that a family rests.
    pub fn rest(&self, run: RunId, rest: Rest) {
        self.resting.send_replace(Some((run, rest)));
    }

    /// Somebody of the family is at work again.
    pub fn wakes(&self) {
        self.resting.send_if_modified(|rest| rest.take().is_some());
    }

    /// Follows how families rest.
    pub fn rests(&self) -> watch::Receiver<Option<(RunId, Rest)>> {
        self.resting.subscribe()
    }

    /// Follows how activations end.
    pub fn ends(&self) -> watch::Receiver<Option<RunEnd>> {
        self.ended.subscribe()
    }
}
