//! Starts and ends of subagents, ends of runs.

use std::sync::Arc;

use kinfolk_actors::event::{
    AgentUsage, FinishReason, Outcome, RunFinished, SubagentFinished, SubagentStarted,
};
use kinfolk_actors::family::Role;
use kinfolk_actors::id::AgentId;
use kinfolk_actors::time::Millis;

use super::super::Unreadable;
use super::super::event::{
    AgentUsageV1, FailureV1, RunFinishedV1, SubagentFinishedV1, SubagentStartedV1,
};
use super::super::number::Numbered;
use super::failure;

impl From<&SubagentStarted> for SubagentStartedV1 {
    fn from(event: &SubagentStarted) -> Self {
        Self {
            subagent: event.subagent.0,
            name: Arc::clone(&event.name),
            role: event.role.number(),
            task: Arc::clone(&event.task),
            label: event.label.clone(),
            write_scope: event.write_scope.clone(),
            for_call: event.for_call.into(),
            depth: event.depth,
        }
    }
}

impl TryFrom<SubagentStartedV1> for SubagentStarted {
    type Error = Unreadable;

    fn try_from(stored: SubagentStartedV1) -> Result<Self, Unreadable> {
        Ok(Self {
            subagent: AgentId(stored.subagent),
            name: stored.name,
            role: Role::of(stored.role)?,
            task: stored.task,
            label: stored.label,
            write_scope: stored.write_scope,
            for_call: stored.for_call.into(),
            depth: stored.depth,
        })
    }
}

impl From<&SubagentFinished> for SubagentFinishedV1 {
    fn from(event: &SubagentFinished) -> Self {
        Self {
            subagent: event.subagent.0,
            status: event.status.number(),
            summary: Arc::clone(&event.summary),
            usage: (&event.usage).into(),
            error: event.error.as_ref().map(FailureV1::from),
        }
    }
}

impl TryFrom<SubagentFinishedV1> for SubagentFinished {
    type Error = Unreadable;

    fn try_from(stored: SubagentFinishedV1) -> Result<Self, Unreadable> {
        Ok(Self {
            subagent: AgentId(stored.subagent),
            status: Outcome::of(stored.status)?,
            summary: stored.summary,
            usage: stored.usage.into(),
            error: failure(stored.error)?,
        })
    }
}

impl From<&RunFinished> for RunFinishedV1 {
    fn from(event: &RunFinished) -> Self {
        Self {
            outcome: event.outcome.number(),
            finish_reason: event.finish_reason.number(),
            text: Arc::clone(&event.text),
            error: event.error.as_ref().map(FailureV1::from),
            usage: (&event.usage).into(),
            agents: event.agents.iter().map(AgentUsageV1::from).collect(),
            duration_ms: event.duration_ms.0,
        }
    }
}

impl TryFrom<RunFinishedV1> for RunFinished {
    type Error = Unreadable;

    fn try_from(stored: RunFinishedV1) -> Result<Self, Unreadable> {
        Ok(Self {
            outcome: Outcome::of(stored.outcome)?,
            finish_reason: FinishReason::of(stored.finish_reason)?,
            text: stored.text,
            error: failure(stored.error)?,
            usage: stored.usage.into(),
            agents: stored.agents.into_iter().map(AgentUsage::from).collect(),
            duration_ms: Millis(stored.duration_ms),
        })
    }
}

impl From<&AgentUsage> for AgentUsageV1 {
    fn from(usage: &AgentUsage) -> Self {
        let (agent, name) = (usage.agent.0, Arc::clone(&usage.name));
        Self { agent, name, usage: (&usage.usage).into() }
    }
}

impl From<AgentUsageV1> for AgentUsage {
    fn from(stored: AgentUsageV1) -> Self {
        let (agent, name) = (AgentId(stored.agent), stored.name);
        Self { agent, name, usage: stored.usage.into() }
    }
}
