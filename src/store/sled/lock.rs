//! Who owns a data directory, and which format it has: two small text files that are looked at
//! before the engine, which writes when it opens, is let near.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use kinfolk_actors::time::{Millis, Timestamp};

use crate::events::rfc3339;
use crate::ports::store::StoreError;
use crate::store::record::FORMAT;

/// The most of a lock or format file that is read.
const TEXT_LIMIT: u64 = 200;

/// How long a lock is waited for whose owner has ended.
const DEAD_OWNER_PATIENCE: Duration = Duration::from_secs(2);
const DEAD_OWNER_STEP: Duration = Duration::from_millis(10);

/// The held lock of a data directory. The system lets go of it when the process ends, however
/// that happens; the file stays and means nothing without the lock.
#[derive(Debug)]
pub(super) struct DataLock {
    // Closing the file frees the lock.
    _file: File,
}

impl DataLock {
    /// Takes the directory for this process and makes sure that its format is known.
    pub fn take(path: &Path) -> Result<Self, StoreError> {
        // Looked at before the lock file is touched, and again when nobody else can write it.
        check_format(path)?;
        let opened = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path.join("lock"));
        let mut file = opened.map_err(|error| cannot_open(path, &error))?;
        lock(&mut file, path)?;
        // From here on newer records are written: an older program has to stop at the format.
        if check_format(path)? != Some(FORMAT) {
            write_format(path).map_err(|error| cannot_open(path, &error))?;
        }
        sign(&mut file).map_err(|error| cannot_open(path, &error))?;
        Ok(Self { _file: file })
    }
}

/// Takes the lock. A process that was killed, or this one before it let go of the lock, may have
/// been starting a child: until that has become another program, it holds a copy of the file and
/// so the lock, for a moment.
fn lock(file: &mut File, path: &Path) -> Result<(), StoreError> {
    let mut waited = Duration::ZERO;
    loop {
        let owner = match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) => owner(file),
            Err(TryLockError::Error(error)) => return Err(cannot_open(path, &error)),
        };
        if waited >= DEAD_OWNER_PATIENCE || !may_be_a_copy(&owner) {
            return Err(StoreError::InUse { path: shown(path), owner });
        }
        std::thread::sleep(DEAD_OWNER_STEP);
        waited += DEAD_OWNER_STEP;
    }
}

/// Whether the process that signed the lock has ended, or is this one. Where that cannot be known,
/// it has not.
fn may_be_a_copy(owner: &str) -> bool {
    let pid = owner.strip_prefix("process ").and_then(|rest| rest.split(' ').next());
    let Some(pid) = pid.and_then(|pid| pid.parse::<u32>().ok()) else { return false };
    let has_ended =
        || Path::new("/proc/self").exists() && !Path::new(&format!("/proc/{pid}")).exists();
    pid == std::process::id() || has_ended()
}

/// Makes the directory for its owner alone, unless it is there.
pub(super) fn make_directory(path: &Path) -> Result<(), StoreError> {
    if path.is_dir() {
        return Ok(());
    }
    let make = || {
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(path)
    };
    match make() {
        Err(error) if !path.is_dir() => Err(cannot_open(path, &error)),
        // Somebody else made it a moment ago.
        Ok(()) | Err(_) => Ok(()),
    }
}

/// An error of the system, as one of opening the store.
pub(super) fn cannot_open(path: &Path, error: &dyn std::fmt::Display) -> StoreError {
    StoreError::Open { path: shown(path), detail: error.to_string() }
}

/// The path for people.
pub(super) fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Says who holds the lock.
fn sign(file: &mut File) -> std::io::Result<()> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let since = rfc3339(Timestamp(Millis::from(since).0));
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "process {} (since {since})", std::process::id())
}

/// What the holder of the lock wrote into it.
fn owner(file: &mut File) -> String {
    let mut text = String::new();
    // A file that cannot be rewound cannot be read either; see below.
    let _ = file.rewind();
    // A holder may be about to write; then it is known only that there is one.
    let read = file.take(TEXT_LIMIT).read_to_string(&mut text);
    match text.trim() {
        "" => "another process".to_owned(),
        _ if read.is_err() => "another process".to_owned(),
        owner => owner.to_owned(),
    }
}

pub(super) fn format_file(path: &Path) -> PathBuf {
    path.join("format")
}

/// The directory's format, if it has one, which then is a known one.
fn check_format(path: &Path) -> Result<Option<u16>, StoreError> {
    let mut text = String::new();
    let read = File::open(format_file(path))
        .and_then(|file| file.take(TEXT_LIMIT).read_to_string(&mut text));
    match read {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(cannot_open(path, &error)),
    }
    let damaged = |detail: String| StoreError::Damaged {
        what: format!("the file {}", format_file(path).display()),
        detail,
    };
    match text.trim().parse() {
        Ok(0) => Err(damaged("format 0 never existed".to_owned())),
        Ok(found) => known_format(path, found).map(|()| Some(found)),
        Err(_) => Err(damaged(format!("`{}` is no format number", text.trim()))),
    }
}

/// Refuses a format from the future.
pub(super) fn known_format(path: &Path, found: u16) -> Result<(), StoreError> {
    if found > FORMAT {
        return Err(StoreError::NewerFormat { path: shown(path), found, known: FORMAT });
    }
    Ok(())
}

/// Writes the format so that it is there whole or not at all.
fn write_format(path: &Path) -> std::io::Result<()> {
    let fresh = path.join("format.new");
    let mut file = File::create(&fresh)?;
    writeln!(file, "{FORMAT}")?;
    file.sync_all()?;
    std::fs::rename(&fresh, format_file(path))?;
    File::open(path)?.sync_all()
}
