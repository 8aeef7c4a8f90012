//! Starts and ends of runs.

use std::sync::Arc;

use kinfolk_actors::event::{
    AgentUsage, Ending, FinishReason, Outcome, RunFinished, RunKind, RunStarted,
};
use kinfolk_actors::family::{Caps, FamilyHash, FamilyLimits};
use kinfolk_actors::id::AgentId;
use kinfolk_actors::limits::{ChildBudget, OnLimit};
use kinfolk_actors::money::Money;
use kinfolk_actors::time::Millis;

use super::super::Unreadable;
use super::super::event::{AgentUsageV2, EndingV2, RunFinishedV2, RunStartedV2};
use super::super::number::Numbered;
use super::super::parts::FailureV1;
use super::parts::{failure, run_bytes, run_id};

impl From<&RunStarted> for RunStartedV2 {
    fn from(event: &RunStarted) -> Self {
        let FamilyLimits { caps, limits, on_limit, child_budget } = &event.limits;
        Self {
            input: Arc::clone(&event.input),
            model: Arc::clone(&event.model),
            max_subagents: caps.max_subagents,
            max_parallel: caps.max_parallel,
            max_depth: caps.max_depth,
            limits: limits.into(),
            on_limit: on_limit.number(),
            child_budget: child_budget.number(),
            kind: event.kind.number(),
            family: event.family.0,
            parent_run: event.parent_run.map(run_bytes),
        }
    }
}

impl TryFrom<RunStartedV2> for RunStarted {
    type Error = Unreadable;

    fn try_from(stored: RunStartedV2) -> Result<Self, Unreadable> {
        let RunStartedV2 { max_subagents, max_parallel, max_depth, .. } = stored;
        Ok(Self {
            input: stored.input,
            model: stored.model,
            limits: FamilyLimits {
                caps: Caps { max_subagents, max_parallel, max_depth },
                limits: stored.limits.try_into()?,
                on_limit: OnLimit::of(stored.on_limit)?,
                child_budget: ChildBudget::of(stored.child_budget)?,
            },
            kind: RunKind::of(stored.kind)?,
            family: FamilyHash(stored.family),
            parent_run: stored.parent_run.map(run_id),
        })
    }
}

impl From<&Ending> for EndingV2 {
    fn from(event: &Ending) -> Self {
        Self {
            outcome: event.outcome.number(),
            finish_reason: event.finish_reason.number(),
            reason: Arc::clone(&event.reason),
            text: Arc::clone(&event.text),
            error: event.error.as_ref().map(FailureV1::from),
        }
    }
}

impl TryFrom<EndingV2> for Ending {
    type Error = Unreadable;

    fn try_from(stored: EndingV2) -> Result<Self, Unreadable> {
        Ok(Self {
            outcome: Outcome::of(stored.outcome)?,
            finish_reason: FinishReason::of(stored.finish_reason)?,
            reason: stored.reason,
            text: stored.text,
            error: failure(stored.error)?,
        })
    }
}

impl From<&RunFinished> for RunFinishedV2 {
    fn from(event: &RunFinished) -> Self {
        Self {
            outcome: event.outcome.number(),
            finish_reason: event.finish_reason.number(),
            text: Arc::clone(&event.text),
            error: event.error.as_ref().map(FailureV1::from),
            usage: (&event.usage).into(),
            cost: event.cost_usd.map(Money::pico),
            detail: event.detail.clone(),
            agents: event.agents.iter().map(AgentUsageV2::from).collect(),
            duration_ms: event.duration_ms.0,
        }
    }
}

impl TryFrom<RunFinishedV2> for RunFinished {
    type Error = Unreadable;

    fn try_from(stored: RunFinishedV2) -> Result<Self, Unreadable> {
        Ok(Self {
            outcome: Outcome::of(stored.outcome)?,
            finish_reason: FinishReason::of(stored.finish_reason)?,
            text: stored.text,
            error: failure(stored.error)?,
            usage: stored.usage.into(),
            cost_usd: stored.cost.map(Money::from_pico),
            detail: stored.detail,
            agents: stored.agents.into_iter().map(AgentUsage::from).collect(),
            duration_ms: Millis(stored.duration_ms),
        })
    }
}

impl From<&AgentUsage> for AgentUsageV2 {
    fn from(usage: &AgentUsage) -> Self {
        Self {
            agent: usage.agent.0,
            name: Arc::clone(&usage.name),
            usage: (&usage.usage).into(),
            cost: usage.cost_usd.map(Money::pico),
        }
    }
}

impl From<AgentUsageV2> for AgentUsage {
    fn from(stored: AgentUsageV2) -> Self {
        Self {
            agent: AgentId(stored.agent),
            name: stored.name,
            usage: stored.usage.into(),
            cost_usd: stored.cost.map(Money::from_pico),
        }
    }
}
