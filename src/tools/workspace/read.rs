//! `read_file`: the lines of a text file, numbered.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::place::not_opened;
use super::text::{Line, Watched, is_binary, next_line, shown};
use super::{Stop, TEXT_CAP, Workspace, go_on, off_thread};
use crate::tools::tool::Tool;

/// The most lines of one result.
const LINES_CAP: u64 = 2000;

/// The most bytes of one line that are shown.
const LINE_CAP: usize = 2000;

/// How many bytes are read beyond the shown lines to tell how many lines there are in all, and the
/// longest line that is read over.
const COUNT_CAP: usize = 64 * 1024 * 1024;

/// The buffer of the reader; its first filling decides whether a file is text.
const BUFFER: usize = 16 * 1024;

const DESCRIPTION: &str = "Reads a text file of the workspace. The first line of the result says \
which lines follow and how many there are; each has its number and a tab before it. At most 2000 \
lines or 30 KiB at once: for more, read on with `start_line`.";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The file, relative to the workspace's root.
    path: String,
    /// The first line to read, from 1. Without it, from the beginning.
    #[schemars(range(min = 1))]
    start_line: Option<u64>,
    /// The last line to read, included. Without it, as many as fit.
    #[schemars(range(min = 1))]
    end_line: Option<u64>,
}

pub(super) fn tool(workspace: Arc<Workspace>) -> Tool {
    Tool::function("read_file", DESCRIPTION, move |arguments: Arguments, call| {
        let workspace = Arc::clone(&workspace);
        off_thread(call, move |cancelled| read(&workspace, &arguments, cancelled))
    })
    .read_only()
}

fn read(
    workspace: &Workspace,
    arguments: &Arguments,
    cancelled: &CancellationToken,
) -> Result<String, Stop> {
    let start = arguments.start_line.unwrap_or(1).max(1);
    let end = arguments.end_line.unwrap_or(u64::MAX);
    if end < start {
        let text = format!("end_line ({end}) is before start_line ({start}): swap them");
        return Err(Stop::Failed(text));
    }
    let path = workspace.find(Some(&arguments.path))?.path;
    let file = workspace.open_file(&path).map_err(|error| not_opened(&path, &error))?;
    let bytes = file.metadata().map_err(|error| not_opened(&path, &error))?.len();
    let mut reader = BufReader::with_capacity(BUFFER, Watched { inner: file, cancelled });
    let lines = Lines::read(&mut reader, start, end).map_err(|error| match error {
        Unread::Binary => Stop::failed(format!(
            "`{}` is a binary file of {bytes} bytes: read_file shows text only",
            shown(&path)
        )),
        Unread::Failed(error) => match go_on(cancelled) {
            Ok(()) => not_opened(&path, &error),
            Err(stop) => stop,
        },
    })?;
    lines.told(&path, start, end)
}

/// Why the lines of an open file could not be read.
enum Unread {
    Binary,
    Failed(std::io::Error),
}

impl From<std::io::Error> for Unread {
    fn from(error: std::io::Error) -> Self {
        Self::Failed(error)
    }
}

/// The lines that are shown, and how many there are.
struct Lines {
    text: String,
    /// The last line that is shown; the one before the first if none is.
    last: u64,
    /// The lines of the whole file, as far as they were counted.
    total: u64,
    /// Whether all were counted.
    counted: bool,
}

impl Lines {
    /// Reads on after the shown lines only to count the others.
    fn read(reader: &mut impl BufRead, start: u64, end: u64) -> Result<Self, Unread> {
        if is_binary(reader.fill_buf()?) {
            return Err(Unread::Binary);
        }
        let mut lines = Self { text: String::new(), last: start - 1, total: 0, counted: true };
        let mut full = false;
        let mut beyond: usize = 0;
        loop {
            let number = lines.total + 1;
            let wanted = !full && number >= start && number <= end;
            // Lines that nobody sees are read in one go but not kept.
            let cap = if wanted { LINE_CAP } else { 0 };
            let Some(line) = next_line(reader, cap, COUNT_CAP - beyond)? else { break };
            lines.total = number;
            full |= wanted && !lines.push(number, start, &line);
            if number > end || full {
                beyond = COUNT_CAP.min(beyond + line.full);
            }
            if beyond == COUNT_CAP || !line.ended {
                lines.counted = false;
                break;
            }
        }
        Ok(lines)
    }

    /// Adds a line if there is room for it.
    fn push(&mut self, number: u64, start: u64, line: &Line) -> bool {
        let kept = String::from_utf8_lossy(&line.kept);
        let kept = kept.strip_suffix('\r').unwrap_or(&kept);
        let mut text = format!("{number:>6}\t{kept}");
        if line.full > line.kept.len() {
            let more_than = if line.ended { "" } else { "more than " };
            text.push_str(&format!(
                " [cut: {} of {more_than}{} bytes]",
                line.kept.len(),
                line.full
            ));
        }
        text.push('\n');
        let fits = number - start < LINES_CAP && self.text.len() + text.len() <= TEXT_CAP;
        if fits {
            self.text.push_str(&text);
            self.last = number;
        }
        fits
    }

    fn told(&self, path: &Path, start: u64, end: u64) -> Result<String, Stop> {
        let Self { text, last, total, counted } = self;
        let path = shown(path);
        let about = if *counted { "" } else { "more than " };
        if *total == 0 {
            return Ok(format!("{path}: empty\n"));
        }
        if start > *total {
            return Err(Stop::Failed(if *counted {
                format!("`{path}` has {total} lines: start_line {start} is beyond its end")
            } else {
                format!("line {total} of `{path}` is too long to be read over: search the file")
            }));
        }
        let mut told = format!("{path}: lines {start}-{last} of {about}{total}\n{text}");
        if *last < end.min(*total) {
            told.push_str(&format!("[cut: read on with start_line = {}]\n", last + 1));
        }
        Ok(told)
    }
}
