//! The account tree of a family: what each agent may still use, and what the family may.
//!
//! Everything is reserved before it is used and settled after it. A reservation is held in each
//! scope that it draws on: the agent's own account, those of the agents that it shares with, and
//! the family's ceiling. Each operation does all of what it says or, refused, nothing; so it can be
//! tried on a copy and folded again from the journal.
//!
//! Under the policy `finish` each living agent also has a reserve for its closing turn. Other work
//! cannot touch it, so an agent that meets a limit can always say what it has.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use ask::{Ask, LEAST_OUTPUT, Purpose};
pub use book::{Book, Bound, Scope, Sums};
pub use calls::Calls;
pub use clock::Clock;
pub use refusal::Refusal;
pub use request::{Granted, Spend};

use crate::family::Caps;
use crate::id::AgentId;
use crate::limits::{ChildBudget, LimitKind, Limits, OnLimit};
use crate::money::Money;
use crate::time::{Millis, Timestamp};

mod ask;
mod book;
mod calls;
mod chain;
mod clock;
mod refusal;
mod request;
mod warnings;

/// The accounts of one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accounts {
    on_limit: OnLimit,
    caps: Caps,
    clock: Clock,
    family: Book,
    agents: BTreeMap<AgentId, Account>,
}

/// What binds the family as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// The family's ceiling. It holds in every mode.
    pub ceiling: Limits,
    /// What happens at a limit.
    pub on_limit: OnLimit,
    /// How many agents may be started and how deep. These bind under every policy: they bound the
    /// tree, not the work.
    pub caps: Caps,
}

/// What one agent's account begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opening {
    /// The limits that someone set for this agent. A default of the runtime does not belong here.
    pub limits: Limits,
    /// How the account hangs on its parent's; for the lead it means nothing.
    pub mode: ChildBudget,
    /// What the first closing turn is sure to have.
    pub closing: Closing,
}

/// What is set aside for an agent's closing turn until its first request tells more: beside one
/// step, at least this much. More than the agent's own limit is not needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closing {
    /// Tokens, input and output together.
    pub tokens: u64,
    /// Money.
    pub cost: Money,
    /// How long before the end of its time an agent begins its closing turn.
    pub time: Millis,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Account {
    parent: Option<AgentId>,
    depth: u32,
    mode: ChildBudget,
    book: Book,
    /// What was cut out of the parent for this agent, by kind. These kinds are limited to it.
    grant: Limits,
    /// What is set aside for this agent's closing turn, in each scope that it draws on.
    reserve: Sums,
    closing_time: Millis,
    /// The family's elapsed time when the account was opened.
    opened: Millis,
    calls: u64,
    pending: Option<request::Pending>,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Stage {
    Open,
    /// Its closing turn is in flight or over; this limit brought it.
    Closing(Bound),
    Closed,
}

impl Accounts {
    /// The accounts of a run that begins now, with the lead's. The lead's closing turn gets what
    /// the limits have for it, if that is less than it asks for.
    #[must_use]
    pub fn new(terms: &Terms, lead: &Opening, now: Timestamp) -> Self {
        let mut accounts = Self {
            on_limit: terms.on_limit,
            caps: terms.caps,
            clock: Clock::new(now),
            family: Book::new(terms.ceiling),
            agents: BTreeMap::new(),
        };
        let account = accounts.account(None, lead, lead.limits);
        accounts.agents.insert(AgentId::LEAD, account);
        let mut reserve = accounts.first_reserve(AgentId::LEAD, &lead.closing);
        for kind in LimitKind::COUNTED {
            let most = accounts.room(AgentId::LEAD, kind, 0).map_or(u64::MAX, |(free, _)| free);
            reserve.set(kind, reserve.get(kind).min(most));
        }
        accounts.set_reserve(AgentId::LEAD, reserve);
        accounts
    }

    /// Opens the account of a subagent and sets its closing turn aside.
    ///
    /// # Errors
    /// [`Refusal::TooMany`], [`Refusal::TooDeep`]; [`Refusal::Reached`] if a scope has no room for
    /// the closing turn; [`Refusal::AfterClosing`] if the parent is closing; [`Refusal::Known`],
    /// [`Refusal::NoAccount`] for ids that are wrong.
    pub fn open(
        &mut self,
        agent: AgentId,
        parent: AgentId,
        opening: &Opening,
    ) -> Result<(), Refusal> {
        let above = self.active(parent)?;
        if let Stage::Closing(_) = above.stage {
            return Err(Refusal::AfterClosing(parent));
        }
        if self.agents.contains_key(&agent) {
            return Err(Refusal::Known(agent));
        }
        // The lead is one of the agents and no subagent.
        if self.agents.len() > self.caps.max_subagents as usize {
            return Err(Refusal::TooMany(self.caps.max_subagents));
        }
        if above.depth >= self.caps.max_depth {
            return Err(Refusal::TooDeep(self.caps.max_depth));
        }
        let mut after = self.clone();
        after.enter(agent, parent, opening)?;
        *self = after;
        Ok(())
    }

    /// Closes an agent's account. What was set aside for it goes back to where it came from.
    ///
    /// # Errors
    /// [`Refusal::Busy`], [`Refusal::Calls`], [`Refusal::Parent`] if something of it is still in
    /// flight; [`Refusal::NoAccount`].
    pub fn close(&mut self, agent: AgentId) -> Result<(), Refusal> {
        let account = self.active(agent)?;
        if account.pending.is_some() {
            return Err(Refusal::Busy(agent));
        }
        if account.calls > 0 {
            return Err(Refusal::Calls { agent, held: account.calls });
        }
        let is_child = |other: &Account| other.parent == Some(agent) && other.is_live();
        if self.agents.values().any(is_child) {
            return Err(Refusal::Parent(agent));
        }
        self.set_reserve(agent, Sums::default());
        self.return_grant(agent);
        self.change(agent, |account| account.stage = Stage::Closed);
        Ok(())
    }

    /// Sets new limits of a scope, those that are named. None falls below what is used, held and
    /// set aside; the counting goes on. What was cut out for an agent only grows, by what its
    /// parent has left. An agent that was closing because of a limit that is now higher may go on.
    ///
    /// # Errors
    /// [`Refusal::NoAccount`].
    pub fn raise(&mut self, scope: Scope, limits: &Limits) -> Result<(), Refusal> {
        if let Scope::Agent(agent) = scope {
            self.active(agent)?;
        }
        for kind in LimitKind::ALL {
            if let Some(most) = limits.get(kind) {
                self.raise_one(scope, kind, most);
            }
        }
        self.forget_warnings(scope);
        let reopened = |accounts: &Self, account: &Account| match account.stage {
            Stage::Closing(bound) => {
                let most = accounts.book(bound.scope).and_then(|book| book.limits.get(bound.kind));
                account.pending.is_none() && most.is_none_or(|most| most > bound.of)
            }
            Stage::Open | Stage::Closed => false,
        };
        let ids: Vec<AgentId> = self.agents.keys().copied().collect();
        for id in ids {
            if self.agents.get(&id).is_some_and(|account| reopened(self, account)) {
                self.change(id, |account| account.stage = Stage::Open);
            }
        }
        Ok(())
    }

    /// What a scope has used and holds, if there is such a scope.
    #[must_use]
    pub fn book(&self, scope: Scope) -> Option<&Book> {
        match scope {
            Scope::Family => Some(&self.family),
            Scope::Agent(agent) => self.agents.get(&agent).map(|account| &account.book),
        }
    }

    /// Every scope that there is, closed accounts included: the family, then the agents.
    pub fn scopes(&self) -> impl Iterator<Item = Scope> {
        std::iter::once(Scope::Family).chain(self.agents.keys().copied().map(Scope::Agent))
    }

    /// What the agent's next request may take of a kind, in the kind's unit, what is set aside for
    /// its closing turn included. Nothing if the kind is not limited, and never for time: see
    /// [`Accounts::time_left`]. A history that has grown past it has to be cut for the closing
    /// turn to be sent at all.
    #[must_use]
    pub fn left(&self, agent: AgentId, kind: LimitKind) -> Option<u64> {
        let own = self.agents.get(&agent)?.reserve.get(kind);
        match kind {
            LimitKind::Steps | LimitKind::ToolCalls | LimitKind::Tokens | LimitKind::Cost => {
                self.room(agent, kind, own).map(|(free, _)| free)
            }
            LimitKind::Time => None,
        }
    }

    /// What happens at a limit.
    #[must_use]
    pub fn on_limit(&self) -> OnLimit {
        self.on_limit
    }

    /// The limit that brought the agent to its closing turn, in flight or over.
    #[must_use]
    pub fn closing(&self, agent: AgentId) -> Option<Bound> {
        match self.agents.get(&agent)?.stage {
            Stage::Closing(bound) => Some(bound),
            Stage::Open | Stage::Closed => None,
        }
    }

    fn account(&self, parent: Option<AgentId>, opening: &Opening, limits: Limits) -> Account {
        let depth = parent.and_then(|id| self.agents.get(&id)).map_or(0, |above| above.depth + 1);
        Account {
            parent,
            depth,
            mode: opening.mode,
            book: Book::new(limits),
            grant: Limits::none(),
            reserve: Sums::default(),
            closing_time: opening.closing.time,
            opened: self.clock.elapsed(),
            calls: 0,
            pending: None,
            stage: Stage::Open,
        }
    }

    fn enter(&mut self, agent: AgentId, parent: AgentId, opening: &Opening) -> Result<(), Refusal> {
        let above = self.active(parent)?.book.limits;
        let limits = match opening.mode {
            ChildBudget::Share | ChildBudget::Grant => opening.limits,
            ChildBudget::Mirror => opening.limits.or(above),
        };
        let account = self.account(Some(parent), opening, limits);
        self.agents.insert(agent, account);
        let reserve = self.first_reserve(agent, &opening.closing);
        if opening.mode == ChildBudget::Grant {
            for kind in LimitKind::COUNTED {
                if let Some(most) = limits.get(kind) {
                    self.carve(agent, kind, most, self.least(&reserve, kind))?;
                }
            }
        }
        for kind in LimitKind::COUNTED {
            self.require(agent, kind, self.least(&reserve, kind))?;
        }
        self.set_reserve(agent, reserve);
        Ok(())
    }

    /// What has to be set aside for an agent that has sent nothing yet.
    fn first_reserve(&self, agent: AgentId, closing: &Closing) -> Sums {
        if !self.on_limit.closes() {
            return Sums::default();
        }
        let limits = self.agents.get(&agent).map(|account| account.book.limits).unwrap_or_default();
        Sums {
            steps: 1,
            tool_calls: 0,
            tokens: closing.tokens.min(limits.max_tokens.unwrap_or(u64::MAX)),
            cost: limits.max_cost.map_or(closing.cost, |most| closing.cost.min(most)),
        }
    }

    /// What a child needs to begin with: its reserve, and under each binding policy one step.
    fn least(&self, reserve: &Sums, kind: LimitKind) -> u64 {
        match kind {
            LimitKind::Steps if self.on_limit.binds() => 1,
            LimitKind::Steps
            | LimitKind::ToolCalls
            | LimitKind::Tokens
            | LimitKind::Cost
            | LimitKind::Time => reserve.get(kind),
        }
    }

    fn active(&self, agent: AgentId) -> Result<&Account, Refusal> {
        let live = self.agents.get(&agent).filter(|account| account.is_live());
        live.ok_or(Refusal::NoAccount(agent))
    }

    fn change(&mut self, agent: AgentId, change: impl FnOnce(&mut Account)) {
        if let Some(account) = self.agents.get_mut(&agent) {
            change(account);
        }
    }

    fn book_mut(&mut self, scope: Scope) -> Option<&mut Book> {
        match scope {
            Scope::Family => Some(&mut self.family),
            Scope::Agent(agent) => self.agents.get_mut(&agent).map(|account| &mut account.book),
        }
    }
}

impl Account {
    fn is_live(&self) -> bool {
        match self.stage {
            Stage::Open | Stage::Closing(_) => true,
            Stage::Closed => false,
        }
    }
}

#[cfg(test)]
mod tests;
