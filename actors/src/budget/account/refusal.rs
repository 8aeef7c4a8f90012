//! Why the accounts refuse something.

use super::book::Bound;
use crate::id::AgentId;

/// Why an operation was refused. It changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A limit leaves no room.
    #[error("{0}; raise the limit to go on")]
    Reached(Bound),
    /// The agent had its closing turn.
    #[error("{0} had its closing turn, so it must end now")]
    AfterClosing(AgentId),
    /// The run has started as many subagents as it may.
    #[error("the run may start at most {0} subagents and has")]
    TooMany(u32),
    /// The child would be too deep in the tree.
    #[error("the family may be at most {0} deep below the lead")]
    TooDeep(u32),
    /// The agent has no account, or a closed one.
    #[error("{0} has no open account; open one first")]
    NoAccount(AgentId),
    /// The agent has an account.
    #[error("{0} has an account already")]
    Known(AgentId),
    /// A request of the agent is in flight.
    #[error("{0} has a request in flight; settle it first")]
    Busy(AgentId),
    /// The agent has no request in flight.
    #[error("{0} has no request in flight")]
    Idle(AgentId),
    /// The agent has fewer calls in flight than were named, or still some at its end.
    #[error("{agent} has {held} calls in flight; settle or refund just these")]
    Calls {
        /// The agent.
        agent: AgentId,
        /// The calls that it has in flight.
        held: u64,
    },
    /// Children of the agent have open accounts.
    #[error("{0} has living children; close their accounts first")]
    Parent(AgentId),
}
