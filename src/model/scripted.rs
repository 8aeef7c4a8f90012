//! A model that says what a file says: for tests, demonstrations and benchmarks.
//!
//! The file is TOML, a list of replies:
//!
//! ```toml
//! [[reply]]
//! agent = "lead"            # `lead`, a subagent's name, or "*" for every agent without an own reply
//! turn = 1                  # which request of that agent; left out: the one after its last reply
//! text = "I ask a helper."
//! calls = [{ name = "call_subagent", arguments = { agent = "helper", task = "Look." } }]
//! latency = "50ms"          # the wait before the reply; default none
//! chunks = 4                # in how many parts watchers see the text; default 1
//! finish = "tool_calls"     # default: tool_calls with calls, else stop
//!
//! [[reply]]
//! agent = "lead"
//! turn = 2
//! error = { code = "model.unavailable", message = "Busy." }
//!
//! [[reply]]
//! agent = "helper"
//! stall = true              # never answers
//!
//! [[reply]]
//! agent = "lead"
//! kind = "summary"          # answers the request for a summary of the lead's first compaction;
//! text = "Goal: boats."     # `turn` is which compaction of the run, `summary_again` the second try
//! ```
//!
//! `arguments` is a table, or text that is sent as it stands (also text that is not JSON). Turns
//! are counted for each started agent: three `helper` subagents each begin at turn 1. A turn
//! without a reply fails with `model.script_exhausted`. Nothing is remembered between requests, so
//! a request that is sent again gets the same reply. Tokens are estimated: a quarter of the bytes.

use std::collections::HashMap;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use futures::future::BoxFuture;
use kinfolk_actors::agent::{RawCall, RawReply};
use kinfolk_actors::event::Finish;
use kinfolk_actors::failure::{ErrorCode, Failure};
use kinfolk_actors::time::Millis;
use kinfolk_actors::usage::Usage;

use super::estimate;
use crate::ports::model::{Delta, DeltaSink, ModelCall, ModelError, ModelProvider, Purpose};

mod file;

/// The agent name that stands for every agent.
const ANY_AGENT: &str = "*";

/// The largest script file in bytes.
pub const MAX_SCRIPT: u64 = 4 * 1024 * 1024;

/// A script cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("the script {path} cannot be read: {detail}")]
    Read {
        /// The file.
        path: String,
        /// What the system said.
        detail: String,
    },
    /// The text is not a script: it is not TOML, or has an unknown key.
    #[error("{origin} is not a script: {detail}")]
    Syntax {
        /// The file, or what the text is.
        origin: String,
        /// What is wrong, with the line.
        detail: String,
    },
    /// A reply contradicts itself or another one.
    #[error("{origin}: reply {number} ({agent}, turn {turn}): {detail}")]
    Reply {
        /// The file, or what the text is.
        origin: String,
        /// Which reply of the script, from 1.
        number: usize,
        /// Its agent.
        agent: String,
        /// Its turn.
        turn: u32,
        /// What is wrong.
        detail: String,
    },
}

/// The adapter. See the module for the format of its file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scripted {
    replies: HashMap<String, HashMap<(Purpose, u32), ScriptedReply>>,
}

/// One reply of a script.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScriptedReply {
    text: String,
    calls: Vec<RawCall>,
    latency: Duration,
    chunks: usize,
    finish: Option<Finish>,
    ending: Ending,
}

/// How a scripted request ends.
#[derive(Clone, Debug, Default, PartialEq)]
enum Ending {
    #[default]
    Reply,
    Error {
        code: ErrorCode,
        message: String,
    },
    Stall,
}

impl ScriptedReply {
    /// A reply of text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// A failure.
    #[must_use]
    pub fn error(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { ending: Ending::Error { code, message: message.into() }, ..Self::default() }
    }

    /// No answer, ever.
    #[must_use]
    pub fn stall() -> Self {
        Self { ending: Ending::Stall, ..Self::default() }
    }

    /// The same with one more call. The arguments are sent as they stand.
    #[must_use]
    pub fn call(mut self, name: impl Into<String>, arguments: impl Into<String>) -> Self {
        self.calls.push(RawCall {
            provider_id: "".into(),
            name: name.into().into(),
            arguments: arguments.into().into(),
        });
        self
    }

    /// The same after a wait.
    #[must_use]
    pub fn after(self, latency: Duration) -> Self {
        Self { latency, ..self }
    }

    /// The same with the text shown in so many parts.
    #[must_use]
    pub fn in_chunks(self, chunks: usize) -> Self {
        Self { chunks, ..self }
    }

    /// The same with another finish reason.
    #[must_use]
    pub fn finish(self, finish: Finish) -> Self {
        Self { finish: Some(finish), ..self }
    }
}

/// Puts a script together in code.
#[derive(Clone, Debug, Default)]
pub struct ScriptBuilder {
    script: Scripted,
}

impl ScriptBuilder {
    /// Adds the reply of an agent (`"*"`: of every agent without an own one) to its request
    /// `turn`, from 1. A later reply replaces an earlier one of the same agent and turn.
    #[must_use]
    pub fn reply(mut self, agent: &str, turn: u32, reply: ScriptedReply) -> Self {
        self.set(agent, (Purpose::Reply, turn), reply);
        self
    }

    /// Adds the answer to the request for a summary in an agent's compaction `n` of the run; the
    /// first is 1. A model whose answer is no summary is asked a second time: see
    /// [`summary_again`](Self::summary_again).
    #[must_use]
    pub fn summary(mut self, agent: &str, n: u32, reply: ScriptedReply) -> Self {
        self.set(agent, (Purpose::Summary, n), reply);
        self
    }

    /// The same for the second request, which is sent if the first answer is no summary.
    #[must_use]
    pub fn summary_again(mut self, agent: &str, n: u32, reply: ScriptedReply) -> Self {
        self.set(agent, (Purpose::SummaryAgain, n), reply);
        self
    }

    fn set(&mut self, agent: &str, place: (Purpose, u32), reply: ScriptedReply) {
        self.script.replies.entry(agent.to_owned()).or_default().insert(place, reply);
    }

    /// The finished script.
    #[must_use]
    pub fn build(self) -> Scripted {
        self.script
    }
}

impl FromStr for Scripted {
    type Err = ScriptError;

    /// Reads the text of a script file.
    fn from_str(text: &str) -> Result<Self, ScriptError> {
        file::parse(text, "the script")
    }
}

impl Scripted {
    /// Begins a script in code.
    #[must_use]
    pub fn builder() -> ScriptBuilder {
        ScriptBuilder::default()
    }

    /// Reads a script file: a regular file of at most [`MAX_SCRIPT`] bytes.
    ///
    /// # Errors
    /// [`ScriptError`], with the file's name.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, ScriptError> {
        let name = path.as_ref().display().to_string();
        let text = file::read(path.as_ref())
            .map_err(|detail| ScriptError::Read { path: name.clone(), detail })?;
        file::parse(&text, &name)
    }

    fn find(&self, agent: &str, place: (Purpose, u32)) -> Option<&ScriptedReply> {
        let of = |agent: &str| self.replies.get(agent)?.get(&place);
        of(agent).or_else(|| of(ANY_AGENT))
    }

    async fn play(&self, call: ModelCall<'_>) -> Result<RawReply, ModelError> {
        let turn = call.number.0;
        let Some(reply) = self.find(call.agent, (call.purpose, turn)) else {
            let kind = match call.purpose {
                Purpose::Reply => "",
                Purpose::Summary => ", kind `summary`",
                Purpose::SummaryAgain => ", kind `summary_again`",
            };
            let message = format!(
                "the script has no reply for agent `{}`, turn {turn}{kind}; add one to the script",
                call.agent
            );
            return Err(Failure::new(ErrorCode::ModelScriptExhausted, message).into());
        };
        if !reply.latency.is_zero() {
            tokio::time::sleep(reply.latency).await;
        }
        match &reply.ending {
            Ending::Reply => {}
            Ending::Stall => std::future::pending().await,
            Ending::Error { code, message } => {
                let usage = Usage { model_requests: 1, ..Usage::default() };
                let failure = Failure::new(code.clone(), message.as_str());
                return Err(ModelError { failure, usage, retry_after: None });
            }
        }
        show(call.deltas, &reply.text, reply.chunks, &reply.calls);
        let usage = estimate::usage(call.request, &reply.text, &reply.calls);
        Ok(raw_reply(call, reply, usage))
    }
}

fn raw_reply(call: ModelCall<'_>, reply: &ScriptedReply, usage: Usage) -> RawReply {
    let default = if reply.calls.is_empty() { Finish::Stop } else { Finish::ToolCalls };
    let mut calls = reply.calls.clone();
    for (n, each) in calls.iter_mut().enumerate() {
        each.provider_id = format!("scripted_{}_{n}", call.number.0).into();
    }
    RawReply {
        cost: None,
        text: reply.text.as_str().into(),
        calls,
        finish: reply.finish.clone().unwrap_or(default),
        usage,
        model: "scripted".into(),
        duration: Millis::from(reply.latency),
        opaque: None,
    }
}

/// Shows a reply in parts of about the same size.
pub(super) fn show(deltas: &dyn DeltaSink, text: &str, chunks: usize, calls: &[RawCall]) {
    if !deltas.is_watched() {
        return;
    }
    let size = text.len().div_ceil(chunks.max(1)).max(1);
    let mut rest = text;
    while !rest.is_empty() {
        let (part, after) = rest.split_at(boundary(rest, size));
        deltas.delta(Delta::Text(part));
        rest = after;
    }
    calls.iter().for_each(|call| deltas.delta(Delta::Call(&call.name)));
}

/// The first character boundary from `at` on.
fn boundary(text: &str, at: usize) -> usize {
    (at..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

impl ModelProvider for Scripted {
    fn call<'a>(&'a self, call: ModelCall<'a>) -> BoxFuture<'a, Result<RawReply, ModelError>> {
        Box::pin(self.play(call))
    }
}

#[cfg(test)]
mod tests;
