//! A store in memory: the same rules as a durable one, lost with its process.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use futures::future::{BoxFuture, ready};
use kinfolk_actors::event::Event;
use kinfolk_actors::family::FamilyHash;
use kinfolk_actors::id::{Offset, RunId, SessionId};
use parking_lot::Mutex;

use crate::ports::store::{
    Append, Claim, Epoch, Record, RunSummary, SessionSummary, Store, StoreError,
};

/// A store in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    sessions: HashMap<SessionId, Stream>,
    runs: HashMap<RunId, RunSummary>,
    families: HashMap<FamilyHash, Arc<str>>,
}

#[derive(Debug, Default)]
struct Stream {
    epoch: Epoch,
    head: Offset,
    records: Vec<Arc<Record>>,
    newest: Option<RunId>,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl Inner {
    fn append(&mut self, append: &Append) -> Result<(), StoreError> {
        let record = &append.record;
        let stream = self.sessions.entry(record.session.clone()).or_default();
        if append.epoch != stream.epoch || record.first != stream.head {
            return Err(StoreError::Fenced {
                session: record.session.clone(),
                epoch: append.epoch,
                head: record.first,
            });
        }
        stream.head = record.end();
        stream.records.push(Arc::clone(record));
        if let Some((hash, json)) = &append.family {
            self.families.entry(*hash).or_insert_with(|| Arc::clone(json));
        }
        for recorded in record.recorded() {
            match recorded.event {
                Event::RunStarted(_) => {
                    stream.newest = Some(record.run);
                    let summary = RunSummary {
                        run: record.run,
                        session: record.session.clone(),
                        first: recorded.offset,
                        started: record.at,
                        finished: None,
                    };
                    self.runs.insert(record.run, summary);
                }
                Event::RunFinished(_) => {
                    if let Some(summary) = self.runs.get_mut(&record.run) {
                        summary.finished = Some(recorded.offset);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn summary(&self, session: &SessionId) -> Option<SessionSummary> {
        let stream = self.sessions.get(session)?;
        let newest = stream.newest.and_then(|run| self.runs.get(&run)).cloned();
        Some(SessionSummary { session: session.clone(), head: stream.head, newest })
    }
}

impl Store for MemoryStore {
    fn claim<'a>(&'a self, session: &'a SessionId) -> BoxFuture<'a, Result<Claim, StoreError>> {
        let mut inner = self.inner.lock();
        let stream = inner.sessions.entry(session.clone()).or_default();
        stream.epoch = Epoch(stream.epoch.0 + 1);
        let claim = Claim { epoch: stream.epoch, head: stream.head };
        Box::pin(ready(Ok(claim)))
    }

    fn commit(&self, group: Vec<Append>) -> BoxFuture<'_, Vec<Result<(), StoreError>>> {
        let mut inner = self.inner.lock();
        let verdicts = group.iter().map(|append| inner.append(append)).collect();
        Box::pin(ready(verdicts))
    }

    fn commit_now(&self, append: &Append) -> Option<Result<(), StoreError>> {
        Some(self.inner.lock().append(append))
    }

    fn read<'a>(
        &'a self,
        session: &'a SessionId,
        from: Offset,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Arc<Record>>, StoreError>> {
        let inner = self.inner.lock();
        let records = inner.sessions.get(session).map_or(&[][..], |stream| &stream.records);
        let start = records.partition_point(|record| record.end() <= from);
        let page = records[start..].iter().take(limit).cloned().collect();
        Box::pin(ready(Ok(page)))
    }

    fn family(&self, hash: FamilyHash) -> BoxFuture<'_, Result<Option<Arc<str>>, StoreError>> {
        Box::pin(ready(Ok(self.inner.lock().families.get(&hash).cloned())))
    }

    fn sessions(&self) -> BoxFuture<'_, Result<Vec<SessionSummary>, StoreError>> {
        let inner = self.inner.lock();
        let mut all: Vec<_> = inner.sessions.keys().filter_map(|id| inner.summary(id)).collect();
        all.sort_by_key(|summary| Reverse(summary.newest.as_ref().map(|run| run.started)));
        Box::pin(ready(Ok(all)))
    }

    fn session<'a>(
        &'a self,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Option<SessionSummary>, StoreError>> {
        Box::pin(ready(Ok(self.inner.lock().summary(session))))
    }

    fn run(&self, run: RunId) -> BoxFuture<'_, Result<Option<RunSummary>, StoreError>> {
        Box::pin(ready(Ok(self.inner.lock().runs.get(&run).cloned())))
    }
}
