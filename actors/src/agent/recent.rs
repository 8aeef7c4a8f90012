//! The newest of what an agent remembers: bounded, and shared by all copies of its state.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// How many are remembered. What is asked of them again comes soon after: a second answer to a
/// question, the same message after a crash, the same call in the next turns. No model makes more
/// calls in one reply than half of that.
pub const REMEMBERED: usize = 256;

/// The newest values, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Recent<T>(Arc<VecDeque<T>>);

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T: Clone + PartialEq> Recent<T> {
    /// Remembers one more; the oldest makes room for it.
    pub fn push(&mut self, value: T) {
        let values = Arc::make_mut(&mut self.0);
        if values.len() == REMEMBERED {
            values.pop_front();
        }
        values.push_back(value);
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        if !self.0.is_empty() {
            self.0 = Arc::default();
        }
    }

    /// Whether it is remembered.
    #[must_use]
    pub fn contains(&self, value: &T) -> bool {
        self.0.contains(value)
    }

    /// All, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_remembered_and_copies_share_them() {
        let mut recent = Recent::default();
        (0..=REMEMBERED).for_each(|n| recent.push(n));
        let expected: Vec<usize> = (1..=REMEMBERED).collect();
        assert_eq!(recent.iter().copied().collect::<Vec<_>>(), expected);
        assert!(!recent.contains(&0) && recent.contains(&REMEMBERED));
        let mut copy = recent.clone();
        assert!(Arc::ptr_eq(&copy.0, &recent.0));
        copy.clear();
        assert_eq!((copy, recent.iter().count()), (Recent::default(), REMEMBERED));
    }
}
