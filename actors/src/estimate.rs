//! How many tokens a text will be, guessed from its bytes in one pass. No tokenizer: each
//! provider has its own, and the last reported usage corrects the guess after every reply.
//!
//! The numbers were measured with OpenAI's `o200k_base` encoding: English, Rust and Python 4.2 to
//! 4.3 bytes a token, Chinese 3.9, JSON 3.3 (pretty) to 3.6; base64 and hex about 1.5. They are
//! rounded to the safe side. Sums are whole numbers and saturate.

use serde::{Deserialize, Serialize};

use crate::context::{ModelRequest, RequestCall, RequestMessage};
use crate::family::ToolSpec;
use crate::transcript::{Entry, Said};
use crate::usage::Usage;

/// The parts of a token in which bytes are counted, so that the sum is rounded once.
const UNITS: u64 = 132;

/// A byte of prose: 4 bytes a token.
const PROSE: u64 = 33;

/// A byte of JSON: 3.3 bytes a token.
const JSON: u64 = 40;

/// A byte of encoded data: 1.5 bytes a token.
const ENCODED: u64 = 88;

/// From how many bytes without a break on something is encoded data: as long as a SHA-256 in hex,
/// longer than the words of any language.
const RUN: u64 = 64;

/// What a message costs beside its text: its role and its ends, 3 to 4 in OpenAI's chat format.
pub const MESSAGE: u64 = 4;

/// The parts of a request, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestSize {
    /// The system prompt.
    pub system: u64,
    /// The tools.
    pub tools: u64,
    /// The history.
    pub messages: u64,
}

/// How large an agent's context is: what the last reply reported, and an estimate of what came
/// after it. A part of an agent's state, folded from its events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextSize {
    reported: Option<u64>,
    added: u64,
}

/// The request that is about to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextRequest {
    /// One with the agent's tools.
    Ordinary,
    /// The closing one. Its tools are left out, so they do not count.
    Closing {
        /// The size of the tools in tokens.
        tools: u64,
    },
}

impl RequestSize {
    /// The size of a request.
    #[must_use]
    pub fn of(request: &ModelRequest) -> Self {
        Self {
            system: message_of(prose(&request.system)),
            tools: tools(&request.tools),
            messages: sum(request.messages.iter().map(message)),
        }
    }

    /// All of it.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.fixed().saturating_add(self.messages)
    }

    /// What no compaction can make smaller.
    #[must_use]
    pub fn fixed(&self) -> u64 {
        self.system.saturating_add(self.tools)
    }

    /// The size as the next request has it.
    #[must_use]
    pub fn next(&self, request: NextRequest) -> u64 {
        match request {
            NextRequest::Ordinary => self.total(),
            NextRequest::Closing { .. } => self.system.saturating_add(self.messages),
        }
    }
}

impl ContextSize {
    /// A reply came. Its usage counts the whole request and the reply itself; nothing is known if
    /// the provider reported nothing.
    pub fn replied(&mut self, usage: &Usage) {
        let total = usage.total_tokens();
        *self = Self { reported: (total > 0).then_some(total), added: 0 };
    }

    /// Something of so many tokens was added after the last reply: results or input, not the reply
    /// itself, which its usage counts.
    pub fn added(&mut self, tokens: u64) {
        self.added = self.added.saturating_add(tokens);
    }

    /// The history was compacted: what was reported before is about a request that is no more.
    pub fn compacted(&mut self) {
        *self = Self::default();
    }

    /// How large the next request will be by what was reported. Nothing is known before the first
    /// reply and after a compaction; then the whole request has to be estimated
    /// ([`RequestSize::next`]).
    #[must_use]
    pub fn next(&self, request: NextRequest) -> Option<u64> {
        let size = self.reported?.saturating_add(self.added);
        match request {
            NextRequest::Ordinary => Some(size),
            NextRequest::Closing { tools } => Some(size.saturating_sub(tools)),
        }
    }
}

/// The tokens of a text. One that begins like JSON counts as JSON.
#[must_use]
pub fn text(text: &str) -> u64 {
    if text.trim_start().starts_with(['{', '[']) { json(text) } else { prose(text) }
}

/// The tokens of prose or source code.
#[must_use]
pub fn prose(text: &str) -> u64 {
    weigh(text, PROSE)
}

/// The tokens of JSON.
#[must_use]
pub fn json(text: &str) -> u64 {
    weigh(text, JSON)
}

/// The tokens of a list of tools.
#[must_use]
pub fn tools(tools: &[ToolSpec]) -> u64 {
    let tool = |tool: &ToolSpec| {
        message_of(sum([prose(&tool.name), prose(&tool.description), json(&tool.schema)]))
    };
    sum(tools.iter().map(tool))
}

/// The tokens of a message.
#[must_use]
pub fn message(message: &RequestMessage) -> u64 {
    match message {
        RequestMessage::User(content) => message_of(text(content)),
        RequestMessage::Assistant { text: content, calls, opaque } => {
            let calls = calls.iter().map(|RequestCall { id, name, arguments }| {
                message_of(sum([prose(id), prose(name), json(arguments)]))
            });
            let opaque = opaque.as_deref().map_or(0, json);
            message_of(sum(calls.chain([prose(content), opaque])))
        }
        RequestMessage::ToolResult { id, name, text: content, is_error: _ } => {
            message_of(sum([prose(id), prose(name), text(content)]))
        }
    }
}

/// The tokens of a part of a history, as its messages have them.
#[must_use]
pub fn entry(entry: &Entry) -> u64 {
    let said = |said: &Said| sum([prose(&said.text), said.opaque.as_deref().map_or(0, json)]);
    match entry {
        Entry::User(content) | Entry::Note(content) | Entry::Summary(content) => {
            message_of(text(content))
        }
        Entry::Text(reply) => message_of(said(reply)),
        Entry::Turn(turn) => {
            let pairs = turn.calls.iter().map(|(call, result)| {
                let name = sum([prose(&call.alias), prose(&call.name)]);
                let asked = message_of(sum([name, json(&call.arguments)]));
                asked.saturating_add(message_of(sum([name, text(&result.text)])))
            });
            message_of(sum(pairs.chain([said(&turn.said)])))
        }
    }
}

fn message_of(content: u64) -> u64 {
    content.saturating_add(MESSAGE)
}

fn sum(parts: impl IntoIterator<Item = u64>) -> u64 {
    parts.into_iter().fold(0, u64::saturating_add)
}

/// Counts each byte by the weight given, and those of a long run without a break as encoded data.
fn weigh(text: &str, weight: u64) -> u64 {
    let (mut units, mut run) = (0_u64, 0_u64);
    let close = |run: u64| run.saturating_mul(if run < RUN { weight } else { ENCODED });
    for byte in text.bytes() {
        if is_encoded(byte) {
            run += 1;
        } else {
            units = units.saturating_add(close(run)).saturating_add(weight);
            run = 0;
        }
    }
    units.saturating_add(close(run)).div_ceil(UNITS)
}

/// Whether a byte is of an alphabet of base64 or hex.
pub(crate) fn is_encoded(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_')
}

#[cfg(test)]
mod tests;
