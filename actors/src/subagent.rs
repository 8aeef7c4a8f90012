//! The rules that only a subagent has: it begins with a task and ends with a report, which becomes
//! the tool result of the call that started it.

use std::sync::Arc;

use serde::Serialize;

use crate::agent::{Draft, Member};
use crate::brain::StepContext;
use crate::budget::Facts;
use crate::call::{CallResult, CallStatus};
use crate::event::{Outcome, SubagentFinished, SubagentStarted, UserMessage};
use crate::id::AgentId;
use crate::instruction::FinishInstruction;
use crate::text::{Bounded, bounded, head};
use crate::usage::Usage;

/// The most bytes of a report's summary as JSON text: room for the rest of the notice stays under
/// the cap of a call's result, so that a notice is always whole JSON.
pub const SUMMARY_CAP: usize = 24 * 1024;

/// The most bytes of every other text in a notice.
const NAME_CAP: usize = 256;

/// Begins a subagent's task.
pub(crate) fn begin(draft: &mut Draft<'_>) {
    let Member::Subagent(started) = &draft.machine.member else { return };
    draft.take_input(UserMessage { text: contract(started), for_call: Some(started.for_call) });
    draft.ask_brain(&StepContext::UserInput, None);
}

/// What a subagent is told: its task and its bounds, never its parent's transcript.
fn contract(started: &SubagentStarted) -> Arc<str> {
    if started.write_scope.is_empty() {
        return Arc::clone(&started.task);
    }
    let scope = started.write_scope.join(", ");
    format!("{}\n\nChange nothing outside of: {scope}", started.task).into()
}

/// The terminal event of a subagent.
pub(crate) fn finished(
    subagent: AgentId,
    finish: &FinishInstruction,
    facts: &Facts,
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
        usage: facts.usage_of(subagent),
        error: finish.error.clone(),
    }
}

/// A subagent's completion as its caller reads it.
#[derive(Serialize)]
struct Notice<'a> {
    subagent: AgentId,
    agent: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<&'a str>,
    status: Outcome,
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
        status: report.status,
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
        Outcome::Failed => CallStatus::Error,
    };
    // Plain structs of text and numbers always serialise; an empty notice would still be a result.
    let text = serde_json::to_string(&notice).unwrap_or_default();
    let mut result = CallResult::new(status, text);
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
