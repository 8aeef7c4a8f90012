//! What an agent hears and says, and the requests between.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::call::ProposedCall;
use crate::event::{FinishReason, Outcome};
use crate::failure::Failure;
use crate::id::{AskId, CallId, RequestNo};
use crate::limits::LimitKind;
use crate::money::Money;
use crate::time::Millis;
use crate::usage::Usage;

/// See [`Event::Message`](super::Event::Message).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "most messages are replies: a box would only cost")]
pub enum Message {
    /// Input to the agent: the user's, or the task that a parent gave.
    User(UserMessage),
    /// A model's whole reply.
    Assistant(Reply),
}

/// Input to an agent, or words that are put beside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserMessage {
    /// The text.
    pub text: Arc<str>,
    /// Where it comes from.
    #[serde(default, skip_serializing_if = "Source::is_input")]
    pub source: Source,
    /// The call that it is about: the one that a subagent serves, or the one that started the
    /// subagent whose notice it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_call: Option<CallId>,
    /// The question that it tells of, if a subagent asks one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<AskId>,
    /// How a subagent ended, if it tells of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<(Outcome, FinishReason)>,
}

/// Where a message to an agent comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The user's input, or a subagent's task.
    #[default]
    Input,
    /// Guidance that was given while the agent was at work.
    Guidance,
    /// Input that was queued while a run was under way.
    Queued,
    /// A subagent of its own tells that it is done.
    Notice,
    /// A subagent of its own asks something and goes on waiting.
    Question,
    /// Kinfolk's own hint: a limit comes near, a call was repeated, a tool call is missing.
    Hint,
    /// Nothing new: some providers need a user's message after the results of subagents.
    Virtual,
}

impl UserMessage {
    /// Words from that source, about nothing in particular.
    #[must_use]
    pub fn new(source: Source, text: impl Into<Arc<str>>) -> Self {
        Self { text: text.into(), source, for_call: None, question: None, ended: None }
    }
}

impl Source {
    /// Whether it is plain input.
    #[must_use]
    pub fn is_input(&self) -> bool {
        *self == Self::Input
    }
}

/// A model's whole reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// The request that it answers.
    pub request: RequestNo,
    /// The text; empty if it only called tools.
    pub text: Arc<str>,
    /// The calls, in the model's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ProposedCall>,
    /// Why the model stopped.
    pub finish: Finish,
    /// What the request used, its retries included.
    pub usage: Usage,
    /// What it cost, in US dollars, if the host's own function said so; else the model's prices
    /// count. Journaled, so that a replay gives the same.
    #[serde(default, rename = "cost_usd", skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
    /// The model as the provider named it.
    pub model: Arc<str>,
    /// From the request's start to its last byte.
    pub duration_ms: Millis,
    /// Provider blocks that go back verbatim, as JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<Arc<str>>,
}

/// Why a model stopped.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Finish {
    /// It was done.
    Stop,
    /// It wants tools called.
    ToolCalls,
    /// Its output limit cut it off.
    Length,
    /// The provider's filter cut it off.
    ContentFilter,
    /// Something that this version does not know, kept as it was written.
    Other(Arc<str>),
}

impl Finish {
    /// The reason as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Stop => "stop",
            Self::ToolCalls => "tool_calls",
            Self::Length => "length",
            Self::ContentFilter => "content_filter",
            Self::Other(text) => text,
        }
    }
}

impl From<&str> for Finish {
    fn from(text: &str) -> Self {
        match text {
            "stop" => Self::Stop,
            "tool_calls" => Self::ToolCalls,
            "length" => Self::Length,
            "content_filter" => Self::ContentFilter,
            other => Self::Other(other.into()),
        }
    }
}

impl Serialize for Finish {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Finish {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self::from(text.as_str()))
    }
}

/// See [`Event::ModelRequest`](super::Event::ModelRequest).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelRequested {
    /// The place among the agent's requests of the run, from 1.
    pub request: RequestNo,
    /// The model, `provider:name`.
    pub model: Arc<str>,
    /// Always 1: retries inside one request are progress (`model_retry`).
    pub attempt_no: u32,
    /// What the request is thought to take: the last reported usage, and a guess for what came
    /// after it.
    pub estimated_tokens: u64,
    /// The limit because of which this is the closing request: no tools, a last answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closing: Option<LimitKind>,
    /// The most tokens that the reply may have; none leaves it to the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u64>,
}

/// See [`Event::ModelFailed`](super::Event::ModelFailed).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelFailed {
    /// The request.
    pub request: RequestNo,
    /// Why.
    pub error: Failure,
    /// What the request used all the same.
    pub usage: Usage,
    /// What it cost, in US dollars, if the host's own function said so; else the model's prices
    /// count. Journaled, so that a replay gives the same.
    #[serde(default, rename = "cost_usd", skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
}
