//! `workspace_tree`: what is in a directory, with sizes.

use std::io::{self, Read};
use std::sync::Arc;

use cap_std::fs::File;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::place::{Place, not_opened};
use super::text::{is_binary, shown};
use super::walk::{Entry, MAX_DEPTH, Walk};
use super::{Stop, TEXT_CAP, Workspace, go_on, off_thread};
use crate::tools::tool::Tool;

/// The most entries of one tree.
const ENTRY_CAP: usize = 1000;

/// What an entry's line has besides its path, at most.
const LINE_OVERHEAD: usize = 48;

/// The most bytes that are read for one tree to count lines.
const COUNT_CAP: u64 = 64 * 1024 * 1024;

const DESCRIPTION: &str = "Lists the files and directories of the workspace, one a line, paths \
relative to its root; directories end in `/`, files show their lines and bytes. Ignored files are \
left out. A large tree is cut to its upper levels, with a remark at the end.";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The directory to list, relative to the workspace's root; without it, the root.
    path: Option<String>,
    /// How many levels to list; 1 is only the directory's own entries. Without it, as many as fit.
    #[schemars(range(min = 1))]
    depth: Option<u32>,
}

pub(super) fn tool(workspace: Arc<Workspace>) -> Tool {
    Tool::function("workspace_tree", DESCRIPTION, move |arguments: Arguments, call| {
        let workspace = Arc::clone(&workspace);
        off_thread(call, move |cancelled| tree(&workspace, &arguments, cancelled))
    })
    .read_only()
}

fn tree(
    workspace: &Workspace,
    arguments: &Arguments,
    cancelled: &CancellationToken,
) -> Result<String, Stop> {
    let place = workspace.find(arguments.path.as_deref())?;
    let asked = arguments.depth.and_then(|depth| usize::try_from(depth).ok());
    let deepest = asked.unwrap_or(MAX_DEPTH).clamp(1, MAX_DEPTH);
    let (listing, remark) = deepest_that_fits(workspace, &place, deepest, cancelled)?;
    let mut lines = Vec::with_capacity(listing.entries.len() + 2);
    let mut counter = Counter { left: COUNT_CAP, cancelled };
    for entry in &listing.entries {
        lines.push(line(entry, &mut counter)?);
    }
    if lines.is_empty() {
        lines.push("[empty]".to_owned());
    }
    if listing.unread > 0 {
        lines.push(format!("[{} directories could not be read to their end]", listing.unread));
    }
    lines.extend(remark);
    lines.push(String::new());
    Ok(lines.join("\n"))
}

/// The entries down to a depth.
struct Listing {
    entries: Vec<Entry>,
    /// All of them are there.
    whole: bool,
    /// Directories were not entered because of the depth.
    more_below: bool,
    unread: usize,
}

/// The most levels that fit whole, so that a large directory does not hide its neighbours; and a
/// remark on what is missing.
fn deepest_that_fits(
    workspace: &Workspace,
    place: &Place,
    deepest: usize,
    cancelled: &CancellationToken,
) -> Result<(Listing, Option<String>), Stop> {
    let mut listing = list(workspace, place, 1, cancelled)?;
    if !listing.whole {
        let shown = listing.entries.len();
        let remark = format!("[cut: the first {shown} entries are shown, there are more]");
        return Ok((listing, Some(remark)));
    }
    let mut depth = 1;
    while listing.more_below && depth < deepest {
        let next = list(workspace, place, depth + 1, cancelled)?;
        if !next.whole {
            let remark = format!(
                "[cut: {depth} levels are shown, with the next there are too many entries; pass `path` to see more]"
            );
            return Ok((listing, Some(remark)));
        }
        (listing, depth) = (next, depth + 1);
    }
    let how = if depth < MAX_DEPTH { "`path` or a larger `depth`" } else { "`path`" };
    let remark = listing
        .more_below
        .then(|| format!("[cut: {depth} levels are shown; pass {how} to see more]"));
    Ok((listing, remark))
}

fn list(
    workspace: &Workspace,
    place: &Place,
    depth: usize,
    cancelled: &CancellationToken,
) -> Result<Listing, Stop> {
    let mut walk = Walk::below(workspace, place, depth).map_err(|error| match error.kind() {
        io::ErrorKind::NotADirectory => Stop::failed(format!(
            "`{}` is not a directory: read it with read_file",
            shown(&place.path)
        )),
        _ => not_opened(&place.path, &error),
    })?;
    let mut entries = Vec::new();
    let mut size = 0;
    let mut whole = true;
    for entry in walk.by_ref() {
        go_on(cancelled)?;
        size += entry.path.as_os_str().len() + LINE_OVERHEAD;
        if entries.len() == ENTRY_CAP || size > TEXT_CAP {
            whole = false;
            break;
        }
        entries.push(entry);
    }
    Ok(Listing { entries, whole, more_below: walk.stopped_by_depth, unread: walk.unread })
}

fn line(entry: &Entry, counter: &mut Counter<'_>) -> Result<String, Stop> {
    let path = shown(&entry.path);
    Ok(if entry.kind.is_dir() {
        format!("{path}/")
    } else if entry.kind.is_symlink() {
        format!("{path}  (link)")
    } else if !entry.kind.is_file() {
        format!("{path}  (special)")
    } else {
        match entry.open().and_then(|file| counter.size(file)) {
            Ok(Size { bytes, content: Content::Text { lines } }) => {
                format!("{path}  ({lines} lines, {bytes} bytes)")
            }
            Ok(Size { bytes, content: Content::Binary }) => {
                format!("{path}  (binary, {bytes} bytes)")
            }
            Ok(Size { bytes, content: Content::NotCounted }) => format!("{path}  ({bytes} bytes)"),
            Err(_) => {
                go_on(counter.cancelled)?;
                format!("{path}  (unreadable)")
            }
        }
    })
}

/// How large a file is.
struct Size {
    bytes: u64,
    content: Content,
}

enum Content {
    Text { lines: u64 },
    Binary,
    NotCounted,
}

/// Counts lines within a budget for the whole tree.
struct Counter<'a> {
    left: u64,
    cancelled: &'a CancellationToken,
}

impl Counter<'_> {
    fn size(&mut self, mut file: File) -> io::Result<Size> {
        let bytes = file.metadata()?.len();
        let size = |content| Ok(Size { bytes, content });
        if bytes > self.left {
            return size(Content::NotCounted);
        }
        let (mut lines, mut last, mut first) = (0, b'\n', true);
        let mut chunk = vec![0; 16 * 1024];
        loop {
            if self.cancelled.is_cancelled() {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let read = file.read(&mut chunk)?;
            let Some(end) = chunk[..read].last() else { break };
            last = *end;
            self.left = self.left.saturating_sub(read as u64);
            if std::mem::take(&mut first) && is_binary(&chunk[..read]) {
                return size(Content::Binary);
            }
            // The file may grow while it is read.
            if self.left == 0 {
                return size(Content::NotCounted);
            }
            lines += chunk[..read].iter().filter(|byte| **byte == b'\n').count() as u64;
        }
        size(Content::Text { lines: lines + u64::from(last != b'\n') })
    }
}
