//! What is said before a limit is reached, and when.

use serde::{Deserialize, Serialize};

use crate::budget::account::Scope;
use crate::limits::{Amount, LimitKind};

/// See [`Event::LimitWarning`](super::Event::LimitWarning). Each limit is warned of once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitWarning {
    /// Which limit.
    pub limit: LimitKind,
    /// Whose.
    pub scope: Scope,
    /// What is used.
    pub used: Amount,
    /// Of what.
    pub of: Amount,
}

/// See [`Event::LimitReached`](super::Event::LimitReached).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitReached {
    /// Which limit.
    pub limit: LimitKind,
    /// Whose.
    pub scope: Scope,
}
