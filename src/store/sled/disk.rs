//! Makes what the engine wrote durable against the loss of power too.
//!
//! sled 0.34 flushes on Linux by `sync_file_range`, which leaves the disk's own cache alone, and
//! writes large values to files under `blobs/` that it never syncs. So after its flush the log
//! file is synced here, and each blob once.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;

use super::lock::cannot_open;
use super::mark::Mark;
use crate::ports::store::StoreError;

/// How long after a directory's change another one may bear the same time.
const CLOCK_GRAIN: Duration = Duration::from_secs(1);

pub(super) struct Disk {
    log: File,
    directory: PathBuf,
    blobs: Mutex<Blobs>,
    mark: Mark,
    /// The newest sequence that was acknowledged before the store was opened.
    pub marked: Option<u64>,
}

/// What is known of the directory of blobs.
#[derive(Default)]
struct Blobs {
    synced: HashSet<OsString>,
    /// The directory's time of change when it was last listed, once that is long enough ago for
    /// every later change to show.
    settled: Option<SystemTime>,
}

impl Disk {
    /// Opens the engine's files for syncing, and syncs the directory that names them.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let open = || {
            File::open(path)?.sync_all()?;
            let log = File::open(path.join("db"))?;
            let (mark, marked) = Mark::open(path)?;
            let (directory, blobs) = (path.to_owned(), Mutex::default());
            let disk = Self { log, directory, blobs, mark, marked };
            disk.sync()?;
            Ok(disk)
        };
        open().map_err(|error: io::Error| cannot_open(path, &error))
    }

    /// Returns when everything that the engine has flushed is durable.
    pub fn sync(&self) -> io::Result<()> {
        // Blobs first: the log refers to them.
        self.blobs.lock().sync(&self.directory.join("blobs"))?;
        self.log.sync_data()
    }

    /// Notes the newest sequence that is about to be acknowledged. It is durable already.
    pub fn acknowledge(&self, sequence: u64) -> io::Result<()> {
        self.mark.set(sequence)
    }
}

impl Blobs {
    fn sync(&mut self, directory: &Path) -> io::Result<()> {
        let changed = std::fs::metadata(directory)?.modified()?;
        if self.settled == Some(changed) {
            return Ok(());
        }
        let mut present = HashSet::new();
        let mut fresh = false;
        for entry in std::fs::read_dir(directory)? {
            let entry = entry?;
            let name = entry.file_name();
            if !self.synced.contains(&name) {
                match File::open(entry.path()) {
                    Ok(file) => file.sync_data()?,
                    // The engine has no use for it any more.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    Err(error) => return Err(error),
                }
                fresh = true;
            }
            present.insert(name);
        }
        if fresh {
            File::open(directory)?.sync_all()?;
        }
        self.synced = present;
        let age = SystemTime::now().duration_since(changed).unwrap_or_default();
        self.settled = (age > CLOCK_GRAIN).then_some(changed);
        Ok(())
    }
}
