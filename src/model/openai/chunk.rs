//! The JSON that the server sends, as far as it is read. Everything may be missing or null: local
//! servers and gateways differ in what they leave out.

use std::borrow::Cow;

use kinfolk_actors::usage::Usage;
use serde::Deserialize;

/// A text that borrows from its line where no escape stands in the way.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub(super) struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl Text<'_> {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The text, or nothing for a missing or empty one.
pub(super) fn some<'t>(text: Option<&'t Text<'_>>) -> Option<&'t str> {
    text.map(Text::as_str).filter(|text| !text.is_empty())
}

/// One event of the stream.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(borrow, default)]
    pub model: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub choices: Option<Vec<Choice<'a>>>,
    #[serde(default)]
    pub usage: Option<WireUsage>,
    #[serde(default)]
    pub error: Option<ErrorBody>,
}

/// One of the answers. Only the first is asked for and read.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(default)]
    pub index: Option<u32>,
    #[serde(borrow, default)]
    pub delta: Option<WireDelta<'a>>,
    #[serde(borrow, default)]
    pub finish_reason: Option<Text<'a>>,
}

/// What an event adds to an answer.
#[derive(Debug, Default, Deserialize)]
pub(super) struct WireDelta<'a> {
    #[serde(borrow, default)]
    pub content: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub refusal: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub reasoning_content: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub reasoning: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub tool_calls: Option<Vec<Fragment<'a>>>,
}

/// A piece of a tool call.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Fragment<'a> {
    #[serde(default)]
    pub index: Option<u32>,
    #[serde(borrow, default)]
    pub id: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub function: Option<FunctionFragment<'a>>,
}

/// A piece of the function that a tool call names.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct FunctionFragment<'a> {
    #[serde(borrow, default)]
    pub name: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub arguments: Option<Text<'a>>,
}

/// The server's count of tokens.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct WireUsage {
    #[serde(default)]
    prompt_tokens: Option<u64>,
    #[serde(default)]
    completion_tokens: Option<u64>,
    #[serde(default)]
    prompt_tokens_details: Option<PromptDetails>,
    #[serde(default)]
    completion_tokens_details: Option<CompletionDetails>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
struct PromptDetails {
    #[serde(default)]
    cached_tokens: Option<u64>,
    #[serde(default)]
    audio_tokens: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
struct CompletionDetails {
    #[serde(default)]
    reasoning_tokens: Option<u64>,
    #[serde(default)]
    audio_tokens: Option<u64>,
    #[serde(default)]
    accepted_prediction_tokens: Option<u64>,
    #[serde(default)]
    rejected_prediction_tokens: Option<u64>,
}

impl WireUsage {
    /// The tokens of one request. Cached ones are inside of the input, reasoning inside of the
    /// output.
    pub fn usage(&self) -> Usage {
        let input = self.prompt_tokens_details.unwrap_or_default();
        let output = self.completion_tokens_details.unwrap_or_default();
        let count = Option::unwrap_or_default;
        Usage {
            model_requests: 1,
            input_tokens: count(self.prompt_tokens),
            output_tokens: count(self.completion_tokens),
            cached_input_tokens: count(input.cached_tokens),
            reasoning_tokens: count(output.reasoning_tokens),
            audio_input_tokens: count(input.audio_tokens),
            audio_output_tokens: count(output.audio_tokens),
            accepted_prediction_tokens: count(output.accepted_prediction_tokens),
            rejected_prediction_tokens: count(output.rejected_prediction_tokens),
            ..Usage::default()
        }
    }
}

/// What the server says of an error, alone in a body or in the middle of a stream.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(super) enum ErrorBody {
    /// Words only.
    Words(String),
    /// The usual form.
    Object {
        #[serde(default)]
        message: Option<String>,
        #[serde(default, rename = "type")]
        kind: Option<String>,
        #[serde(default)]
        code: Option<ErrorTag>,
    },
}

/// An error's code: a word, or the status that a gateway got from its provider.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(super) enum ErrorTag {
    Number(u16),
    Word(String),
}

/// A body that holds nothing but an error.
#[derive(Debug, Deserialize)]
pub(super) struct ErrorEnvelope {
    pub error: ErrorBody,
}
