//! Points in time and lengths of time, as arguments: nothing here can read a clock.

use serde::{Deserialize, Serialize};

/// Milliseconds since the Unix epoch, as the shell's clock read them.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// How long after `earlier` this is; zero if a clock went backwards.
    #[must_use]
    pub fn since(self, earlier: Self) -> Millis {
        Millis(self.0.saturating_sub(earlier.0))
    }
}

/// A length of time in milliseconds.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Millis(pub u64);

impl From<Millis> for std::time::Duration {
    fn from(value: Millis) -> Self {
        Self::from_millis(value.0)
    }
}

impl From<std::time::Duration> for Millis {
    /// Rounds down, and saturates at `u64::MAX` (584 million years).
    fn from(value: std::time::Duration) -> Self {
        Self(u64::try_from(value.as_millis()).unwrap_or(u64::MAX))
    }
}
