//! From the events of the domain to the persisted ones and back. Records and entries of the index
//! are in [`index`]; the structs of the events in the other modules, as the domain groups them.

mod agent;
mod asking;
mod call;
mod compaction;
mod index;
mod message;
mod parts;
mod run;

use std::sync::Arc;

use kinfolk_actors::event::{
    CallAudited, CallDeferred, Event, LimitReached, LimitWarning, Message, ModelFailed,
    QuestionAnswered, RunInterrupted, RunResumed, ToolStarted, ToolsActivated,
};
use kinfolk_actors::id::{Attempt, Offset, RequestNo};
use kinfolk_actors::limits::{LimitKind, Limits};
use kinfolk_actors::money::Money;
use kinfolk_actors::time::Timestamp;

use super::Unreadable;
use super::event::EventV2;
use super::number::Numbered;
use super::parts::LimitsV1;

impl From<&Event> for EventV2 {
    fn from(event: &Event) -> Self {
        match event {
            Event::RunStarted(event) => Self::RunStarted(event.into()),
            Event::RunResumed(event) => Self::RunResumed {
                attempt: event.attempt.0,
                from_offset: event.from_offset.0,
                raised: event.raised.as_ref().map(LimitsV1::from),
            },
            Event::RunInterrupted(event) => Self::RunInterrupted {
                reason: Arc::clone(&event.reason),
                limit: event.limit.map(LimitKind::number),
                resumable: event.resumable,
            },
            Event::Message(Message::User(event)) => Self::UserMessage(event.into()),
            Event::Message(Message::Assistant(event)) => Self::Reply(event.into()),
            Event::ModelRequest(event) => Self::ModelRequest(event.into()),
            Event::ModelFailed(event) => Self::ModelFailed {
                request: event.request.0,
                error: (&event.error).into(),
                usage: (&event.usage).into(),
                cost: event.cost.map(Money::pico),
            },
            Event::ToolStarted(event) => Self::ToolStarted {
                call: event.call.into(),
                name: Arc::clone(&event.name),
                arguments: Arc::clone(&event.arguments),
                deadline: event.deadline.map(|deadline| deadline.0),
            },
            Event::ToolFinished(event) => Self::ToolFinished(event.into()),
            Event::SubagentStarted(event) => Self::SubagentStarted(event.into()),
            Event::SubagentFinished(event) => Self::SubagentFinished(event.into()),
            Event::Ending(event) => Self::Ending(event.into()),
            Event::RunFinished(event) => Self::RunFinished(event.into()),
            Event::CallAudited(CallAudited { call, intervene }) => {
                Self::CallAudited { call: (*call).into(), intervene: *intervene }
            }
            Event::CallDeferred(event) => Self::CallDeferred { call: event.call.into() },
            Event::ToolsActivated(event) => Self::ToolsActivated { tools: event.tools.clone() },
            Event::ApprovalRequested(event) => Self::ApprovalRequested(event.into()),
            Event::ApprovalSettled(event) => Self::ApprovalSettled(event.into()),
            Event::QuestionAsked(event) => Self::QuestionAsked(event.into()),
            Event::QuestionAnswered(event) => Self::QuestionAnswered {
                question: event.question.into(),
                answer: Arc::clone(&event.answer),
                by: event.by.clone(),
            },
            Event::QuestionWithdrawn { question } => {
                Self::QuestionWithdrawn { question: (*question).into() }
            }
            Event::CompactionAsked => Self::CompactionAsked,
            Event::InterruptAsked { reason } => Self::InterruptAsked { reason: Arc::clone(reason) },
            Event::CompactionStarted(event) => Self::CompactionStarted(event.into()),
            Event::CompactionFinished(event) => Self::CompactionFinished(event.into()),
            Event::LimitWarning(event) => Self::LimitWarning {
                limit: event.limit.number(),
                scope: event.scope.into(),
                used: event.used.into(),
                of: event.of.into(),
            },
            Event::LimitReached(LimitReached { limit, scope }) => {
                Self::LimitReached { limit: limit.number(), scope: (*scope).into() }
            }
        }
    }
}

impl TryFrom<EventV2> for Event {
    type Error = Unreadable;

    fn try_from(stored: EventV2) -> Result<Self, Unreadable> {
        Ok(match stored {
            EventV2::RunStarted(event) => Self::RunStarted(event.try_into()?),
            EventV2::RunResumed { attempt, from_offset, raised } => Self::RunResumed(RunResumed {
                attempt: Attempt(attempt),
                from_offset: Offset(from_offset),
                raised: raised.map(Limits::try_from).transpose()?,
            }),
            EventV2::RunInterrupted { reason, limit, resumable } => {
                let limit = limit.map(LimitKind::of).transpose()?;
                Self::RunInterrupted(RunInterrupted { reason, limit, resumable })
            }
            EventV2::UserMessage(event) => Self::Message(Message::User(event.try_into()?)),
            EventV2::Reply(event) => Self::Message(Message::Assistant(event.try_into()?)),
            EventV2::ModelRequest(event) => Self::ModelRequest(event.try_into()?),
            EventV2::ModelFailed { request, error, usage, cost } => {
                Self::ModelFailed(ModelFailed {
                    request: RequestNo(request),
                    error: error.try_into()?,
                    usage: usage.into(),
                    cost: cost.map(Money::from_pico),
                })
            }
            EventV2::ToolStarted { call, name, arguments, deadline } => {
                let deadline = deadline.map(Timestamp);
                Self::ToolStarted(ToolStarted { call: call.into(), name, arguments, deadline })
            }
            EventV2::ToolFinished(event) => Self::ToolFinished(event.try_into()?),
            EventV2::SubagentStarted(event) => Self::SubagentStarted(event.try_into()?),
            EventV2::SubagentFinished(event) => Self::SubagentFinished(event.try_into()?),
            EventV2::Ending(event) => Self::Ending(event.try_into()?),
            EventV2::RunFinished(event) => Self::RunFinished(event.try_into()?),
            EventV2::CallAudited { call, intervene } => {
                Self::CallAudited(CallAudited { call: call.into(), intervene })
            }
            EventV2::CallDeferred { call } => {
                Self::CallDeferred(CallDeferred { call: call.into() })
            }
            EventV2::ToolsActivated { tools } => Self::ToolsActivated(ToolsActivated { tools }),
            EventV2::ApprovalRequested(event) => Self::ApprovalRequested(event.try_into()?),
            EventV2::ApprovalSettled(event) => Self::ApprovalSettled(event.try_into()?),
            EventV2::QuestionAsked(event) => Self::QuestionAsked(event.try_into()?),
            EventV2::QuestionAnswered { question, answer, by } => {
                let question = question.into();
                Self::QuestionAnswered(QuestionAnswered { question, answer, by })
            }
            EventV2::QuestionWithdrawn { question } => {
                Self::QuestionWithdrawn { question: question.into() }
            }
            EventV2::CompactionAsked => Self::CompactionAsked,
            EventV2::InterruptAsked { reason } => Self::InterruptAsked { reason },
            EventV2::CompactionStarted(event) => Self::CompactionStarted(event.try_into()?),
            EventV2::CompactionFinished(event) => Self::CompactionFinished(event.try_into()?),
            EventV2::LimitWarning { limit, scope, used, of } => Self::LimitWarning(LimitWarning {
                limit: LimitKind::of(limit)?,
                scope: scope.into(),
                used: used.into(),
                of: of.into(),
            }),
            EventV2::LimitReached { limit, scope } => Self::LimitReached(LimitReached {
                limit: LimitKind::of(limit)?,
                scope: scope.into(),
            }),
        })
    }
}
