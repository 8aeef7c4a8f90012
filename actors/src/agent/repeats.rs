//! The guard against going round in circles: the same calls with the same results, again and again.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::call::{CallKind, CallResult, CallStatus, ProposedCall};
use crate::policy::canonical::{ArgumentDigest, CallText, same_call};

/// The longest circle that is noticed, in calls: a few tools in turn.
const LONGEST_CIRCLE: usize = 4;

/// How often a circle may be gone round: the third time the model is told, the fourth never begins.
const ROUNDS: usize = 3;

/// The last calls of an agent with what they said. A poll whose result changes is no repetition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repeats {
    /// The newest last; as many as the longest circle needs.
    recent: VecDeque<Arc<Made>>,
}

/// A call that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Made {
    tool: Arc<str>,
    arguments: Arc<str>,
    /// What it said.
    result: Arc<str>,
}

/// What a call is to its agent's last ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repeated {
    /// New enough.
    No,
    /// It runs once more, and the model is told.
    Hint,
    /// Too many equal calls stand in one reply; this one is not run, the others are.
    Excess,
    /// It never runs, and its agent ends.
    Loop,
}

impl Repeats {
    /// What the calls of a reply are, in their order. Only results tell a loop. Of equal calls in a
    /// row in one reply as many run as may without them.
    pub(super) fn judge(&self, calls: &[ProposedCall]) -> Vec<Repeated> {
        let mut judged: Vec<Repeated> = Vec::with_capacity(calls.len());
        let mut equal: Option<(CallText<'_>, usize)> = None;
        for call in calls {
            let call = text(call);
            let first = equal.is_none();
            let (before, in_row) = match equal {
                Some((last, in_row)) if same_call(last, call) => (0, in_row + 1),
                Some(_) => (0, 1),
                None => (self.in_a_row(call), self.in_a_row(call) + 1),
            };
            equal = Some((call, in_row));
            judged.push(match in_row {
                _ if first && (before >= ROUNDS || self.closes_a_circle(call)) => Repeated::Loop,
                _ if in_row > ROUNDS => Repeated::Excess,
                _ if in_row == ROUNDS || first && self.begins_the_last_round(call) => {
                    Repeated::Hint
                }
                _ => Repeated::No,
            });
        }
        judged
    }

    /// Counts a call that has its result. One that was refused as one too many of a reply says
    /// nothing about the others; one that met a cap or a limit does.
    pub(super) fn count(&mut self, call: &ProposedCall, result: &CallResult) {
        if (call.kind, result.status) == (CallKind::Invalid, CallStatus::Limit) {
            return;
        }
        if self.recent.len() >= LONGEST_CIRCLE * ROUNDS {
            self.recent.pop_front();
        }
        self.recent.push_back(Arc::new(Made {
            tool: Arc::clone(&call.name),
            arguments: Arc::clone(&call.arguments),
            result: Arc::clone(&result.text),
        }));
    }

    /// How often the newest call was made in a row with the same result, if this is it again.
    fn in_a_row(&self, call: CallText<'_>) -> usize {
        if self.continues(1, call) { self.circling(1) } else { 0 }
    }

    /// Whether so many calls were gone round in a circle as often as may be, and this one goes on.
    fn closes_a_circle(&self, call: CallText<'_>) -> bool {
        (2..=LONGEST_CIRCLE)
            .any(|length| self.continues(length, call) && self.circling(length) >= length * ROUNDS)
    }

    fn begins_the_last_round(&self, call: CallText<'_>) -> bool {
        let before = |length: usize| length * (ROUNDS - 1);
        (2..=LONGEST_CIRCLE)
            .any(|length| self.continues(length, call) && self.circling(length) == before(length))
    }

    /// Whether the call is the one that a circle of that length has next.
    fn continues(&self, length: usize, call: CallText<'_>) -> bool {
        let next = self.recent.len().checked_sub(length).and_then(|at| self.recent.get(at));
        next.is_some_and(|next| same_call(next.text(), call))
    }

    /// How many of the newest calls go round in a circle of that length.
    fn circling(&self, length: usize) -> usize {
        let newest = self.recent.iter().rev();
        let round_before = self.recent.iter().rev().skip(length);
        let same = newest.zip(round_before).take_while(|(one, other)| one.is_same(other)).count();
        length + same
    }
}

impl Made {
    fn text(&self) -> CallText<'_> {
        CallText { tool: &self.tool, arguments: &self.arguments }
    }

    fn is_same(&self, other: &Self) -> bool {
        self.result == other.result && same_call(self.text(), other.text())
    }
}

fn text(call: &ProposedCall) -> CallText<'_> {
    CallText { tool: &call.name, arguments: &call.arguments }
}

/// The digest of a call that a person was asked about: its tool's name and its arguments, however
/// they are written.
pub(super) fn digest(call: &ProposedCall) -> ArgumentDigest {
    ArgumentDigest::of(text(call))
}
