//! Whether a compaction may begin. A context whose fixed part alone is over the threshold would be
//! compacted for ever, one paid request after the other.

use serde::{Deserialize, Serialize};

use super::cut::Cut;
use super::{ContextFull, NothingToCompact, Trigger};

/// How many compactions in a row may gain nothing. The first may have cut too little; a
/// second that does not help shows that what is left cannot shrink.
pub const MAX_WITHOUT_GAIN: u8 = 2;

/// What an agent remembers of its compactions. A part of its state, folded from its events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guard {
    without_gain: u8,
    overflow: Overflow,
}

/// Whether the request at hand was already sent again after a compaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Overflow {
    #[default]
    Unseen,
    Compacted,
}

/// Whether a compaction made room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gain {
    /// The context is smaller and under its threshold.
    Some,
    /// It is not, or the compaction failed.
    None,
}

/// What happens now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The history is compacted at this cut.
    Compact(Cut),
    /// Nothing happens, and who asked is told so.
    Nothing(NothingToCompact),
    /// The run can't go on.
    Full(ContextFull),
}

impl Gain {
    /// What a compaction gained, by the sizes in tokens before and after it.
    #[must_use]
    pub fn of(before: u64, after: u64, threshold: u64) -> Self {
        if after < before && after < threshold { Self::Some } else { Self::None }
    }
}

impl Guard {
    /// Whether a compaction may begin. A person may always ask for one.
    #[must_use]
    pub fn judge(&self, trigger: Trigger, cut: Result<Cut, NothingToCompact>) -> Verdict {
        let cut = match (trigger, cut) {
            (Trigger::Manual, Ok(cut)) => return Verdict::Compact(cut),
            (Trigger::Manual, Err(nothing)) => return Verdict::Nothing(nothing),
            (Trigger::Overflow, Ok(_) | Err(_)) if self.overflow == Overflow::Compacted => {
                return Verdict::Full(ContextFull::StillRefused);
            }
            (Trigger::Threshold | Trigger::Overflow, Err(NothingToCompact)) => {
                return Verdict::Full(ContextFull::NothingLeft);
            }
            (Trigger::Threshold | Trigger::Overflow, Ok(cut)) => cut,
        };
        if self.without_gain >= MAX_WITHOUT_GAIN {
            return Verdict::Full(ContextFull::NoGain { compactions: self.without_gain });
        }
        Verdict::Compact(cut)
    }

    /// A compaction began.
    pub fn began(&mut self, trigger: Trigger) {
        match trigger {
            Trigger::Overflow => self.overflow = Overflow::Compacted,
            Trigger::Threshold | Trigger::Manual => {}
        }
    }

    /// A compaction ended.
    pub fn ended(&mut self, gain: Gain) {
        self.without_gain = match gain {
            Gain::Some => 0,
            Gain::None => self.without_gain.saturating_add(1),
        };
    }

    /// The model answered: the request at hand was not too large.
    pub fn replied(&mut self) {
        self.overflow = Overflow::Unseen;
    }

    /// A person wrote: the task may be another one, so all may be tried again.
    pub fn user_wrote(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CUT: Result<Cut, NothingToCompact> = Ok(Cut { kept_from: 3 });
    const GO: Verdict = Verdict::Compact(Cut { kept_from: 3 });

    type Step = fn(&mut Guard);

    fn after(steps: &[Step]) -> Guard {
        let mut guard = Guard::default();
        steps.iter().for_each(|step| step(&mut guard));
        guard
    }

    fn lost(guard: &mut Guard) {
        guard.ended(Gain::None);
    }

    fn gained(guard: &mut Guard) {
        guard.ended(Gain::Some);
    }

    fn overflowed(guard: &mut Guard) {
        guard.began(Trigger::Overflow);
        guard.ended(Gain::Some);
    }

    #[test]
    fn verdicts() {
        let (due, over, asked) = (Trigger::Threshold, Trigger::Overflow, Trigger::Manual);
        let no_gain = Verdict::Full(ContextFull::NoGain { compactions: 2 });
        let refused = Verdict::Full(ContextFull::StillRefused);
        let cases: &[(&[Step], Trigger, Verdict)] = &[
            (&[], due, GO),
            (&[], over, GO),
            (&[lost], due, GO),
            (&[lost, lost], due, no_gain),
            (&[lost, lost], over, no_gain),
            (&[lost, lost], asked, GO),
            (&[lost, lost, Guard::replied], due, no_gain),
            (&[lost, lost, Guard::user_wrote], due, GO),
            (&[lost, gained, lost], due, GO),
            (&[overflowed], over, refused),
            (&[overflowed], due, GO),
            (&[overflowed], asked, GO),
            (&[overflowed, Guard::replied], over, GO),
            (&[overflowed, Guard::user_wrote], over, GO),
        ];
        for (n, (steps, trigger, expected)) in cases.iter().enumerate() {
            assert_eq!(after(steps).judge(*trigger, CUT), *expected, "case {n}");
        }
    }

    #[test]
    fn where_nothing_is_left_the_context_is_full_at_once() {
        let judge = |trigger| Guard::default().judge(trigger, Err(NothingToCompact));
        let full = Verdict::Full(ContextFull::NothingLeft);
        assert_eq!([judge(Trigger::Threshold), judge(Trigger::Overflow)], [full, full]);
        assert_eq!(judge(Trigger::Manual), Verdict::Nothing(NothingToCompact));
    }

    #[test]
    fn a_gain_is_a_smaller_context_under_its_threshold() {
        let gains = [(100, 50, 90), (100, 90, 90), (100, 95, 90), (80, 80, 90)]
            .map(|(before, after, threshold)| Gain::of(before, after, threshold));
        assert_eq!(gains, [Gain::Some, Gain::None, Gain::None, Gain::None]);
    }

    #[test]
    fn what_is_stored_reads_back() {
        let guard = after(&[lost, overflowed, lost]);
        let json = serde_json::to_string(&guard).unwrap();
        assert_eq!(json, r#"{"without_gain":1,"overflow":"compacted"}"#);
        assert_eq!(serde_json::from_str::<Guard>(&json).unwrap(), guard);
    }
}
