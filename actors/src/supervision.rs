//! Whether, and when, a failed actor starts again: restart intensity with backoff, as a pure
//! function of the failures so far.

use std::collections::VecDeque;

use crate::time::{Millis, Timestamp};

/// How often an actor may fail, and how long it waits before it starts again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestartPolicy {
    /// Restarts within the window; one failure more gives up.
    pub max_restarts: u32,
    /// The length of the sliding window.
    pub window: Millis,
    /// The wait before the first restart; it doubles with each further one in the window.
    pub base_backoff: Millis,
    /// The longest wait.
    pub max_backoff: Millis,
}

impl Default for RestartPolicy {
    /// Five restarts in a minute, from 100 ms to 5 s.
    fn default() -> Self {
        Self {
            max_restarts: 5,
            window: Millis(60_000),
            base_backoff: Millis(100),
            max_backoff: Millis(5_000),
        }
    }
}

/// The failures of one actor within the window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailureHistory {
    failures: VecDeque<Timestamp>,
}

/// What to do about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Start it again after this wait.
    RestartAfter(Millis),
    /// It failed too often; tell whoever waits for it.
    GiveUp,
}

impl FailureHistory {
    /// Counts a failure and decides. A start that failed counts like a death.
    ///
    /// The waits grow with the failures in the window and not since the last success, so an actor
    /// that starts well and dies each time cannot reset them.
    pub fn failed(&mut self, policy: &RestartPolicy, now: Timestamp) -> Verdict {
        self.failures.retain(|failure| now.since(*failure) < policy.window);
        self.failures.push_back(now);
        let in_window = u32::try_from(self.failures.len()).unwrap_or(u32::MAX);
        if in_window > policy.max_restarts {
            return Verdict::GiveUp;
        }
        let doublings = (in_window - 1).min(32);
        let wait = policy.base_backoff.0.saturating_mul(1 << doublings);
        Verdict::RestartAfter(Millis(wait.min(policy.max_backoff.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_their_cap_and_the_sixth_failure_in_the_window_gives_up() {
        let policy = RestartPolicy { max_backoff: Millis(500), ..RestartPolicy::default() };
        let mut history = FailureHistory::default();
        let verdicts: Vec<Verdict> =
            (0..6).map(|n| history.failed(&policy, Timestamp(n * 1_000))).collect();
        let waits = [100, 200, 400, 500, 500].map(|ms| Verdict::RestartAfter(Millis(ms)));
        assert_eq!(verdicts[..5], waits);
        assert_eq!(verdicts[5], Verdict::GiveUp);
    }

    #[test]
    fn failures_older_than_the_window_are_forgotten() {
        let (policy, mut history) = (RestartPolicy::default(), FailureHistory::default());
        for n in 0..20 {
            let verdict = history.failed(&policy, Timestamp(n * 60_000));
            assert_eq!(verdict, Verdict::RestartAfter(Millis(100)));
        }
    }
}
