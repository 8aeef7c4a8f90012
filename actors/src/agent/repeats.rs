//! The guard against going round in circles: the same call with the same result, again and again.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::call::{CallResult, ProposedCall};
use crate::policy::canonical::{ArgumentDigest, CallText, same_call};

/// From this place in a row on, a call runs with a hint (design: the 3rd).
const HINT_AT: u32 = 3;

/// The last call of an agent and how often it was made in a row with the same result. A poll whose
/// result changes does not count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repeats {
    last: Option<Streak>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Streak {
    tool: Arc<str>,
    arguments: Arc<str>,
    /// What it said.
    result: Arc<str>,
    count: u32,
}

/// What a call is to its agent's last ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repeated {
    /// New enough.
    No,
    /// It runs once more, and the model is told.
    Hint,
    /// It never runs, and its agent ends.
    Loop,
}

impl Repeats {
    /// What the calls of a reply are, in their order. Equal calls of one reply count as made one
    /// after the other: nothing can have changed between them.
    pub(super) fn judge(&self, calls: &[ProposedCall]) -> Vec<Repeated> {
        let last = self.last.as_ref();
        let mut streak = last.map(|last| (last.text(), last.count));
        let mut judge = |call| {
            let count = match streak {
                Some((last, count)) if same_call(last, call) => count + 1,
                Some(_) | None => 1,
            };
            streak = Some((call, count));
            match count {
                HINT_AT => Repeated::Hint,
                count if count > HINT_AT => Repeated::Loop,
                _ => Repeated::No,
            }
        };
        calls.iter().map(|call| judge(text(call))).collect()
    }

    /// Counts a call that has its result.
    pub(super) fn count(&mut self, call: &ProposedCall, result: &CallResult) {
        let count = match &self.last {
            Some(last) if same_call(last.text(), text(call)) && last.result == result.text => {
                last.count + 1
            }
            Some(_) | None => 1,
        };
        self.last = Some(Streak {
            tool: Arc::clone(&call.name),
            arguments: Arc::clone(&call.arguments),
            result: Arc::clone(&result.text),
            count,
        });
    }
}

impl Streak {
    fn text(&self) -> CallText<'_> {
        CallText { tool: &self.tool, arguments: &self.arguments }
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
