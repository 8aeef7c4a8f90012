//! `search_workspace`: the lines that match a regular expression.

use std::io;
use std::path::Path;
use std::sync::Arc;

use cap_std::fs::File;
use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::sinks::Lossy;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use ignore::overrides::{Override, OverrideBuilder};
use kinfolk_actors::text::head;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::place::not_opened;
use super::text::{Watched, shown};
use super::walk::{MAX_DEPTH, Walk};
use super::{Stop, TEXT_CAP, Workspace, go_on, off_thread};
use crate::tools::tool::Tool;

/// The matching lines of one result unless the call says otherwise.
const DEFAULT_RESULTS: usize = 100;

/// The most matching lines of one result.
const RESULTS_CAP: usize = 1000;

/// The most bytes of one matching line that are shown: around its first match.
const LINE_CAP: usize = 300;

/// How much of a long line is shown before its first match, in bytes.
const BEFORE_MATCH: usize = 80;

/// How large a compiled expression may be, and the table that it fills while it searches, in bytes.
/// A short pattern can ask for much: `(a{1000}){1000}` is a million letters.
const PATTERN_CAP: usize = 4 * 1024 * 1024;

/// The longest line that is searched, in bytes; files with longer ones are left out and counted.
const HEAP_CAP: usize = 16 * 1024 * 1024;

const DESCRIPTION: &str = "Searches the text files of the workspace for lines that match a regular \
expression (Rust syntax, one line at a time). Each result is `path:line: text`. Ignored and binary \
files are left out.";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The regular expression.
    pattern: String,
    /// The directory or file to search, relative to the workspace's root; without it, everything.
    path: Option<String>,
    /// Only files whose path matches this glob, such as `*.rs` or `src/**/*.md`.
    glob: Option<String>,
    /// Whether upper and lower case are the same. Without it, they are not.
    ignore_case: Option<bool>,
    /// The most matching lines to return, at most 1000. Without it, 100.
    #[schemars(range(min = 1))]
    max_results: Option<u32>,
}

pub(super) fn tool(workspace: Arc<Workspace>) -> Tool {
    Tool::function("search_workspace", DESCRIPTION, move |arguments: Arguments, call| {
        let workspace = Arc::clone(&workspace);
        off_thread(call, move |cancelled| search(&workspace, &arguments, cancelled))
    })
    .read_only()
}

fn search(
    workspace: &Workspace,
    arguments: &Arguments,
    cancelled: &CancellationToken,
) -> Result<String, Stop> {
    go_on(cancelled)?;
    let glob = glob(arguments.glob.as_deref())?;
    let asked = arguments.max_results.and_then(|asked| usize::try_from(asked).ok());
    let mut search = Search {
        matcher: matcher(&arguments.pattern, arguments.ignore_case.unwrap_or(false))?,
        searcher: searcher(),
        found: Found::new(asked.unwrap_or(DEFAULT_RESULTS).clamp(1, RESULTS_CAP)),
        cancelled,
    };
    // Nothing can be cancelled while an expression is compiled.
    go_on(cancelled)?;
    let place = workspace.find(arguments.path.as_deref())?;
    match Walk::below(workspace, &place, MAX_DEPTH) {
        Ok(walk) => search.walk(walk, &glob)?,
        // It is a file, and searched even if a walk would leave it out.
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            let file = workspace.open_file(&place.path);
            let file = file.map_err(|error| not_opened(&place.path, &error))?;
            search.file(file, &place.path)?;
        }
        Err(error) => return Err(not_opened(&place.path, &error)),
    }
    Ok(search.found.told())
}

fn matcher(pattern: &str, ignore_case: bool) -> Result<RegexMatcher, Stop> {
    RegexMatcherBuilder::new()
        .case_insensitive(ignore_case)
        .line_terminator(Some(b'\n'))
        .size_limit(PATTERN_CAP)
        .dfa_size_limit(PATTERN_CAP)
        .build(pattern)
        .map_err(|error| {
            let error = error.to_string();
            // The library has no kind of its own for this.
            Stop::failed(if error.contains("size limit") {
                format!(
                    "`pattern` is too large: compiled it takes more than {PATTERN_CAP} bytes; \
                     use fewer or smaller repetitions"
                )
            } else {
                format!("`pattern` is not valid: {error}")
            })
        })
}

fn glob(glob: Option<&str>) -> Result<Override, Stop> {
    let Some(glob) = glob.filter(|glob| !glob.is_empty()) else { return Ok(Override::empty()) };
    let mut builder = OverrideBuilder::new("/");
    builder
        .add(glob)
        .and_then(|builder| builder.build())
        .map_err(|error| Stop::failed(format!("`glob` is not valid: {error}")))
}

fn searcher() -> Searcher {
    SearcherBuilder::new()
        .line_number(true)
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(HEAP_CAP))
        .build()
}

/// A search under way.
struct Search<'a> {
    matcher: RegexMatcher,
    searcher: Searcher,
    found: Found,
    cancelled: &'a CancellationToken,
}

impl Search<'_> {
    fn walk(&mut self, mut walk: Walk<'_>, glob: &Override) -> Result<(), Stop> {
        for entry in walk.by_ref() {
            go_on(self.cancelled)?;
            let wanted = || !glob.matched(Path::new("/").join(&entry.path), false).is_ignore();
            if !entry.kind.is_file() || !wanted() {
                continue;
            }
            match entry.open() {
                Ok(file) => self.file(file, &entry.path)?,
                Err(_) => self.found.unread += 1,
            }
            if self.found.cut {
                break;
            }
        }
        self.found.unread += walk.unread;
        self.found.too_deep = walk.stopped_by_depth;
        Ok(())
    }

    fn file(&mut self, file: File, path: &Path) -> Result<(), Stop> {
        let Self { matcher, searcher, found, cancelled } = self;
        found.files += 1;
        let path = shown(path);
        let reader = Watched { inner: file, cancelled };
        let sink = Lossy(|number, line| {
            let line = line.trim_end_matches(['\n', '\r']);
            // The line was matched; where, is only asked for those that are shown.
            let at = matcher.find(line.as_bytes()).ok().flatten().map_or(0, |found| found.start());
            Ok(found.push(&format!("{path}:{number}: {}\n", around(line, at))))
        });
        if searcher.search_reader(&*matcher, reader, sink).is_err() {
            go_on(cancelled)?;
            found.unread += 1;
        }
        Ok(())
    }
}

/// What was found so far.
struct Found {
    text: String,
    lines: usize,
    most: usize,
    /// There is more than is kept.
    cut: bool,
    files: usize,
    unread: usize,
    /// Some directories were not entered because of their depth.
    too_deep: bool,
}

impl Found {
    fn new(most: usize) -> Self {
        let text = String::new();
        Self { text, lines: 0, most, cut: false, files: 0, unread: 0, too_deep: false }
    }

    /// Adds a line; says whether to go on.
    fn push(&mut self, line: &str) -> bool {
        self.cut = self.lines == self.most || self.text.len() + line.len() > TEXT_CAP;
        if !self.cut {
            self.text.push_str(line);
            self.lines += 1;
        }
        !self.cut
    }

    fn told(self) -> String {
        let Self { mut text, lines, cut, files, unread, too_deep, most: _ } = self;
        if lines == 0 && !cut {
            text.push_str(&format!("[no matches in {files} files]\n"));
        }
        if cut {
            text.push_str(&format!(
                "[cut: the first {lines} matching lines are shown; narrow `pattern`, `path` or `glob`]\n"
            ));
        }
        if too_deep {
            text.push_str(&format!(
                "[cut: what lies deeper than {MAX_DEPTH} levels is not searched; pass `path` to search it]\n"
            ));
        }
        if unread > 0 {
            text.push_str(&format!("[{unread} files or directories could not be read]\n"));
        }
        text
    }
}

/// A line within its cap; of a longer one, what is around its first match.
fn around(line: &str, at: usize) -> String {
    if line.len() <= LINE_CAP {
        return line.to_owned();
    }
    let start = head(line, at.saturating_sub(BEFORE_MATCH)).len();
    let end = head(line, start.saturating_add(LINE_CAP)).len();
    let mark = |cut| if cut { "[…]" } else { "" };
    format!("{}{}{}", mark(start > 0), &line[start..end], mark(end < line.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_shows_what_is_around_its_match() {
        let line = format!("{}€needle{}", "a".repeat(1000), "b".repeat(1000));
        let at = line.find("needle").unwrap();
        let before = format!("{}€", "a".repeat(77));
        let after = "b".repeat(LINE_CAP - 80 - "needle".len());
        assert_eq!(around(&line, at), format!("[…]{before}needle{after}[…]"));
        assert_eq!(around("short", 3), "short");
    }
}
