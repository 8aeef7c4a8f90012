//! The port to a model: one request, one reply or one error.

use std::fmt;
use std::time::Duration;

use futures::future::BoxFuture;
use kinfolk_actors::agent::RawReply;
use kinfolk_actors::context::ModelRequest;
use kinfolk_actors::failure::Failure;
use kinfolk_actors::id::RequestNo;
use kinfolk_actors::usage::Usage;

/// A model provider's adapter. It alone knows its provider's JSON.
pub trait ModelProvider: Send + Sync + 'static {
    /// Sends one request, once; retries are the gateway's. Dropping the future closes the
    /// connection at once, so that cancelling a request costs the provider nothing more.
    ///
    /// A reply is returned only when it is whole: a stream that ends before its end mark is
    /// [`ModelTruncated`](kinfolk_actors::failure::ErrorCode::ModelTruncated).
    fn call<'a>(&'a self, call: ModelCall<'a>) -> BoxFuture<'a, Result<RawReply, ModelError>>;
}

/// One request to a model.
#[derive(Clone, Copy)]
pub struct ModelCall<'a> {
    /// What to send. `request.model` is `provider:name`; the provider sends what follows the colon.
    pub request: &'a ModelRequest,
    /// Who asks: `lead`, or the subagent's name.
    pub agent: &'a str,
    /// What the reply is for.
    pub purpose: Purpose,
    /// Which of the agent's requests of the run it is, from 1; for a summary, which of its
    /// compactions.
    pub number: RequestNo,
    /// Where the parts of the reply go while it arrives.
    pub deltas: &'a dyn DeltaSink,
}

/// What a reply is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// The agent's next step.
    #[default]
    Reply,
    /// The summary of a history.
    Summary,
    /// The same, asked once more because the first answer was no summary.
    SummaryAgain,
}

impl fmt::Debug for ModelCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { request, agent, purpose, number, deltas: _ } = self;
        f.debug_struct("ModelCall")
            .field("model", &request.model)
            .field("agent", agent)
            .field("purpose", purpose)
            .field("number", number)
            .finish_non_exhaustive()
    }
}

/// Takes the parts of a reply while it arrives. They are progress: shown, never decided on.
pub trait DeltaSink: Send + Sync {
    /// Whether anybody watches; if not, building deltas is wasted work.
    fn is_watched(&self) -> bool;

    /// Takes one part.
    fn delta(&self, delta: Delta<'_>);
}

/// A part of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delta<'a> {
    /// Text of the answer.
    Text(&'a str),
    /// Text of the model's reasoning.
    Reasoning(&'a str),
    /// The name of a tool that a call begins to ask for.
    Call(&'a str),
}

/// Nobody watches.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoDeltas;

impl DeltaSink for NoDeltas {
    fn is_watched(&self) -> bool {
        false
    }

    fn delta(&self, _delta: Delta<'_>) {}
}

/// One request that gave no reply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{failure}")]
pub struct ModelError {
    /// What went wrong.
    pub failure: Failure,
    /// What the request used all the same.
    pub usage: Usage,
    /// How long the provider asks to wait before the next request.
    pub retry_after: Option<Duration>,
}

impl From<Failure> for ModelError {
    fn from(failure: Failure) -> Self {
        Self { failure, usage: Usage::default(), retry_after: None }
    }
}
