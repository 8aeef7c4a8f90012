//! A run as its starter sees it: a stream of events, and a [`RunControl`] beside it.

use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use futures::Stream;
use kinfolk_actors::event::Event;
use kinfolk_actors::id::{Offset, RunId};
use tokio::sync::broadcast::{self, error::RecvError};

use super::Inner;
use super::control::RunControl;
use super::slot::Slot;
use crate::events::RunEvent;
use crate::hub::RunEnd;
use crate::ports::store::StoreError;

/// How many records are read from the store at a time.
const PAGE: usize = 256;

/// How often a read that failed is repeated, and the wait before the first time; it doubles.
const READ_RETRIES: u32 = 4;
const READ_WAIT: Duration = Duration::from_millis(50);

/// A handle to a run. Dropping it stops nothing.
pub struct Run {
    control: RunControl,
    /// Listened to from the first event that is asked for, so that a run whose handle is only kept
    /// costs its family nothing.
    live: Option<broadcast::Receiver<RunEvent>>,
    /// The next journaled event that the reader has not seen.
    cursor: Offset,
    backlog: VecDeque<RunEvent>,
    /// Whether events have to be read from the store before live ones make sense.
    behind: bool,
    over: bool,
    trouble: Option<StoreError>,
}

/// What a run is reached by.
#[derive(Clone)]
pub(super) struct Handle {
    pub runtime: Arc<Inner>,
    pub slot: Arc<Slot>,
    pub run: RunId,
    from: Offset,
}

impl Handle {
    /// Reaches a run whose events are of interest from an offset on.
    pub fn new(runtime: &Arc<Inner>, slot: &Arc<Slot>, run: RunId, from: Offset) -> Self {
        Self { runtime: Arc::clone(runtime), slot: Arc::clone(slot), run, from }
    }
}

impl Run {
    pub(super) fn new(handle: Handle) -> Self {
        let cursor = handle.from;
        let backlog = VecDeque::new();
        let control = RunControl::new(handle);
        Self { control, live: None, cursor, backlog, behind: true, over: false, trouble: None }
    }

    /// Reads from another place in the session's stream on; events of other runs are left out.
    pub fn seek(&mut self, from: Offset) {
        (self.cursor, self.behind, self.over) = (from, true, false);
        self.trouble = None;
        self.backlog.clear();
    }

    /// The next event; `None` after the run's last one, or when the runtime cannot go on with it
    /// ([`RunControl::outcome`] says why) or the events cannot be read ([`Run::trouble`]). A reader
    /// that falls behind loses progress, never a journaled event. Cancel-safe: an event is handed
    /// out or still to come.
    pub async fn next(&mut self) -> Option<RunEvent> {
        while !self.over {
            if let Some(event) = self.backlog.pop_front() {
                return Some(self.hand_out(event));
            }
            // Listening starts before the store is read, so that nothing falls in between.
            let live = self.live.get_or_insert_with(|| self.control.handle.slot.hub.subscribe());
            if self.behind {
                self.read_on().await?;
                continue;
            }
            let received = tokio::select! {
                biased;
                received = live.recv() => Some(received),
                () = ended(&self.control.handle) => None,
            };
            match received {
                Some(received) => self.take(received),
                // Its last records may have become durable without anybody having been told.
                None => {
                    self.read_on().await?;
                    if !self.behind {
                        return None;
                    }
                }
            }
        }
        None
    }

    /// The run's events as a stream.
    pub fn into_stream(self) -> impl Stream<Item = RunEvent> + Send {
        futures::stream::unfold(self, |mut run| async move {
            let event = run.next().await?;
            Some((event, run))
        })
    }

    fn take(&mut self, received: Result<RunEvent, RecvError>) {
        match received {
            Ok(event) => match event.offset() {
                Some(offset) if offset < self.cursor => {}
                Some(offset) if offset > self.cursor => self.behind = true,
                Some(_) if event.run() != self.control.handle.run => {
                    self.cursor = after(self.cursor)
                }
                Some(_) => self.backlog.push_back(event),
                None if event.run() == self.control.handle.run => self.backlog.push_back(event),
                None => {}
            },
            Err(RecvError::Lagged(_)) => self.behind = true,
            Err(RecvError::Closed) => self.over = true,
        }
    }

    /// Why the events ended before the run did, if they did: the store could not be read, also not
    /// when asked again. The run goes on all the same; [`Run::seek`] begins to read anew.
    #[must_use]
    pub fn trouble(&self) -> Option<&StoreError> {
        self.trouble.as_ref()
    }

    /// Reads a page, and again for a while if that fails. `None` ends the events.
    async fn read_on(&mut self) -> Option<()> {
        let mut wait = READ_WAIT;
        for _ in 0..READ_RETRIES {
            if self.read_page().await.is_ok() {
                return Some(());
            }
            tokio::time::sleep(wait).await;
            wait *= 2;
        }
        let Err(error) = self.read_page().await else { return Some(()) };
        tracing::error!(%error, run = %self.control.handle.run, "the events of a run cannot be read");
        (self.trouble, self.over) = (Some(error), true);
        None
    }

    /// Reads what the store has from the cursor on. When it has nothing more, live events follow.
    async fn read_page(&mut self) -> Result<(), StoreError> {
        let store = self.control.handle.runtime.services.journal.store();
        let records = store.read(&self.control.handle.slot.session, self.cursor, PAGE).await?;
        let from = self.cursor;
        let recorded = records.iter().flat_map(|record| record.recorded().collect::<Vec<_>>());
        for recorded in recorded.filter(|recorded| recorded.offset >= from) {
            self.behind = true;
            if recorded.run == self.control.handle.run {
                self.backlog.push_back(RunEvent::Journaled(Arc::new(recorded)));
            }
        }
        match records.last() {
            Some(last) if self.backlog.is_empty() => self.cursor = last.end(),
            Some(_) => {}
            None => self.behind = false,
        }
        Ok(())
    }

    fn hand_out(&mut self, event: RunEvent) -> RunEvent {
        if let RunEvent::Journaled(recorded) = &event {
            self.cursor = after(recorded.offset);
            self.over = matches!(recorded.event, Event::RunFinished(_));
        }
        event
    }

    /// Another way to the run, for whoever steers it or waits for it while this one is read.
    #[must_use]
    pub fn control(&self) -> RunControl {
        self.control.clone()
    }
}

/// Everything but reading is the same for a run and for another way to it.
impl Deref for Run {
    type Target = RunControl;

    fn deref(&self) -> &RunControl {
        &self.control
    }
}

/// Done when the run has ended in this runtime, with or without a terminal event.
pub(super) async fn ended(handle: &Handle) {
    let mut ends = handle.slot.hub.ends();
    let run = handle.run;
    let of_run = |end: &Option<RunEnd>| end.as_ref().is_some_and(|end| end.run == run);
    if ends.wait_for(of_run).await.is_err() {
        std::future::pending().await
    }
}

fn after(offset: Offset) -> Offset {
    Offset(offset.0.saturating_add(1))
}
