//! One whole reply out of the chunks of a stream. Pure: no I/O, no clock.

use std::sync::Arc;

use kinfolk_actors::agent::RawReply;
use kinfolk_actors::event::Finish;
use kinfolk_actors::text::head;
use kinfolk_actors::time::Millis;
use kinfolk_actors::usage::Usage;

use super::MAX_NAME;
use super::calls::{Calls, FragmentError};
use super::chunk::{Choice, Chunk, ErrorBody, ErrorTag, WireDelta, some};
use crate::ports::model::{Delta, DeltaSink};

/// The most bytes of text, reasoning and arguments in one reply.
pub(super) const MAX_REPLY_BYTES: usize = 16 * 1024 * 1024;

/// The most calls in one reply. Far above what a model means to ask for; a server that sends more is
/// out of its mind, and each call would have to be recorded and answered.
pub(super) const MAX_CALLS: usize = 1024;

/// Why the chunks make no reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AssemblyError {
    /// The stream carries an error of the provider.
    Provider(ErrorBody),
    /// The fragments of a call do not fit together.
    Fragment(FragmentError),
    /// The reply is larger than [`MAX_REPLY_BYTES`].
    TooLarge,
    /// The reply has more than [`MAX_CALLS`] calls.
    TooManyCalls,
    /// The stream ended without a finish reason or `[DONE]`.
    Truncated,
}

impl From<FragmentError> for AssemblyError {
    fn from(error: FragmentError) -> Self {
        Self::Fragment(error)
    }
}

/// Where a reply stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Assembly {
    text: String,
    calls: Calls,
    finish: Option<Finish>,
    done: bool,
    usage: Option<Usage>,
    model: Option<Arc<str>>,
    size: usize,
}

impl Assembly {
    /// Takes one chunk and shows its parts to `deltas`, if anybody watches. Returns whether the
    /// reply went on; a chunk without content does not.
    pub fn take(
        &mut self,
        chunk: Chunk<'_>,
        deltas: &dyn DeltaSink,
    ) -> Result<bool, AssemblyError> {
        if let Some(error) = chunk.error {
            return Err(AssemblyError::Provider(error));
        }
        if let (None, Some(model)) = (&self.model, some(chunk.model.as_ref())) {
            self.model = Some(head(model, MAX_NAME).into());
        }
        if let Some(usage) = chunk.usage {
            self.usage = Some(usage.usage());
        }
        let first = |choice: &Choice<'_>| choice.index.unwrap_or(0) == 0;
        let mut went_on = false;
        for choice in chunk.choices.unwrap_or_default().into_iter().filter(first) {
            if let Some(delta) = &choice.delta {
                went_on |= self.take_delta(delta, deltas)?;
            }
            match some(choice.finish_reason.as_ref()) {
                // Gateways report a provider that failed in the middle this way.
                Some("error") => return Err(AssemblyError::Provider(failed_in_the_middle())),
                Some(reason) => self.finish = Some(Finish::from(head(reason, MAX_NAME))),
                None => {}
            }
        }
        Ok(went_on)
    }

    fn take_delta(
        &mut self,
        delta: &WireDelta<'_>,
        deltas: &dyn DeltaSink,
    ) -> Result<bool, AssemblyError> {
        let before = self.size;
        let watched = deltas.is_watched();
        let show = |delta: Delta<'_>| {
            if watched {
                deltas.delta(delta);
            }
        };
        let thought = some(delta.reasoning_content.as_ref()).or(some(delta.reasoning.as_ref()));
        if let Some(reasoning) = thought {
            self.grow(reasoning.len())?;
            show(Delta::Reasoning(reasoning));
        }
        let said = [some(delta.content.as_ref()), some(delta.refusal.as_ref())];
        for text in said.into_iter().flatten() {
            self.grow(text.len())?;
            self.text.push_str(text);
            show(Delta::Text(text));
        }
        for fragment in delta.tool_calls.iter().flatten() {
            let function = fragment.function.as_ref();
            let arguments = some(function.and_then(|function| function.arguments.as_ref()));
            // The constant stands for the id and the name: empty calls need memory too.
            self.grow(arguments.map_or(0, str::len).saturating_add(64))?;
            if let Some(name) = self.calls.take(fragment)? {
                show(Delta::Call(name));
            }
            if self.calls.len() > MAX_CALLS {
                return Err(AssemblyError::TooManyCalls);
            }
        }
        Ok(self.size > before)
    }

    fn grow(&mut self, bytes: usize) -> Result<(), AssemblyError> {
        self.size = self.size.saturating_add(bytes);
        if self.size > MAX_REPLY_BYTES { Err(AssemblyError::TooLarge) } else { Ok(()) }
    }

    /// Takes the end mark `[DONE]`.
    pub fn done(&mut self) {
        self.done = true;
    }

    /// Whether the server has said that the reply is whole; only its usage may still come.
    pub fn is_finished(&self) -> bool {
        self.finish.is_some()
    }

    /// What the server has counted so far; one request at least.
    pub fn usage(&self) -> Usage {
        self.usage.unwrap_or(Usage { model_requests: 1, ..Usage::default() })
    }

    /// The whole reply. `model` is used if the server named none.
    pub fn finish(self, model: &str, duration: Millis) -> Result<RawReply, AssemblyError> {
        let usage = self.usage();
        let finish = match (self.finish, self.done) {
            (Some(finish), _) => finish,
            (None, true) if self.calls.is_empty() => Finish::Stop,
            (None, true) => Finish::ToolCalls,
            (None, false) => return Err(AssemblyError::Truncated),
        };
        Ok(RawReply {
            cost: None,
            text: self.text.into(),
            calls: self.calls.finish()?,
            finish,
            usage,
            model: self.model.unwrap_or_else(|| model.into()),
            duration,
            opaque: None,
        })
    }
}

fn failed_in_the_middle() -> ErrorBody {
    ErrorBody::Object {
        message: Some("the provider failed in the middle of the reply".to_owned()),
        kind: None,
        code: Some(ErrorTag::Number(502)),
    }
}

#[cfg(test)]
mod tests;
