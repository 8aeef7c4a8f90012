//! `inspect`: sessions and family trees, as text for people or JSON lines for scripts.

use std::fmt;
use std::io::{self, Write};

use kinfolk_actors::event::{FinishReason, Outcome};
use kinfolk_actors::id::{AgentId, Offset, RunId, SessionId};
use kinfolk_actors::limits::LimitKind;
use serde::Serialize;

use super::family_view::{AgentView, CallView, FamilyView};
use super::plain;
use super::text::{agent_name, cost, plural, seconds, usage, word};
use crate::events::rfc3339;
use crate::ports::store::SessionSummary;
use crate::settings::value::OutputFormat;

/// The most columns of a task, an input or a message.
const PART: usize = 90;

/// A session of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// What the store's index says.
    pub summary: SessionSummary,
    /// What its newest run has come to, if that can be read.
    pub standing: Option<Standing>,
}

/// What a run has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is over.
    Ended(Outcome, FinishReason),
    /// It rests; by this limit, if one stopped it.
    Interrupted(Option<LimitKind>),
    /// It waits for a person.
    Waits,
    /// It is at work, or its process ended in the middle: a store does not tell them apart.
    Unfinished,
}

impl Standing {
    /// What stands of a run that is not over.
    fn of(view: &FamilyView) -> Self {
        match (view.outcome, view.finish_reason) {
            (Some(outcome), Some(reason)) => Self::Ended(outcome, reason),
            _ if view.interrupted => Self::Interrupted(view.interrupted_by),
            _ if !view.waits_for.is_empty() => Self::Waits,
            _ => Self::Unfinished,
        }
    }
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended(outcome, reason) if word(outcome) != word(reason) => {
                write!(f, "{} ({})", word(outcome), word(reason))
            }
            Self::Ended(outcome, _) => f.write_str(&word(outcome)),
            Self::Interrupted(Some(limit)) => write!(f, "interrupted (limit of {})", limit.words()),
            Self::Interrupted(None) => f.write_str("interrupted"),
            Self::Waits => f.write_str("waits for a person"),
            Self::Unfinished => f.write_str("at work or cut off"),
        }
    }
}

/// A session as a JSON line.
#[derive(Serialize)]
struct SessionLine<'a> {
    session: &'a SessionId,
    events: Offset,
    run: Option<RunId>,
    started: Option<String>,
    finished: Option<bool>,
}

/// Writes the sessions of a store, in the order given.
///
/// # Errors
/// The writer's.
pub fn sessions(sessions: &[Listed], format: OutputFormat, to: &mut dyn Write) -> io::Result<()> {
    match format {
        OutputFormat::Json => sessions.iter().try_for_each(|Listed { summary, standing: _ }| {
            let newest = summary.newest.as_ref();
            let line = SessionLine {
                session: &summary.session,
                events: summary.head,
                run: newest.map(|run| run.run),
                started: newest.map(|run| rfc3339(run.started)),
                finished: newest.map(|run| run.finished.is_some()),
            };
            json_line(&line, to)
        }),
        OutputFormat::Text if sessions.is_empty() => writeln!(to, "no sessions"),
        OutputFormat::Text => sessions.iter().try_for_each(|listed| session_text(listed, to)),
    }
}

fn session_text(listed: &Listed, to: &mut dyn Write) -> io::Result<()> {
    let SessionSummary { session, head, newest } = &listed.summary;
    let events = plural(head.0, "event");
    match newest {
        Some(run) => {
            let state = match listed.standing {
                Some(standing) => standing.to_string(),
                None if run.finished.is_some() => "finished".to_owned(),
                None => "unfinished".to_owned(),
            };
            let started = rfc3339(run.started);
            writeln!(to, "{session}  {events}  run {} of {started}, {state}", run.run)
        }
        None => writeln!(to, "{session}  {events}  no run"),
    }
}

/// Writes runs as family trees.
///
/// # Errors
/// The writer's.
pub fn families(views: &[FamilyView], format: OutputFormat, to: &mut dyn Write) -> io::Result<()> {
    match format {
        OutputFormat::Json => views.iter().try_for_each(|view| json_line(view, to)),
        OutputFormat::Text if views.is_empty() => writeln!(to, "no runs"),
        OutputFormat::Text => views.iter().try_for_each(|view| family_text(view, to)),
    }
}

fn family_text(view: &FamilyView, to: &mut dyn Write) -> io::Result<()> {
    let state = Standing::of(view);
    let (session, run, attempt) = (&view.session, view.run, view.attempt.0);
    let time = seconds(view.duration_ms);
    writeln!(to, "run {run} of session {session}: {state}, attempt {attempt}, {time}")?;
    writeln!(to, "  asked: {}", plain::line(&view.input, PART))?;
    writeln!(to, "  model: {}", plain::line(&view.model, PART))?;
    writeln!(to, "  total: {}{}", usage(&view.usage), cost(view.cost_usd))?;
    view.waits_for.iter().try_for_each(|ask| writeln!(to, "  waits for the answer to {ask}"))?;
    if let Some(error) = &view.error {
        writeln!(to, "  error: {}", plain::line(&error.to_string(), PART))?;
    }
    tree(view, to)
}

/// The agents depth first, each subagent right after the call that started it. The walk keeps its
/// own stack, so that no depth of a family can exhaust the thread's.
fn tree(view: &FamilyView, to: &mut dyn Write) -> io::Result<()> {
    enum Step<'a> {
        Agent(&'a AgentView, usize),
        Call(&'a CallView, usize),
    }
    let roots = view.agents.iter().filter(|agent| agent.parent.is_none());
    let mut steps: Vec<Step<'_>> = roots.map(|agent| Step::Agent(agent, 1)).collect();
    while let Some(step) = steps.pop() {
        match step {
            Step::Agent(agent, depth) => {
                agent_text(agent, depth, to)?;
                steps.extend(agent.calls.iter().rev().map(|call| Step::Call(call, depth + 1)));
            }
            Step::Call(call, depth) => {
                call_text(call, depth, to)?;
                let started = |agent: &&AgentView| Some(agent.agent) == call.subagent;
                let child = view.children(call.call.agent).find(started);
                steps.extend(child.map(|agent| Step::Agent(agent, depth + 1)));
            }
        }
    }
    Ok(())
}

fn agent_text(agent: &AgentView, depth: usize, to: &mut dyn Write) -> io::Result<()> {
    let indent = "  ".repeat(depth);
    let status = agent.status.map_or_else(|| "unfinished".to_owned(), |status| word(&status));
    let name = match agent.role {
        Some(role) => {
            let name = agent_name(agent.agent, &agent.name, agent.label.as_ref());
            format!("{name} ({})", word(&role))
        }
        None => AgentId::LEAD.to_string(),
    };
    writeln!(to, "{indent}{name}: {status}, {}{}", usage(&agent.usage), cost(agent.cost_usd))?;
    if agent.role.is_some() {
        writeln!(to, "{indent}  task: {}", plain::line(&agent.task, PART))?;
    }
    Ok(())
}

fn call_text(call: &CallView, depth: usize, to: &mut dyn Write) -> io::Result<()> {
    let indent = "  ".repeat(depth);
    let name = plain::line(&call.name, PART);
    match (call.status, call.duration_ms) {
        (Some(status), Some(time)) => {
            writeln!(to, "{indent}{name} {} in {}", word(&status), seconds(time))
        }
        (Some(_), None) | (None, _) => writeln!(to, "{indent}{name} unfinished"),
    }
}

/// Writes a value as one line of JSON that no terminal acts on.
fn json_line(value: &impl Serialize, to: &mut dyn Write) -> io::Result<()> {
    let line = serde_json::to_string(value)?;
    writeln!(to, "{}", plain::json(&line))
}
