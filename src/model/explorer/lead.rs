//! The lead: lists the workspace, hands out its parts, merges the reports.

use std::collections::BTreeMap;

use kinfolk_actors::family::CALL_SUBAGENT;
use serde_json::{Value, json};

use super::listing::{self, Entry, Listing};
use super::scout::{READ_TREE, SECTION, depth};
use super::view::{Exchange, View};
use super::{Move, PlannedCall};

/// Subagents that work at once.
const HELPERS: usize = 3;

pub(super) fn next_move(view: &View<'_>) -> Move {
    let tree = view.made(READ_TREE).next();
    let has_reports = view.made(CALL_SUBAGENT).next().is_some();
    let listing = tree.map(|tree| listing::tree(tree.result)).unwrap_or_default();
    match tree {
        _ if has_reports => Move::Answer(merge(view, &listing)),
        None if view.can(READ_TREE) => {
            let call = view.call(READ_TREE, &[depth(1)]);
            Move::Call("First I list the workspace.".to_owned(), vec![call])
        }
        None => Move::Answer("I have no tool to list the workspace with.".to_owned()),
        Some(tree) if tree.is_error => {
            Move::Answer(format!("The workspace could not be listed: {}", tree.result))
        }
        Some(_) if listing.entries.is_empty() => Move::Answer("The workspace is empty.".to_owned()),
        Some(_) if !view.can(CALL_SUBAGENT) => Move::Answer(merge(view, &listing)),
        Some(_) => {
            let calls = delegate(view, &listing);
            let text = format!("I hand the parts of the workspace to {} explorers.", calls.len());
            Move::Call(text, calls)
        }
    }
}

/// The top-level folders and root files, each once, in the order of their names.
fn parts(listing: &Listing) -> Vec<Entry> {
    let mut parts: BTreeMap<&str, Entry> = BTreeMap::new();
    for entry in &listing.entries {
        let top = entry.top();
        let is_whole = entry.path == top;
        let folder = Entry { path: top.to_owned(), lines: None, bytes: None };
        parts.entry(top).or_insert(if is_whole { entry.clone() } else { folder });
    }
    parts.into_values().collect()
}

/// The parts in up to three shares: folders in turn, and the root files together where the fewest
/// folders are. Without folders the files are shared out.
fn shares(parts: Vec<Entry>) -> Vec<Vec<Entry>> {
    let (folders, files): (Vec<Entry>, Vec<Entry>) = parts.into_iter().partition(Entry::is_folder);
    let mut shares: Vec<Vec<Entry>> = vec![Vec::new(); HELPERS];
    let (dealt, rest) = if folders.is_empty() { (files, Vec::new()) } else { (folders, files) };
    for (n, part) in dealt.into_iter().enumerate() {
        shares[n % HELPERS].push(part);
    }
    if let Some(least) = shares.iter_mut().min_by_key(|share| share.len()) {
        least.extend(rest);
    }
    shares.retain(|share| !share.is_empty());
    shares
}

fn delegate(view: &View<'_>, listing: &Listing) -> Vec<PlannedCall> {
    let agent = helper(view);
    let call = |share: &Vec<Entry>| {
        let lines: Vec<String> = share.iter().map(|part| format!("- {part}")).collect();
        let task = format!(
            "Explore these parts of the workspace and report each with its files, lines and what \
             you find:\n{}",
            lines.join("\n")
        );
        let names: Vec<&str> = share.iter().map(|part| part.path.as_str()).collect();
        view.call(
            CALL_SUBAGENT,
            &[
                (&["agent"], json!(agent)),
                (&["task"], json!(task)),
                (&["label"], json!(names.join(" "))),
            ],
        )
    };
    shares(parts(listing)).iter().map(call).collect()
}

/// The subagent to call: `explorer`, unless the tool's schema lists others only.
fn helper(view: &View<'_>) -> String {
    let schema = view.schema(CALL_SUBAGENT);
    let listed = schema["properties"]["agent"]["enum"].as_array();
    let names = || listed.into_iter().flatten().filter_map(Value::as_str);
    let first = if names().any(|name| name == "explorer") { None } else { names().next() };
    first.unwrap_or("explorer").to_owned()
}

/// What one subagent reported.
struct Report {
    sections: Vec<(String, String)>,
    remarks: Vec<String>,
}

/// Reads a completion notice; what is none is taken as the report itself.
fn report(exchange: &Exchange<'_>) -> Report {
    let notice: Value = serde_json::from_str(exchange.result).unwrap_or_default();
    let text = |field: &str| notice[field].as_str();
    let summary = text("summary").unwrap_or(exchange.result);
    let name = text("subagent").unwrap_or("a subagent");
    let mut report = Report { sections: Vec::new(), remarks: Vec::new() };
    for line in summary.lines() {
        match (line.strip_prefix(SECTION), report.sections.last_mut()) {
            (Some(title), _) => report.sections.push((title.to_owned(), String::new())),
            (None, Some((_, body))) => *body = format!("{body}{line}\n"),
            (None, None) => {}
        }
    }
    if exchange.is_error || report.sections.is_empty() {
        let status = text("status").unwrap_or("failed");
        let reason = text("blocked_reason").map(|code| format!(" ({code})")).unwrap_or_default();
        let said = kinfolk_actors::text::head(summary, 500);
        report.remarks.push(format!("{name}: {status}{reason}: {said}"));
    }
    if !notice["full_size"].is_null() || listing::is_cut(exchange.result) {
        report.remarks.push(format!("{name}: its report was cut"));
    }
    report
}

fn merge(view: &View<'_>, listing: &Listing) -> String {
    let reports: Vec<Report> = view.made(CALL_SUBAGENT).map(report).collect();
    let mut sections: Vec<&(String, String)> =
        reports.iter().flat_map(|report| &report.sections).collect();
    sections.sort();
    let parts = parts(listing);
    let mut answer = format!(
        "# The workspace\n\n{} parts at the top level, {} of them explored by {} explorers.\n",
        parts.len(),
        sections.len(),
        reports.len()
    );
    for (title, body) in &sections {
        answer.push_str(&format!("\n{SECTION}{title}\n{}\n", body.trim_end()));
    }
    let explored = |part: &Entry| {
        sections.iter().any(|(title, _)| title.split(": ").next() == Some(part.path.as_str()))
    };
    for part in parts.iter().filter(|part| !explored(part)) {
        answer.push_str(&format!("\n{SECTION}{part}: not explored\n"));
    }
    let cut = listing.cut.then(|| "the list of the workspace was cut; more is there".to_owned());
    let remarks: Vec<&String> =
        reports.iter().flat_map(|report| &report.remarks).chain(&cut).collect();
    if !remarks.is_empty() {
        answer.push_str("\nNot complete:\n");
        remarks.iter().for_each(|remark| answer.push_str(&format!("- {remark}\n")));
    }
    answer
}
