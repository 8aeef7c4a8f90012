//! Where a socket stands: its path made short enough, and looked at before it is trusted.

use std::fs::{self, File};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use super::SocketError;

/// The most bytes of a socket's path: `sun_path` has 108 on Linux and 104 elsewhere, with the NUL.
const MAX_PATH: usize = if cfg!(target_os = "linux") { 107 } else { 103 };

/// The bits of a mode that give others a right.
const OTHERS: u32 = 0o077;

/// A path for a system call. It leads to the same file as the long one while it is kept.
pub(super) struct Short {
    pub(super) path: PathBuf,
    _directory: Option<File>,
}

/// A path to `name` in `directory` that a socket's address can hold.
pub(super) fn short(directory: &Path, name: &str) -> Result<Short, SocketError> {
    let path = directory.join(name);
    if path.as_os_str().len() <= MAX_PATH {
        return Ok(Short { path, _directory: None });
    }
    let too_long = || SocketError::PathTooLong { path: path.clone(), limit: MAX_PATH };
    if !cfg!(target_os = "linux") {
        return Err(too_long());
    }
    // The kernel's own name of the opened directory is short, however long its path is.
    let opened =
        File::open(directory).map_err(|error| SocketError::Io { path: path.clone(), error })?;
    let short = PathBuf::from(format!("/proc/self/fd/{}", opened.as_raw_fd())).join(name);
    if fs::metadata(short.parent().unwrap_or(Path::new("/"))).is_err() {
        return Err(too_long());
    }
    Ok(Short { path: short, _directory: Some(opened) })
}

/// Which file it is, whatever its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    device: u64,
    inode: u64,
}

/// The file's identity; links are not followed.
pub(super) fn identity(path: &Path) -> Option<Identity> {
    let found = fs::symlink_metadata(path).ok()?;
    Some(Identity { device: found.dev(), inode: found.ino() })
}

/// What stands at a socket's path; links are not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    Socket { owner: u32 },
}

/// Looks at a socket before it is used: a link, a file or a socket that others could have put there
/// is refused.
pub(super) fn look_at(path: &Path, directory: &Path) -> Result<Found, SocketError> {
    let io = |error| SocketError::Io { path: path.to_owned(), error };
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Found::Nothing),
        found => found.map_err(io)?,
    };
    if !found.file_type().is_socket() {
        return Err(SocketError::NotASocket(path.to_owned()));
    }
    let not_private = |why| SocketError::NotPrivate { path: path.to_owned(), why };
    if found.mode() & OTHERS != 0 {
        return Err(not_private("others may write to it"));
    }
    let owner_of_directory = fs::metadata(directory).map_err(io)?.uid();
    // Root may run on anybody's directory.
    if found.uid() != owner_of_directory && found.uid() != 0 {
        return Err(not_private("another user made it"));
    }
    Ok(Found::Socket { owner: found.uid() })
}
