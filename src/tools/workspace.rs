//! The built-in tools that read a workspace: `workspace_tree`, `read_file`, `search_workspace`.
//!
//! What they can reach is decided by the system, not by comparing texts: the root is opened once,
//! and every directory and file is opened relative to it, without following links on the way. Paths
//! with `..` and links are resolved first and must end inside the root. Hidden directories do not
//! exist for any of the tools. They change nothing.
//!
//! Paths in results are relative to the root, with `/`; control characters in them are escaped.
//! A line in square brackets is a remark of the tool, such as the mark of a cut. Every result is at
//! most about 30 KiB. Order is by name, byte by byte, and the same every time.
//!
//! `workspace_tree` gives one entry a line, a directory before what is in it. `.gitignore` and
//! `.ignore` files hold; version control directories are left out; links are not followed.
//!
//! ```text
//! docs/
//! docs/logo.png  (binary, 5120 bytes)
//! docs/plan.md  (12 lines, 340 bytes)
//! latest  (link)
//! queue  (special)
//! [cut: 2 levels are shown, with the next there are too many entries; pass `path` to see more]
//! ```
//!
//! Between a path and its parenthesis stand two spaces; the words are the same for one line and
//! many. A file that is too large to be counted is `(BYTES bytes)`, one that may not be read is
//! `(unreadable)`. An empty directory gives `[empty]`.
//!
//! `read_file` says which lines follow, then each line with its number (six columns) and a tab (`→` here):
//!
//! ```text
//! docs/plan.md: lines 3-4 of 12
//!      3→First, look around.
//!      4→Then decide.
//! [cut: read on with start_line = 5]
//! ```
//!
//! `search_workspace` gives `path:line: text` for each line that matches, in the order of the tree:
//!
//! ```text
//! src/main.rs:7: fn main() {
//! [cut: the first 1 matching lines are shown; narrow `pattern`, `path` or `glob`]
//! ```
//!
//! and `[no matches in 3 files]` if there are none.

use std::fmt;
use std::io;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use kinfolk_actors::call::CallStatus;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use crate::ports::tool::{Call, ToolOutput};
use crate::tools::tool::Tool;

mod ignores;
mod place;
mod read;
mod search;
mod text;
mod tree;
mod walk;

/// The data directory that is hidden in every workspace.
pub const DATA_DIRECTORY: &str = ".kinfolk";

/// The most bytes of one result. Below the cap of a call's result, so that the tools' own marks,
/// which say how to go on, are never cut off.
const TEXT_CAP: usize = 30 * 1024;

/// A directory that the built-in tools may read.
pub struct Workspace {
    /// Canonical and absolute.
    root: PathBuf,
    /// As it was named, absolute: models are told this one.
    named: PathBuf,
    dir: Dir,
    /// Relative to the root.
    hidden: Vec<PathBuf>,
}

/// A directory that cannot be a workspace.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// Nothing is there.
    #[error("the workspace `{path}` does not exist: create it or name another directory")]
    Missing {
        /// The path as it was given.
        path: PathBuf,
    },
    /// Something else is there.
    #[error("the workspace `{path}` is not a directory: name one")]
    NotADirectory {
        /// The path as it was given.
        path: PathBuf,
    },
    /// The system refuses it.
    #[error("the workspace `{path}` cannot be opened: {source}")]
    Unreadable {
        /// The path as it was given.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Hiding the directory would hide the whole workspace.
    #[error("the data directory `{path}` contains the workspace: put it elsewhere, or inside")]
    HidesAll {
        /// The directory to hide, as it was given.
        path: PathBuf,
    },
}

impl Workspace {
    /// Opens a directory. Its [`DATA_DIRECTORY`] is hidden.
    ///
    /// # Errors
    /// It does not exist, is not a directory, or may not be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, WorkspaceError> {
        let path = path.as_ref().to_path_buf();
        let named = std::path::absolute(&path);
        let opened = named.and_then(|named| {
            let root = path.canonicalize()?;
            Ok((Dir::open_ambient_dir(&root, ambient_authority())?, root, named))
        });
        match opened {
            Ok((dir, root, named)) => {
                Ok(Self { root, named, dir, hidden: vec![PathBuf::from(DATA_DIRECTORY)] })
            }
            Err(source) => Err(match source.kind() {
                io::ErrorKind::NotFound => WorkspaceError::Missing { path },
                io::ErrorKind::NotADirectory => WorkspaceError::NotADirectory { path },
                _ => WorkspaceError::Unreadable { path, source },
            }),
        }
    }

    /// Makes a directory invisible to the tools: it and all in it do not exist for them. It need
    /// not exist yet. A relative path is relative to the process's directory, as everywhere; a
    /// directory outside of the workspace cannot be seen anyway.
    ///
    /// # Errors
    /// The workspace lies in that directory.
    pub fn hide(mut self, path: impl AsRef<Path>) -> Result<Self, WorkspaceError> {
        let path = path.as_ref();
        let unreadable = |source| WorkspaceError::Unreadable { path: path.to_path_buf(), source };
        let real = real_path(&std::path::absolute(path).map_err(unreadable)?);
        if self.root.starts_with(&real) {
            return Err(WorkspaceError::HidesAll { path: path.to_path_buf() });
        }
        if let Ok(inside) = real.strip_prefix(&self.root) {
            self.hidden.push(inside.to_path_buf());
        }
        Ok(self)
    }

    /// The root, canonical and absolute.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The three tools that read this workspace.
    #[must_use]
    pub fn tools(self: &Arc<Self>) -> [Tool; 3] {
        [tree::tool(Arc::clone(self)), read::tool(Arc::clone(self)), search::tool(Arc::clone(self))]
    }
}

impl fmt::Debug for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { root, named: _, dir: _, hidden } = self;
        f.debug_struct("Workspace")
            .field("root", root)
            .field("hidden", hidden)
            .finish_non_exhaustive()
    }
}

/// The canonical path, also of what does not exist yet: then of its deepest ancestor that does.
fn real_path(path: &Path) -> PathBuf {
    for ancestor in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (ancestor.canonicalize(), path.strip_prefix(ancestor)) {
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
    }
    path.to_path_buf()
}

/// Why a tool gives no result.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Stop {
    /// Its call was cancelled.
    Cancelled,
    /// It cannot do what was asked; the text tells the model why.
    Failed(String),
}

impl Stop {
    fn failed(text: impl Into<String>) -> Self {
        Self::Failed(text.into())
    }
}

/// Stops what was cancelled. To be asked at every step of long work.
fn go_on(cancelled: &CancellationToken) -> Result<(), Stop> {
    if cancelled.is_cancelled() { Err(Stop::Cancelled) } else { Ok(()) }
}

/// Runs file work off the async threads. It has to watch the token itself; a call that is dropped
/// fires it.
async fn off_thread(
    call: Call,
    work: impl FnOnce(&CancellationToken) -> Result<String, Stop> + Send + 'static,
) -> ToolOutput {
    let cancelled = call.cancelled();
    match spawn_blocking(move || work(&cancelled)).await {
        Ok(Ok(text)) => ToolOutput::ok(text),
        Ok(Err(Stop::Failed(text))) => ToolOutput::error(text),
        Ok(Err(Stop::Cancelled)) => ToolOutput {
            status: CallStatus::Cancelled,
            text: "cancelled before it was done".into(),
        },
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            Err(_) => ToolOutput::error("the runtime is shutting down"),
        },
    }
}
