//! The sums of one scope, and how they are named when they bind.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::id::{AgentId, InvalidId};
use crate::limits::{LimitKind, Limits};
use crate::money::Money;

/// What a limit binds. Shown as `family` or as the agent's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// All agents of the run together.
    Family,
    /// One agent, with the agents that draw on it.
    Agent(AgentId),
}

/// A limit that was met, or is near.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bound {
    /// What it counts.
    #[serde(rename = "limit")]
    pub kind: LimitKind,
    /// What it binds.
    pub scope: Scope,
    /// How much is used, in the kind's unit. Where a limit was met, with what is in flight.
    pub used: u64,
    /// The limit, in the kind's unit.
    pub of: u64,
}

/// Amounts of what is added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sums {
    /// Model replies.
    pub steps: u64,
    /// Tool calls.
    pub tool_calls: u64,
    /// Tokens, input and output together.
    pub tokens: u64,
    /// Money.
    pub cost: Money,
}

/// The sums of one scope.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Book {
    /// What may be used at most.
    pub limits: Limits,
    /// What was used.
    pub spent: Sums,
    /// What is held for work in flight and for grants of children.
    pub held: Sums,
    /// What is set aside for closing turns.
    pub closing: Sums,
    /// The kinds of which watchers know that they are near their limit.
    pub(super) told: BTreeSet<LimitKind>,
}

impl Book {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// What was used, is held and is set aside.
    #[must_use]
    pub fn committed(&self, kind: LimitKind) -> u64 {
        self.in_use(kind).saturating_add(self.closing.get(kind))
    }

    /// What may still be reserved, or nothing at all if the kind is not limited here.
    #[must_use]
    pub fn free(&self, kind: LimitKind) -> Option<u64> {
        self.free_with(kind, 0)
    }

    /// What may be reserved by an agent that has `own` of what is set aside here.
    pub(super) fn free_with(&self, kind: LimitKind, own: u64) -> Option<u64> {
        let others = self.closing.get(kind).saturating_sub(own);
        let taken = self.in_use(kind).saturating_add(others);
        self.limits.get(kind).map(|most| most.saturating_sub(taken))
    }

    pub(super) fn in_use(&self, kind: LimitKind) -> u64 {
        self.spent.get(kind).saturating_add(self.held.get(kind))
    }
}

impl Sums {
    /// The amount of one kind, in the kind's unit. Time is never added up.
    #[must_use]
    pub fn get(&self, kind: LimitKind) -> u64 {
        match kind {
            LimitKind::Steps => self.steps,
            LimitKind::ToolCalls => self.tool_calls,
            LimitKind::Tokens => self.tokens,
            LimitKind::Cost => self.cost.pico(),
            LimitKind::Time => 0,
        }
    }

    pub(super) fn set(&mut self, kind: LimitKind, amount: u64) {
        match kind {
            LimitKind::Steps => self.steps = amount,
            LimitKind::ToolCalls => self.tool_calls = amount,
            LimitKind::Tokens => self.tokens = amount,
            LimitKind::Cost => self.cost = Money::from_pico(amount),
            LimitKind::Time => {}
        }
    }

    /// Of each kind the smaller amount.
    pub(super) fn at_most(&self, most: &Self) -> Self {
        let mut least = *self;
        for kind in LimitKind::COUNTED {
            least.set(kind, self.get(kind).min(most.get(kind)));
        }
        least
    }

    pub(super) fn increase(&mut self, kind: LimitKind, amount: u64) {
        self.set(kind, self.get(kind).saturating_add(amount));
    }

    pub(super) fn decrease(&mut self, kind: LimitKind, amount: u64) {
        self.set(kind, self.get(kind).saturating_sub(amount));
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (used, of) = (self.kind.show(self.used), self.kind.show(self.of));
        match self.scope {
            Scope::Family => write!(f, "the family has used {used} of {of}"),
            Scope::Agent(agent) => write!(f, "{agent} has used {used} of {of}"),
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Family => f.write_str("family"),
            Self::Agent(agent) => agent.fmt(f),
        }
    }
}

impl FromStr for Scope {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        match text {
            "family" => Ok(Self::Family),
            agent => agent.parse().map(Self::Agent),
        }
    }
}

impl Serialize for Scope {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Scope {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}
