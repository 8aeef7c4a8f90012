//! The tokens of models that count none: a quarter of the bytes, rounded up. Deterministic.

use kinfolk_actors::agent::RawCall;
use kinfolk_actors::context::{ModelRequest, RequestMessage};
use kinfolk_actors::usage::Usage;

/// What one request and its reply would use.
pub(super) fn usage(request: &ModelRequest, text: &str, calls: &[RawCall]) -> Usage {
    let message = |message: &RequestMessage| match message {
        RequestMessage::User(text) | RequestMessage::ToolResult { text, .. } => text.len(),
        RequestMessage::Assistant { text, calls, .. } => {
            let call = calls.iter().map(|call| call.name.len() + call.arguments.len());
            text.len() + call.sum::<usize>()
        }
    };
    let history: usize = request.messages.iter().map(message).sum();
    let tools = request.tools.iter();
    let tools = tools.map(|tool| tool.name.len() + tool.description.len() + tool.schema.len());
    let called = calls.iter().map(|call| call.name.len() + call.arguments.len());
    Usage {
        model_requests: 1,
        input_tokens: tokens(request.system.len() + history + tools.sum::<usize>()),
        output_tokens: tokens(text.len() + called.sum::<usize>()),
        ..Usage::default()
    }
}

fn tokens(bytes: usize) -> u64 {
    u64::try_from(bytes.div_ceil(4)).unwrap_or(u64::MAX)
}
