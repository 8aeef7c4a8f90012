//! Ignore files: what a walk leaves out.

use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use cap_std::fs::Dir;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::Workspace;
use super::place::open_regular;

/// The ignore files of a directory; the later wins.
const NAMES: [&str; 2] = [".gitignore", ".ignore"];

/// What version control keeps for itself.
const VERSION_CONTROL: [&str; 6] = [".git", ".hg", ".svn", ".jj", ".bzr", "CVS"];

/// The most bytes of one ignore file that are read.
const FILE_CAP: u64 = 256 * 1024;

/// The rules that hold in one directory: its own and those of the directories above it, up to the
/// workspace's root. Rules from outside of the workspace do not count.
#[derive(Clone, Debug, Default)]
pub(super) struct Ignores {
    /// The later wins.
    rules: Vec<Arc<Gitignore>>,
}

impl Ignores {
    /// The rules above a directory, its own not included.
    pub(super) fn above(workspace: &Workspace, path: &Path) -> Self {
        let mut above: Vec<&Path> = path.ancestors().skip(1).collect();
        above.reverse();
        let mut ignores = Self::default();
        for path in above {
            // A directory that cannot be opened any more has no rules.
            if let Ok(dir) = workspace.open_dir(path) {
                ignores = ignores.with(&dir, path);
            }
        }
        ignores
    }

    /// These rules and those of a directory, whose path is relative to the workspace's root.
    pub(super) fn with(mut self, dir: &Dir, path: &Path) -> Self {
        for name in NAMES {
            if let Some(text) = read(dir, OsStr::new(name)) {
                self.rules.extend(rules(path, &text));
            }
        }
        self
    }

    /// Whether a walk leaves out an entry, whose path is relative to the workspace's root.
    pub(super) fn leave_out(&self, path: &Path, is_dir: bool) -> bool {
        let is_metadata = path.file_name().is_some_and(|name| {
            VERSION_CONTROL.iter().any(|metadata| name == OsStr::new(metadata))
        });
        let ruled = || {
            self.rules.iter().rev().find_map(|rules| match rules.matched(in_root(path), is_dir) {
                Match::None => None,
                Match::Ignore(_) => Some(true),
                Match::Whitelist(_) => Some(false),
            })
        };
        is_metadata || ruled().unwrap_or(false)
    }
}

/// The matcher wants rooted paths; which root does not matter.
fn in_root(path: &Path) -> std::path::PathBuf {
    Path::new("/").join(path)
}

fn read(dir: &Dir, name: &OsStr) -> Option<String> {
    let mut bytes = Vec::new();
    open_regular(dir, name).ok()?.take(FILE_CAP).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The rules of one ignore file; lines that are not valid are passed over, as git does.
fn rules(path: &Path, text: &str) -> Option<Arc<Gitignore>> {
    let mut builder = GitignoreBuilder::new(in_root(path));
    for line in text.trim_start_matches('\u{feff}').lines() {
        let _ = builder.add_line(None, line);
    }
    builder.build().ok().map(Arc::new)
}
