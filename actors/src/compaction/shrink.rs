//! Makes the messages of a summary request fewer, where they are too many for the model that
//! summarises: the oldest tool exchanges go first, each whole, then the oldest plain replies.
//! Input and the earlier summary stay.

use std::mem;

use crate::context::RequestMessage;
use crate::estimate;

/// Messages that stay or go together, oldest first.
pub(super) struct Parts(Vec<Part>);

struct Part {
    kind: Kind,
    messages: Vec<RequestMessage>,
    tokens: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Input or an earlier summary.
    Input,
    /// A reply without calls.
    Reply,
    /// A reply with its calls and their results.
    Exchange,
}

impl Parts {
    /// Groups messages: a result belongs to the reply before it.
    pub(super) fn of(messages: Vec<RequestMessage>) -> Self {
        let mut parts: Vec<Part> = Vec::new();
        for message in messages {
            let tokens = estimate::message(&message);
            let kind = match &message {
                RequestMessage::User(_) => Kind::Input,
                RequestMessage::Assistant { calls, .. } if calls.is_empty() => Kind::Reply,
                RequestMessage::Assistant { .. } | RequestMessage::ToolResult { .. } => {
                    Kind::Exchange
                }
            };
            let is_result = matches!(message, RequestMessage::ToolResult { .. });
            match parts.last_mut().filter(|_| is_result) {
                Some(part) => {
                    part.tokens = part.tokens.saturating_add(tokens);
                    part.messages.push(message);
                }
                None => parts.push(Part { kind, messages: vec![message], tokens }),
            }
        }
        Self(parts)
    }

    /// The size of all that is left, in tokens.
    pub(super) fn tokens(&self) -> u64 {
        self.0.iter().map(|part| part.tokens).fold(0, u64::saturating_add)
    }

    /// Drops parts until the rest has at most `most` tokens or only input is left. Returns how
    /// many were dropped.
    pub(super) fn shrink(&mut self, most: u64) -> usize {
        let before = self.0.len();
        self.drop_oldest(Kind::Exchange, most);
        self.drop_oldest(Kind::Reply, most);
        before - self.0.len()
    }

    fn drop_oldest(&mut self, kind: Kind, most: u64) {
        let mut tokens = self.tokens();
        let parts = mem::take(&mut self.0).into_iter();
        let stays = |part: &Part| {
            let stays = part.kind != kind || tokens <= most;
            if !stays {
                tokens = tokens.saturating_sub(part.tokens);
            }
            stays
        };
        self.0 = parts.filter(stays).collect();
    }

    /// The messages that are left.
    pub(super) fn into_messages(self) -> Vec<RequestMessage> {
        self.0.into_iter().flat_map(|part| part.messages).collect()
    }
}
