//! Which scopes an agent draws on, and how an amount moves through them.
//!
//! A chain leads from the agent's own account up to the family. Where an account has a grant of a
//! kind, the scopes above hold that amount already: nothing is held there again, and what is used
//! moves from what they hold to what they have spent.

use super::book::{Book, Bound, Scope, Sums};
use super::{Account, Accounts};
use crate::id::AgentId;
use crate::limits::{ChildBudget, LimitKind};

/// One scope of a chain.
struct Link {
    scope: Scope,
    /// The agent below whose grant this scope holds, if one does.
    backer: Option<AgentId>,
}

impl Accounts {
    fn chain(&self, agent: AgentId, kind: LimitKind) -> Vec<Link> {
        let (mut links, mut backer, mut next) = (vec![], None, Some(agent));
        while let Some((id, account)) = next.and_then(|id| Some((id, self.agents.get(&id)?))) {
            links.push(Link { scope: Scope::Agent(id), backer });
            if account.grant.get(kind).is_some() {
                backer = Some(id);
            }
            next = match account.mode {
                ChildBudget::Share | ChildBudget::Grant => account.parent,
                ChildBudget::Mirror => None,
            };
        }
        links.push(Link { scope: Scope::Family, backer });
        links
    }

    /// The scopes in which the agent has to find room.
    pub(super) fn open_scopes(&self, agent: AgentId, kind: LimitKind) -> Vec<Scope> {
        let links = self.chain(agent, kind).into_iter();
        links.filter(|link| link.backer.is_none()).map(|link| link.scope).collect()
    }

    /// The least that any scope has free for an agent, `own` of what is set aside there being its
    /// own; and the limit that says so. Nothing if no scope limits the kind.
    pub(super) fn room(&self, agent: AgentId, kind: LimitKind, own: u64) -> Option<(u64, Bound)> {
        let room = |scope: Scope| {
            let book = self.book(scope)?;
            let of = book.limits.get(kind)?;
            let bound = Bound { kind, scope, used: book.in_use(kind), of };
            Some((book.free_with(kind, own)?, bound))
        };
        self.open_scopes(agent, kind).into_iter().filter_map(room).min_by_key(|(free, _)| *free)
    }

    /// That there is room for so much.
    pub(super) fn require(
        &self,
        agent: AgentId,
        kind: LimitKind,
        amount: u64,
    ) -> Result<(), super::Refusal> {
        match self.room(agent, kind, 0) {
            Some((free, bound)) if free < amount => Err(super::Refusal::Reached(bound)),
            Some(_) | None => Ok(()),
        }
    }

    fn each_open(&mut self, agent: AgentId, kind: LimitKind, change: impl Fn(&mut Book)) {
        for scope in self.open_scopes(agent, kind) {
            if let Some(book) = self.book_mut(scope) {
                change(book);
            }
        }
    }

    pub(super) fn hold(&mut self, agent: AgentId, kind: LimitKind, amount: u64) {
        self.each_open(agent, kind, |book| book.held.increase(kind, amount));
    }

    pub(super) fn release(&mut self, agent: AgentId, kind: LimitKind, amount: u64) {
        self.each_open(agent, kind, |book| book.held.decrease(kind, amount));
    }

    /// Sets aside so much for the agent's closing turn, instead of what was.
    pub(super) fn set_reserve(&mut self, agent: AgentId, reserve: Sums) {
        let before = self.agents.get(&agent).map(|account| account.reserve).unwrap_or_default();
        for kind in LimitKind::COUNTED {
            self.each_open(agent, kind, |book| {
                book.closing.decrease(kind, before.get(kind));
                book.closing.increase(kind, reserve.get(kind));
            });
        }
        self.change(agent, |account| account.reserve = reserve);
    }

    /// Counts what was used, in every scope up to the family.
    pub(super) fn spend(&mut self, agent: AgentId, kind: LimitKind, amount: u64) {
        let grant_left = |account: &Account| {
            let grant = account.grant.get(kind).unwrap_or(0);
            grant.saturating_sub(account.book.spent.get(kind))
        };
        // Read first: what a grant has left changes with the spending.
        let moved = |link: Link| {
            let backer = link.backer.and_then(|id| self.agents.get(&id));
            (link.scope, backer.map_or(0, |account| amount.min(grant_left(account))))
        };
        let moves: Vec<(Scope, u64)> = self.chain(agent, kind).into_iter().map(moved).collect();
        for (scope, held) in moves {
            if let Some(book) = self.book_mut(scope) {
                book.held.decrease(kind, held);
                book.spent.increase(kind, amount);
            }
        }
    }

    /// Grants an agent so much in all, cut out of what its parent has left, or all of that if it is
    /// less. What the agent has used beyond an earlier grant is its parent's loss already, so it is
    /// not cut out again.
    ///
    /// # Errors
    /// The parent has less than `least`.
    pub(super) fn carve(
        &mut self,
        agent: AgentId,
        kind: LimitKind,
        most: u64,
        least: u64,
    ) -> Result<(), super::Refusal> {
        let account = self.active(agent)?;
        let Some(parent) = account.parent else { return Ok(()) };
        let base = account.grant.get(kind).unwrap_or(0).max(account.book.spent.get(kind));
        self.require(parent, kind, least)?;
        let more = most.saturating_sub(base);
        let amount = self.room(parent, kind, 0).map_or(more, |(free, _)| more.min(free));
        self.hold(parent, kind, amount);
        self.change(agent, |account| {
            account.grant.set(kind, Some(base.saturating_add(amount)));
            account.book.limits.set(kind, account.grant.get(kind));
        });
        Ok(())
    }

    /// Gives what is left of an agent's grant back to those that it was cut out of.
    pub(super) fn return_grant(&mut self, agent: AgentId) {
        let Some(account) = self.agents.get(&agent).cloned() else { return };
        let Some(parent) = account.parent else { return };
        for kind in LimitKind::COUNTED {
            if let Some(grant) = account.grant.get(kind) {
                let left = grant.saturating_sub(account.book.spent.get(kind));
                self.release(parent, kind, left);
            }
        }
    }

    /// See [`Accounts::raise`].
    pub(super) fn raise_one(&mut self, scope: Scope, kind: LimitKind, most: u64) {
        if let Scope::Agent(agent) = scope
            && self.agents.get(&agent).is_some_and(|one| one.grant.get(kind).is_some())
        {
            // It asks for nothing that must be there, so it is not refused.
            let _: Result<(), _> = self.carve(agent, kind, most, 0);
            return;
        }
        let elapsed = self.elapsed(scope).0;
        if let Some(book) = self.book_mut(scope) {
            let least = match kind {
                LimitKind::Time => elapsed,
                LimitKind::Steps | LimitKind::ToolCalls | LimitKind::Tokens | LimitKind::Cost => {
                    book.committed(kind)
                }
            };
            book.limits.set(kind, Some(most.max(least)));
        }
    }
}
