//! What was used: requests, turns, tool calls and tokens, as plain sums.

use serde::{Deserialize, Serialize};

pub use tally::{Human, ModelTally, Tally, ToolTally, Wait};

mod tally;

macro_rules! counts {
    ($($(#[$meta:meta])* $name:ident;)*) => {
        /// Sums over an agent, a run or one reply. Counts saturate; they never wrap.
        ///
        /// Of the 18 kinds of tokens two are totals: the input and the output. Each other kind is a
        /// part of one of them and counted in it too. The parts say where tokens came from (cache),
        /// what they carry (text, image, …) and what became of them; so they overlap, and they need
        /// not add up to their total: a provider reports some and not others.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub struct Usage {
            $($(#[$meta])* pub $name: u64,)*
        }

        impl Usage {
            /// Nothing used.
            pub const NONE: Self = Self { $($name: 0,)* };

            /// Adds another sum to this one.
            pub fn add(&mut self, other: &Self) {
                $(self.$name = self.$name.saturating_add(other.$name);)*
            }
        }
    };
}

counts! {
    /// Requests sent to a model, retries included.
    model_requests;
    /// Model replies that were taken.
    turns;
    /// Tool calls that a model asked for, refused ones included.
    tool_calls;
    /// Tokens sent, those included that a cache served or took.
    input_tokens;
    /// Tokens generated, those of hidden reasoning included.
    output_tokens;
    /// Of the input, tokens read from the provider's cache.
    cached_input_tokens;
    /// Of the output, tokens of hidden reasoning.
    reasoning_tokens;
    /// Of the input, tokens written to a cache of five minutes, or of a lifetime that is not told.
    #[serde(default, skip_serializing_if = "is_zero")]
    cache_write_5m_tokens;
    /// Of the input, tokens written to a cache of one hour.
    #[serde(default, skip_serializing_if = "is_zero")]
    cache_write_1h_tokens;
    /// Of the input, tokens that the provider looked for in its cache and did not find.
    #[serde(default, skip_serializing_if = "is_zero")]
    cache_miss_input_tokens;
    /// Of the input, results of tools that the provider ran itself.
    #[serde(default, skip_serializing_if = "is_zero")]
    provider_tool_input_tokens;
    /// Of the input, text.
    #[serde(default, skip_serializing_if = "is_zero")]
    text_input_tokens;
    /// Of the input, images and pages of documents.
    #[serde(default, skip_serializing_if = "is_zero")]
    image_input_tokens;
    /// Of the input, audio.
    #[serde(default, skip_serializing_if = "is_zero")]
    audio_input_tokens;
    /// Of the input, video.
    #[serde(default, skip_serializing_if = "is_zero")]
    video_input_tokens;
    /// Of the output, text.
    #[serde(default, skip_serializing_if = "is_zero")]
    text_output_tokens;
    /// Of the output, images.
    #[serde(default, skip_serializing_if = "is_zero")]
    image_output_tokens;
    /// Of the output, audio.
    #[serde(default, skip_serializing_if = "is_zero")]
    audio_output_tokens;
    /// Of the output, video.
    #[serde(default, skip_serializing_if = "is_zero")]
    video_output_tokens;
    /// Of the output, predicted tokens that were right.
    #[serde(default, skip_serializing_if = "is_zero")]
    accepted_prediction_tokens;
    /// Of the output, predicted tokens that were wrong. They are paid for all the same.
    #[serde(default, skip_serializing_if = "is_zero")]
    rejected_prediction_tokens;
}

impl Usage {
    /// Input and output tokens together. The other kinds are parts of these.
    #[must_use]
    pub fn total_tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

// Serde gives the field by reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
pub(crate) fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests;
