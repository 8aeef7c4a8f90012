//! Time as a budget: what the clock said when it was last seen, less the time in which nobody was
//! there to see it.

use serde::{Deserialize, Serialize};

use super::Accounts;
use super::book::Scope;
use crate::id::AgentId;
use crate::limits::LimitKind;
use crate::time::{Millis, Timestamp};

/// How long a run has been at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clock {
    started: Timestamp,
    seen: Timestamp,
    down: Millis,
}

impl Clock {
    /// A clock that begins now.
    #[must_use]
    pub fn new(now: Timestamp) -> Self {
        Self { started: now, seen: now, down: Millis(0) }
    }

    /// The time counts until now. A clock that went backwards changes nothing.
    pub fn see(&mut self, now: Timestamp) {
        self.seen = self.seen.max(now);
    }

    /// The time since it was last seen does not count.
    pub fn resume(&mut self, now: Timestamp) {
        self.down = Millis(self.down.0.saturating_add(now.since(self.seen).0));
        self.see(now);
    }

    /// All the time that counts.
    #[must_use]
    pub fn elapsed(&self) -> Millis {
        Millis(self.seen.since(self.started).0.saturating_sub(self.down.0))
    }
}

impl Accounts {
    /// The run is at work and the clock shows this.
    pub fn seen_at(&mut self, now: Timestamp) {
        self.clock.see(now);
    }

    /// The run goes on after it was down or parked. The time since it was last seen is not charged.
    pub fn resume_at(&mut self, now: Timestamp) {
        self.clock.resume(now);
    }

    /// How long a scope has been at work when it was last seen.
    #[must_use]
    pub fn elapsed(&self, scope: Scope) -> Millis {
        let opened = match scope {
            Scope::Family => Millis(0),
            Scope::Agent(agent) => {
                self.agents.get(&agent).map(|account| account.opened).unwrap_or_default()
            }
        };
        Millis(self.clock.elapsed().0.saturating_sub(opened.0))
    }

    /// How much time the agent has left when it was last seen, if its time is limited: when a shell
    /// has to wake it.
    #[must_use]
    pub fn time_left(&self, agent: AgentId) -> Option<Millis> {
        let left = |scope: Scope| {
            let most = self.book(scope)?.limits.max_time?;
            Some(Millis(most.0.saturating_sub(self.elapsed(scope).0)))
        };
        self.open_scopes(agent, LimitKind::Time).into_iter().filter_map(left).min()
    }
}
