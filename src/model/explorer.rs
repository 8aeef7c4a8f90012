//! `scripted:explorer`: a model without a network that explores a workspace with a family.
//!
//! It is an adapter like any other and sees no file: it decides from the messages of a request
//! only. An agent that can call subagents lists the workspace, hands its parts to up to three
//! subagents, and merges what they report. An agent that cannot looks into its parts with
//! `workspace_tree`, `read_file` and `search_workspace` and reports. The same messages always give
//! the same reply. Tokens are estimated: a quarter of the bytes.

use std::sync::Arc;

use futures::future::BoxFuture;
use kinfolk_actors::agent::{RawCall, RawReply};
use kinfolk_actors::event::Finish;
use kinfolk_actors::time::Millis;
use serde_json::{Map, Value};

use super::{estimate, scripted};
use crate::ports::model::{ModelCall, ModelError, ModelProvider, Purpose};
use view::View;

mod lead;
mod listing;
mod scout;
mod view;

/// In how many parts watchers see a text.
const CHUNKS: usize = 8;

/// The adapter. It has no settings and remembers nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Explorer;

/// What it says.
#[derive(Debug, PartialEq)]
enum Move {
    /// Calls, with a word on why.
    Call(String, Vec<PlannedCall>),
    /// The answer.
    Answer(String),
}

/// One call that it makes.
#[derive(Clone, Debug, PartialEq)]
struct PlannedCall {
    name: &'static str,
    arguments: Map<String, Value>,
}

impl PlannedCall {
    fn raw(&self, id: String) -> RawCall {
        let arguments = Value::Object(self.arguments.clone()).to_string();
        RawCall { provider_id: id.into(), name: self.name.into(), arguments: arguments.into() }
    }
}

/// What stands for what it has seen. It decides from its messages alone, so it looks again.
const SUMMARY: &str = "Goal: what the newest message of the user asks. Done: parts of the workspace \
                       were looked at. To do: look at what the answer rests on once more, then \
                       answer.";

fn next_move(view: &View<'_>) -> Move {
    if view.leads() { lead::next_move(view) } else { scout::next_move(view) }
}

impl ModelProvider for Explorer {
    fn call<'a>(&'a self, call: ModelCall<'a>) -> BoxFuture<'a, Result<RawReply, ModelError>> {
        let next = match call.purpose {
            Purpose::Reply => next_move(&View::new(call.request)),
            Purpose::Summary | Purpose::SummaryAgain => Move::Answer(SUMMARY.to_owned()),
        };
        let (text, planned) = match next {
            Move::Call(text, planned) => (text, planned),
            Move::Answer(text) => (text, Vec::new()),
        };
        let id = |n: usize| format!("explorer_{}_{n}", call.number.0);
        let calls: Vec<RawCall> =
            planned.iter().enumerate().map(|(n, call)| call.raw(id(n))).collect();
        scripted::show(call.deltas, &text, CHUNKS, &calls);
        let reply = RawReply {
            cost: None,
            usage: estimate::usage(call.request, &text, &calls),
            finish: if calls.is_empty() { Finish::Stop } else { Finish::ToolCalls },
            text: Arc::from(text),
            calls,
            model: "explorer".into(),
            duration: Millis(0),
            opaque: None,
        };
        Box::pin(std::future::ready(Ok(reply)))
    }
}

#[cfg(test)]
mod tests;
