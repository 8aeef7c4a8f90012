//! Random records and summaries, every kind of event as likely as the others.

use std::sync::Arc;

use kinfolk_actors::call::{CallKind, CallResult, CallStatus, EffectClass, ProposedCall};
use kinfolk_actors::event::{
    AgentUsage, Ending, Event, Finish, FinishReason, Message, ModelFailed, ModelRequested, Outcome,
    Reply, RunFinished, RunResumed, RunStarted, SubagentFinished, SubagentStarted, ToolFinished,
    ToolStarted, UserMessage,
};
use kinfolk_actors::failure::{Attribution, ErrorCode, Failure};
use kinfolk_actors::family::{Caps, FamilyHash, Role};
use kinfolk_actors::id::{AgentId, Attempt, CallId, Offset, RequestNo, RunId, SessionId};
use kinfolk_actors::time::{Millis, Timestamp};
use kinfolk_actors::usage::Usage;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use uuid::Uuid;

use crate::ports::store::{Record, RunSummary};

fn text() -> impl Strategy<Value = Arc<str>> {
    any::<String>().prop_map(Arc::from)
}

fn a_run() -> impl Strategy<Value = RunId> {
    any::<u128>().prop_map(|number| RunId(Uuid::from_u128(number)))
}

fn a_call() -> impl Strategy<Value = CallId> {
    (a_run(), any::<u32>(), any::<u32>()).prop_map(|(run, agent, n)| CallId {
        run,
        agent: AgentId(agent),
        n,
    })
}

fn a_session() -> impl Strategy<Value = SessionId> {
    "[A-Za-z0-9][A-Za-z0-9._-]{0,127}".prop_map(|text| text.parse().unwrap())
}

fn a_usage() -> impl Strategy<Value = Usage> {
    any::<[u64; 7]>().prop_map(|counts| Usage {
        model_requests: counts[0],
        turns: counts[1],
        tool_calls: counts[2],
        input_tokens: counts[3] % 2,
        output_tokens: counts[4],
        cached_input_tokens: counts[5] % 2,
        reasoning_tokens: counts[6],
    })
}

fn an_outcome() -> impl Strategy<Value = Outcome> {
    select(vec![Outcome::Completed, Outcome::PartialSuccess, Outcome::Cancelled, Outcome::Failed])
}

fn a_reason() -> impl Strategy<Value = FinishReason> {
    select(vec![
        FinishReason::Completed,
        FinishReason::UserRequested,
        FinishReason::UserAborted,
        FinishReason::MaxStepsExceeded,
        FinishReason::MaxStepsCompleted,
        FinishReason::CostLimitExceeded,
        FinishReason::Timeout,
        FinishReason::AgentDecision,
        FinishReason::QueuedMessageInterrupt,
        FinishReason::ErrorRecovery,
        FinishReason::SystemShutdown,
        FinishReason::BudgetCompleted,
        FinishReason::LoopDetected,
    ])
}

fn a_kind() -> impl Strategy<Value = CallKind> {
    select(vec![
        CallKind::Tool(EffectClass::ReadOnly),
        CallKind::Tool(EffectClass::Idempotent),
        CallKind::Tool(EffectClass::Reconcilable),
        CallKind::Tool(EffectClass::Changing),
        CallKind::Subagent,
        CallKind::Invalid,
    ])
}

fn a_failure() -> impl Strategy<Value = Failure> {
    let code = prop_oneof![
        select(ErrorCode::ALL.to_vec()),
        any::<String>().prop_map(|text| ErrorCode::from(text.as_str())),
    ];
    let who = select(vec![
        Attribution::User,
        Attribution::Provider,
        Attribution::Harness,
        Attribution::System,
    ]);
    (code, who, any::<bool>(), text()).prop_map(|(code, attribution, retryable, message)| Failure {
        code,
        attribution,
        retryable,
        message,
    })
}

fn a_proposal() -> impl Strategy<Value = ProposedCall> {
    (a_call(), text(), text(), text(), a_kind(), text()).prop_map(
        |(call, alias, name, arguments, kind, provider_id)| ProposedCall {
            call,
            alias,
            name,
            arguments,
            kind,
            provider_id,
        },
    )
}

fn a_reply() -> impl Strategy<Value = Reply> {
    let finish = prop_oneof![
        select(vec![Finish::Stop, Finish::ToolCalls, Finish::Length, Finish::ContentFilter]),
        any::<String>().prop_map(|text| Finish::from(text.as_str())),
    ];
    let head = (any::<u32>(), text(), vec(a_proposal(), 0..4), finish);
    (head, a_usage(), text(), any::<u64>(), option::of(text())).prop_map(
        |((request, text, calls, finish), usage, model, duration, opaque)| Reply {
            request: RequestNo(request),
            text,
            calls,
            finish,
            usage,
            model,
            duration_ms: Millis(duration),
            opaque,
        },
    )
}

fn a_start() -> impl Strategy<Value = RunStarted> {
    (text(), text(), any::<[u32; 3]>(), any::<[u8; 32]>(), option::of(a_run())).prop_map(
        |(input, model, [max_subagents, max_parallel, max_depth], hash, parent_run)| RunStarted {
            input,
            model,
            limits: Caps { max_subagents, max_parallel, max_depth },
            family: FamilyHash(hash),
            parent_run,
        },
    )
}

fn a_result() -> impl Strategy<Value = ToolFinished> {
    let status = select(CallStatus::ALL.to_vec());
    (a_call(), text(), status, text(), option::of(any::<u64>()), any::<u64>()).prop_map(
        |(call, name, status, text, full_size, duration)| ToolFinished {
            call,
            name,
            result: CallResult { status, text, full_size },
            duration_ms: Millis(duration),
        },
    )
}

fn a_spawn() -> impl Strategy<Value = SubagentStarted> {
    let role = select(vec![Role::Explore, Role::Task]);
    let names = (text(), text(), option::of(text()), vec(text(), 0..3));
    (any::<u32>(), role, names, a_call(), any::<u32>()).prop_map(
        |(subagent, role, (name, task, label, write_scope), for_call, depth)| SubagentStarted {
            subagent: AgentId(subagent),
            name,
            role,
            task,
            label,
            write_scope,
            for_call,
            depth,
        },
    )
}

fn an_end() -> impl Strategy<Value = RunFinished> {
    let agent = (any::<u32>(), text(), a_usage()).prop_map(|(agent, name, usage)| AgentUsage {
        agent: AgentId(agent),
        name,
        usage,
    });
    let how = (an_outcome(), a_reason(), text(), option::of(a_failure()));
    (how, a_usage(), vec(agent, 0..4), any::<u64>()).prop_map(
        |((outcome, finish_reason, text, error), usage, agents, duration)| RunFinished {
            outcome,
            finish_reason,
            text,
            error,
            usage,
            agents,
            duration_ms: Millis(duration),
        },
    )
}

/// An event of any kind, each as likely as the others.
fn an_event() -> impl Strategy<Value = Event> {
    let ending = (an_outcome(), a_reason(), text(), option::of(a_failure())).prop_map(
        |(outcome, finish_reason, reason, error)| {
            Event::Ending(Ending { outcome, finish_reason, reason, error })
        },
    );
    let report = (any::<u32>(), an_outcome(), text(), a_usage(), option::of(a_failure())).prop_map(
        |(subagent, status, summary, usage, error)| SubagentFinished {
            subagent: AgentId(subagent),
            status,
            summary,
            usage,
            error,
        },
    );
    prop_oneof![
        a_start().prop_map(Event::RunStarted),
        (any::<u32>(), any::<u64>()).prop_map(|(attempt, from)| Event::RunResumed(RunResumed {
            attempt: Attempt(attempt),
            from_offset: Offset(from),
        })),
        (text(), option::of(a_call())).prop_map(|(text, for_call)| Event::Message(Message::User(
            UserMessage { text, for_call }
        ))),
        a_reply().prop_map(|reply| Event::Message(Message::Assistant(reply))),
        (any::<u32>(), text(), any::<u32>(), any::<u64>()).prop_map(
            |(request, model, attempt_no, estimated_tokens)| {
                let request = RequestNo(request);
                Event::ModelRequest(ModelRequested { request, model, attempt_no, estimated_tokens })
            }
        ),
        (any::<u32>(), a_failure(), a_usage()).prop_map(|(request, error, usage)| {
            Event::ModelFailed(ModelFailed { request: RequestNo(request), error, usage })
        }),
        (a_call(), text(), text()).prop_map(|(call, name, arguments)| {
            Event::ToolStarted(ToolStarted { call, name, arguments })
        }),
        a_result().prop_map(Event::ToolFinished),
        a_spawn().prop_map(Event::SubagentStarted),
        report.prop_map(Event::SubagentFinished),
        ending,
        an_end().prop_map(Event::RunFinished),
    ]
}

/// Any record.
pub(super) fn record() -> impl Strategy<Value = Record> {
    let who = (a_session(), a_run(), any::<u32>(), any::<u32>());
    (who, any::<u64>(), any::<u64>(), vec(an_event(), 0..6)).prop_map(
        |((session, run, attempt, agent), at, first, events)| Record {
            session,
            run,
            attempt: Attempt(attempt),
            agent: AgentId(agent),
            at: Timestamp(at),
            first: Offset(first),
            events,
        },
    )
}

/// Any run's summary.
pub(super) fn run_summary() -> impl Strategy<Value = RunSummary> {
    (a_run(), a_session(), any::<u64>(), any::<u64>(), option::of(any::<u64>())).prop_map(
        |(run, session, first, started, finished)| RunSummary {
            run,
            session,
            first: Offset(first),
            started: Timestamp(started),
            finished: finished.map(Offset),
        },
    )
}
