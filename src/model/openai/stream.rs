//! Reads a streamed answer to its end and watches over its time.

use std::pin::pin;
use std::time::Duration;

use futures::{Stream, StreamExt};
use kinfolk_actors::agent::RawReply;
use kinfolk_actors::failure::Failure;
use kinfolk_actors::time::Millis;
use kinfolk_actors::usage::Usage;
use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use tokio::time::{Instant, timeout, timeout_at};

use super::assembly::Assembly;
use super::chunk::{Chunk, ErrorBody, ErrorEnvelope};
use super::failures::{Place, cut};
use crate::model::sse::{SseError, SseEvent, events};
use crate::ports::model::{DeltaSink, ModelError};

/// How long the usage and the end mark may come after the finish reason. The reply is whole by
/// then; some servers keep the connection open.
const TAIL: Duration = Duration::from_secs(10);

/// How long to wait for the body's end after the end mark, so that the connection can be used
/// again.
const LINGER: Duration = Duration::from_millis(10);

/// What reading one answer needs to know.
pub(super) struct Reader<'a> {
    pub place: &'a Place,
    pub deltas: &'a dyn DeltaSink,
    /// The model's name, if the server names none.
    pub model: &'a str,
    /// When the request was sent.
    pub started: Instant,
    pub progress_timeout: Duration,
}

/// What one event meant.
enum Step {
    WentOn,
    Stood,
    Done,
}

impl Reader<'_> {
    pub async fn read(&self, response: Response) -> Result<RawReply, ModelError> {
        let content_type = response.headers().get(CONTENT_TYPE);
        let content_type = content_type.and_then(|value| value.to_str().ok()).unwrap_or_default();
        if ["application/json", "text/html"].iter().any(|other| content_type.starts_with(other)) {
            return Err(counted(self.not_a_stream(response).await));
        }
        let body = response.bytes_stream().map(|chunk| chunk.map(Vec::from));
        self.assemble(body).await
    }

    /// A server that ignores `stream`, or an error page.
    async fn not_a_stream(&self, response: Response) -> Failure {
        let body = super::bounded_body(response.bytes_stream()).await;
        match serde_json::from_slice::<ErrorEnvelope>(&body) {
            Ok(envelope) => self.place.in_stream(&envelope.error),
            Err(_) => {
                let words = cut(&String::from_utf8_lossy(&body));
                self.place.protocol(&format!("it is not a stream of events but: {words}"))
            }
        }
    }

    async fn assemble(
        &self,
        body: impl Stream<Item = Result<Vec<u8>, reqwest::Error>>,
    ) -> Result<RawReply, ModelError> {
        let mut events = pin!(events(body));
        let mut reply = Assembly::default();
        let mut deadline = Instant::now() + self.progress_timeout;
        loop {
            let event = match timeout_at(deadline, events.next()).await {
                Ok(Some(Ok(event))) => event,
                Ok(None) => break,
                Ok(Some(Err(_))) | Err(_) if reply.is_finished() => break,
                Ok(Some(Err(error))) => return Err(self.failed(&reply, self.broken(&error))),
                Err(_) => {
                    let failure = self.place.no_progress(self.progress_timeout);
                    return Err(self.failed(&reply, failure));
                }
            };
            match self.step(&mut reply, &event) {
                Ok(Step::Done) => {
                    let _ = timeout(LINGER, events.next()).await;
                    break;
                }
                Ok(_) if reply.is_finished() => deadline = deadline.min(Instant::now() + TAIL),
                Ok(Step::WentOn) => deadline = Instant::now() + self.progress_timeout,
                Ok(Step::Stood) => {}
                Err(failure) => return Err(self.failed(&reply, failure)),
            }
        }
        let usage = reply.usage();
        let duration = Millis::from(self.started.elapsed());
        reply.finish(self.model, duration).map_err(|error| ModelError {
            failure: self.place.assembly(&error),
            usage,
            retry_after: None,
        })
    }

    fn step(&self, reply: &mut Assembly, event: &SseEvent) -> Result<Step, Failure> {
        let data = event.data().trim();
        if data == "[DONE]" {
            reply.done();
            return Ok(Step::Done);
        }
        if data.is_empty() {
            return Ok(Step::Stood);
        }
        let chunk: Chunk<'_> = match serde_json::from_str(data) {
            Ok(chunk) => chunk,
            Err(_) if event.name() == "error" => {
                return Err(self.place.in_stream(&ErrorBody::Words(data.to_owned())));
            }
            Err(error) => {
                let what = format!("an event is not the JSON that it should be ({error}): ");
                return Err(self.place.protocol(&(what + &cut(data))));
            }
        };
        if event.name() == "error" && chunk.error.is_none() {
            return Err(self.place.in_stream(&ErrorBody::Words(data.to_owned())));
        }
        match reply.take(chunk, self.deltas) {
            Ok(true) => Ok(Step::WentOn),
            Ok(false) => Ok(Step::Stood),
            Err(error) => Err(self.place.assembly(&error)),
        }
    }

    fn broken(&self, error: &SseError<reqwest::Error>) -> Failure {
        match error {
            SseError::Transport(error) => self.place.transport(error),
            SseError::TooLong | SseError::NotUtf8 => self.place.protocol(&error.to_string()),
        }
    }

    fn failed(&self, reply: &Assembly, failure: Failure) -> ModelError {
        ModelError { failure, usage: reply.usage(), retry_after: None }
    }
}

/// A failure of a request that was sent once.
fn counted(failure: Failure) -> ModelError {
    let usage = Usage { model_requests: 1, ..Usage::default() };
    ModelError { failure, usage, retry_after: None }
}

#[cfg(test)]
mod tests;
