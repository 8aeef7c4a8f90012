//! A model request in flight: wait for the family's and the gateway's turn, then ask, retrying in
//! the one layer there is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::BoxFuture;
use kinfolk_actors::agent::{Outcome, RawReply};
use kinfolk_actors::context::ModelRequest;
use kinfolk_actors::failure::{ErrorCode, Failure};
use kinfolk_actors::id::{AgentId, Attempt, RequestNo};
use kinfolk_actors::usage::Usage;

use super::activation::Activation;
use crate::events::{Progress, ProgressKind};
use crate::model::retry::{RetryNotice, call_with_retries};
use crate::ports::model::{Delta, DeltaSink, ModelCall, ModelError, ModelProvider, Purpose};

/// One request of one agent.
pub(crate) struct ModelEffect {
    pub family: Arc<Activation>,
    pub attempt: Attempt,
    pub agent: AgentId,
    pub name: Arc<str>,
    pub number: RequestNo,
    pub request: ModelRequest,
    /// Whether something of a reply was shown that is not whole yet.
    pub shown: AtomicBool,
}

impl ModelEffect {
    /// Runs the request to its one outcome. Dropping the future closes the connection.
    pub async fn run(self) -> Outcome {
        let outcome = match self.ask().await {
            Ok(reply) => Outcome::Replied(reply),
            Err(ModelError { failure: error, usage, retry_after: _ }) => {
                Outcome::ModelFailed { error, usage, cost: None }
            }
        };
        self.family.priced(&self.request.model, outcome)
    }

    async fn ask(&self) -> Result<RawReply, ModelError> {
        let in_turn = InTurn::new(&self.family, &self.request.model, self.agent)?;
        let (request, number, purpose) = (&self.request, self.number, Purpose::Reply);
        let call = ModelCall { request, agent: &self.name, purpose, number, deltas: self };
        let retrying = |notice| self.retrying(notice);
        let room = |used: &Usage| self.family.room_for_retry(self.agent, &self.request.model, used);
        let policy = &self.family.services.retries;
        let reply = call_with_retries(&in_turn, call, policy, &room, &retrying).await?;
        self.shown.store(false, Ordering::Relaxed);
        Ok(reply)
    }

    fn retrying(&self, notice: RetryNotice) {
        self.void();
        self.tell(ProgressKind::ModelRetry {
            code: notice.code,
            attempt_no: notice.attempt_no,
            wait_ms: u64::try_from(notice.wait.as_millis()).unwrap_or(u64::MAX),
        });
    }

    /// Tells watchers that what was shown of a reply is not going to be one.
    fn void(&self) {
        if self.shown.swap(false, Ordering::Relaxed) {
            self.tell(ProgressKind::Delta { text: None, reasoning: None, call: None, void: true });
        }
    }

    fn tell(&self, kind: ProgressKind) {
        if self.family.hub.is_watched() {
            self.family.hub.progress(Progress {
                session: self.family.session.clone(),
                run: self.family.run,
                attempt: self.attempt,
                agent: self.agent,
                at: self.family.services.clock.now(),
                kind,
            });
        }
    }
}

/// A provider that is asked only when it is the request's turn. Each try has a turn of its own, so
/// that one that waits to be sent again holds no place.
pub(crate) struct InTurn {
    provider: Arc<dyn ModelProvider>,
    family: Arc<Activation>,
    agent: AgentId,
}

impl InTurn {
    /// The way to a model for an agent.
    ///
    /// # Errors
    /// The run has no such model.
    pub fn new(
        family: &Arc<Activation>,
        model: &Arc<str>,
        agent: AgentId,
    ) -> Result<Self, Failure> {
        let provider = family.frozen.models.get(model).ok_or_else(|| {
            let message = format!("the run has no model `{model}`");
            Failure::new(ErrorCode::ModelNotFound, message)
        })?;
        Ok(Self { provider: Arc::clone(provider), family: Arc::clone(family), agent })
    }

    async fn ask(&self, call: ModelCall<'_>) -> Result<RawReply, ModelError> {
        // A subagent's turn in its family first: waiting for it holds no place at the gateway. A
        // closed semaphore cannot be: nobody closes it.
        let _family_turn = match self.agent.is_lead() {
            true => None,
            false => Arc::clone(&self.family.requests).acquire_owned().await.ok(),
        };
        let _turn = self.family.services.gateway.acquire(&self.family.session).await?;
        self.provider.call(call).await
    }
}

impl ModelProvider for InTurn {
    fn call<'a>(&'a self, call: ModelCall<'a>) -> BoxFuture<'a, Result<RawReply, ModelError>> {
        Box::pin(self.ask(call))
    }
}

impl Drop for ModelEffect {
    /// It failed for good, panicked, or was dropped in the middle: by a cancel, or to be sent again
    /// by the next generation.
    fn drop(&mut self) {
        self.void();
    }
}

impl DeltaSink for ModelEffect {
    fn is_watched(&self) -> bool {
        self.family.hub.is_watched()
    }

    fn delta(&self, delta: Delta<'_>) {
        self.shown.store(true, Ordering::Relaxed);
        let (mut text, mut reasoning, mut call) = (None, None, None);
        match delta {
            Delta::Text(part) => text = Some(part.to_owned()),
            Delta::Reasoning(part) => reasoning = Some(part.to_owned()),
            Delta::Call(name) => call = Some(name.to_owned()),
        }
        self.tell(ProgressKind::Delta { text, reasoning, call, void: false });
    }
}
