//! How many tokens a text will be, guessed from its bytes in one pass. No tokenizer: each
//! provider has its own, and the last reported usage corrects the guess after every reply.
//!
//! The numbers were measured with OpenAI's `o200k_base` encoding: English, Rust and Python 4.2 to
//! 4.3 bytes a token, Chinese 3.9, JSON 3.3 (pretty) to 3.6; base64 and hex about 1.5. They are
//! rounded to the safe side. Sums are whole numbers and saturate.

use crate::context::{ModelRequest, RequestCall, RequestMessage};
use crate::family::ToolSpec;
use crate::transcript::{Entry, Said};

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

/// What stands before the history, by its sizes alone: reading all schemas again for each decision
/// would cost more than deciding. It is [`RequestSize::fixed`], unless a text holds a long run
/// without a break: then it is less, by as much as encoded data is denser than prose.
pub(crate) fn fixed_by_size<'a>(
    system: u64,
    offered: impl IntoIterator<Item = &'a ToolSpec>,
) -> u64 {
    let of = |bytes: u64, weight: u64| bytes.saturating_mul(weight).div_ceil(UNITS);
    let len = |text: &str| u64::try_from(text.len()).unwrap_or(u64::MAX);
    let tool = |tool: &ToolSpec| {
        let words = sum([of(len(&tool.name), PROSE), of(len(&tool.description), PROSE)]);
        message_of(words.saturating_add(of(len(&tool.schema), JSON)))
    };
    message_of(of(system, PROSE)).saturating_add(sum(offered.into_iter().map(tool)))
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
