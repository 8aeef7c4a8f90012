//! What the limits would make of something, tried on a copy.

use super::account::{Accounts, Ask, Bound, Opening, Refusal, Scope, Spend};
use super::record::opening;
use super::{Ledger, RequestPlan, TimeLeft};
use crate::family::SubagentSpec;
use crate::id::AgentId;
use crate::limits::{LimitKind, Limits};
use crate::money::Money;
use crate::time::{Millis, Timestamp};
use crate::usage::Usage;

impl Ledger {
    /// What the limits make of a request of an agent.
    #[must_use]
    pub fn plan_request(&self, agent: AgentId, ask: &Ask) -> RequestPlan {
        let Some(mut accounts) = self.accounts.clone() else {
            return RequestPlan::Normal { max_output: None };
        };
        match accounts.reserve_request(agent, ask) {
            Ok(granted) => {
                let max_output = self.is_metered(agent).then_some(granted.max_output);
                match granted.closing {
                    None => RequestPlan::Normal { max_output },
                    Some(bound) => RequestPlan::Closing { bound, max_output },
                }
            }
            Err(Refusal::Reached(bound)) => RequestPlan::Refused(bound),
            Err(
                Refusal::AfterClosing(_)
                | Refusal::TooMany(_)
                | Refusal::TooDeep(_)
                | Refusal::NoAccount(_)
                | Refusal::Known(_)
                | Refusal::Busy(_)
                | Refusal::Idle(_)
                | Refusal::Calls { .. }
                | Refusal::Parent(_),
            ) => match accounts.closing(agent) {
                Some(bound) => RequestPlan::Refused(bound),
                None => RequestPlan::Normal { max_output: None },
            },
        }
    }

    /// The output cap of a request for a summary.
    ///
    /// # Errors
    /// The limit that leaves no room for it.
    pub fn plan_summary(&self, agent: AgentId, ask: &Ask) -> Result<u64, Bound> {
        let Some(mut accounts) = self.accounts.clone() else { return Ok(ask.response_cap) };
        match accounts.reserve_request(agent, ask) {
            Ok(granted) => Ok(granted.max_output),
            Err(Refusal::Reached(bound)) => Err(bound),
            Err(
                Refusal::AfterClosing(_)
                | Refusal::TooMany(_)
                | Refusal::TooDeep(_)
                | Refusal::NoAccount(_)
                | Refusal::Known(_)
                | Refusal::Busy(_)
                | Refusal::Idle(_)
                | Refusal::Calls { .. }
                | Refusal::Parent(_),
            ) => Ok(ask.response_cap),
        }
    }

    /// Whether a request in flight may be sent once more after tries that failed, and with which
    /// output cap; none leaves it to the provider. The cap covers all that the try may add to what
    /// the failed ones have used. `cost` is what the host's own function says of that.
    ///
    /// # Errors
    /// The limit that leaves no room for it.
    pub fn plan_retry(
        &self,
        agent: AgentId,
        model: &str,
        used: &Usage,
        cost: Option<Money>,
    ) -> Result<Option<u64>, Bound> {
        let Some(mut accounts) = self.accounts.clone() else { return Ok(None) };
        let cost = cost.or_else(|| self.profile_of(model).cost(used)).unwrap_or_default();
        match accounts.retry_request(agent, &Spend { tokens: used.total_tokens(), cost }) {
            Ok(granted) => Ok(self.is_metered(agent).then_some(granted.max_output)),
            Err(Refusal::Reached(bound)) => Err(bound),
            Err(
                Refusal::AfterClosing(_)
                | Refusal::TooMany(_)
                | Refusal::TooDeep(_)
                | Refusal::NoAccount(_)
                | Refusal::Known(_)
                | Refusal::Busy(_)
                | Refusal::Idle(_)
                | Refusal::Calls { .. }
                | Refusal::Parent(_),
            ) => Ok(None),
        }
    }

    /// Whether an agent may run one more call.
    ///
    /// # Errors
    /// The limit that is used up.
    pub fn may_call(&self, agent: AgentId) -> Result<(), Bound> {
        let Some(mut accounts) = self.accounts.clone() else { return Ok(()) };
        match accounts.reserve_calls(agent, 1) {
            Ok(calls) => match (calls.allowed, calls.bound) {
                (0, Some(bound)) => Err(bound),
                (_, _) => Ok(()),
            },
            Err(_) => Ok(()),
        }
    }

    /// Whether an agent may start that subagent.
    ///
    /// # Errors
    /// Why not: a cap, or a limit without room for its closing turn.
    pub fn may_spawn(&self, agent: AgentId, spec: &SubagentSpec) -> Result<(), Refusal> {
        let Some(mut accounts) = self.accounts.clone() else { return Ok(()) };
        let opening: Opening = opening(&self.family, &spec.invocation.limits);
        accounts.open(self.next_agent(), agent, &opening)
    }

    /// The limits of which most is used and of which nobody was told: an agent's own, and for the
    /// lead the family's.
    #[must_use]
    pub fn warnings(&self, agent: AgentId) -> Vec<Bound> {
        let due = self.accounts.as_ref().map(Accounts::warnings_due).unwrap_or_default();
        let mine = |bound: &Bound| match bound.scope {
            Scope::Family => agent.is_lead(),
            Scope::Agent(owner) => owner == agent,
        };
        due.into_iter().filter(mine).collect()
    }

    /// How much of the lead's and the family's time is left, if it is limited.
    #[must_use]
    pub fn time_left(&self, now: Timestamp) -> Option<TimeLeft> {
        let mut accounts = self.accounts.clone()?;
        if !self.at_work.is_idle() {
            accounts.seen_at(now);
        }
        let left = accounts.time_left(AgentId::LEAD)?;
        let closing = opening(&self.family, &Limits::none()).closing.time;
        Some(TimeLeft { to_closing: Millis(left.0.saturating_sub(closing.0)), to_deadline: left })
    }

    /// Whether tokens or money are limited for an agent, so that a reply needs a cap.
    fn is_metered(&self, agent: AgentId) -> bool {
        let Some(accounts) = &self.accounts else { return false };
        let limited = |kind| accounts.left(agent, kind).is_some();
        accounts.on_limit().binds() && (limited(LimitKind::Tokens) || limited(LimitKind::Cost))
    }
}
