//! The explorer without subagents: lists its parts, reads and searches in them, and reports.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::listing::{self, Entry};
use super::view::View;
use super::{Move, PlannedCall};

pub(super) const READ_TREE: &str = "workspace_tree";
const READ_FILE: &str = "read_file";
const SEARCH: &str = "search_workspace";

/// How the report begins a part.
pub(super) const SECTION: &str = "## ";

/// Calls of one reply.
const CALLS: usize = 24;

/// Files of a folder that are read.
const READS: usize = 6;

/// Files of a folder that are listed one by one.
const LISTED: usize = 40;

/// Definitions of a folder that are named.
const NAMED: usize = 12;

/// Finds definitions in the usual languages.
const DEFINITION: &str =
    r"^\s*(pub |export |async )*(fn|def|class|function|struct|enum|interface|trait) +\w+";

/// The argument that limits a tree's depth.
pub(super) fn depth(levels: u32) -> (&'static [&'static str], Value) {
    (&["depth", "max_depth"], json!(levels))
}

const PATH: &[&str] = &["path", "dir", "directory", "root", "file"];

pub(super) fn next_move(view: &View<'_>) -> Move {
    let named: Vec<Entry> = view
        .task
        .lines()
        .filter(|line| line.starts_with("- "))
        .filter_map(listing::entry)
        .collect();
    // Told of no parts, it takes the whole workspace.
    let folders: Vec<String> = match named.is_empty() {
        true => vec![String::new()],
        false => named.iter().filter(|e| e.is_folder()).map(|e| e.path.clone()).collect(),
    };
    let trees: Vec<PlannedCall> = folders.iter().map(|folder| tree_call(view, folder)).collect();
    if let Some(more) = missing(view, &trees) {
        return Move::Call("I list my parts.".to_owned(), more);
    }
    let parts = collect(view, &named, &trees);
    let looks: Vec<PlannedCall> = parts.values().flat_map(|part| look_calls(view, part)).collect();
    if let Some(more) = missing(view, &looks) {
        return Move::Call("I read and search in them.".to_owned(), more);
    }
    Move::Answer(report(view, &parts, &trees))
}

/// The planned calls that were not made yet, as far as one reply may hold and tools allow.
fn missing(view: &View<'_>, planned: &[PlannedCall]) -> Option<Vec<PlannedCall>> {
    let open = planned.iter().filter(|call| view.can(call.name) && view.find(call).is_none());
    let open: Vec<PlannedCall> = open.take(CALLS).cloned().collect();
    (!open.is_empty()).then_some(open)
}

fn tree_call(view: &View<'_>, folder: &str) -> PlannedCall {
    let path = (PATH, json!(folder.trim_end_matches('/')));
    let arguments = if folder.is_empty() { &[][..] } else { &[path] };
    view.call(READ_TREE, arguments)
}

/// One top-level part with what the trees say is in it.
struct Part {
    name: String,
    files: Vec<Entry>,
}

/// The parts by name. A file at the root is a part of its own.
fn collect(view: &View<'_>, named: &[Entry], trees: &[PlannedCall]) -> BTreeMap<String, Part> {
    let mut parts: BTreeMap<String, Part> = BTreeMap::new();
    let listed = trees.iter().filter_map(|call| view.find(call)).filter(|tree| !tree.is_error);
    let listed = listed.flat_map(|tree| listing::tree(tree.result).entries);
    for entry in named.iter().cloned().chain(listed) {
        let name = entry.top().to_owned();
        let part = parts.entry(name.clone()).or_insert(Part { name, files: Vec::new() });
        let is_known = part.files.iter().any(|file| file.path == entry.path);
        if !entry.is_folder() && !is_known {
            part.files.push(entry);
        }
    }
    parts
}

/// What to look at in a part: some files and one search.
fn look_calls(view: &View<'_>, part: &Part) -> Vec<PlannedCall> {
    let mut calls: Vec<PlannedCall> =
        to_read(part).into_iter().map(|file| read_call(view, file)).collect();
    if part.name.ends_with('/') {
        calls.push(search_call(view, part));
    }
    calls
}

fn read_call(view: &View<'_>, file: &Entry) -> PlannedCall {
    view.call(READ_FILE, &[(&["path", "file"], json!(file.path))])
}

fn search_call(view: &View<'_>, part: &Part) -> PlannedCall {
    let folder = part.name.trim_end_matches('/');
    let pattern: &[&str] = &["pattern", "query", "regex"];
    view.call(SEARCH, &[(pattern, json!(DEFINITION)), (PATH, json!(folder))])
}

/// The text files that say most about a folder, first those with telling names.
fn to_read(part: &Part) -> Vec<&Entry> {
    let mut files: Vec<&Entry> = part.files.iter().filter(|file| file.lines.is_some()).collect();
    files.sort_by_key(|file| (rank(&file.path), &file.path));
    files.truncate(READS);
    files
}

fn rank(path: &str) -> u8 {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.split('.').next().unwrap_or(name).to_ascii_lowercase().as_str() {
        "readme" => 0,
        "main" | "lib" | "mod" | "index" | "__init__" | "app" => 1,
        "cargo" | "pyproject" | "package" | "makefile" => 2,
        _ => 3,
    }
}

fn report(view: &View<'_>, parts: &BTreeMap<String, Part>, trees: &[PlannedCall]) -> String {
    let mut text = String::new();
    for part in parts.values() {
        append_part(&mut text, view, part);
    }
    for call in trees {
        let Some(tree) = view.find(call) else {
            text.push_str("- `workspace_tree` could not be called; the files are not known\n");
            continue;
        };
        let path = Value::Object(call.arguments.clone());
        if tree.is_error {
            text.push_str(&format!("- the tree {path} failed: {}\n", words(tree.result)));
        } else if listing::is_cut(tree.result) {
            text.push_str(&format!("- the tree {path} was cut; more files are there\n"));
        }
    }
    if text.is_empty() { "There is nothing in these parts.".to_owned() } else { text }
}

fn append_part(text: &mut String, view: &View<'_>, part: &Part) {
    let sum = |count: fn(&Entry) -> Option<u64>| part.files.iter().filter_map(count).sum::<u64>();
    let (lines, bytes) = (sum(|file| file.lines), sum(|file| file.bytes));
    let files = part.files.len();
    let name = &part.name;
    text.push_str(&format!("{SECTION}{name}: {files} files, {lines} lines, {bytes} bytes\n"));
    for file in part.files.iter().take(LISTED) {
        let found = view.find(&read_call(view, file)).map(|read| match read.is_error {
            true => format!(": could not be read: {}", words(read.result)),
            false => listing::first_words(&file.path, read.result)
                .map_or_else(|| ": says nothing".to_owned(), |said| format!(": “{said}”")),
        });
        text.push_str(&format!("- {file}{}\n", found.unwrap_or_default()));
    }
    if files > LISTED {
        text.push_str(&format!("- and {} more files\n", files - LISTED));
    }
    if let Some(search) = view.find(&search_call(view, part)) {
        append_definitions(text, part, search.result, search.is_error);
    }
}

fn append_definitions(text: &mut String, part: &Part, result: &str, is_error: bool) {
    if is_error {
        text.push_str(&format!("- the search failed: {}\n", words(result)));
        return;
    }
    let inside = |(path, _): &(&str, &str)| path.trim_start_matches("./").starts_with(&part.name);
    let found: Vec<&str> =
        listing::matches(result).into_iter().filter(inside).map(|(_, line)| line).collect();
    if found.is_empty() {
        return;
    }
    let names: Vec<&str> = found.iter().take(NAMED).filter_map(|line| defined(line)).collect();
    let more = if listing::is_cut(result) { " (the search was cut)" } else { "" };
    text.push_str(&format!("- {} definitions{more}: {}\n", found.len(), names.join(", ")));
}

/// The name that a line defines.
fn defined(line: &str) -> Option<&str> {
    const KEYWORDS: [&str; 8] =
        ["fn", "def", "class", "function", "struct", "enum", "interface", "trait"];
    let after = line.split_whitespace().skip_while(|word| !KEYWORDS.contains(word)).nth(1)?;
    after.split(|c: char| !c.is_alphanumeric() && c != '_').next().filter(|name| !name.is_empty())
}

fn words(text: &str) -> String {
    kinfolk_actors::text::head(text, 200).replace('\n', " ")
}
