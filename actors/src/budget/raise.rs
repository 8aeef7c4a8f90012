//! Limits that people raise while a run is under way.

use super::Ledger;
use super::account::Scope;
use crate::event::{ApprovalSettled, LimitReached};
use crate::id::AgentId;
use crate::limits::{LimitKind, Limits};

impl Ledger {
    /// The limits of a scope, as they were raised last.
    #[must_use]
    pub fn limits_of(&self, scope: Scope) -> Limits {
        match (scope, &self.accounts) {
            (Scope::Family, _) => self.limits,
            (Scope::Agent(_), None) => Limits::none(),
            (Scope::Agent(_), Some(accounts)) => {
                accounts.book(scope).map(|book| book.limits).unwrap_or_default()
            }
        }
    }

    /// A limit that was met, doubled; at least so that there is twice the room that is taken.
    #[must_use]
    pub fn doubled(&self, LimitReached { limit, scope }: LimitReached) -> Limits {
        let book = self.accounts.as_ref().and_then(|accounts| accounts.book(scope));
        let taken = book.map_or(0, |book| book.committed(limit));
        let most = self.limits_of(scope).get(limit).unwrap_or(0).max(taken).max(1);
        let mut doubled = Limits::none();
        doubled.set(limit, Some(most.saturating_mul(2)));
        doubled
    }

    /// Raises what a person was asked to raise, if the answer does. An answer gives room: it puts
    /// no limit where there was none.
    pub(super) fn raise_asked(&mut self, settled: &ApprovalSettled) {
        let scope = self.asked_limits.remove(&settled.approval);
        if let (Some(mut raised), Some(scope)) = (settled.raised, scope) {
            let present = self.limits_of(scope);
            for kind in LimitKind::ALL {
                raised.set(kind, raised.get(kind).filter(|_| present.get(kind).is_some()));
            }
            self.raise(scope, &raised);
        }
    }

    /// Raises the limits of one scope. None of them falls.
    pub(super) fn raise(&mut self, scope: Scope, raised: &Limits) {
        let mut limits = *raised;
        for kind in LimitKind::ALL {
            let before = self.limits_of(scope).get(kind);
            limits.set(kind, raised.get(kind).map(|most| most.max(before.unwrap_or(0))));
        }
        match scope {
            Scope::Family => self.limits = limits.or(self.limits),
            Scope::Agent(_) => {}
        }
        if let Some(accounts) = &mut self.accounts {
            // Only a scope that is not there could refuse.
            accounts.raise(scope, &limits).ok();
        }
    }

    /// Raises the limits of a run that goes on: the lead's own where it has limits of these kinds,
    /// and the family's, unless only the lead has one.
    pub(super) fn raise_all(&mut self, raised: &Limits) {
        let lead = Scope::Agent(AgentId::LEAD);
        let (mut family, mut own) = (*raised, Limits::none());
        for kind in LimitKind::ALL {
            if self.limits_of(lead).get(kind).is_some() {
                own.set(kind, raised.get(kind));
                let limited = self.limits.get(kind).is_some();
                family.set(kind, raised.get(kind).filter(|_| limited));
            }
        }
        self.raise(Scope::Family, &family);
        self.raise(lead, &own);
    }
}
