//! What happens when the family's time runs out.

use super::super::{Phase, ending, failed};
use crate::agent::Draft;
use crate::budget::TimeLeft;
use crate::budget::account::{Bound, Scope};
use crate::call::{CallResult, CallStatus};
use crate::event::{Ending, FinishReason};
use crate::failure::{ErrorCode, Failure};
use crate::limits::{LimitKind, OnLimit};
use crate::time::Millis;

impl Draft<'_> {
    /// Whether that much of the family's time is used up by what the ledger has charged.
    pub(super) fn is_due(&self, part: fn(TimeLeft) -> Millis) -> bool {
        let left = self.ledger.time_left(self.facts.now);
        left.is_none_or(|left| part(left) == Millis(0))
    }

    /// The closing turn has to begin: what is in flight is stopped for it.
    pub(super) fn time_is_short(&mut self) {
        let kind = LimitKind::Time;
        self.reach_limit(Bound { kind, scope: Scope::Family, used: 0, of: 0 });
        let result = CallResult::new(CallStatus::Limit, "the run's time is used up; not run");
        let unbegun = self.unbegun();
        self.withdraw_asks_of(&unbegun);
        self.refuse_calls(&unbegun, &result);
        match self.state.phase {
            Phase::Deciding if self.last_is_turn() => self.after_turn(),
            Phase::Deciding if !self.state.has_live_children() => self.request(),
            Phase::Resting
            | Phase::Deciding
            | Phase::Thinking { .. }
            | Phase::Acting(_)
            | Phase::Compacting(_)
            | Phase::Asking(_)
            | Phase::Interrupted
            | Phase::Ending(_)
            | Phase::Done(_) => {}
        }
    }

    /// There was no time even for the closing turn. A run that is to rest or to ask at a limit does
    /// that: nothing of it may be lost for want of time.
    pub(super) fn time_is_up(&mut self) {
        match self.machine.family.on_limit {
            OnLimit::Interrupt | OnLimit::Ask if self.machine.id().is_lead() => {
                return self.time_is_short();
            }
            OnLimit::Finish | OnLimit::Stop | OnLimit::Interrupt | OnLimit::Ask | OnLimit::Warn => {
            }
        }
        let message = "the run's time is used up; raise it (`--max-time`) or give the work in \
                       smaller parts";
        let error = Failure::new(ErrorCode::LimitTime, message);
        let ending = Ending { finish_reason: FinishReason::Timeout, ..failed(error) };
        ending::begin(self, &ending);
    }
}
