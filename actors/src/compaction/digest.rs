//! A plain digest of a history that stands for a summary when no model can write one: what the
//! user wrote, which tools ran how often, what was said last. It depends on nothing but the
//! history, so a replay gives the same one.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::blobs;
use crate::text::bounded;
use crate::transcript::{Entry, Said, notes_of};

/// The bytes of a digest a token of its cap: less than any text has, so that it fits.
const BYTES_A_TOKEN: u64 = 3;

/// The digest of entries, of about `cap` tokens at most: a third for earlier notes, a third for
/// the newest input, a sixth each for the tools and for the last reply.
#[must_use]
pub fn digest(entries: &[Arc<Entry>], cap: u64) -> String {
    let bytes = usize::try_from(cap.saturating_mul(BYTES_A_TOKEN)).unwrap_or(usize::MAX);
    let sections = [
        ("Earlier notes", earlier_notes(entries, bytes / 3)),
        ("What the user wrote, newest first", inputs(entries, bytes / 3)),
        ("Tools that were called", tools(entries, bytes / 6)),
        ("The last reply", last_reply(entries, bytes / 6)),
    ];
    let mut text =
        "No model could summarise the earlier part; this is a plain digest of it.".into();
    for (heading, body) in sections.iter().filter(|(_, body)| !body.is_empty()) {
        text = format!("{text}\n\n{heading}:\n{body}");
    }
    text
}

fn earlier_notes(entries: &[Arc<Entry>], cap: usize) -> String {
    let notes = entries.iter().rev().find_map(|entry| match &**entry {
        Entry::Summary(text) => Some(notes_of(text)),
        Entry::User(_) | Entry::Note(_) | Entry::Text(_) | Entry::Turn(_) => None,
    });
    notes.map_or_else(String::new, |notes| short(notes, cap))
}

/// Each may take half of what is left, so that one long text does not hide all others.
fn inputs(entries: &[Arc<Entry>], cap: usize) -> String {
    let mut left = cap;
    let mut lines = Vec::new();
    for entry in entries.iter().rev() {
        let Entry::User(text) = &**entry else { continue };
        let line = format!("- {}", short(text, left / 2));
        let Some(rest) = left.checked_sub(line.len() + 1) else { break };
        left = rest;
        lines.push(line);
    }
    lines.join("\n")
}

fn tools(entries: &[Arc<Entry>], cap: usize) -> String {
    let mut counts: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for entry in entries {
        let Entry::Turn(turn) = &**entry else { continue };
        for (call, result) in &turn.calls {
            let (calls, errors) = counts.entry(&call.name).or_default();
            *calls += 1;
            *errors += u64::from(result.status.is_error());
        }
    }
    let line = |(name, (calls, errors)): (&&str, &(u64, u64))| match errors {
        0 => format!("- {name}: {calls}"),
        errors => format!("- {name}: {calls}, {errors} of them failed"),
    };
    short(&counts.iter().map(line).collect::<Vec<_>>().join("\n"), cap)
}

fn last_reply(entries: &[Arc<Entry>], cap: usize) -> String {
    let said = |said: &Said| (!said.text.trim().is_empty()).then(|| Arc::clone(&said.text));
    let last = entries.iter().rev().find_map(|entry| match &**entry {
        Entry::Text(reply) => said(reply),
        Entry::Turn(turn) => said(&turn.said),
        Entry::User(_) | Entry::Note(_) | Entry::Summary(_) => None,
    });
    last.map_or_else(String::new, |text| short(&text, cap))
}

/// The text without encoded data, cut to `cap` bytes with a mark.
fn short(text: &str, cap: usize) -> String {
    let text = text.trim();
    let clean = blobs::without(text).unwrap_or_else(|| text.into());
    bounded(&clean, cap).text.as_ref().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::Transcript;

    fn user(text: &str) -> Arc<Entry> {
        Arc::new(Entry::User(text.into()))
    }

    fn reply(text: &str) -> Arc<Entry> {
        Arc::new(Entry::Text(Said { text: text.into(), opaque: None }))
    }

    #[test]
    fn it_says_who_wrote_what_and_what_was_noted_before() {
        let mut old = Transcript::default();
        old.push(Entry::User("The old task".into()));
        let mut entries = old.compacted(1, "Goal: all").entries().cloned().collect::<Vec<_>>();
        let blob = "Q".repeat(300);
        entries.extend([reply("First"), user(&format!("See {blob}")), reply("Last"), reply(" ")]);
        let expected = "No model could summarise the earlier part; this is a plain digest of it.\
            \n\nEarlier notes:\nGoal: all\
            \n\nWhat the user wrote, newest first:\
            \n- See [left out: 300 bytes of encoded data]\n- The old task\
            \n\nThe last reply:\nLast";
        assert_eq!(digest(&entries, 1_000), expected);
    }

    #[test]
    fn a_long_history_stays_near_its_cap() {
        let long = "many words ".repeat(1_000);
        let entries: Vec<_> = (0..50).flat_map(|_| [user(&long), reply(&long)]).collect();
        let digest = digest(&entries, 1_000);
        assert!(crate::estimate::text(&digest) <= 1_000, "{}", digest.len());
        assert!(digest.contains("\n- many words many"), "{digest}");
    }
}
