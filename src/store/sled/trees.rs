//! The trees, each read and written in its one stored form.

use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ::sled::{Db, IVec, Tree};
use kinfolk_actors::family::FamilyHash;
use kinfolk_actors::id::{RunId, SessionId};

use super::lock::{cannot_open, shown};
use crate::ports::store::{RunSummary, StoreError};
use crate::store::record::{self, Head, Unreadable};

/// The engine's page cache. It is filled by what was read and written last; a journal that is
/// mostly appended to gains nothing from the engine's default of 1 GiB.
const CACHE_BYTES: u64 = 64 << 20;

/// How often and how long apart the engine's own lock is tried. Ours is held already, so whoever
/// holds the engine's is a store of this process that is closing.
const LOCK_TRIES: u32 = 100;
const LOCK_PAUSE: Duration = Duration::from_millis(20);

pub(super) struct Trees {
    pub journal: Tree,
    pub heads: Tree,
    pub runs: Tree,
    pub families: Tree,
    pub meta: Tree,
    pub quarantine: Tree,
    db: Db,
}

impl Trees {
    /// Opens the engine and its trees.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        remove_unfinished(path).map_err(|error| cannot_open(path, &error))?;
        let mut tries = 1;
        let db = loop {
            // The engine panics on some kinds of damage; that must not end the host.
            let opened = std::panic::catch_unwind(AssertUnwindSafe(|| {
                ::sled::Config::new()
                    .path(path)
                    .flush_every_ms(None)
                    .cache_capacity(CACHE_BYTES)
                    .open()
            }));
            match opened {
                Ok(Ok(db)) => break db,
                Ok(Err(::sled::Error::Corruption { .. })) | Err(_) => {
                    let what = format!("the store {}", shown(path));
                    let detail = "the engine cannot read its own files".to_owned();
                    return Err(StoreError::Damaged { what, detail });
                }
                Ok(Err(error)) if tries == LOCK_TRIES || !is_lock(&error) => {
                    return Err(cannot_open(path, &error));
                }
                Ok(Err(_)) => std::thread::sleep(LOCK_PAUSE),
            }
            tries += 1;
        };
        let tree = |name| db.open_tree(name).map_err(|error| cannot_open(path, &error));
        Ok(Self {
            journal: tree("journal")?,
            heads: tree("heads")?,
            runs: tree("runs")?,
            families: tree("families")?,
            meta: tree("meta")?,
            quarantine: tree("quarantine")?,
            db,
        })
    }

    /// Hands everything that was inserted to the system.
    pub fn flush(&self) -> ::sled::Result<()> {
        self.db.flush().map(|_| ())
    }

    /// A session's head.
    pub fn head(&self, session: &SessionId) -> Result<Option<Head>, StoreError> {
        let bytes = self.heads.get(session.as_str()).map_err(|error| cannot_read(&error))?;
        let what = || format!("the head of session `{session}`");
        bytes.map(|bytes| understood(what, record::decode_head(&bytes))).transpose()
    }

    /// A run's entry.
    pub fn run(&self, run: RunId) -> Result<Option<RunSummary>, StoreError> {
        let bytes = self.runs.get(run.0.as_bytes()).map_err(|error| cannot_read(&error))?;
        let what = || format!("the entry of run {run}");
        bytes.map(|bytes| understood(what, record::decode_run(&bytes))).transpose()
    }

    /// A frozen family.
    pub fn family(&self, hash: FamilyHash) -> Result<Option<Arc<str>>, StoreError> {
        let bytes = self.families.get(hash.0).map_err(|error| cannot_read(&error))?;
        let what = || format!("the family {hash}");
        bytes.map(|bytes| understood(what, record::decode_family(&bytes))).transpose()
    }

    /// The bytes of the record with that sequence.
    pub fn record(&self, sequence: u64) -> Result<Option<IVec>, StoreError> {
        self.journal.get(sequence.to_be_bytes()).map_err(|error| cannot_read(&error))
    }

    /// Keeps the bytes of a damaged record. It stays in the journal too.
    pub fn set_aside(&self, sequence: u64, bytes: &[u8]) -> Result<(), StoreError> {
        let kept = self.quarantine.insert(sequence.to_be_bytes(), bytes);
        kept.map(|_| ()).map_err(|error| cannot_read(&error))
    }
}

/// A decoded value, or the error that names what is damaged.
pub(super) fn understood<T>(
    what: impl FnOnce() -> String,
    decoded: Result<T, Unreadable>,
) -> Result<T, StoreError> {
    decoded.map_err(|error| StoreError::Damaged { what: what(), detail: error.to_string() })
}

/// An error of the engine while reading.
pub(super) fn cannot_read(error: &::sled::Error) -> StoreError {
    match error {
        ::sled::Error::Corruption { .. } => StoreError::Damaged {
            what: "a page of the store".to_owned(),
            detail: error.to_string(),
        },
        ::sled::Error::CollectionNotFound(_)
        | ::sled::Error::Unsupported(_)
        | ::sled::Error::ReportableBug(_)
        | ::sled::Error::Io(_) => StoreError::Read { detail: error.to_string() },
    }
}

/// The sequence that a journal key stands for.
pub(super) fn sequence_of(key: &[u8]) -> Result<u64, StoreError> {
    <[u8; 8]>::try_from(key).map(u64::from_be_bytes).map_err(|_| StoreError::Damaged {
        what: "a key of the journal".to_owned(),
        detail: format!("it has {} bytes instead of 8", key.len()),
    })
}

/// Whether the engine found its own lock held: the one error that it makes itself of this kind,
/// those of the system have kinds of their own.
fn is_lock(error: &::sled::Error) -> bool {
    matches!(error, ::sled::Error::Io(error) if error.kind() == std::io::ErrorKind::Other)
}

/// Removes what the engine had begun to write when its process died or the disk was full: a snapshot
/// is a cache, and one that is not whole would be read as a damaged one. Nobody else writes here:
/// the directory's lock is held.
fn remove_unfinished(path: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with("snap.") && name.ends_with(".generating") {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}
