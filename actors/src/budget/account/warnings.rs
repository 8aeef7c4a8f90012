//! Which limits are near, each told once.

use super::Accounts;
use super::book::{Bound, Scope};
use crate::limits::LimitKind;

impl Accounts {
    /// The limits of which four fifths are used and that were not told yet, the family's first. At
    /// four fifths there is still room to come to an end.
    #[must_use]
    pub fn warnings_due(&self) -> Vec<Bound> {
        let live = self.agents.iter().filter(|(_, account)| account.is_live());
        let agents = live.map(|(id, _)| Scope::Agent(*id));
        let near = |scope: Scope| {
            let kinds = LimitKind::ALL.into_iter();
            kinds.filter_map(move |kind| self.near(scope, kind)).filter(move |bound| {
                !self.book(scope).is_some_and(|book| book.told.contains(&bound.kind))
            })
        };
        std::iter::once(Scope::Family).chain(agents).flat_map(near).collect()
    }

    /// Watchers know of it: it is not due again, unless the limit is raised.
    pub fn told(&mut self, warning: &Bound) {
        if let Some(book) = self.book_mut(warning.scope) {
            book.told.insert(warning.kind);
        }
    }

    /// A warning is due again if its limit is not near any more.
    pub(super) fn forget_warnings(&mut self, scope: Scope) {
        let far = LimitKind::ALL.map(|kind| (kind, self.near(scope, kind).is_none()));
        if let Some(book) = self.book_mut(scope) {
            for (kind, _) in far.into_iter().filter(|(_, is_far)| *is_far) {
                book.told.remove(&kind);
            }
        }
    }

    fn near(&self, scope: Scope, kind: LimitKind) -> Option<Bound> {
        let book = self.book(scope)?;
        let of = book.limits.get(kind)?;
        let used = match kind {
            LimitKind::Time => self.elapsed(scope).0,
            LimitKind::Steps | LimitKind::ToolCalls | LimitKind::Tokens | LimitKind::Cost => {
                book.spent.get(kind)
            }
        };
        let is_near = used > 0 && u128::from(used) * 5 >= u128::from(of) * 4;
        is_near.then_some(Bound { kind, scope, used, of })
    }
}
