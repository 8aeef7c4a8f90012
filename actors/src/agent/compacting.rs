//! How a history is made smaller.

use std::sync::Arc;

use super::draft::Draft;
use super::{Phase, Summarised};
use crate::brain::StepContext;
use crate::budget::account::{Ask, Bound, LEAST_OUTPUT, Purpose};
use crate::compaction::cut::{Cut, Room, cut};
use crate::compaction::digest::digest;
use crate::compaction::guard::{Gain, Verdict};
use crate::compaction::{ContextFull, NothingToCompact, Trigger, trigger};
use crate::context;
use crate::estimate;
use crate::event::{
    CompactionFinished, CompactionStarted, Event, FinishReason, LimitReached, Outcome, RunKind,
};
use crate::failure::{ErrorCode, Failure};
use crate::instruction::FinishInstruction;
use crate::limits::LimitKind;
use crate::profile::ModelProfile;
use crate::time::Millis;
use crate::transcript::Entry;
use crate::usage::Usage;

/// The tokens of a digest that makes room for the last answer: enough for the task and the newest
/// words, little beside any limit that allows work at all.
const DIGEST_TOKENS: u64 = 200;

impl Draft<'_> {
    /// Begins to compact the history, or ends an agent whose context is full.
    pub(crate) fn compact(&mut self, trigger: Trigger) {
        let cut = self.cut();
        match self.state.run.guard.judge(trigger, cut) {
            Verdict::Compact(cut) => self.start_compaction(trigger, cut),
            Verdict::Nothing(NothingToCompact) => {
                self.ask_brain(&StepContext::CompactionResult { ok: false });
            }
            Verdict::Full(full) => self.context_full(full),
        }
    }

    /// Where the history would be cut now. A provider that has just refused it has a smaller window
    /// than was thought: it has to become smaller than that.
    pub(crate) fn cut(&self) -> Result<Cut, NothingToCompact> {
        let fixed = context::head_tokens(self.machine, &self.state);
        let mut profile = self.machine.profile().into_owned();
        let mut settings = self.machine.family.compaction.clone();
        if self.state.run.overflowed {
            let window = profile.window.min(self.history_tokens() / 4 * 3);
            profile = ModelProfile { window, response: window / 4, ..profile };
            settings.threshold = None;
        }
        let room = Room::of(&profile, &settings, fixed);
        cut(&self.state.transcript, room)
    }

    fn start_compaction(&mut self, trigger: Trigger, cut: Cut) {
        let max_output = match self.plan_summary() {
            Ok(max_output) => max_output,
            Err(bound) => return self.no_money_for_summary(trigger, bound),
        };
        let started = CompactionStarted {
            max_output,
            n: self.state.run.compactions + 1,
            trigger,
            tokens: self.history_tokens(),
            entries: u32::try_from(cut.kept_from).unwrap_or(u32::MAX),
            model: Arc::clone(self.machine.summary_model()),
        };
        self.push(Event::CompactionStarted(started));
    }

    /// Replaces the history by a plain digest, without a model, so that the last answer finds room:
    /// the results of the last tools may be larger than what was set aside for it. Whether that can
    /// help against the limit, and something was there to be replaced.
    pub(super) fn digest_history(&mut self, limit: LimitKind) -> bool {
        let of_size = match limit {
            LimitKind::Tokens | LimitKind::Cost => true,
            LimitKind::Steps | LimitKind::ToolCalls | LimitKind::Time => false,
        };
        let entries: Vec<_> = self.state.transcript.entries().cloned().collect();
        let replies = entries.iter().any(|entry| match **entry {
            Entry::Turn(_) | Entry::Text(_) => true,
            Entry::User(_) | Entry::Note(_) | Entry::Summary(_) => false,
        });
        if !of_size || !replies {
            return false;
        }
        let (n, tokens) = (self.state.run.compactions + 1, self.history_tokens());
        let model = Arc::clone(self.machine.summary_model());
        self.push(Event::CompactionStarted(CompactionStarted {
            n,
            trigger: Trigger::Threshold,
            tokens,
            entries: u32::try_from(entries.len()).unwrap_or(u32::MAX),
            max_output: 0,
            model: Arc::clone(&model),
        }));
        let summary: Arc<str> = digest(&entries, DIGEST_TOKENS).into();
        let why =
            "there was no room for the history beside the last answer; a digest stands for it";
        self.push(Event::CompactionFinished(CompactionFinished {
            n,
            ok: true,
            tokens_before: tokens,
            tokens_after: estimate::text(&summary),
            summary: Some(summary),
            gained: true,
            error: Some(Failure::new(limit.code(), why)),
            model,
            usage: Usage::NONE,
            cost: None,
            duration_ms: Millis(0),
        }));
        true
    }

    /// The most output of a summary, or the limit that leaves no room for it.
    pub(super) fn plan_summary(&self) -> Result<u64, Bound> {
        let profile = self.machine.profile_of(self.machine.summary_model());
        let ask = Ask {
            purpose: Purpose::Summary,
            input_estimate: self.history_tokens(),
            response_cap: profile.summary_cap(),
            least_output: LEAST_OUTPUT,
            rates: profile.rates(),
        };
        self.ledger.plan_summary(self.machine.id(), &ask)
    }

    /// A history that has to be made smaller and may not cost more is a limit that is met, and the
    /// family's policy says what follows. One that somebody only wishes smaller stays as it is.
    fn no_money_for_summary(&mut self, trigger: Trigger, bound: Bound) {
        let only_compacts = self.state.run.kind == RunKind::Compact;
        // The last answer was asked for already, and its request was refused as too large too.
        let was_closing = self.state.run.limit.is_some();
        match trigger {
            Trigger::Manual if only_compacts => self.fail_at_limit(bound.kind),
            Trigger::Manual => self.ask_brain(&StepContext::CompactionResult { ok: false }),
            Trigger::Threshold | Trigger::Overflow if was_closing => self.fail_at_limit(bound.kind),
            Trigger::Threshold | Trigger::Overflow => {
                self.reach_limit(bound);
                self.at_limit(LimitReached { limit: bound.kind, scope: bound.scope });
            }
        }
    }

    pub(super) fn context_full(&mut self, full: ContextFull) {
        let error = Failure::new(ErrorCode::ContextFull, full.to_string());
        self.fail(FinishReason::ErrorRecovery, error);
    }

    /// Takes the end of a compaction.
    pub(super) fn take_summary(&mut self, n: u32, summarised: &Summarised) {
        let ending = matches!(self.state.phase, Phase::Ending(_));
        let entries = self.state.compaction().map_or(0, |compaction| compaction.entries);
        let tokens_before = self.history_tokens();
        let (summary, error) = match &summarised.result {
            Ok(_) if ending => (None, Some(stopped())),
            Ok(text) => (Some(Arc::clone(text)), summarised.fallback.clone()),
            Err(error) => (None, Some(error.clone())),
        };
        let tokens_after = summary.as_ref().map_or(tokens_before, |summary| {
            let gone = usize::try_from(entries).unwrap_or(usize::MAX);
            let gone = self.state.transcript.entries().take(gone);
            let gone = gone.map(|entry| estimate::entry(entry)).fold(0, u64::saturating_add);
            tokens_before.saturating_sub(gone).saturating_add(estimate::text(summary))
        });
        let threshold = self.threshold();
        // Why a digest stands for the summary is told, and is no failure of the compaction.
        let failed = summary.is_none().then(|| error.clone()).flatten();
        self.push(Event::CompactionFinished(CompactionFinished {
            n,
            ok: summary.is_some(),
            summary,
            tokens_before,
            tokens_after,
            gained: Gain::of(tokens_before, tokens_after, threshold) == Gain::Some,
            error,
            model: Arc::clone(self.machine.summary_model()),
            usage: summarised.usage,
            cost: summarised.cost,
            duration_ms: summarised.duration,
        }));
        self.after_compaction(failed);
    }

    /// The size from which on the history is compacted.
    pub(super) fn threshold(&self) -> u64 {
        trigger::threshold(&self.machine.profile(), &self.machine.family.compaction)
    }

    fn after_compaction(&mut self, error: Option<Failure>) {
        if matches!(self.state.phase, Phase::Ending(_)) {
            return self.finish_ending();
        }
        if self.state.run.kind == RunKind::Compact {
            return self.finish_compact_run(error);
        }
        match error {
            Some(error) if self.state.run.overflowed => {
                self.fail(FinishReason::ErrorRecovery, error);
            }
            Some(_) => self.ask_brain(&StepContext::CompactionResult { ok: false }),
            None => self.ask_brain(&StepContext::CompactionResult { ok: true }),
        }
    }

    /// A run that only compacts ends with its compaction.
    fn finish_compact_run(&mut self, error: Option<Failure>) {
        let (outcome, reason) = match error {
            None => (Outcome::Completed, FinishReason::Completed),
            Some(_) => (Outcome::Failed, FinishReason::ErrorRecovery),
        };
        let text = "".into();
        self.finish(&FinishInstruction { outcome, reason, text, error, detail: None });
    }

    fn history_tokens(&self) -> u64 {
        let head = context::head_tokens(self.machine, &self.state);
        head.saturating_add(self.state.transcript.tokens())
    }
}

fn stopped() -> Failure {
    Failure::new(ErrorCode::CompactionFailed, "the summary was stopped because its agent ends")
}
