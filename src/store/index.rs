//! What every adapter keeps of a session beside its records: who may append, where, and which
//! runs it had.

use kinfolk_actors::id::{Offset, SessionId};

use crate::ports::store::{Append, Epoch, Record, RunSummary, SessionSummary, StoreError};

/// The end of a session's stream, as an append has to name it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fence {
    /// The epoch of the newest claim.
    pub epoch: Epoch,
    /// The offset that the next event gets.
    pub next: Offset,
}

impl Fence {
    /// Whether the append comes from the owner and goes on where the stream ends. A session that
    /// nobody ever claimed has no fence, and takes nothing.
    pub fn admit(fence: Option<Self>, append: &Append) -> Result<(), StoreError> {
        let asked = Self { epoch: append.epoch, next: append.record.first };
        if fence != Some(asked) {
            return Err(fenced(append));
        }
        if append.record.events.is_empty() {
            return Err(StoreError::Write { detail: "an append without events".to_owned() });
        }
        Ok(())
    }
}

/// The refusal of an append for its epoch or head.
pub(crate) fn fenced(append: &Append) -> StoreError {
    StoreError::Fenced {
        session: append.record.session.clone(),
        epoch: append.epoch,
        head: append.record.first,
    }
}

/// What a record does to its run's entry in the index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunChange {
    /// The entry of a run that the record starts.
    pub started: Option<RunSummary>,
    /// The offset of a `run_finished` in the record.
    pub finished: Option<Offset>,
}

impl RunChange {
    /// Finds the start and the end of the record's run in it.
    pub fn of(record: &Record) -> Self {
        let mut change = Self::default();
        for (offset, event) in (record.first.0..).map(Offset).zip(&record.events) {
            if event.run_started().is_some() {
                change.started = Some(RunSummary {
                    run: record.run,
                    session: record.session.clone(),
                    first: offset,
                    started: record.at,
                    finished: None,
                });
            }
            if event.run_finished().is_some() {
                change.finished = Some(offset);
            }
        }
        change
    }

    /// Whether the index stays as it is.
    pub fn is_nothing(&self) -> bool {
        self.started.is_none() && self.finished.is_none()
    }

    /// The run's entry after the record, given the one before it. Applying a change twice is the
    /// same as once, so an index can be made again from records that it already holds.
    pub fn apply(self, before: Option<RunSummary>) -> Option<RunSummary> {
        let mut entry = self.started.or(before)?;
        if self.finished.is_some() {
            entry.finished = self.finished;
        }
        Some(entry)
    }
}

/// Puts sessions in the order in which people look for them: the one with the newest run first,
/// those without a run last, by name.
pub(crate) fn newest_first(sessions: &mut [SessionSummary]) {
    fn key(summary: &SessionSummary) -> impl Ord + '_ {
        let newest = summary.newest.as_ref().map(|run| (run.started, run.run));
        (std::cmp::Reverse(newest), &summary.session)
    }
    sessions.sort_by(|a, b| key(a).cmp(&key(b)));
}

/// A session's line in the index.
pub(crate) fn summary(
    session: &SessionId,
    next: Offset,
    newest: Option<RunSummary>,
) -> SessionSummary {
    SessionSummary { session: session.clone(), head: next, newest }
}
