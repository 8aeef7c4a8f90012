//! The next request to the model, or what stands in its way.

use std::sync::Arc;

use super::draft::Draft;
use crate::budget::RequestPlan;
use crate::budget::account::{Ask, Bound, LEAST_OUTPUT, Purpose};
use crate::compaction::{Trigger, trigger};
use crate::context;
use crate::estimate;
use crate::event::{
    Event, FinishReason, LimitReached, LimitWarning, ModelRequested, Outcome, RunInterrupted,
};
use crate::failure::Failure;
use crate::id::RequestNo;
use crate::instruction::FinishInstruction;
use crate::limits::{Amount, LimitKind, OnLimit};
use crate::transcript::Entry;

impl Draft<'_> {
    /// Asks the model again, unless a limit, a wish to rest or a full window comes first.
    pub(super) fn request(&mut self) {
        if self.state.is_sealed() {
            return self.finish_closed();
        }
        if let Some(reason) = self.state.run.interrupt_asked.clone() {
            return self.interrupt(reason, None);
        }
        if let Some(reached) = self.state.run.limit {
            return self.at_limit(reached);
        }
        self.warn_of_limits();
        let estimate = self.estimate();
        // A wish that there is no budget for is dropped with the request that follows.
        let wished = self.state.run.compact_asked && self.cut().is_ok();
        if wished && self.plan_summary().is_ok() {
            return self.compact(Trigger::Manual);
        }
        // A compaction that failed for this very request is not tried again: the provider may
        // still take it.
        let full = self.state.run.compaction_failed && estimate < self.machine.profile().window;
        if trigger::is_due(estimate, self.threshold()) && !full {
            return self.compact(Trigger::Threshold);
        }
        match self.ledger.plan_request(self.machine.id(), &self.ask(estimate)) {
            RequestPlan::Normal { max_output } => self.push_request(estimate, None, max_output),
            RequestPlan::Closing { bound, .. } | RequestPlan::Refused(bound) => {
                self.reach_limit(bound);
                self.at_limit(LimitReached { limit: bound.kind, scope: bound.scope });
            }
        }
    }

    /// The last request, for whose answer the limit keeps a reserve.
    pub(super) fn request_closing(&mut self, limit: LimitKind) {
        self.hint(format!(
            "The limit of {} is reached: this is your last reply. Tools cannot be called any \
             more. Sum up what was done, what is missing, and give the best answer that you can.",
            limit.words()
        ));
        if let Err(bound) = self.push_closing(limit)
            && !(self.digest_history(bound.kind) && self.push_closing(limit).is_ok())
        {
            self.fail_at_limit(bound.kind);
        }
    }

    fn push_closing(&mut self, limit: LimitKind) -> Result<(), Bound> {
        let estimate = self.estimate();
        match self.ledger.plan_request(self.machine.id(), &self.ask(estimate)) {
            RequestPlan::Normal { max_output } | RequestPlan::Closing { max_output, .. } => {
                self.push_request(estimate, Some(limit), max_output);
                Ok(())
            }
            RequestPlan::Refused(bound) => Err(bound),
        }
    }

    fn push_request(&mut self, estimate: u64, closing: Option<LimitKind>, max_output: Option<u64>) {
        self.push(Event::ModelRequest(ModelRequested {
            request: RequestNo(self.state.run.requests + 1),
            model: Arc::clone(&self.machine.invocation().model),
            attempt_no: 1,
            estimated_tokens: estimate,
            closing,
            max_output,
        }));
    }

    /// The next request as the accounts see it.
    fn ask(&self, estimate: u64) -> Ask {
        let profile = self.machine.profile();
        Ask {
            purpose: Purpose::Turn,
            input_estimate: estimate,
            response_cap: profile.response,
            least_output: LEAST_OUTPUT,
            rates: profile.rates(),
        }
    }

    /// What the next request is thought to take: what the provider counted of the last one, and a
    /// guess for what came after it.
    fn estimate(&self) -> u64 {
        let pending: u64 =
            self.state.pending.iter().map(|text| estimate::text(text) + estimate::MESSAGE).sum();
        let (known, covered) = match self.state.run.measured {
            Some(measured) => (measured.tokens, measured.estimate),
            None => (context::head_tokens(self.machine, &self.state), 0),
        };
        let tail = self.state.transcript.tokens().saturating_sub(covered);
        known.saturating_add(tail).saturating_add(pending)
    }

    /// Notes that a limit is used up.
    pub(super) fn reach_limit(&mut self, bound: Bound) {
        let limit = bound.kind;
        let more_urgent = limit == LimitKind::Time && !self.state.run.is_out_of_time();
        if self.state.run.limit.is_none() || more_urgent {
            let scope = bound.scope;
            self.push(Event::LimitReached(LimitReached { limit, scope }));
        }
    }

    /// What the family's policy makes of a limit that is used up. A subagent cannot rest or ask by
    /// itself: it fails with what it has, and its parent meets the limit in its turn.
    pub(super) fn at_limit(&mut self, reached: LimitReached) {
        let limit = reached.limit;
        match (self.machine.family.on_limit, self.machine.id().is_lead()) {
            (OnLimit::Interrupt, true) => {
                self.interrupt(
                    format!("the limit of {} is reached", limit.words()).into(),
                    Some(limit),
                );
            }
            (OnLimit::Ask, true) => self.ask_limit(reached),
            (OnLimit::Finish | OnLimit::Warn, _) => self.request_closing(limit),
            (OnLimit::Stop, _) | (OnLimit::Interrupt | OnLimit::Ask, false) => {
                self.fail_at_limit(limit);
            }
        }
    }

    pub(super) fn fail_at_limit(&mut self, limit: LimitKind) {
        let message = format!(
            "the limit of {} is used up; raise it (`--{}`) or give the work in smaller parts",
            limit.words(),
            limit.flag()
        );
        self.fail(limit.reason_to_stop(), Failure::new(limit.code(), message));
    }

    /// Rests. A family whose subagents are at work in the background rests when they have ended.
    pub(super) fn interrupt(&mut self, reason: Arc<str>, limit: Option<LimitKind>) {
        if !self.state.has_live_children() {
            let interrupted = RunInterrupted { reason, limit, resumable: true };
            self.push(Event::RunInterrupted(interrupted));
        }
    }

    /// Ends an agent whose last reply was taken, with what it said.
    fn finish_closed(&mut self) {
        let text = self.state.transcript.last_said().cloned().unwrap_or_else(|| "".into());
        self.finish(&FinishInstruction {
            outcome: Outcome::Completed,
            reason: FinishReason::Completed,
            text,
            error: None,
            detail: None,
        });
    }

    fn warn_of_limits(&mut self) {
        for bound in self.ledger.warnings(self.machine.id()) {
            let Bound { kind: limit, scope, used, of } = bound;
            let (used, of) = (Amount::of(limit, used), Amount::of(limit, of));
            self.push(Event::LimitWarning(LimitWarning { limit, scope, used, of }));
            self.hint(format!("Most of a limit is used ({bound}). Come to an end."));
        }
    }

    /// The reason of an end after a closing turn.
    pub(super) fn closed_reason(&self) -> Option<FinishReason> {
        let closed = self.state.is_sealed().then_some(self.state.run.limit).flatten();
        closed.map(|reached| reached.limit.reason_to_finish())
    }

    /// Whether the newest entry is a turn.
    pub(super) fn last_is_turn(&self) -> bool {
        matches!(self.state.transcript.last(), Some(Entry::Turn(_)))
    }
}
