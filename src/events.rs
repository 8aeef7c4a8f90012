//! What watchers read: journaled events with an offset, and progress without one. As JSON, one
//! object a line, with the names that scripts and dashboards hold on to.

use std::fmt;
use std::sync::Arc;

use kinfolk_actors::event::Recorded;
use kinfolk_actors::failure::ErrorCode;
use kinfolk_actors::id::{AgentId, Attempt, Offset, RunId, SessionId};
use kinfolk_actors::time::Timestamp;
use serde::{Serialize, Serializer};

/// One thing that a watcher is told.
#[derive(Clone, Debug, PartialEq)]
pub enum RunEvent {
    /// A past fact, durable before anybody is told.
    Journaled(Arc<Recorded>),
    /// How work goes on. It may be dropped for a slow watcher and is never replayed.
    Progress(Arc<Progress>),
}

/// A piece of progress with its origin.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// The session.
    pub session: SessionId,
    /// The run.
    pub run: RunId,
    /// The run's activation.
    pub attempt: Attempt,
    /// The agent.
    pub agent: AgentId,
    /// When.
    pub at: Timestamp,
    /// What goes on.
    pub kind: ProgressKind,
}

/// What goes on.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ProgressKind {
    /// The agent stands somewhere else in its loop.
    PhaseChanged {
        /// The phase, as the brain names it.
        phase: &'static str,
        /// The state of the run: `planning`, `acting`, `cancelling`, …
        state: &'static str,
    },
    /// A model request is sent again.
    ModelRetry {
        /// Why the last one failed.
        code: ErrorCode,
        /// Which try comes next; the first was 1.
        attempt_no: u32,
        /// The wait before it, in milliseconds.
        wait_ms: u64,
    },
    /// A part of a reply.
    Delta {
        /// Text of the answer.
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// Text of the model's reasoning.
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning: Option<String>,
        /// The name of a tool that a call begins to ask for.
        #[serde(skip_serializing_if = "Option::is_none")]
        call: Option<String>,
        /// True: what was shown of this reply is void.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        void: bool,
    },
}

impl RunEvent {
    /// The place in the session's stream; progress has none.
    #[must_use]
    pub fn offset(&self) -> Option<Offset> {
        match self {
            Self::Journaled(recorded) => Some(recorded.offset),
            Self::Progress(_) => None,
        }
    }

    /// The agent that it is about.
    #[must_use]
    pub fn agent(&self) -> AgentId {
        match self {
            Self::Journaled(recorded) => recorded.agent,
            Self::Progress(progress) => progress.agent,
        }
    }

    /// The run that it belongs to.
    #[must_use]
    pub fn run(&self) -> RunId {
        match self {
            Self::Journaled(recorded) => recorded.run,
            Self::Progress(progress) => progress.run,
        }
    }
}

/// The fields that every line has, before those of its type.
#[derive(Serialize)]
struct Line<'a, T> {
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<Offset>,
    session: &'a SessionId,
    run: RunId,
    attempt: Attempt,
    agent: AgentId,
    at: String,
    #[serde(flatten)]
    body: &'a T,
}

impl Serialize for RunEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Journaled(recorded) => Line {
                offset: Some(recorded.offset),
                session: &recorded.session,
                run: recorded.run,
                attempt: recorded.attempt,
                agent: recorded.agent,
                at: rfc3339(recorded.at),
                body: &recorded.event,
            }
            .serialize(serializer),
            Self::Progress(progress) => Line {
                offset: None,
                session: &progress.session,
                run: progress.run,
                attempt: progress.attempt,
                agent: progress.agent,
                at: rfc3339(progress.at),
                body: &progress.kind,
            }
            .serialize(serializer),
        }
    }
}

impl fmt::Display for RunEvent {
    /// The JSON line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = serde_json::to_string(self).map_err(|_| fmt::Error)?;
        f.write_str(&line)
    }
}

/// A time as RFC 3339 in UTC with milliseconds.
#[must_use]
pub fn rfc3339(at: Timestamp) -> String {
    let millis = i64::try_from(at.0).unwrap_or(i64::MAX);
    let instant = jiff::Timestamp::from_millisecond(millis).unwrap_or(jiff::Timestamp::MAX);
    format!("{instant:.3}")
}

#[cfg(test)]
mod tests;
