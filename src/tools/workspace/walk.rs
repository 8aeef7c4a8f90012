//! A walk through a workspace, entry by entry, in order.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use cap_fs_ext::DirExt;
use cap_std::fs::{Dir, File, FileType};

use super::Workspace;
use super::ignores::Ignores;
use super::place::{Place, open_regular};

/// The deepest that a walk goes; each level holds a directory open.
pub(super) const MAX_DEPTH: usize = 64;

/// The most names of one directory that are read.
const DIRECTORY_CAP: usize = 50_000;

/// An entry of a directory.
pub(super) struct Entry {
    /// Relative to the workspace's root.
    pub(super) path: PathBuf,
    /// What it is. Links are not followed.
    pub(super) kind: FileType,
    parent: Arc<Dir>,
    name: OsString,
}

impl Entry {
    /// Opens it, if it is still a regular file.
    pub(super) fn open(&self) -> io::Result<File> {
        open_regular(&self.parent, &self.name)
    }
}

/// A walk, depth first, each directory before what is in it.
///
/// It goes by open directories, never by paths, so that nothing that is swapped meanwhile can lead
/// it out of the workspace.
pub(super) struct Walk<'a> {
    workspace: &'a Workspace,
    levels: Vec<Level>,
    depth: usize,
    /// Whether a directory was not entered because of the depth.
    pub(super) stopped_by_depth: bool,
    /// Directories that could not be read, or not to their end.
    pub(super) unread: usize,
}

/// A directory that the walk is in.
struct Level {
    dir: Arc<Dir>,
    path: PathBuf,
    rest: std::vec::IntoIter<(OsString, FileType)>,
    ignores: Ignores,
}

impl<'a> Walk<'a> {
    /// Begins below a directory. A depth of 1 shows its own entries only; there is at most
    /// [`MAX_DEPTH`].
    pub(super) fn below(
        workspace: &'a Workspace,
        place: &Place,
        depth: usize,
    ) -> io::Result<Walk<'a>> {
        let dir = workspace.open_dir(&place.path)?;
        let ignores = Ignores::above(workspace, &place.path);
        let mut walk = Self {
            workspace,
            levels: Vec::new(),
            depth: depth.min(MAX_DEPTH),
            stopped_by_depth: false,
            unread: 0,
        };
        walk.enter(dir, place.path.clone(), ignores)?;
        Ok(walk)
    }

    fn enter(&mut self, dir: Dir, path: PathBuf, above: Ignores) -> io::Result<()> {
        let mut names = Vec::new();
        for entry in dir.entries()? {
            let entry = entry?;
            if names.len() == DIRECTORY_CAP {
                self.unread += 1;
                break;
            }
            names.push((entry.file_name(), entry.file_type()?));
        }
        names.sort_by(|left, right| left.0.cmp(&right.0));
        let ignores = above.with(&dir, &path);
        self.levels.push(Level { dir: Arc::new(dir), path, rest: names.into_iter(), ignores });
        Ok(())
    }

    /// Enters a directory entry, unless it is too deep or cannot be read.
    fn descend(&mut self, entry: &Entry, above: Ignores) {
        if self.levels.len() >= self.depth {
            self.stopped_by_depth = true;
            return;
        }
        let entered = entry
            .parent
            .open_dir_nofollow(&entry.name)
            .and_then(|dir| self.enter(dir, entry.path.clone(), above));
        if entered.is_err() {
            self.unread += 1;
        }
    }
}

impl Iterator for Walk<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        loop {
            let level = self.levels.last_mut()?;
            let Some((name, kind)) = level.rest.next() else {
                self.levels.pop();
                continue;
            };
            let path = level.path.join(&name);
            if self.workspace.is_hidden(&path) || level.ignores.leave_out(&path, kind.is_dir()) {
                continue;
            }
            let entry = Entry { path, kind, parent: Arc::clone(&level.dir), name };
            if kind.is_dir() {
                let above = level.ignores.clone();
                self.descend(&entry, above);
            }
            return Some(entry);
        }
    }
}
