//! What an agent hears and says, and its requests.

use std::sync::Arc;

use kinfolk_actors::call::ProposedCall;
use kinfolk_actors::event::{
    Finish, FinishReason, ModelRequested, Outcome, Reply, Source, UserMessage,
};
use kinfolk_actors::id::{AskId, CallId, RequestNo};
use kinfolk_actors::limits::LimitKind;
use kinfolk_actors::money::Money;
use kinfolk_actors::time::Millis;

use super::super::Unreadable;
use super::super::event::{ModelRequestV2, ProposedCallV2, ReplyV2, UserMessageV2};
use super::super::number::Numbered;
use super::super::parts::{AskIdV1, CallIdV1};

impl From<&UserMessage> for UserMessageV2 {
    fn from(event: &UserMessage) -> Self {
        Self {
            text: Arc::clone(&event.text),
            source: event.source.number(),
            for_call: event.for_call.map(CallIdV1::from),
            question: event.question.map(AskIdV1::from),
            ended: event.ended.map(|(outcome, reason)| (outcome.number(), reason.number())),
        }
    }
}

impl TryFrom<UserMessageV2> for UserMessage {
    type Error = Unreadable;

    fn try_from(stored: UserMessageV2) -> Result<Self, Unreadable> {
        let ended = |(outcome, reason)| Ok((Outcome::of(outcome)?, FinishReason::of(reason)?));
        Ok(Self {
            text: stored.text,
            source: Source::of(stored.source)?,
            for_call: stored.for_call.map(CallId::from),
            question: stored.question.map(AskId::from),
            ended: stored.ended.map(ended).transpose()?,
        })
    }
}

impl From<&Reply> for ReplyV2 {
    fn from(event: &Reply) -> Self {
        Self {
            request: event.request.0,
            text: Arc::clone(&event.text),
            calls: event.calls.iter().map(ProposedCallV2::from).collect(),
            finish: event.finish.as_str().into(),
            usage: (&event.usage).into(),
            model: Arc::clone(&event.model),
            duration_ms: event.duration_ms.0,
            opaque: event.opaque.clone(),
            cost: event.cost.map(Money::pico),
        }
    }
}

impl TryFrom<ReplyV2> for Reply {
    type Error = Unreadable;

    fn try_from(stored: ReplyV2) -> Result<Self, Unreadable> {
        let calls = stored.calls.into_iter().map(ProposedCall::try_from);
        Ok(Self {
            request: RequestNo(stored.request),
            text: stored.text,
            calls: calls.collect::<Result<_, _>>()?,
            finish: Finish::from(stored.finish.as_ref()),
            usage: stored.usage.into(),
            model: stored.model,
            duration_ms: Millis(stored.duration_ms),
            opaque: stored.opaque,
            cost: stored.cost.map(Money::from_pico),
        })
    }
}

impl From<&ModelRequested> for ModelRequestV2 {
    fn from(event: &ModelRequested) -> Self {
        Self {
            request: event.request.0,
            model: Arc::clone(&event.model),
            attempt_no: event.attempt_no,
            estimated_tokens: event.estimated_tokens,
            closing: event.closing.map(LimitKind::number),
            max_output: event.max_output,
        }
    }
}

impl TryFrom<ModelRequestV2> for ModelRequested {
    type Error = Unreadable;

    fn try_from(stored: ModelRequestV2) -> Result<Self, Unreadable> {
        Ok(Self {
            request: RequestNo(stored.request),
            model: stored.model,
            attempt_no: stored.attempt_no,
            estimated_tokens: stored.estimated_tokens,
            closing: stored.closing.map(LimitKind::of).transpose()?,
            max_output: stored.max_output,
        })
    }
}
