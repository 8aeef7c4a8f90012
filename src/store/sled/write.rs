//! Claims and commits: all that changes a store, one job at a time.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use kinfolk_actors::id::{RunId, SessionId};

use super::Inner;
use super::disk::Disk;
use super::lock::known_format;
use super::trees::{Trees, cannot_read, sequence_of, understood};
use crate::ports::store::{Append, Claim, Epoch, Record, RunSummary, StoreError};
use crate::store::index::{Fence, RunChange, fenced};
use crate::store::record::stored::IndexedV1;
use crate::store::record::{self, FORMAT, Head};

/// The key of the index's progress in `meta`.
const INDEXED: &[u8] = b"indexed";

/// What only the writing job knows.
pub(super) struct Writer {
    /// The sequence that the next record gets.
    next: u64,
    /// The newest sequence whose heads and runs are written.
    indexed: Option<u64>,
    /// Why nothing may be written or read any more: a write has begun and not ended well. What of
    /// it reached the disk is known only after the store is opened again.
    broken: Option<String>,
}

/// The writes of one job, collected before the first of them is made.
#[derive(Default)]
struct Batch {
    journal: Vec<(u64, Vec<u8>)>,
    families: Vec<([u8; 32], Vec<u8>)>,
    heads: HashMap<SessionId, Head>,
    runs: HashMap<RunId, RunSummary>,
}

impl Writer {
    /// Reads how far the journal and its index have come.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if the journal has lost its end: `marked` was acknowledged.
    pub fn load(path: &Path, trees: &Trees, marked: Option<u64>) -> Result<Self, StoreError> {
        let indexed = match trees.meta.get(INDEXED).map_err(|error| cannot_read(&error))? {
            Some(bytes) => {
                let what = || "the progress of the index".to_owned();
                let indexed = understood(what, record::decode_indexed(&bytes))?;
                known_format(path, indexed.format)?;
                indexed.sequence
            }
            None => None,
        };
        let next = match trees.journal.last().map_err(|error| cannot_read(&error))? {
            Some((key, _)) => sequence_of(&key)?.saturating_add(1),
            None => 0,
        };
        if let Some(marked) = marked.filter(|marked| *marked >= next) {
            let detail = format!(
                "it ends before the record of sequence {marked}, which was acknowledged; restore \
                 {} from a copy",
                path.display()
            );
            return Err(StoreError::Damaged { what: "the journal".to_owned(), detail });
        }
        // A journal that lost its end must not give a sequence twice.
        let next = next.max(indexed.map_or(0, |sequence| sequence.saturating_add(1)));
        Ok(Self { next, indexed, broken: None })
    }

    /// Indexes the records that a crash kept from being indexed. None of them was acknowledged;
    /// one that is damaged, or that does not go on where its session ends, is set aside.
    pub fn catch_up(&mut self, trees: &Trees, disk: &Disk) -> Result<(), StoreError> {
        let from = self.indexed.map_or(0, |sequence| sequence.saturating_add(1));
        let mut batch = Batch::default();
        for entry in trees.journal.range(from.to_be_bytes()..) {
            let (key, bytes) = entry.map_err(|error| cannot_read(&error))?;
            let sequence = sequence_of(&key)?;
            let why = match record::decode_record(&bytes) {
                Ok((found, prev)) => {
                    let head = batch.head(trees, &found.session)?.unwrap_or_default();
                    if found.first == head.fence.next && prev == head.last {
                        batch.index(trees, &found, sequence, head)?;
                        continue;
                    }
                    "it does not follow the session's records".to_owned()
                }
                Err(error) => error.to_string(),
            };
            tracing::warn!(sequence, why, "an unacknowledged record was set aside");
            trees.set_aside(sequence, &bytes)?;
        }
        let last = self.next.checked_sub(1);
        let known = trees.meta.contains_key(INDEXED).map_err(|error| cannot_read(&error))?;
        if known && self.indexed == last {
            return Ok(());
        }
        self.write(trees, disk, batch).map_err(|detail| StoreError::Write { detail })
    }

    /// Makes the next owner of a session.
    pub fn claim(&mut self, inner: &Inner, session: &SessionId) -> Result<Claim, StoreError> {
        self.usable()?;
        let mut head = inner.trees.head(session)?.unwrap_or_default();
        head.fence.epoch = Epoch(head.fence.epoch.0.saturating_add(1));
        let claim = Claim { epoch: head.fence.epoch, head: head.fence.next };
        let mut batch = Batch::default();
        batch.heads.insert(session.clone(), head);
        self.write(&inner.trees, &inner.disk, batch)
            .map_err(|detail| StoreError::Write { detail })?;
        Ok(claim)
    }

    /// Commits what can be accepted of a group, and says what was.
    pub fn commit(&mut self, inner: &Inner, group: &[Append]) -> Vec<Result<(), StoreError>> {
        if let Err(error) = self.usable() {
            return vec![Err(error); group.len()];
        }
        let mut batch = Batch::default();
        let mut refused = HashSet::new();
        let mut verdicts = Vec::with_capacity(group.len());
        for append in group {
            let owner = (&append.record.session, append.epoch);
            let verdict = if refused.contains(&owner) {
                Err(fenced(append))
            } else {
                batch.add(&inner.trees, append, &mut self.next)
            };
            if verdict.is_err() {
                refused.insert(owner);
            }
            verdicts.push(verdict);
        }
        if !batch.journal.is_empty()
            && let Err(detail) = self.write(&inner.trees, &inner.disk, batch)
        {
            for verdict in verdicts.iter_mut().filter(|verdict| verdict.is_ok()) {
                *verdict = Err(StoreError::Write { detail: detail.clone() });
            }
        }
        verdicts
    }

    /// Refuses everything once a write has failed: what is read could be what the disk lost.
    pub(super) fn usable(&self) -> Result<(), StoreError> {
        match &self.broken {
            None => Ok(()),
            Some(detail) => Err(StoreError::Broken { detail: detail.clone() }),
        }
    }

    /// Writes a batch and returns when it is durable. Breaks the store if it does not get there,
    /// by an error or by a panic of the engine.
    fn write(&mut self, trees: &Trees, disk: &Disk, batch: Batch) -> Result<(), String> {
        let last = self.next.checked_sub(1);
        self.broken = Some("it was cut off".to_owned());
        match batch.write(trees, last).and_then(|()| {
            trees.flush().map_err(|error| error.to_string())?;
            disk.sync().map_err(|error| error.to_string())?;
            last.map_or(Ok(()), |last| disk.acknowledge(last)).map_err(|error| error.to_string())
        }) {
            Ok(()) => {
                self.broken = None;
                self.indexed = last;
                Ok(())
            }
            Err(detail) => {
                self.broken = Some(detail.clone());
                Err(detail)
            }
        }
    }
}

impl Batch {
    /// The session's head after what is in the batch.
    fn head(&self, trees: &Trees, session: &SessionId) -> Result<Option<Head>, StoreError> {
        match self.heads.get(session) {
            Some(head) => Ok(Some(head.clone())),
            None => trees.head(session),
        }
    }

    /// Takes an append in, if it may be. Takes a sequence for it from `next`.
    fn add(&mut self, trees: &Trees, append: &Append, next: &mut u64) -> Result<(), StoreError> {
        let head = self.head(trees, &append.record.session)?;
        Fence::admit(head.as_ref().map(|head| head.fence), append)?;
        let head = head.unwrap_or_default();
        let unwritable =
            |error: record::Unwritable| StoreError::Write { detail: error.to_string() };
        let bytes = record::encode_record(&append.record, head.last).map_err(unwritable)?;
        let family = match &append.family {
            Some((hash, text)) => Some((hash.0, record::encode_family(text).map_err(unwritable)?)),
            None => None,
        };
        let sequence = *next;
        self.index(trees, &append.record, sequence, head)?;
        // From here on nothing fails, so a refused append leaves nothing behind.
        self.families.extend(family);
        self.journal.push((sequence, bytes));
        *next = sequence.saturating_add(1);
        Ok(())
    }

    /// Moves the record's session and run on in the index.
    fn index(
        &mut self,
        trees: &Trees,
        found: &Record,
        sequence: u64,
        mut head: Head,
    ) -> Result<(), StoreError> {
        head.fence.next = found.end();
        head.last = Some(sequence);
        let change = RunChange::of(found);
        if !change.is_nothing() {
            let started = change.started.is_some();
            let before = match self.runs.get(&found.run) {
                Some(entry) => Some(entry.clone()),
                None => trees.run(found.run)?,
            };
            if let Some(entry) = change.apply(before) {
                if started || head.newest.as_ref().is_some_and(|newest| newest.run == found.run) {
                    head.newest = Some(entry.clone());
                }
                self.runs.insert(found.run, entry);
            }
        }
        self.heads.insert(found.session.clone(), head);
        Ok(())
    }

    /// Inserts everything: families before the records that name them, records before their index.
    fn write(self, trees: &Trees, last: Option<u64>) -> Result<(), String> {
        let failed = |error: ::sled::Error| error.to_string();
        let unwritable = |error: record::Unwritable| error.to_string();
        for (hash, bytes) in self.families {
            if !trees.families.contains_key(hash).map_err(failed)? {
                trees.families.insert(hash, bytes).map_err(failed)?;
            }
        }
        for (sequence, bytes) in self.journal {
            trees.journal.insert(sequence.to_be_bytes(), bytes).map_err(failed)?;
        }
        for (session, head) in self.heads {
            let bytes = record::encode_head(&head).map_err(unwritable)?;
            trees.heads.insert(session.as_str(), bytes).map_err(failed)?;
        }
        for (run, entry) in self.runs {
            let bytes = record::encode_run(&entry).map_err(unwritable)?;
            trees.runs.insert(run.0.as_bytes(), bytes).map_err(failed)?;
        }
        let indexed = IndexedV1 { format: FORMAT, sequence: last };
        let bytes = record::encode_indexed(indexed).map_err(unwritable)?;
        trees.meta.insert(INDEXED, bytes).map(|_| ()).map_err(failed)
    }
}
