//! The rules that only a subagent has: it begins with a task and ends with a report, which becomes
//! the tool result of the call that started it.

use std::sync::Arc;

use serde::Serialize;

use crate::agent::{Draft, Member};
use crate::brain::StepContext;
use crate::budget::Ledger;
use crate::call::{CallResult, CallStatus};
use crate::event::{
    Event, FinishReason, Message, Outcome, Source, SubagentFinished, SubagentStarted, UserMessage,
};
use crate::failure::Failure;
use crate::family::Delivery;
use crate::id::{AgentId, AskId};
use crate::instruction::FinishInstruction;
use crate::text::{Bounded, bounded, head, json};
use crate::usage::Usage;

/// The most bytes of the run's input that a subagent is told of.
const GOAL_CAP: usize = 4 * 1024;

/// The most bytes of a report's summary as JSON text: room for the rest of the notice stays under
/// the cap of a call's result, so that a notice is always whole JSON.
pub const SUMMARY_CAP: usize = 24 * 1024;

/// The most bytes of every other text in a notice.
const NAME_CAP: usize = 256;

/// Begins a subagent's task.
pub(crate) fn begin(draft: &mut Draft<'_>) {
    let Member::Subagent(started) = &draft.machine.member else { return };
    draft.push(Event::Message(Message::User(UserMessage {
        for_call: Some(started.for_call),
        ..UserMessage::new(Source::Input, contract(started))
    })));
    draft.ask_brain(&StepContext::UserInput);
}

/// What a subagent is told: its task, what it is for, and its bounds, never its parent's
/// transcript.
fn contract(started: &SubagentStarted) -> Arc<str> {
    let mut text = started.task.to_string();
    let mut part = |title: &str, words: &str| {
        text.push_str("\n\n");
        text.push_str(title);
        text.push_str(words);
    };
    if let Some(goal) = started.goal.as_deref().filter(|goal| *goal != started.task.as_ref()) {
        part("The task is part of this work: ", head(goal, GOAL_CAP));
    }
    if let Some(context) = &started.context {
        part("What is known so far, as notes of the agent that asks you:\n", context);
    }
    if !started.write_scope.is_empty() {
        part("Change nothing outside of: ", &started.write_scope.join(", "));
    }
    if started.delivery == Delivery::Return {
        part("", "End by calling `task_return` with the result; words alone do not count.");
    }
    text.into()
}

/// The terminal event of a subagent.
pub(crate) fn finished(
    subagent: AgentId,
    finish: &FinishInstruction,
    ledger: &Ledger,
) -> SubagentFinished {
    let failed = finish.error.as_ref().map(|error| Arc::clone(&error.message));
    let summary = match failed {
        Some(message) if finish.text.is_empty() => message,
        Some(_) | None => Arc::clone(&finish.text),
    };
    SubagentFinished {
        subagent,
        status: finish.outcome,
        summary,
        finish_reason: finish.reason,
        usage: ledger.usage_of(subagent),
        error: finish.error.clone(),
    }
}

/// The report of a subagent that could not make one.
pub(crate) fn lost(started: &SubagentStarted, error: Failure) -> SubagentFinished {
    SubagentFinished {
        subagent: started.subagent,
        status: Outcome::Failed,
        summary: Arc::clone(&error.message),
        finish_reason: FinishReason::ErrorRecovery,
        usage: Usage::default(),
        error: Some(error),
    }
}

/// The report of a subagent that was stopped before it could make one.
pub(crate) fn stopped(started: &SubagentStarted) -> SubagentFinished {
    SubagentFinished {
        subagent: started.subagent,
        status: Outcome::Cancelled,
        summary: "stopped before it could report".into(),
        finish_reason: FinishReason::UserRequested,
        usage: Usage::default(),
        error: None,
    }
}

/// How a subagent ended, as its notice says it.
fn status(report: &SubagentFinished) -> &'static str {
    match report.status {
        Outcome::Completed => match report.finish_reason {
            FinishReason::MaxStepsCompleted => "max_steps",
            FinishReason::BudgetCompleted => "budget",
            FinishReason::Completed
            | FinishReason::UserRequested
            | FinishReason::UserAborted
            | FinishReason::MaxStepsExceeded
            | FinishReason::CostLimitExceeded
            | FinishReason::Timeout
            | FinishReason::AgentDecision
            | FinishReason::QueuedMessageInterrupt
            | FinishReason::ErrorRecovery
            | FinishReason::SystemShutdown
            | FinishReason::LoopDetected => "completed",
        },
        Outcome::PartialSuccess => "partial_success",
        Outcome::Cancelled => "cancelled",
        Outcome::Failed => failed(report.finish_reason).0,
    }
}

/// How a failure is told: the notice's word and the call's status.
fn failed(reason: FinishReason) -> (&'static str, CallStatus) {
    match reason {
        FinishReason::MaxStepsExceeded => ("max_steps", CallStatus::Limit),
        FinishReason::CostLimitExceeded => ("budget", CallStatus::Limit),
        FinishReason::Timeout => ("timeout", CallStatus::Timeout),
        FinishReason::LoopDetected => ("loop_detected", CallStatus::Error),
        FinishReason::Completed
        | FinishReason::UserRequested
        | FinishReason::UserAborted
        | FinishReason::MaxStepsCompleted
        | FinishReason::AgentDecision
        | FinishReason::QueuedMessageInterrupt
        | FinishReason::ErrorRecovery
        | FinishReason::SystemShutdown
        | FinishReason::BudgetCompleted => ("failed", CallStatus::Error),
    }
}

/// A subagent's completion as its caller reads it.
#[derive(Serialize)]
struct Notice<'a> {
    subagent: AgentId,
    agent: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<&'a str>,
    status: &'static str,
    summary: &'a str,
    evidence: [&'a str; 0],
    changed_paths: [&'a str; 0],
    verification: [&'a str; 0],
    revision: Option<u64>,
    usage: Usage,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocked_reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    full_size: Option<u64>,
}

/// The tool result that a subagent's report becomes.
pub(crate) fn notice(started: Option<&SubagentStarted>, report: &SubagentFinished) -> CallResult {
    let cap = fitting(&report.summary, SUMMARY_CAP);
    let Bounded { text: summary, full_size } = bounded(&report.summary, cap);
    let notice = Notice {
        subagent: report.subagent,
        agent: started.map_or("", |started| head(&started.name, NAME_CAP)),
        label: started
            .and_then(|started| started.label.as_deref())
            .map(|label| head(label, NAME_CAP)),
        status: status(report),
        summary: &summary,
        evidence: [],
        changed_paths: [],
        verification: [],
        revision: None,
        usage: report.usage,
        blocked_reason: report.error.as_ref().map(|error| head(error.code.as_str(), NAME_CAP)),
        full_size,
    };
    let status = match report.status {
        Outcome::Completed | Outcome::PartialSuccess => CallStatus::Ok,
        Outcome::Cancelled => CallStatus::Cancelled,
        Outcome::Failed => failed(report.finish_reason).1,
    };
    let mut result = CallResult::new(status, json(&notice));
    result.full_size = result.full_size.or(full_size);
    result
}

/// The length of the longest prefix that takes at most `cap` bytes once it is escaped as JSON.
fn fitting(text: &str, cap: usize) -> usize {
    let escaped = |c: char| match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        _ => c.len_utf8(),
    };
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += escaped(c);
        if used > cap {
            return at;
        }
    }
    text.len()
}

/// The words by which a parent hears the question of its subagent.
pub(crate) fn question(started: &SubagentStarted, question: AskId, text: &str) -> Arc<str> {
    #[derive(Serialize)]
    struct Question<'a> {
        subagent: AgentId,
        agent: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        label: Option<&'a str>,
        status: &'static str,
        question_id: AskId,
        question: &'a str,
    }
    let words = Question {
        subagent: started.subagent,
        agent: head(&started.name, NAME_CAP),
        label: started.label.as_deref().map(|label| head(label, NAME_CAP)),
        status: "awaiting_parent",
        question_id: question,
        question: head(text, SUMMARY_CAP),
    };
    json(&words).into()
}
