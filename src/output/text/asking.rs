//! The lines about people, limits and histories.

use kinfolk_actors::budget::account::Scope;
use kinfolk_actors::event::{
    ApprovalRequested, ApprovalSettled, ApprovalSubject, CallAudited, CallDeferred,
    CompactionFinished, CompactionStarted, Decision, Event, LimitReached, LimitWarning,
    ModelRequested, QuestionAnswered, QuestionAsked, QuestionKind, Recorded, RunInterrupted,
    RunResumed, Source, ToolsActivated, UserMessage,
};
use kinfolk_actors::limits::{Amount, LimitKind};
use kinfolk_actors::time::Millis;

use super::{PART, Tone, failure, seconds, word};
use crate::output::plain;

/// What an answer has to name, if the event waits for one from outside.
pub(super) fn id(event: &Event) -> Option<String> {
    match event {
        Event::ApprovalRequested(requested) => Some(format!("approval {}", requested.approval)),
        Event::QuestionAsked(asked) if asked.kind != QuestionKind::Parent => {
            Some(format!("question {}", asked.question))
        }
        Event::CallDeferred(deferred) => Some(format!("call {}", deferred.call)),
        // Nothing else waits for an answer; the match of all events is in `super`.
        _ => None,
    }
}

pub(super) fn resumed(recorded: &Recorded, resumed: &RunResumed) -> String {
    let raised = if resumed.raised.is_some() { ", with raised limits" } else { "" };
    format!("run {} resumed, attempt {}{raised}", recorded.run, resumed.attempt.0)
}

pub(super) fn interrupted(interrupted: &RunInterrupted) -> (Tone, Option<String>) {
    let rest = if interrupted.resumable { "; it can be resumed" } else { "" };
    let reason = plain::line(&interrupted.reason, PART);
    (Tone::Bad, Some(format!("interrupted: {reason}{rest}")))
}

/// What an agent hears beside its task.
pub(super) fn heard(message: &UserMessage) -> Option<String> {
    let text = || plain::line(&message.text, PART);
    match message.source {
        Source::Input | Source::Virtual => None,
        Source::Guidance => Some(format!("is told \"{}\"", text())),
        Source::Queued => Some(format!("queued for the next run: \"{}\"", text())),
        Source::Notice => {
            let how =
                message.ended.map_or_else(String::new, |(how, _)| format!(" ({})", word(&how)));
            Some(format!("hears that a subagent in the background is done{how}"))
        }
        Source::Question => Some("hears a subagent's question".to_owned()),
        Source::Hint => Some(format!("gets a hint: {}", text())),
    }
}

pub(super) fn closing(requested: &ModelRequested) -> Option<String> {
    let limit = requested.closing?;
    Some(format!("writes its last answer within the limit of {}", name(limit)))
}

pub(super) fn audited(audited: &CallAudited) -> Option<String> {
    audited.intervene.then(|| "a check wants a person to look at a call".to_owned())
}

pub(super) fn deferred(_: &CallDeferred) -> String {
    "waits for a result from outside".to_owned()
}

pub(super) fn activated(activated: &ToolsActivated) -> String {
    format!("has more tools: {}", plain::line(&activated.tools.join(", "), PART))
}

pub(super) fn approval(requested: &ApprovalRequested) -> String {
    let reason = plain::line(&requested.reason, PART);
    match &requested.subject {
        ApprovalSubject::Tool { name, arguments, call: _, digest: _ } => {
            let (name, arguments) = (plain::line(name, PART), plain::line(arguments, PART));
            format!("asks: may {name} {arguments} run? {reason}")
        }
        ApprovalSubject::Limit { limit, scope: _ } => {
            format!("asks: may the limit of {} be raised? {reason}", name(*limit))
        }
    }
}

pub(super) fn settled(settled: &ApprovalSettled) -> (Tone, Option<String>) {
    let by = settled.by.as_ref();
    let by = by.map_or_else(String::new, |by| format!(" by {}", plain::line(by, PART)));
    let why = settled.reason.as_ref();
    let why = why.map_or_else(String::new, |why| format!(": {}", plain::line(why, PART)));
    let (tone, how) = match settled.decision {
        Decision::Approved => (Tone::Good, "approved"),
        Decision::Denied => (Tone::Bad, "denied"),
        Decision::DeniedAndStop => (Tone::Bad, "denied, and the run ends"),
        Decision::Expired => (Tone::Bad, "denied: nobody answered in time"),
        Decision::Withdrawn => (Tone::Plain, "not asked any more"),
    };
    (tone, Some(format!("is {how}{by}{why}")))
}

pub(super) fn question(asked: &QuestionAsked) -> (Tone, Option<String>) {
    let text = plain::line(&asked.text, PART);
    match asked.kind {
        QuestionKind::Parent => (Tone::Plain, Some(format!("asks its parent: \"{text}\""))),
        QuestionKind::Text => (Tone::Asks, Some(format!("asks the user: \"{text}\""))),
        QuestionKind::Choice => {
            let options = plain::line(&asked.options.join(" | "), PART);
            (Tone::Asks, Some(format!("asks the user: \"{text}\" ({options})")))
        }
    }
}

pub(super) fn answered(answered: &QuestionAnswered) -> String {
    format!("gets the answer \"{}\"", plain::line(&answered.answer, PART))
}

pub(super) fn compacts(started: &CompactionStarted) -> String {
    format!(
        "compacts its history of {} tokens ({}) with {}",
        started.tokens,
        word(&started.trigger),
        plain::line(&started.model, PART)
    )
}

pub(super) fn compacted(finished: &CompactionFinished) -> (Tone, Option<String>) {
    let time = seconds(finished.duration_ms);
    match &finished.error {
        Some(error) => {
            let why = plain::line(&failure(error), 2 * PART);
            (Tone::Bad, Some(format!("its history could not be compacted in {time}: {why}")))
        }
        None => {
            let gain = if finished.gained { "" } else { ", which made no room" };
            let (before, after) = (finished.tokens_before, finished.tokens_after);
            let what = format!("history compacted from {before} to {after} tokens in {time}{gain}");
            (Tone::Plain, Some(what))
        }
    }
}

pub(super) fn warned(warning: &LimitWarning) -> String {
    let kind = warning.limit;
    let (used, of) = (amount(kind, warning.used), amount(kind, warning.of));
    format!("{used} of {of} {} are used{}", name(kind), whose(warning.scope))
}

pub(super) fn reached(reached: &LimitReached) -> String {
    format!("the limit of {} is reached{}", name(reached.limit), whose(reached.scope))
}

fn whose(scope: Scope) -> String {
    match scope {
        Scope::Family => String::new(),
        Scope::Agent(agent) => format!(" (the own limit of {agent})"),
    }
}

fn name(limit: LimitKind) -> &'static str {
    match limit {
        LimitKind::Steps => "steps",
        LimitKind::ToolCalls => "tool calls",
        LimitKind::Tokens => "tokens",
        LimitKind::Cost => "USD",
        LimitKind::Time => "time",
    }
}

fn amount(limit: LimitKind, amount: Amount) -> String {
    match (limit, amount) {
        (LimitKind::Time, Amount::Count(ms)) => seconds(Millis(ms)),
        (_, Amount::Count(count)) => count.to_string(),
        (_, Amount::Money(money)) => money.to_string(),
    }
}
