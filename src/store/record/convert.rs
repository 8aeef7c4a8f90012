//! From the events of the domain to the persisted ones and back. Records and index entries are in
//! [`index`], the ends of agents in [`agent`].

mod agent;
mod index;

use std::sync::Arc;

use kinfolk_actors::call::{CallKind, CallResult, CallStatus, ProposedCall};
use kinfolk_actors::event::{
    Ending, Event, Finish, FinishReason, Message, ModelFailed, ModelRequested, Outcome, Reply,
    RunResumed, RunStarted, ToolFinished, ToolStarted, UserMessage,
};
use kinfolk_actors::failure::{Attribution, ErrorCode, Failure};
use kinfolk_actors::family::{Caps, FamilyHash};
use kinfolk_actors::id::{AgentId, Attempt, CallId, Offset, RequestNo, RunId};
use kinfolk_actors::time::Millis;
use uuid::Uuid;

use super::Unreadable;
use super::event::{
    CallIdV1, EventV1, FailureV1, ProposedCallV1, ReplyV1, RunStartedV1, ToolFinishedV1,
};
use super::number::Numbered;

impl From<&Event> for EventV1 {
    fn from(event: &Event) -> Self {
        match event {
            Event::RunStarted(event) => Self::RunStarted(event.into()),
            Event::RunResumed(event) => {
                Self::RunResumed { attempt: event.attempt.0, from_offset: event.from_offset.0 }
            }
            Event::Message(Message::User(event)) => Self::UserMessage {
                text: Arc::clone(&event.text),
                for_call: event.for_call.map(CallIdV1::from),
            },
            Event::Message(Message::Assistant(event)) => Self::Reply(event.into()),
            Event::ModelRequest(event) => Self::ModelRequest {
                request: event.request.0,
                model: Arc::clone(&event.model),
                attempt_no: event.attempt_no,
                estimated_tokens: event.estimated_tokens,
            },
            Event::ModelFailed(event) => Self::ModelFailed {
                request: event.request.0,
                error: (&event.error).into(),
                usage: (&event.usage).into(),
            },
            Event::ToolStarted(event) => Self::ToolStarted {
                call: event.call.into(),
                name: Arc::clone(&event.name),
                arguments: Arc::clone(&event.arguments),
            },
            Event::ToolFinished(event) => Self::ToolFinished(event.into()),
            Event::SubagentStarted(event) => Self::SubagentStarted(event.into()),
            Event::SubagentFinished(event) => Self::SubagentFinished(event.into()),
            Event::Ending(event) => Self::Ending {
                outcome: event.outcome.number(),
                finish_reason: event.finish_reason.number(),
                reason: Arc::clone(&event.reason),
                error: event.error.as_ref().map(FailureV1::from),
            },
            Event::RunFinished(event) => Self::RunFinished(event.into()),
        }
    }
}

impl TryFrom<EventV1> for Event {
    type Error = Unreadable;

    fn try_from(stored: EventV1) -> Result<Self, Unreadable> {
        Ok(match stored {
            EventV1::RunStarted(event) => Self::RunStarted(event.into()),
            EventV1::RunResumed { attempt, from_offset } => Self::RunResumed(RunResumed {
                attempt: Attempt(attempt),
                from_offset: Offset(from_offset),
            }),
            EventV1::UserMessage { text, for_call } => Self::Message(Message::User(UserMessage {
                text,
                for_call: for_call.map(CallId::from),
            })),
            EventV1::Reply(event) => Self::Message(Message::Assistant(event.try_into()?)),
            EventV1::ModelRequest { request, model, attempt_no, estimated_tokens } => {
                let request = RequestNo(request);
                Self::ModelRequest(ModelRequested { request, model, attempt_no, estimated_tokens })
            }
            EventV1::ModelFailed { request, error, usage } => Self::ModelFailed(ModelFailed {
                request: RequestNo(request),
                error: error.try_into()?,
                usage: usage.into(),
            }),
            EventV1::ToolStarted { call, name, arguments } => {
                Self::ToolStarted(ToolStarted { call: call.into(), name, arguments })
            }
            EventV1::ToolFinished(event) => Self::ToolFinished(event.try_into()?),
            EventV1::SubagentStarted(event) => Self::SubagentStarted(event.try_into()?),
            EventV1::SubagentFinished(event) => Self::SubagentFinished(event.try_into()?),
            EventV1::Ending { outcome, finish_reason, reason, error } => Self::Ending(Ending {
                outcome: Outcome::of(outcome)?,
                finish_reason: FinishReason::of(finish_reason)?,
                reason,
                error: failure(error)?,
            }),
            EventV1::RunFinished(event) => Self::RunFinished(event.try_into()?),
        })
    }
}

impl From<CallId> for CallIdV1 {
    fn from(call: CallId) -> Self {
        Self { run: run_bytes(call.run), agent: call.agent.0, n: call.n }
    }
}

impl From<CallIdV1> for CallId {
    fn from(stored: CallIdV1) -> Self {
        Self { run: run_id(stored.run), agent: AgentId(stored.agent), n: stored.n }
    }
}

impl From<&Failure> for FailureV1 {
    fn from(failure: &Failure) -> Self {
        Self {
            code: failure.code.as_str().into(),
            attribution: failure.attribution.number(),
            retryable: failure.retryable,
            message: Arc::clone(&failure.message),
        }
    }
}

impl TryFrom<FailureV1> for Failure {
    type Error = Unreadable;

    fn try_from(stored: FailureV1) -> Result<Self, Unreadable> {
        Ok(Self {
            code: ErrorCode::from(stored.code.as_ref()),
            attribution: Attribution::of(stored.attribution)?,
            retryable: stored.retryable,
            message: stored.message,
        })
    }
}

impl From<&RunStarted> for RunStartedV1 {
    fn from(event: &RunStarted) -> Self {
        Self {
            input: Arc::clone(&event.input),
            model: Arc::clone(&event.model),
            max_subagents: event.limits.max_subagents,
            max_parallel: event.limits.max_parallel,
            max_depth: event.limits.max_depth,
            family: event.family.0,
            parent_run: event.parent_run.map(run_bytes),
        }
    }
}

impl From<RunStartedV1> for RunStarted {
    fn from(stored: RunStartedV1) -> Self {
        Self {
            input: stored.input,
            model: stored.model,
            limits: Caps {
                max_subagents: stored.max_subagents,
                max_parallel: stored.max_parallel,
                max_depth: stored.max_depth,
            },
            family: FamilyHash(stored.family),
            parent_run: stored.parent_run.map(run_id),
        }
    }
}

impl From<&Reply> for ReplyV1 {
    fn from(event: &Reply) -> Self {
        Self {
            request: event.request.0,
            text: Arc::clone(&event.text),
            calls: event.calls.iter().map(ProposedCallV1::from).collect(),
            finish: event.finish.as_str().into(),
            usage: (&event.usage).into(),
            model: Arc::clone(&event.model),
            duration_ms: event.duration_ms.0,
            opaque: event.opaque.clone(),
        }
    }
}

impl TryFrom<ReplyV1> for Reply {
    type Error = Unreadable;

    fn try_from(stored: ReplyV1) -> Result<Self, Unreadable> {
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
        })
    }
}

impl From<&ProposedCall> for ProposedCallV1 {
    fn from(call: &ProposedCall) -> Self {
        Self {
            call: call.call.into(),
            alias: Arc::clone(&call.alias),
            name: Arc::clone(&call.name),
            arguments: Arc::clone(&call.arguments),
            kind: call.kind.number(),
            provider_id: Arc::clone(&call.provider_id),
        }
    }
}

impl TryFrom<ProposedCallV1> for ProposedCall {
    type Error = Unreadable;

    fn try_from(stored: ProposedCallV1) -> Result<Self, Unreadable> {
        Ok(Self {
            call: stored.call.into(),
            alias: stored.alias,
            name: stored.name,
            arguments: stored.arguments,
            kind: CallKind::of(stored.kind)?,
            provider_id: stored.provider_id,
        })
    }
}

impl From<&ToolFinished> for ToolFinishedV1 {
    fn from(event: &ToolFinished) -> Self {
        Self {
            call: event.call.into(),
            name: Arc::clone(&event.name),
            status: event.result.status.number(),
            text: Arc::clone(&event.result.text),
            full_size: event.result.full_size,
            duration_ms: event.duration_ms.0,
        }
    }
}

impl TryFrom<ToolFinishedV1> for ToolFinished {
    type Error = Unreadable;

    fn try_from(stored: ToolFinishedV1) -> Result<Self, Unreadable> {
        let status = CallStatus::of(stored.status)?;
        Ok(Self {
            call: stored.call.into(),
            name: stored.name,
            // As it was taken: the cap of this version does not cut an old result again.
            result: CallResult { status, text: stored.text, full_size: stored.full_size },
            duration_ms: Millis(stored.duration_ms),
        })
    }
}

fn failure(stored: Option<FailureV1>) -> Result<Option<Failure>, Unreadable> {
    stored.map(Failure::try_from).transpose()
}

fn run_bytes(run: RunId) -> [u8; 16] {
    run.0.into_bytes()
}

fn run_id(bytes: [u8; 16]) -> RunId {
    RunId(Uuid::from_bytes(bytes))
}
