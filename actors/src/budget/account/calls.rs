//! Tool calls: reserved for a whole batch before any of it runs.

use super::book::Bound;
use super::{Accounts, Refusal, Stage};
use crate::id::AgentId;
use crate::limits::LimitKind;

/// How much of a batch may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calls {
    /// How many calls, the first ones of the batch.
    pub allowed: u64,
    /// The limit that keeps the others back, if there are others.
    pub bound: Option<Bound>,
}

impl Accounts {
    /// Reserves as many calls of a batch as may run. A closing turn has none.
    ///
    /// # Errors
    /// [`Refusal::NoAccount`].
    pub fn reserve_calls(&mut self, agent: AgentId, asked: u64) -> Result<Calls, Refusal> {
        let calls = match self.active(agent)?.stage {
            Stage::Closing(bound) => Calls { allowed: 0, bound: Some(bound) },
            Stage::Open | Stage::Closed => match self.room(agent, LimitKind::ToolCalls, 0) {
                Some((free, bound)) if free < asked && self.on_limit.binds() => {
                    Calls { allowed: free, bound: Some(bound) }
                }
                Some(_) | None => Calls { allowed: asked, bound: None },
            },
        };
        self.hold(agent, LimitKind::ToolCalls, calls.allowed);
        self.change(agent, |account| account.calls = account.calls.saturating_add(calls.allowed));
        Ok(calls)
    }

    /// Counts calls that ran, or may have run.
    ///
    /// # Errors
    /// [`Refusal::Calls`] if the agent has fewer in flight; [`Refusal::NoAccount`].
    pub fn settle_calls(&mut self, agent: AgentId, ran: u64) -> Result<(), Refusal> {
        self.refund_calls(agent, ran)?;
        self.spend(agent, LimitKind::ToolCalls, ran);
        Ok(())
    }

    /// Gives back calls that certainly never began.
    ///
    /// # Errors
    /// As [`Self::settle_calls`].
    pub fn refund_calls(&mut self, agent: AgentId, never_ran: u64) -> Result<(), Refusal> {
        let held = self.active(agent)?.calls;
        if held < never_ran {
            return Err(Refusal::Calls { agent, held });
        }
        self.change(agent, |account| account.calls -= never_ran);
        self.release(agent, LimitKind::ToolCalls, never_ran);
        Ok(())
    }
}
