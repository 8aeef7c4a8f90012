//! Where a history is cut. Entries are whole groups (a reply with its results is one), so a cut
//! between entries never splits a call from its result.

use super::{CompactionSettings, NothingToCompact, trigger};
use crate::estimate;
use crate::profile::ModelProfile;
use crate::transcript::{Entry, Transcript, newest_input};

/// How much of the newest history may stay, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    keep: u64,
    most: u64,
}

/// What a compaction keeps: the entries from there on. All before are summarised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The first entry that is kept; the number of entries if none is.
    pub kept_from: usize,
}

impl Room {
    /// Room for `keep` tokens, and for one larger group of at most `most`; never more than `most`.
    #[must_use]
    pub fn new(keep: u64, most: u64) -> Self {
        Self { keep: keep.min(most), most }
    }

    /// The room under a model's threshold beside the fixed part of the request (system prompt and
    /// tools, in tokens) and a summary. What stays within it is under the threshold after the
    /// compaction. Not set, a tenth of what the window leaves for a request is kept.
    #[must_use]
    pub fn of(profile: &ModelProfile, settings: &CompactionSettings, fixed: u64) -> Self {
        let threshold = trigger::threshold(profile, settings);
        // Summaries of full length are rare; a small threshold must leave room for what is kept.
        let summary = profile.summary_cap().min(threshold / 4);
        let most = threshold.saturating_sub(fixed).saturating_sub(summary);
        Self::new(settings.keep.unwrap_or(threshold / 9), most)
    }
}

/// Where to cut: the newest whole groups that fit what is kept stay; at least the newest one does
/// if there is any room for it. The newest input is kept beside them wherever it stands.
///
/// # Errors
/// Nothing would be summarised but what is kept beside the summary anyway.
pub fn cut(entries: &Transcript, room: Room) -> Result<Cut, NothingToCompact> {
    let newest = newest_input(entries);
    // What would stay beside the summary anyway makes nothing smaller.
    let gains = |kept_from: usize| {
        let gone = entries.entries().enumerate().take(kept_from);
        { gone }.any(|(at, entry)| !matches!(**entry, Entry::Summary(_)) && newest != Some(at))
    };
    let all = entries.len();
    let fitting = newest_fitting(entries, room.keep);
    let kept_from = if fitting == all { before_a_large_last(entries, room) } else { fitting };
    // A group over the budget is kept only if something before it can go.
    let candidates = if fitting == all { [kept_from, all] } else { [kept_from, kept_from] };
    let kept_from = candidates.into_iter().find(|at| gains(*at)).ok_or(NothingToCompact)?;
    Ok(Cut { kept_from })
}

/// The first of the newest entries that fit into `keep` together.
fn newest_fitting(entries: &Transcript, keep: u64) -> usize {
    let mut kept_from = entries.len();
    let mut left = keep;
    for (behind, entry) in entries.entries().rev().enumerate() {
        let at = entries.len() - behind - 1;
        let tokens = estimate::entry(entry);
        if tokens > left {
            break;
        }
        (kept_from, left) = (at, left - tokens);
    }
    kept_from
}

/// The place of the last entry, if there is room for it beside the newest input.
fn before_a_large_last(entries: &Transcript, room: Room) -> usize {
    let all = entries.len();
    let Some(last) = all.checked_sub(1) else { return all };
    let tokens = |at: usize| entries.get(at).map_or(0, |entry| estimate::entry(entry));
    let input = newest_input(entries).filter(|at| *at != last).map_or(0, tokens);
    if tokens(last).saturating_add(input) > room.most { all } else { last }
}
