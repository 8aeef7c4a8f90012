//! A store in this process's memory: for tests, benchmarks and hosts that keep nothing.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use kinfolk_actors::family::FamilyHash;
use kinfolk_actors::id::{Offset, RunId, SessionId};
use parking_lot::Mutex;

use super::index::{Fence, RunChange, fenced, newest_first, summary};
use crate::ports::store::{
    Append, Claim, Epoch, Record, RunSummary, SessionSummary, Store, StoreError,
};

/// Keeps everything until it is dropped, and answers an append without a thread hop. Nothing of it
/// survives the process. The memory that it takes grows with the events that it is given.
#[derive(Debug, Default)]
pub struct MemoryStore {
    // Held for a few map operations at a time, never across an await.
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    sessions: HashMap<SessionId, Stream>,
    runs: HashMap<RunId, RunSummary>,
    families: HashMap<FamilyHash, Arc<str>>,
}

/// One session.
#[derive(Debug, Default)]
struct Stream {
    epoch: Epoch,
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

impl Stream {
    fn next(&self) -> Offset {
        self.records.last().map_or(Offset(0), |record| record.end())
    }

    fn fence(&self) -> Fence {
        Fence { epoch: self.epoch, next: self.next() }
    }
}

impl State {
    fn claim(&mut self, session: &SessionId) -> Claim {
        let stream = self.sessions.entry(session.clone()).or_default();
        stream.epoch = Epoch(stream.epoch.0.saturating_add(1));
        Claim { epoch: stream.epoch, head: stream.next() }
    }

    fn append(&mut self, append: &Append) -> Result<(), StoreError> {
        let record = &append.record;
        let stream = self.sessions.get_mut(&record.session);
        Fence::admit(stream.as_deref().map(Stream::fence), append)?;
        if let Some((hash, text)) = &append.family {
            self.families.entry(*hash).or_insert_with(|| Arc::clone(text));
        }
        let change = RunChange::of(record);
        if let Some(stream) = stream {
            stream.records.push(Arc::clone(record));
            if change.started.is_some() {
                stream.newest = Some(record.run);
            }
        }
        if !change.is_nothing()
            && let Some(entry) = change.apply(self.runs.remove(&record.run))
        {
            self.runs.insert(record.run, entry);
        }
        Ok(())
    }

    fn commit(&mut self, group: &[Append]) -> Vec<Result<(), StoreError>> {
        let mut broken = HashSet::new();
        let mut verdicts = Vec::with_capacity(group.len());
        for append in group {
            let owner = (&append.record.session, append.epoch);
            let verdict =
                if broken.contains(&owner) { Err(fenced(append)) } else { self.append(append) };
            if verdict.is_err() {
                broken.insert(owner);
            }
            verdicts.push(verdict);
        }
        verdicts
    }

    fn read(&self, session: &SessionId, from: Offset, limit: usize) -> Vec<Arc<Record>> {
        let records = self.sessions.get(session).map_or(&[][..], |stream| &stream.records);
        let start = records.partition_point(|record| record.end() <= from);
        records[start..].iter().take(limit).cloned().collect()
    }

    fn summary(&self, session: &SessionId, stream: &Stream) -> SessionSummary {
        let newest = stream.newest.and_then(|run| self.runs.get(&run).cloned());
        summary(session, stream.next(), newest)
    }

    fn sessions(&self) -> Vec<SessionSummary> {
        let of = |(session, stream)| self.summary(session, stream);
        let mut all: Vec<_> = self.sessions.iter().map(of).collect();
        newest_first(&mut all);
        all
    }
}

/// Each answer is ready at once: nothing happens later, so there is nothing to drop.
impl Store for MemoryStore {
    fn claim<'a>(&'a self, session: &'a SessionId) -> BoxFuture<'a, Result<Claim, StoreError>> {
        ready(Ok(self.state.lock().claim(session))).boxed()
    }

    fn commit(&self, group: Vec<Append>) -> BoxFuture<'_, Vec<Result<(), StoreError>>> {
        ready(self.state.lock().commit(&group)).boxed()
    }

    fn commit_now(&self, append: &Append) -> Option<Result<(), StoreError>> {
        Some(self.state.lock().append(append))
    }

    fn read<'a>(
        &'a self,
        session: &'a SessionId,
        from: Offset,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Arc<Record>>, StoreError>> {
        ready(Ok(self.state.lock().read(session, from, limit))).boxed()
    }

    fn family(&self, hash: FamilyHash) -> BoxFuture<'_, Result<Option<Arc<str>>, StoreError>> {
        ready(Ok(self.state.lock().families.get(&hash).cloned())).boxed()
    }

    fn sessions(&self) -> BoxFuture<'_, Result<Vec<SessionSummary>, StoreError>> {
        ready(Ok(self.state.lock().sessions())).boxed()
    }

    fn session<'a>(
        &'a self,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Option<SessionSummary>, StoreError>> {
        let state = self.state.lock();
        let found = state.sessions.get(session).map(|stream| state.summary(session, stream));
        ready(Ok(found)).boxed()
    }

    fn run(&self, run: RunId) -> BoxFuture<'_, Result<Option<RunSummary>, StoreError>> {
        ready(Ok(self.state.lock().runs.get(&run).cloned())).boxed()
    }
}
