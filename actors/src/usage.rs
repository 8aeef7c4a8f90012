//! What was used: requests, turns, tool calls and tokens, as plain sums.

use serde::{Deserialize, Serialize};

/// Sums over an agent, a run or one reply. Counts saturate; they never wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Requests sent to a model, retries included.
    pub model_requests: u64,
    /// Model replies that were taken.
    pub turns: u64,
    /// Tool calls that a model asked for, refused ones included.
    pub tool_calls: u64,
    /// Tokens sent, cached ones included.
    pub input_tokens: u64,
    /// Tokens generated, reasoning included where the provider counts it so.
    pub output_tokens: u64,
    /// Of the input, tokens read from the provider's cache.
    pub cached_input_tokens: u64,
    /// Of the output, tokens of hidden reasoning.
    pub reasoning_tokens: u64,
}

impl Usage {
    /// Adds another sum to this one.
    pub fn add(&mut self, other: &Self) {
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.model_requests, other.model_requests);
        add(&mut self.turns, other.turns);
        add(&mut self.tool_calls, other.tool_calls);
        add(&mut self.input_tokens, other.input_tokens);
        add(&mut self.output_tokens, other.output_tokens);
        add(&mut self.cached_input_tokens, other.cached_input_tokens);
        add(&mut self.reasoning_tokens, other.reasoning_tokens);
    }

    /// Input and output tokens together.
    #[must_use]
    pub fn total_tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}
