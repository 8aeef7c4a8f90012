//! Reading: back from a session's head, by each record's word of the one before it.

use std::sync::Arc;

use kinfolk_actors::id::{Offset, SessionId};

use super::Inner;
use super::trees::{Trees, cannot_read, sequence_of, understood};
use crate::ports::store::{Record, SessionSummary, StoreError};
use crate::store::index::{newest_first, summary};
use crate::store::record::{self, Head, Place, Unreadable};

/// A place on the way back: a record that can be read, or the place of one that cannot.
enum Step {
    Whole(u64),
    Damaged(StoreError),
}

/// The records from the one that holds `from` on, oldest first.
pub(super) fn records(
    inner: &Inner,
    session: &SessionId,
    from: Offset,
    limit: usize,
) -> Result<Vec<Arc<Record>>, StoreError> {
    let head = {
        let writer = inner.writer.lock();
        writer.usable()?;
        inner.trees.head(session)?
    };
    // The records themselves never change, so the rest needs no lock.
    let Some(head) = head.filter(|head| from < head.fence.next) else {
        return Ok(Vec::new());
    };
    let steps = walk(inner, session, &head, from)?;
    let mut records = Vec::with_capacity(limit.min(steps.len()));
    for step in steps.into_iter().rev().take(limit) {
        let sequence = match step {
            Step::Whole(sequence) => sequence,
            Step::Damaged(error) => return Err(error),
        };
        let bytes = inner.trees.record(sequence)?.ok_or_else(|| missing(session, sequence))?;
        let what = || format!("the record with sequence {sequence} of session `{session}`");
        let (found, _) = match record::decode_record(&bytes) {
            Ok(found) => found,
            Err(error) => {
                set_aside(&inner.trees, sequence, &bytes)?;
                return understood(what, Err(error));
            }
        };
        records.push(Arc::new(found));
    }
    Ok(records)
}

/// Every session.
pub(super) fn sessions(trees: &Trees) -> Result<Vec<SessionSummary>, StoreError> {
    let mut all = Vec::new();
    for entry in trees.heads.iter() {
        let (key, bytes) = entry.map_err(|error| cannot_read(&error))?;
        let name = String::from_utf8_lossy(&key);
        let session = name.parse().map_err(|_| Unreadable::Text { what: "session id" });
        match session.and_then(|session| Ok((session, record::decode_head(&bytes)?))) {
            Ok((session, head)) => all.push(summary_of(&session, head)),
            // It is kept as it is, and asking for it by its name says what is wrong with it; it
            // must not hide the others.
            Err(error) => tracing::warn!(session = %name, %error, "a session's head is damaged"),
        }
    }
    newest_first(&mut all);
    Ok(all)
}

/// A session's line in the index.
pub(super) fn summary_of(session: &SessionId, head: Head) -> SessionSummary {
    summary(session, head.fence.next, head.newest)
}

/// The way back from the head to the record that holds `from`, newest first.
fn walk(
    inner: &Inner,
    session: &SessionId,
    head: &Head,
    from: Offset,
) -> Result<Vec<Step>, StoreError> {
    let mut steps = Vec::new();
    let mut end = head.fence.next;
    let mut at = head.last;
    while end > from {
        let Some(sequence) = at else {
            steps.push(Step::Damaged(gap(session, end)));
            break;
        };
        let bytes = inner.trees.record(sequence)?;
        let place = bytes.as_deref().map(|bytes| place_of(session, bytes, end)).transpose();
        match place {
            Ok(Some(place)) => {
                steps.push(Step::Whole(sequence));
                (at, end) = (place.prev, Offset(place.first));
            }
            Ok(None) => {
                steps.push(Step::Damaged(missing(session, sequence)));
                (at, end) = older(&inner.trees, session, sequence, end)?;
            }
            Err(error) => {
                if let Some(bytes) = bytes {
                    set_aside(&inner.trees, sequence, &bytes)?;
                }
                let (before, first) = older(&inner.trees, session, sequence, end)?;
                let last = end.0.saturating_sub(1);
                let what = format!(
                    "the record of session `{session}` with offsets {first} to {last} \
                     (sequence {sequence})"
                );
                steps.push(Step::Damaged(StoreError::Damaged { what, detail: error.to_string() }));
                (at, end) = (before, first);
            }
        }
    }
    Ok(steps)
}

/// The place of a record, if it is the session's and stands before `end`.
fn place_of(session: &SessionId, bytes: &[u8], end: Offset) -> Result<Place, Unreadable> {
    let place = record::decode_place(bytes)?;
    if place.session.as_ref() != session.as_str() || place.first >= end.0 {
        return Err(Unreadable::Text { what: "link between records" });
    }
    Ok(place)
}

/// The session's newest whole record before a damaged one, whose own word of it is lost: its
/// sequence, and the offset after it. Reads the journal backwards; only damage makes that needed.
fn older(
    trees: &Trees,
    session: &SessionId,
    damaged: u64,
    end: Offset,
) -> Result<(Option<u64>, Offset), StoreError> {
    for entry in trees.journal.range(..damaged.to_be_bytes()).rev() {
        let (key, bytes) = entry.map_err(|error| cannot_read(&error))?;
        // What was set aside at a start was never part of a session.
        if trees.quarantine.contains_key(&key).map_err(|error| cannot_read(&error))? {
            continue;
        }
        let Ok(place) = record::decode_place(&bytes) else { continue };
        if place.session.as_ref() != session.as_str() || place.first >= end.0 {
            continue;
        }
        if let Ok((found, _)) = record::decode_record(&bytes) {
            return Ok((Some(sequence_of(&key)?), found.end()));
        }
    }
    Ok((None, Offset(0)))
}

/// Keeps a damaged record apart. Nothing hangs on it, so it need not be durable at once.
fn set_aside(trees: &Trees, sequence: u64, bytes: &[u8]) -> Result<(), StoreError> {
    tracing::error!(sequence, "a stored record is damaged; it was copied to the quarantine");
    trees.set_aside(sequence, bytes)
}

fn missing(session: &SessionId, sequence: u64) -> StoreError {
    StoreError::Damaged {
        what: format!("the record with sequence {sequence} of session `{session}`"),
        detail: "it is not there".to_owned(),
    }
}

fn gap(session: &SessionId, end: Offset) -> StoreError {
    StoreError::Damaged {
        what: format!("the stream of session `{session}`"),
        detail: format!("nothing stands before offset {end}"),
    }
}
