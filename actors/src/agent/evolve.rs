//! The fold of events into state. It touches what an event names, never the whole transcript.

mod asks;
mod calls;

use std::mem;
use std::sync::Arc;

use super::{AgentState, Closing, Compaction, Left, Measured, Phase, RunState, Turn};
use crate::compaction::guard::Gain;
use crate::event::{
    CompactionFinished, CompactionStarted, Ending, Event, Message, ModelRequested, Reply,
    RunStarted, Source, UserMessage,
};
use crate::failure::ErrorCode;
use crate::limits::{LimitKind, OnLimit};
use crate::transcript::{Entry, Said};

pub(super) fn evolve(state: &mut AgentState, event: &Event) {
    match event {
        Event::RunStarted(started) => start(state, started),
        Event::RunResumed(_) => resume(state),
        Event::RunInterrupted(_) => {
            state.run.interrupt_asked = None;
            state.run.limit = None;
            state.phase = Phase::Interrupted;
        }
        Event::Message(Message::User(message)) => hear(state, message),
        Event::Message(Message::Assistant(reply)) => take_reply(state, reply),
        Event::ModelRequest(requested) => request(state, requested),
        Event::ModelFailed(failed) => {
            state.run.overflowed = failed.error.code == ErrorCode::ModelContextOverflow;
            // A last answer that could not be had may be asked for again.
            state.run.closing = false;
            over(state);
        }
        Event::ToolStarted(started) => calls::start(state, started),
        Event::ToolFinished(finished) => calls::settle(state, finished),
        Event::CallAudited(audited) => calls::audited(state, audited),
        Event::CallDeferred(deferred) => calls::deferred(state, deferred.call),
        Event::ToolsActivated(activated) => {
            state.run.activated.extend(activated.tools.iter().cloned());
        }
        Event::ApprovalRequested(requested) => asks::request_approval(state, requested),
        Event::ApprovalSettled(settled) => asks::settle_approval(state, settled),
        Event::QuestionAsked(asked) => asks::ask(state, asked),
        Event::QuestionAnswered(answered) => asks::answer(state, answered),
        Event::QuestionWithdrawn { question } => asks::withdraw(state, *question),
        Event::CompactionAsked => state.run.compact_asked = true,
        Event::InterruptAsked { reason } => {
            state.run.interrupt_asked = Some(Arc::clone(reason));
        }
        Event::CompactionStarted(started) => compact(state, started),
        Event::CompactionFinished(finished) => compacted(state, finished),
        Event::LimitWarning(_) => {}
        Event::LimitReached(reached) => {
            // Time stops what is in flight, whatever else is used up.
            match reached.limit {
                LimitKind::Time => state.run.limit = Some(*reached),
                LimitKind::Steps | LimitKind::ToolCalls | LimitKind::Tokens | LimitKind::Cost => {
                    state.run.limit.get_or_insert(*reached);
                }
            }
        }
        Event::SubagentStarted(started) => calls::enter_child(state, started),
        Event::SubagentFinished(finished) => state.phase = Phase::Done(Box::new(finished.clone())),
        Event::Ending(ending) => end(state, ending),
        Event::RunFinished(_) => {
            state.phase = Phase::Resting;
            absorb(state);
        }
    }
}

fn start(state: &mut AgentState, started: &RunStarted) {
    absorb(state);
    state.phase = Phase::Deciding;
    state.children.clear();
    state.asks.clear();
    state.runs += 1;
    // What a provider counted stays true as long as the history is the same.
    let (measured, requested_at) = (state.run.measured, state.run.requested_at);
    let goal = Some(Arc::clone(&started.input));
    let binds = started.limits.on_limit != OnLimit::Warn;
    let timed = binds && started.limits.limits.max_time.is_some();
    let kind = started.kind;
    state.run = RunState { kind, goal, measured, requested_at, timed, ..RunState::default() };
    for text in mem::take(&mut state.queued) {
        state.transcript.push(Entry::User(text));
    }
}

fn resume(state: &mut AgentState) {
    state.run.reminders = 0;
    state.run.limit = None;
    if state.phase == Phase::Interrupted {
        state.phase = Phase::Deciding;
    }
}

/// Input stands in the history at once; everything else waits for the next request, so that it can
/// never come between a call and its result.
fn hear(state: &mut AgentState, message: &UserMessage) {
    let text = Arc::clone(&message.text);
    match message.source {
        Source::Input | Source::Virtual => {
            if message.for_call.is_some() {
                state.run.goal.get_or_insert_with(|| Arc::clone(&text));
            }
            state.transcript.push(Entry::User(text));
            state.run.heard();
            state.phase = Phase::Deciding;
        }
        Source::Guidance => {
            if let Some(call) = message.for_call {
                state.run.told.push(call);
            }
            state.run.heard();
            state.pending.push(text);
        }
        Source::Hint => state.pending.push(text),
        Source::Queued => state.queued.push(text),
        Source::Notice => calls::take_notice(state, message),
        Source::Question => {
            calls::take_question(state, message);
            state.pending.push(text);
        }
    }
}

fn request(state: &mut AgentState, requested: &ModelRequested) {
    absorb(state);
    state.run.requests = requested.request.0;
    state.run.overflowed = false;
    // A wish is for the next request; if nothing could go before it, it is over.
    state.run.compact_asked = false;
    state.run.requested_at = state.transcript.tokens();
    state.run.max_output = requested.max_output;
    state.run.closing |= requested.closing.is_some();
    state.phase = Phase::Thinking { request: requested.request };
}

/// Has what waits enter the history.
fn absorb(state: &mut AgentState) {
    for text in mem::take(&mut state.pending) {
        state.transcript.push(Entry::Note(text));
    }
}

fn take_reply(state: &mut AgentState, reply: &Reply) {
    let calls = u32::try_from(reply.calls.len()).unwrap_or(u32::MAX);
    state.run.calls = state.run.calls.saturating_add(calls);
    state.run.measure(reply.usage.input_tokens);
    if reply.calls.is_empty() {
        state.run.reminders += 1;
        state.transcript.push(Entry::Text(Said::from(reply)));
        over(state);
    } else {
        state.phase = Phase::Acting(Turn::new(reply));
    }
}

/// What was in flight alone is over.
fn over(state: &mut AgentState) {
    match &mut state.phase {
        Phase::Ending(closing) => closing.left = Left::Nothing,
        Phase::Resting
        | Phase::Deciding
        | Phase::Thinking { .. }
        | Phase::Acting(_)
        | Phase::Compacting(_)
        | Phase::Asking(_)
        | Phase::Interrupted
        | Phase::Done(_) => state.phase = Phase::Deciding,
    }
}

fn compact(state: &mut AgentState, started: &CompactionStarted) {
    let CompactionStarted { n, trigger, entries, max_output, .. } = *started;
    state.run.compactions = n;
    state.run.compact_asked = false;
    state.run.guard.began(trigger);
    state.phase = Phase::Compacting(Compaction { n, trigger, entries, max_output });
}

fn compacted(state: &mut AgentState, finished: &CompactionFinished) {
    let entries = state.compaction().map_or(0, |compaction| compaction.entries);
    state.run.guard.ended(if finished.gained { Gain::Some } else { Gain::None });
    state.run.compaction_failed = !finished.ok;
    if let Some(summary) = &finished.summary {
        let kept_from = usize::try_from(entries).unwrap_or(usize::MAX);
        state.transcript = state.transcript.compacted(kept_from, summary);
        state.run.measured = None;
    }
    over(state);
}

fn end(state: &mut AgentState, ending: &Ending) {
    let left = match mem::take(&mut state.phase) {
        Phase::Thinking { request } => Left::Request(request),
        Phase::Acting(turn) => Left::Turn(turn),
        Phase::Compacting(compaction) => Left::Summary(compaction),
        Phase::Ending(closing) => closing.left,
        Phase::Resting
        | Phase::Deciding
        | Phase::Asking(_)
        | Phase::Interrupted
        | Phase::Done(_) => Left::Nothing,
    };
    state.phase = Phase::Ending(Box::new(Closing { ending: ending.clone(), left }));
}

impl RunState {
    /// A person or a parent has spoken: guards against going in circles begin anew.
    fn heard(&mut self) {
        self.guard.user_wrote();
        self.denied.clear();
    }

    /// A provider has counted the request that was sent last.
    fn measure(&mut self, input_tokens: u64) {
        self.measured = (input_tokens > 0)
            .then_some(Measured { tokens: input_tokens, estimate: self.requested_at });
        self.guard.replied();
        self.compaction_failed = false;
    }
}
