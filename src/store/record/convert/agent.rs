//! Starts and ends of subagents.

use std::sync::Arc;

use kinfolk_actors::event::{ChildMode, FinishReason, Outcome, SubagentFinished, SubagentStarted};
use kinfolk_actors::family::{Delivery, Placement, Role};
use kinfolk_actors::id::AgentId;

use super::super::Unreadable;
use super::super::event::{SubagentFinishedV2, SubagentStartedV2};
use super::super::number::Numbered;
use super::super::parts::FailureV1;
use super::parts::failure;

impl From<&SubagentStarted> for SubagentStartedV2 {
    fn from(event: &SubagentStarted) -> Self {
        Self {
            subagent: event.subagent.0,
            name: Arc::clone(&event.name),
            role: event.role.number(),
            task: Arc::clone(&event.task),
            label: event.label.clone(),
            write_scope: event.write_scope.clone(),
            goal: event.goal.clone(),
            context: event.context.clone(),
            mode: event.mode.number(),
            delivery: event.delivery.number(),
            placement: event.placement.number(),
            for_call: event.for_call.into(),
            depth: event.depth,
        }
    }
}

impl TryFrom<SubagentStartedV2> for SubagentStarted {
    type Error = Unreadable;

    fn try_from(stored: SubagentStartedV2) -> Result<Self, Unreadable> {
        Ok(Self {
            subagent: AgentId(stored.subagent),
            name: stored.name,
            role: Role::of(stored.role)?,
            task: stored.task,
            label: stored.label,
            write_scope: stored.write_scope,
            goal: stored.goal,
            context: stored.context,
            mode: ChildMode::of(stored.mode)?,
            delivery: Delivery::of(stored.delivery)?,
            placement: Placement::of(stored.placement)?,
            for_call: stored.for_call.into(),
            depth: stored.depth,
        })
    }
}

impl From<&SubagentFinished> for SubagentFinishedV2 {
    fn from(event: &SubagentFinished) -> Self {
        Self {
            subagent: event.subagent.0,
            status: event.status.number(),
            summary: Arc::clone(&event.summary),
            finish_reason: event.finish_reason.number(),
            usage: (&event.usage).into(),
            error: event.error.as_ref().map(FailureV1::from),
        }
    }
}

impl TryFrom<SubagentFinishedV2> for SubagentFinished {
    type Error = Unreadable;

    fn try_from(stored: SubagentFinishedV2) -> Result<Self, Unreadable> {
        Ok(Self {
            subagent: AgentId(stored.subagent),
            status: Outcome::of(stored.status)?,
            summary: stored.summary,
            finish_reason: FinishReason::of(stored.finish_reason)?,
            usage: stored.usage.into(),
            error: failure(stored.error)?,
        })
    }
}
