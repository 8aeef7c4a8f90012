//! Events as plain lines: who does what, with the time since the run was first seen.

mod asking;

use std::collections::BTreeMap;
use std::sync::Arc;

use kinfolk_actors::call::CallStatus;
use kinfolk_actors::event::{
    ChildMode, Event, Finish, Message, Outcome, Recorded, Reply, RunFinished, SubagentFinished,
    SubagentStarted, ToolFinished, ToolStarted,
};
use kinfolk_actors::failure::Failure;
use kinfolk_actors::id::AgentId;
use kinfolk_actors::money::Money;
use kinfolk_actors::time::{Millis, Timestamp};
use kinfolk_actors::usage::Usage;

use super::plain;
use super::renderer::Style;
use crate::events::{Progress, ProgressKind, RunEvent};
use crate::settings::agent_tools::starts_subagents;

/// The columns that one argument, name or message may take inside of a line.
const PART: usize = 60;

/// The lines that the failure of a run may take; what to do about it often stands at its end.
const ERROR_LINES: usize = 8;

/// Turns events into lines.
#[derive(Debug)]
pub(super) struct TextLines {
    style: Style,
    began: Option<Timestamp>,
    agents: BTreeMap<AgentId, String>,
}

/// What one event shows.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Shown {
    /// Lines about the work, for stderr.
    pub(super) work: Vec<String>,
    /// The final answer, for stdout.
    pub(super) answer: Option<String>,
}

/// How a line is coloured.
#[derive(Clone, Copy)]
enum Tone {
    Plain,
    Good,
    Bad,
    /// A person has to act, or soon will.
    Asks,
}

impl TextLines {
    pub(super) fn new(style: Style) -> Self {
        Self { style, began: None, agents: BTreeMap::new() }
    }

    /// The lines of one event.
    pub(super) fn event(&mut self, event: &RunEvent) -> Shown {
        match event {
            RunEvent::Journaled(recorded) => self.journaled(recorded),
            RunEvent::Progress(progress) => {
                let line = progress_text(progress);
                let line =
                    line.map(|what| self.line(progress.agent, progress.at, Tone::Plain, &what));
                Shown { work: line.into_iter().collect(), answer: None }
            }
        }
    }

    fn journaled(&mut self, recorded: &Recorded) -> Shown {
        let mut answer = None;
        let (tone, what) = match &recorded.event {
            Event::RunStarted(start) => {
                let what = format!("run {} with {}", recorded.run, start.model);
                (Tone::Plain, Some(what))
            }
            Event::RunResumed(resumed) => (Tone::Plain, Some(asking::resumed(recorded, resumed))),
            Event::RunInterrupted(interrupted) => asking::interrupted(interrupted),
            Event::Message(Message::User(message)) => (Tone::Plain, asking::heard(message)),
            Event::ModelRequest(requested) => (Tone::Plain, asking::closing(requested)),
            Event::Message(Message::Assistant(reply)) => (Tone::Plain, said(reply)),
            Event::ModelFailed(failed) => {
                (Tone::Bad, Some(format!("model request failed: {}", failure(&failed.error))))
            }
            Event::ToolStarted(started) => (Tone::Plain, Some(tool_started(started))),
            Event::ToolFinished(finished) => tool_finished(finished),
            Event::SubagentStarted(started) => (Tone::Plain, Some(self.subagent_started(started))),
            Event::SubagentFinished(finished) => subagent_finished(finished),
            Event::CallAudited(audited) => (Tone::Plain, asking::audited(audited)),
            Event::CallDeferred(deferred) => (Tone::Asks, Some(asking::deferred(deferred))),
            Event::ToolsActivated(activated) => (Tone::Plain, Some(asking::activated(activated))),
            Event::ApprovalRequested(requested) => (Tone::Asks, Some(asking::approval(requested))),
            Event::ApprovalSettled(settled) => asking::settled(settled),
            Event::QuestionAsked(asked) => asking::question(asked),
            Event::QuestionWithdrawn { .. } => {
                (Tone::Plain, Some("its question is not asked any more".to_owned()))
            }
            Event::QuestionAnswered(answered) => (Tone::Plain, Some(asking::answered(answered))),
            Event::CompactionAsked => (Tone::Plain, Some("is asked to compact".to_owned())),
            Event::InterruptAsked { reason } => {
                let what = format!("is asked to rest: {}", plain::line(reason, PART));
                (Tone::Plain, Some(what))
            }
            Event::CompactionStarted(started) => (Tone::Plain, Some(asking::compacts(started))),
            Event::CompactionFinished(finished) => asking::compacted(finished),
            Event::LimitWarning(warning) => (Tone::Asks, Some(asking::warned(warning))),
            Event::LimitReached(reached) => (Tone::Asks, Some(asking::reached(reached))),
            Event::Ending(ending) => {
                (Tone::Plain, Some(format!("ending: {}", plain::line(&ending.reason, PART))))
            }
            Event::RunFinished(finished) => {
                answer = self.answer(&finished.text);
                run_finished(finished)
            }
        };
        let line = what.map(|what| self.line(recorded.agent, recorded.at, tone, &what));
        let mut work: Vec<String> = line.into_iter().collect();
        if let Event::RunFinished(RunFinished { error: Some(error), .. }) = &recorded.event {
            work.extend(plain::wrap(&failure(error), self.style.width, ERROR_LINES));
        }
        // An id is never cut: an answer names it.
        work.extend(asking::id(&recorded.event).map(|id| format!("{:>7} {id}", "")));
        Shown { work, answer }
    }

    fn subagent_started(&mut self, started: &SubagentStarted) -> String {
        let name = agent_name(started.subagent, &started.name, started.label.as_ref());
        let how = match started.mode {
            ChildMode::Foreground => "",
            ChildMode::Background => " in the background",
        };
        let what = format!("starts {name}{how}: {}", plain::line(&started.task, PART));
        self.agents.insert(started.subagent, name);
        what
    }

    /// The answer without its last line break, which is written with it.
    fn answer(&self, text: &Arc<str>) -> Option<String> {
        let text = text.strip_suffix('\n').unwrap_or(text);
        let shown =
            if self.style.answer_on_terminal { plain::block(text) } else { text.to_owned() };
        (!shown.is_empty()).then_some(shown)
    }

    fn line(&mut self, agent: AgentId, at: Timestamp, tone: Tone, what: &str) -> String {
        let began = *self.began.get_or_insert(at);
        let who = match self.agents.get(&agent) {
            Some(name) => name.clone(),
            None => agent.to_string(),
        };
        let elapsed = format!("{:>7}", seconds(at.since(began)));
        let room = self.style.width.saturating_sub(elapsed.chars().count() + 1);
        let rest = plain::line(&format!("{who}: {what}"), room);
        match (self.style.colour, tone) {
            (false, _) | (true, Tone::Plain) => format!("{elapsed} {rest}"),
            (true, Tone::Good) => format!("{elapsed} \u{1b}[32m{rest}\u{1b}[0m"),
            (true, Tone::Bad) => format!("{elapsed} \u{1b}[31m{rest}\u{1b}[0m"),
            (true, Tone::Asks) => format!("{elapsed} \u{1b}[33m{rest}\u{1b}[0m"),
        }
    }
}

fn progress_text(progress: &Progress) -> Option<String> {
    match &progress.kind {
        ProgressKind::ModelRetry { code, attempt_no, wait_ms } => Some(format!(
            "tries the model again in {} (try {attempt_no}): {code}",
            seconds(Millis(*wait_ms))
        )),
        ProgressKind::PhaseChanged { .. } | ProgressKind::Delta { .. } => None,
    }
}

/// What a reply says beside its calls. A reply without calls is an answer or a report, which its
/// own event shows.
fn said(reply: &Reply) -> Option<String> {
    let mut parts = Vec::new();
    if !reply.text.trim().is_empty() && !reply.calls.is_empty() {
        parts.push(format!("says \"{}\"", plain::line(&reply.text, PART)));
    }
    match &reply.finish {
        Finish::Stop | Finish::ToolCalls => {}
        Finish::Length => parts.push("the reply was cut by its output limit".to_owned()),
        Finish::ContentFilter => {
            parts.push("the reply was cut by the provider's filter".to_owned())
        }
        Finish::Other(why) => {
            parts.push(format!("the reply ended with `{}`", plain::line(why, PART)))
        }
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn tool_started(started: &ToolStarted) -> String {
    let name = plain::line(&started.name, PART);
    format!("calls {name} {}", plain::line(&started.arguments, PART))
}

fn tool_finished(finished: &ToolFinished) -> (Tone, Option<String>) {
    let status = word(&finished.result.status);
    // What they started shows itself.
    if starts_subagents(&finished.name) && finished.result.status == CallStatus::Ok {
        return (Tone::Plain, None);
    }
    let name = plain::line(&finished.name, PART);
    let time = seconds(finished.duration_ms);
    let what = format!("{name} {status} in {time}");
    match finished.result.status {
        CallStatus::Ok => (Tone::Plain, Some(what)),
        CallStatus::Error
        | CallStatus::Timeout
        | CallStatus::Cancelled
        | CallStatus::Denied
        | CallStatus::Blocked
        | CallStatus::Malformed
        | CallStatus::UnknownTool
        | CallStatus::UnknownOutcome
        | CallStatus::Limit => {
            (Tone::Bad, Some(format!("{what}: {}", plain::line(&finished.result.text, PART))))
        }
    }
}

fn subagent_finished(finished: &SubagentFinished) -> (Tone, Option<String>) {
    let tone = tone_of(finished.status);
    let why = finished.error.as_ref().map_or_else(String::new, |e| format!(": {}", failure(e)));
    let what = format!("{}, {}{why}", word(&finished.status), usage(&finished.usage));
    (tone, Some(what))
}

fn run_finished(finished: &RunFinished) -> (Tone, Option<String>) {
    let outcome = word(&finished.outcome);
    let reason = word(&finished.finish_reason);
    let reason = if reason == outcome { String::new() } else { format!(" ({reason})") };
    let time = seconds(finished.duration_ms);
    let agents = plural(u64::try_from(finished.agents.len()).unwrap_or(u64::MAX), "agent");
    let sums = usage(&finished.usage);
    let cost = cost(finished.cost_usd);
    let detail = finished.detail.as_ref();
    let detail = detail.map_or_else(String::new, |text| format!("; {}", plain::line(text, PART)));
    let what = format!("{outcome}{reason} in {time}, {agents}, {sums}{cost}{detail}");
    (tone_of(finished.outcome), Some(what))
}

fn tone_of(outcome: Outcome) -> Tone {
    match outcome {
        Outcome::Completed => Tone::Good,
        Outcome::PartialSuccess => Tone::Plain,
        Outcome::Cancelled | Outcome::Failed => Tone::Bad,
    }
}

fn failure(error: &Failure) -> String {
    format!("{}: {}", error.code, error.message)
}

/// `sub-1 explorer "label"`.
pub(super) fn agent_name(agent: AgentId, name: &str, label: Option<&Arc<str>>) -> String {
    let name = plain::line(name, PART);
    match label {
        Some(label) => format!("{agent} {name} \"{}\"", plain::line(label, PART)),
        None => format!("{agent} {name}"),
    }
}

/// `3 turns, 4 calls, 1200 tokens (1000 in, 200 out)`.
pub(super) fn usage(usage: &Usage) -> String {
    format!(
        "{}, {}, {} ({} in, {} out)",
        plural(usage.turns, "turn"),
        plural(usage.tool_calls, "call"),
        plural(usage.total_tokens(), "token"),
        usage.input_tokens,
        usage.output_tokens
    )
}

/// `, 0.25 USD`; nothing where a price is not known.
pub(super) fn cost(cost: Option<Money>) -> String {
    cost.map_or_else(String::new, |money| format!(", {money} USD"))
}

pub(super) fn plural(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// `12 ms` below a second, `1.5 s` below a minute, `2 min 5 s` above.
pub(super) fn seconds(time: Millis) -> String {
    match time.0 {
        ms @ 0..1_000 => format!("{ms} ms"),
        ms @ 1_000..60_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        ms => format!("{} min {} s", ms / 60_000, ms / 1_000 % 60),
    }
}

/// The name of a unit variant as events write it.
pub(super) fn word(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        // Only enums of plain words are passed, so these show nothing that happens.
        Ok(other) => other.to_string(),
        Err(error) => error.to_string(),
    }
}
