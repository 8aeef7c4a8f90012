//! The request for a summary, and what the answer is worth.
//!
//! It is the agent's next request with one instruction at its end, so that the provider's prefix
//! cache still helps. Encoded data never enters it. Where it is too large for the model that
//! summarises, it is made smaller ([`request`]).

use std::sync::Arc;

use super::shrink::Parts;
use super::{ContextFull, blobs};
use crate::call::read_arguments;
use crate::context::{ModelRequest, RequestCall, RequestMessage};
use crate::estimate::{self, RequestSize};
use crate::event::{Finish, Reply};
use crate::family::ToolChoice;
use crate::profile::ModelProfile;

const INSTRUCTION: &str = "\
Stop here and write notes for yourself. They will replace the older part of this conversation, so \
whatever they leave out is lost. Do not call tools and do not go on with the task. Write plain \
text under these headings:

Goal: what the user wants, in their words where they matter.
Done: what is finished and how it was checked.
To do: what is left, in order.
Constraints: what the user or the task demands or forbids.
Decisions: what was decided and why.
Paths: files, directories, commands, addresses and ids that are needed again.
Open risks: what is unclear, failing or unverified.
Current work and next step: what was being done just now, which results are still awaited, and the \
very next action.

Carry over from earlier notes what still holds. Never copy file contents, images or encoded data; \
name where they are.";

const AGAIN: &str = "\
\n\nYour last answer could not be used: it called a tool or was cut off. Answer with the notes as \
text only, in less than 600 words.";

const LEFT_OUT: &str = "\
\n\nThe oldest steps are not shown above, for lack of room. Say so under open risks.";

/// What a summary request is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan<'a> {
    /// The model that summarises, `provider:name`.
    pub model: &'a Arc<str>,
    /// The most tokens that it takes as input; see [`room`].
    pub room: u64,
    /// Whether it was asked before.
    pub asked: Asked,
}

/// Which try of one summary it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The first.
    First,
    /// The second and last.
    Again,
}

/// What an answer is worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judged {
    /// It is a summary.
    Summary(Arc<str>),
    /// It is not; the model is asked once more ([`Asked::Again`]).
    AskAgain,
    /// It is not, and that is final. The history stays as it is.
    Failed(Unusable),
}

/// Why an answer is no summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// It called tools. None of the calls ran.
    #[error("the model called tools instead of writing a summary; set `compaction.model`")]
    CalledTools,
    /// It has no text.
    #[error("the model wrote an empty summary; set `compaction.model`")]
    Empty,
    /// Its output limit cut it off.
    #[error("the summary was cut off by the output limit; raise the model's `summary_reserve`")]
    CutOff,
    /// The provider's filter cut it off.
    #[error("the provider's content filter cut the summary off; set `compaction.model`")]
    Filtered,
}

/// What a summarising model takes as input: its window without the summary's own room and the
/// safety buffer. If the provider has just refused a request of `refused` tokens (by estimate) to
/// this model, its window is smaller than was thought, and at most three quarters of that are sent.
#[must_use]
pub fn room(profile: &ModelProfile, refused: Option<u64>) -> u64 {
    let reserved = profile.summary_cap().saturating_add(profile.safety_buffer);
    let room = profile.window.saturating_sub(reserved);
    refused.map_or(room, |tokens| room.min(tokens / 4 * 3))
}

/// Builds the request for a summary out of the agent's next request.
///
/// Too large, it loses its oldest tool exchanges, each whole, then its oldest plain replies, then
/// the list of tools; the system prompt, input and the earlier summary stay.
///
/// # Errors
/// It is too large without all that too.
pub fn request(ordinary: &ModelRequest, plan: &Plan<'_>) -> Result<ModelRequest, ContextFull> {
    let mut messages: Vec<RequestMessage> = Vec::with_capacity(ordinary.messages.len() + 1);
    let mut changed = *plan.model != ordinary.model;
    for message in &ordinary.messages {
        let clean = without_blobs(message);
        changed |= clean.is_some();
        messages.push(clean.unwrap_or_else(|| message.clone()));
    }
    if changed {
        messages = without_opaque(messages);
    }
    let mut request = ModelRequest {
        model: Arc::clone(plan.model),
        messages: Vec::new(),
        tool_choice: no_calls(ordinary),
        ..ordinary.clone()
    };
    let asked = estimate::message(&instruction(plan.asked, true));
    let beside = |request: &ModelRequest| {
        plan.room.saturating_sub(RequestSize::of(request).fixed()).saturating_sub(asked)
    };
    let mut parts = Parts::of(messages);
    let dropped = parts.shrink(beside(&request));
    // Only input is left then. Providers want the list of tools where they see calls, else not.
    if parts.tokens() > beside(&request) {
        request.tools = Arc::from([]);
        request.tool_choice = ToolChoice::Auto;
    }
    request.messages = parts.into_messages();
    if dropped > 0 {
        request.messages = without_opaque(request.messages);
    }
    request.messages.push(instruction(plan.asked, dropped > 0));
    let tokens = RequestSize::of(&request).total();
    if tokens > plan.room {
        return Err(ContextFull::SummaryTooLarge { tokens, room: plan.room });
    }
    Ok(request)
}

/// Judges an answer. Its calls never run, whatever the verdict.
#[must_use]
pub fn judge(reply: &Reply, asked: Asked) -> Judged {
    let no = |why: Unusable| match (why, asked) {
        (Unusable::CalledTools | Unusable::CutOff, Asked::First) => Judged::AskAgain,
        (Unusable::CalledTools | Unusable::CutOff, Asked::Again) => Judged::Failed(why),
        // Asked again, a model that has nothing to say or must not say it does the same.
        (Unusable::Empty | Unusable::Filtered, Asked::First | Asked::Again) => Judged::Failed(why),
    };
    let text = reply.text.trim();
    if !reply.calls.is_empty() {
        return no(Unusable::CalledTools);
    }
    match &reply.finish {
        Finish::ToolCalls => no(Unusable::CalledTools),
        Finish::Length => no(Unusable::CutOff),
        Finish::ContentFilter => no(Unusable::Filtered),
        Finish::Stop | Finish::Other(_) if text.is_empty() => no(Unusable::Empty),
        Finish::Stop | Finish::Other(_) => {
            Judged::Summary(blobs::without(text).unwrap_or_else(|| text.into()))
        }
    }
}

fn instruction(asked: Asked, left_out: bool) -> RequestMessage {
    let again = match asked {
        Asked::First => "",
        Asked::Again => AGAIN,
    };
    let left_out = if left_out { LEFT_OUT } else { "" };
    RequestMessage::User(format!("{INSTRUCTION}{left_out}{again}").into())
}

fn no_calls(ordinary: &ModelRequest) -> ToolChoice {
    if ordinary.tools.is_empty() { ToolChoice::Auto } else { ToolChoice::None }
}

/// The message without encoded data, or nothing if it holds none.
fn without_blobs(message: &RequestMessage) -> Option<RequestMessage> {
    match message {
        RequestMessage::User(text) => blobs::without(text).map(RequestMessage::User),
        RequestMessage::Assistant { text, calls, opaque } => {
            let clean_text = blobs::without(text);
            let clean_calls: Vec<Option<RequestCall>> = calls.iter().map(clean_call).collect();
            if clean_text.is_none() && clean_calls.iter().all(Option::is_none) {
                return None;
            }
            let calls = clean_calls.into_iter().zip(calls);
            Some(RequestMessage::Assistant {
                text: clean_text.unwrap_or_else(|| Arc::clone(text)),
                calls: calls.map(|(clean, call)| clean.unwrap_or_else(|| call.clone())).collect(),
                opaque: opaque.clone(),
            })
        }
        RequestMessage::ToolResult { id, name, text, is_error } => {
            let text = blobs::without(text)?;
            let (id, name) = (Arc::clone(id), Arc::clone(name));
            Some(RequestMessage::ToolResult { id, name, text, is_error: *is_error })
        }
    }
}

fn clean_call(call: &RequestCall) -> Option<RequestCall> {
    let clean = blobs::without(&call.arguments)?;
    // A run outside of a JSON string, a number of hundreds of digits, leaves no JSON.
    let size = call.arguments.len();
    let arguments = match read_arguments(&clean) {
        Ok(_) => clean,
        Err(_) => format!("{{\"left_out_bytes\":{size}}}").into(),
    };
    Some(RequestCall { id: Arc::clone(&call.id), name: Arc::clone(&call.name), arguments })
}

/// The messages without opaque provider blocks, all of them: the prefix that they were made under
/// is not the one that is sent. A reply that was nothing else goes; providers refuse empty ones.
fn without_opaque(messages: Vec<RequestMessage>) -> Vec<RequestMessage> {
    let strip = |message: RequestMessage| match message {
        RequestMessage::Assistant { text, calls, opaque: Some(_) } => {
            let empty = text.trim().is_empty() && calls.is_empty();
            (!empty).then_some(RequestMessage::Assistant { text, calls, opaque: None })
        }
        RequestMessage::User(_)
        | RequestMessage::Assistant { opaque: None, .. }
        | RequestMessage::ToolResult { .. } => Some(message),
    };
    messages.into_iter().filter_map(strip).collect()
}
