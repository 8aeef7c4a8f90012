//! From version 1 of a record to version 2. What version 1 does not say is what was so when it was
//! the newest: no limits, no gates, subagents that answer and are waited for.

use kinfolk_actors::call::Gate;
use kinfolk_actors::event::{ChildMode, FinishReason, Outcome, RunKind, Source};
use kinfolk_actors::family::{Delivery, Placement};
use kinfolk_actors::limits::{ChildBudget, OnLimit};

use super::super::Unreadable;
use super::super::event::{
    AgentUsageV2, EndingV2, EntryV2, EventV2, GateV1, ModelRequestV2, ProposedCallV2, ReplyV2,
    RunFinishedV2, RunStartedV2, SubagentFinishedV2, SubagentStartedV2, UserMessageV2,
};
use super::super::number::Numbered;
use super::super::parts::{LimitsV1, MoreV1};
use super::super::stored::RecordV2;
use super::{
    AgentUsageV1, EventV1, ProposedCallV1, RecordV1, ReplyV1, RunFinishedV1, RunStartedV1,
    SubagentFinishedV1, SubagentStartedV1,
};

impl TryFrom<RecordV1> for RecordV2 {
    type Error = Unreadable;

    fn try_from(old: RecordV1) -> Result<Self, Unreadable> {
        let RecordV1 { prev, first, session, run, attempt, agent, at, events } = old;
        let entry =
            |event| Ok(EntryV2 { event: EventV2::try_from(event)?, more: MoreV1::default() });
        let events = events.into_iter().map(entry).collect::<Result<_, _>>()?;
        let more = MoreV1::default();
        Ok(Self { prev, first, session, run, attempt, agent, at, events, more })
    }
}

impl TryFrom<EventV1> for EventV2 {
    type Error = Unreadable;

    fn try_from(old: EventV1) -> Result<Self, Unreadable> {
        Ok(match old {
            EventV1::RunStarted(event) => Self::RunStarted(event.into()),
            EventV1::RunResumed { attempt, from_offset } => {
                Self::RunResumed { attempt, from_offset, raised: None }
            }
            EventV1::UserMessage { text, for_call } => Self::UserMessage(UserMessageV2 {
                text,
                source: Source::Input.number(),
                for_call,
                question: None,
                ended: None,
            }),
            EventV1::Reply(event) => Self::Reply(event.into()),
            EventV1::ModelRequest { request, model, attempt_no, estimated_tokens } => {
                let (closing, max_output) = (None, None);
                Self::ModelRequest(ModelRequestV2 {
                    request,
                    model,
                    attempt_no,
                    estimated_tokens,
                    closing,
                    max_output,
                })
            }
            EventV1::ModelFailed { request, error, usage } => {
                Self::ModelFailed { request, error, usage, cost: None }
            }
            EventV1::ToolStarted { call, name, arguments } => {
                Self::ToolStarted { call, name, arguments, deadline: None }
            }
            EventV1::ToolFinished(event) => Self::ToolFinished(event),
            EventV1::SubagentStarted(event) => Self::SubagentStarted(event.into()),
            EventV1::SubagentFinished(event) => Self::SubagentFinished(event.try_into()?),
            EventV1::Ending { outcome, finish_reason, reason, error } => {
                Self::Ending(EndingV2 { outcome, finish_reason, reason, text: "".into(), error })
            }
            EventV1::RunFinished(event) => Self::RunFinished(event.into()),
        })
    }
}

impl From<RunStartedV1> for RunStartedV2 {
    fn from(old: RunStartedV1) -> Self {
        let RunStartedV1 {
            input,
            model,
            max_subagents,
            max_parallel,
            max_depth,
            family,
            parent_run,
        } = old;
        Self {
            input,
            model,
            max_subagents,
            max_parallel,
            max_depth,
            limits: LimitsV1(Vec::new()),
            on_limit: OnLimit::Finish.number(),
            child_budget: ChildBudget::Share.number(),
            kind: RunKind::Request.number(),
            family,
            parent_run,
        }
    }
}

impl From<ReplyV1> for ReplyV2 {
    fn from(old: ReplyV1) -> Self {
        let ReplyV1 { request, text, calls, finish, usage, model, duration_ms, opaque } = old;
        let calls = calls.into_iter().map(ProposedCallV2::from).collect();
        Self { request, text, calls, finish, usage, model, duration_ms, opaque, cost: None }
    }
}

impl From<ProposedCallV1> for ProposedCallV2 {
    fn from(old: ProposedCallV1) -> Self {
        let ProposedCallV1 { call, alias, name, arguments, kind, provider_id } = old;
        Self { call, alias, name, arguments, kind, gate: GateV1::from(&Gate::Pass), provider_id }
    }
}

impl From<SubagentStartedV1> for SubagentStartedV2 {
    fn from(old: SubagentStartedV1) -> Self {
        let SubagentStartedV1 { subagent, name, role, task, label, write_scope, for_call, depth } =
            old;
        Self {
            subagent,
            name,
            role,
            task,
            label,
            write_scope,
            goal: None,
            context: None,
            mode: ChildMode::Foreground.number(),
            delivery: Delivery::Answer.number(),
            placement: Placement::Runtime.number(),
            for_call,
            depth,
        }
    }
}

impl TryFrom<SubagentFinishedV1> for SubagentFinishedV2 {
    type Error = Unreadable;

    fn try_from(old: SubagentFinishedV1) -> Result<Self, Unreadable> {
        let SubagentFinishedV1 { subagent, status, summary, usage, error } = old;
        let reason = match Outcome::of(status)? {
            Outcome::Completed | Outcome::PartialSuccess => FinishReason::Completed,
            Outcome::Cancelled => FinishReason::UserRequested,
            Outcome::Failed => FinishReason::ErrorRecovery,
        };
        Ok(Self { subagent, status, summary, finish_reason: reason.number(), usage, error })
    }
}

impl From<RunFinishedV1> for RunFinishedV2 {
    fn from(old: RunFinishedV1) -> Self {
        let RunFinishedV1 { outcome, finish_reason, text, error, usage, agents, duration_ms } = old;
        let agent =
            |AgentUsageV1 { agent, name, usage }| AgentUsageV2 { agent, name, usage, cost: None };
        Self {
            outcome,
            finish_reason,
            text,
            error,
            usage,
            cost: None,
            detail: None,
            agents: agents.into_iter().map(agent).collect(),
            duration_ms,
        }
    }
}
