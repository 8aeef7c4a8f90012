//! The embedded store on disk: one directory, one process, every append durable before it is
//! acknowledged.
//!
//! | tree | key | value |
//! | --- | --- | --- |
//! | `journal` | global sequence, `u64` big-endian | a record |
//! | `heads` | session | epoch, next offset, newest sequence, newest run |
//! | `runs` | run, 16 bytes | a run's summary |
//! | `families` | hash, 32 bytes | a frozen family |
//! | `meta` | `indexed` | the format; the newest sequence whose heads and runs are written |
//! | `quarantine` | global sequence | the bytes of a record that was found damaged |
//!
//! The journal only grows at its end; `heads` and `runs` are an index of it, and what a crash kept
//! from them is made up for at the next start. Beside the trees stand `lock`, which the owning
//! process holds, and `format`, which is read before anything is touched.
//!
//! The work is done on the blocking threads of tokio, one writer at a time. A job that was begun
//! ends as a whole, also when the future that waits for it is dropped.

mod disk;
mod lock;
mod mark;
mod read;
mod trees;
mod write;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use kinfolk_actors::family::FamilyHash;
use kinfolk_actors::id::{Offset, RunId, SessionId};
use parking_lot::Mutex;

use self::disk::Disk;
use self::lock::DataLock;
use self::trees::Trees;
use self::write::Writer;
use crate::ports::store::{Append, Claim, Record, RunSummary, SessionSummary, Store, StoreError};

/// A store in a directory. Clones are not needed: share it in an `Arc`.
///
/// Reads wait for a commit that is under way, so that nothing is read that could still be lost.
/// After a failed write the store refuses everything until it is opened again, since what then
/// stands on the disk is not known.
#[derive(Debug)]
pub struct SledStore {
    inner: Arc<Inner>,
}

// The fields are dropped in this order: the lock goes last, when the trees are closed.
struct Inner {
    path: PathBuf,
    trees: Trees,
    // Held by one blocking job at a time, never across an await.
    writer: Mutex<Writer>,
    disk: Disk,
    _lock: DataLock,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner").field("path", &self.path).finish_non_exhaustive()
    }
}

impl SledStore {
    /// Opens the store in a directory, and makes it (mode 0700) if it is not there. Blocks: a
    /// large store takes a second.
    ///
    /// # Errors
    /// [`StoreError::InUse`] if a process, this one included, has it open.
    /// [`StoreError::NewerFormat`] if a newer version wrote it; nothing was changed then.
    /// [`StoreError::Open`] if the path cannot be used. [`StoreError::Damaged`] if the engine
    /// finds its files damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        lock::make_directory(path)?;
        let lock = DataLock::take(path)?;
        let trees = Trees::open(path)?;
        let disk = Disk::open(path)?;
        let mut writer = Writer::load(path, &trees, disk.marked)?;
        writer.catch_up(&trees, &disk)?;
        let path = path.to_owned();
        let inner = Inner { path, trees, writer: Mutex::new(writer), disk, _lock: lock };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Whether there is a store in a directory, without making one.
    #[must_use]
    pub fn exists(path: impl AsRef<Path>) -> bool {
        lock::format_file(path.as_ref()).is_file()
    }

    /// Runs a job on a blocking thread, from the first poll on and to its end.
    async fn job<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Inner) -> T + Send + 'static,
    ) -> Result<T, String> {
        let inner = Arc::clone(&self.inner);
        let ended = tokio::task::spawn_blocking(move || job(&inner)).await;
        ended.map_err(|error| format!("the store's job ended early: {error}"))
    }

    fn reading<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Inner) -> Result<T, StoreError> + Send + 'static,
    ) -> BoxFuture<'_, Result<T, StoreError>> {
        let answer = self.job(job);
        async move { answer.await.unwrap_or_else(|detail| Err(StoreError::Read { detail })) }
            .boxed()
    }
}

/// What a future began happens whole, also if the future is dropped.
impl Store for SledStore {
    fn claim<'a>(&'a self, session: &'a SessionId) -> BoxFuture<'a, Result<Claim, StoreError>> {
        let session = session.clone();
        let answer = self.job(move |inner| inner.writer.lock().claim(inner, &session));
        async move { answer.await.unwrap_or_else(|detail| Err(StoreError::Write { detail })) }
            .boxed()
    }

    fn commit(&self, group: Vec<Append>) -> BoxFuture<'_, Vec<Result<(), StoreError>>> {
        let size = group.len();
        let answer = self.job(move |inner| inner.writer.lock().commit(inner, &group));
        async move {
            answer.await.unwrap_or_else(|detail| vec![Err(StoreError::Write { detail }); size])
        }
        .boxed()
    }

    fn read<'a>(
        &'a self,
        session: &'a SessionId,
        from: Offset,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Arc<Record>>, StoreError>> {
        let session = session.clone();
        self.reading(move |inner| read::records(inner, &session, from, limit))
    }

    fn family(&self, hash: FamilyHash) -> BoxFuture<'_, Result<Option<Arc<str>>, StoreError>> {
        self.reading(move |inner| {
            // Held throughout, here and below: what a commit under way writes is not durable yet.
            let writer = inner.writer.lock();
            writer.usable()?;
            inner.trees.family(hash)
        })
    }

    fn sessions(&self) -> BoxFuture<'_, Result<Vec<SessionSummary>, StoreError>> {
        self.reading(|inner| {
            let writer = inner.writer.lock();
            writer.usable()?;
            read::sessions(&inner.trees)
        })
    }

    fn session<'a>(
        &'a self,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Option<SessionSummary>, StoreError>> {
        let session = session.clone();
        self.reading(move |inner| {
            let writer = inner.writer.lock();
            writer.usable()?;
            let head = inner.trees.head(&session)?;
            Ok(head.map(|head| read::summary_of(&session, head)))
        })
    }

    fn run(&self, run: RunId) -> BoxFuture<'_, Result<Option<RunSummary>, StoreError>> {
        self.reading(move |inner| {
            let writer = inner.writer.lock();
            writer.usable()?;
            inner.trees.run(run)
        })
    }
}
