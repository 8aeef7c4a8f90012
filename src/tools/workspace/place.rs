//! Paths of a workspace: from what a model wrote to what is opened.

use std::ffi::OsStr;
use std::io;
use std::path::{Component, Path, PathBuf};

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::fs::{Dir, File, OpenOptions};

use super::text::shown;
use super::{Stop, Workspace};

/// A file or directory of a workspace that exists, is inside, and is not hidden.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Relative to the root, only normal components; empty for the root.
    pub(super) path: PathBuf,
}

impl Workspace {
    /// Finds what a model named; the root if it named nothing.
    pub(super) fn find(&self, asked: Option<&str>) -> Result<Place, Stop> {
        let asked = asked.unwrap_or_default();
        let path = self.relative(asked)?;
        let path = self.dir.canonicalize(path).map_err(|error| not_found(asked, &error))?;
        let normal = |part: &Component<'_>| matches!(part, Component::Normal(_));
        let path: PathBuf = path.components().filter(normal).collect();
        if self.is_hidden(&path) {
            return Err(not_found(asked, &io::ErrorKind::NotFound.into()));
        }
        Ok(Place { path })
    }

    /// Whether a path relative to the root does not exist for the tools.
    pub(super) fn is_hidden(&self, path: &Path) -> bool {
        self.hidden.iter().any(|hidden| path.starts_with(hidden))
    }

    fn relative<'a>(&self, asked: &'a str) -> Result<&'a Path, Stop> {
        let path = Path::new(asked);
        let relative = if path.is_absolute() {
            path.strip_prefix(&self.root)
                .or_else(|_| path.strip_prefix(&self.named))
                .map_err(|_| outside(asked))?
        } else {
            path
        };
        Ok(if relative.as_os_str().is_empty() { Path::new(".") } else { relative })
    }

    /// Opens a directory, step by step and without following links: what a link was swapped in for
    /// meanwhile is not found.
    pub(super) fn open_dir(&self, path: &Path) -> io::Result<Dir> {
        let mut dir = self.dir.try_clone()?;
        for name in path {
            dir = dir.open_dir_nofollow(name)?;
        }
        Ok(dir)
    }

    /// Opens a file in the same way.
    pub(super) fn open_file(&self, path: &Path) -> io::Result<File> {
        let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?;
        let dir = self.open_dir(path.parent().unwrap_or(Path::new("")))?;
        open_regular(&dir, name)
    }
}

/// Opens a regular file of a directory, without following a link. Anything else is refused before
/// it is opened, since opening alone can block or have effects, and again once it is open.
pub(super) fn open_regular(dir: &Dir, name: &OsStr) -> io::Result<File> {
    regular(dir.symlink_metadata(name)?.file_type())?;
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No).nonblock(true);
    let file = dir.open_with(name, &options)?;
    regular(file.metadata()?.file_type())?;
    Ok(file)
}

fn regular(kind: cap_std::fs::FileType) -> io::Result<()> {
    if kind.is_file() {
        Ok(())
    } else if kind.is_dir() {
        Err(io::ErrorKind::IsADirectory.into())
    } else {
        Err(io::ErrorKind::InvalidInput.into())
    }
}

/// Why a file could not be opened, for the model.
pub(super) fn not_opened(path: &Path, error: &io::Error) -> Stop {
    let path = shown(path);
    Stop::Failed(match error.kind() {
        io::ErrorKind::IsADirectory => {
            format!("`{path}` is a directory: list it with workspace_tree")
        }
        io::ErrorKind::InvalidInput => {
            format!("`{path}` is not a regular file (a pipe, socket or device) and cannot be read")
        }
        _ => return not_found(&path, error),
    })
}

fn not_found(asked: &str, error: &io::Error) -> Stop {
    let asked = shown(Path::new(asked));
    Stop::Failed(match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            format!("`{asked}` does not exist in the workspace: see workspace_tree for what does")
        }
        // The system's own refusals have a number; the sandbox's has none.
        io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => {
            return outside(&asked);
        }
        io::ErrorKind::PermissionDenied => format!("`{asked}` may not be read: permission denied"),
        _ => format!("`{asked}` cannot be read: {error}"),
    })
}

fn outside(asked: &str) -> Stop {
    let asked = shown(Path::new(asked));
    Stop::failed(format!(
        "`{asked}` is outside of the workspace: use a path relative to the workspace's root"
    ))
}
