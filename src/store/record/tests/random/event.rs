//! Random events.

use kinfolk_actors::call::{CallResult, Gate, ProposedCall};
use kinfolk_actors::event::{
    AgentUsage, CallAudited, CallDeferred, Ending, Event, Finish, Message, ModelFailed,
    ModelRequested, Reply, RunFinished, RunInterrupted, RunResumed, RunStarted, SubagentFinished,
    SubagentStarted, ToolFinished, ToolStarted, ToolsActivated, UserMessage,
};
use kinfolk_actors::family::{Caps, FamilyHash, FamilyLimits};
use kinfolk_actors::id::{AgentId, Attempt, CallId, Offset, RequestNo};
use kinfolk_actors::time::Millis;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Union;

use super::asking;
use super::parts::{
    a_call, a_failure, a_run, a_time, a_usage, an_ask, limits, maybe_limit, maybe_text, money, one,
    text,
};

/// An event of any kind, each as likely as the others.
pub(in super::super) fn an_event() -> impl Strategy<Value = Event> {
    Union::new([
        a_start().boxed(),
        a_resumption().boxed(),
        an_interruption().boxed(),
        input().boxed(),
        a_reply().boxed(),
        a_request().boxed(),
        a_failed_request().boxed(),
        a_dispatch().boxed(),
        a_result().boxed(),
        (a_call(), any::<bool>()).prop_map(audited).boxed(),
        a_call().prop_map(|call| Event::CallDeferred(CallDeferred { call })).boxed(),
        vec(text(), 0..3).prop_map(|tools| Event::ToolsActivated(ToolsActivated { tools })).boxed(),
        asking::a_request().boxed(),
        asking::a_settlement().boxed(),
        asking::a_question().boxed(),
        asking::an_answer().boxed(),
        asking::a_withdrawal().boxed(),
        Just(Event::CompactionAsked).boxed(),
        text().prop_map(|reason| Event::InterruptAsked { reason }).boxed(),
        asking::a_compaction().boxed(),
        asking::a_summary().boxed(),
        asking::a_warning().boxed(),
        asking::a_limit().boxed(),
        a_spawn().boxed(),
        a_report().boxed(),
        an_ending().boxed(),
        an_end().boxed(),
    ])
}

fn audited((call, intervene): (CallId, bool)) -> Event {
    Event::CallAudited(CallAudited { call, intervene })
}

fn a_start() -> impl Strategy<Value = Event> {
    let caps = any::<[u32; 3]>().prop_map(|[max_subagents, max_parallel, max_depth]| Caps {
        max_subagents,
        max_parallel,
        max_depth,
    });
    let limits =
        (caps, limits(), one(), one()).prop_map(|(caps, limits, on_limit, child_budget)| {
            FamilyLimits { caps, limits, on_limit, child_budget }
        });
    (text(), text(), limits, one(), any::<[u8; 32]>(), option::of(a_run())).prop_map(
        |(input, model, limits, kind, hash, parent_run)| {
            let family = FamilyHash(hash);
            Event::RunStarted(RunStarted { input, model, limits, kind, family, parent_run })
        },
    )
}

fn a_resumption() -> impl Strategy<Value = Event> {
    (any::<u32>(), any::<u64>(), option::of(limits())).prop_map(|(attempt, from, raised)| {
        let (attempt, from_offset) = (Attempt(attempt), Offset(from));
        Event::RunResumed(RunResumed { attempt, from_offset, raised })
    })
}

fn an_interruption() -> impl Strategy<Value = Event> {
    (text(), maybe_limit(), any::<bool>()).prop_map(|(reason, limit, resumable)| {
        Event::RunInterrupted(RunInterrupted { reason, limit, resumable })
    })
}

fn input() -> impl Strategy<Value = Event> {
    let ended = option::of((one(), one()));
    (text(), one(), option::of(a_call()), option::of(an_ask()), ended).prop_map(
        |(text, source, for_call, question, ended)| {
            Event::Message(Message::User(UserMessage { text, source, for_call, question, ended }))
        },
    )
}

fn a_gate() -> impl Strategy<Value = Gate> {
    prop_oneof![
        Just(Gate::Pass),
        text().prop_map(Gate::Ask),
        (text(), one()).prop_map(|(audit, default)| Gate::Audit { audit, default }),
        text().prop_map(Gate::Block),
    ]
}

fn a_proposal() -> impl Strategy<Value = ProposedCall> {
    (a_call(), text(), text(), text(), one(), a_gate(), text()).prop_map(
        |(call, alias, name, arguments, kind, gate, provider_id)| ProposedCall {
            call,
            alias,
            name,
            arguments,
            kind,
            gate,
            provider_id,
        },
    )
}

fn a_reply() -> impl Strategy<Value = Event> {
    let finish = prop_oneof![
        select(vec![Finish::Stop, Finish::ToolCalls, Finish::Length, Finish::ContentFilter]),
        any::<String>().prop_map(|text| Finish::from(text.as_str())),
    ];
    let head = (any::<u32>(), text(), vec(a_proposal(), 0..4), finish);
    let used = (a_usage(), option::of(money()));
    (head, used, text(), any::<u64>(), maybe_text()).prop_map(
        |((request, text, calls, finish), (usage, cost), model, duration, opaque)| {
            Event::Message(Message::Assistant(Reply {
                request: RequestNo(request),
                text,
                calls,
                finish,
                usage,
                cost,
                model,
                duration_ms: Millis(duration),
                opaque,
            }))
        },
    )
}

fn a_request() -> impl Strategy<Value = Event> {
    let bounds = (maybe_limit(), option::of(any::<u64>()));
    (any::<[u32; 2]>(), text(), any::<u64>(), bounds).prop_map(
        |([request, attempt_no], model, estimated_tokens, (closing, max_output))| {
            Event::ModelRequest(ModelRequested {
                request: RequestNo(request),
                model,
                attempt_no,
                estimated_tokens,
                closing,
                max_output,
            })
        },
    )
}

fn a_failed_request() -> impl Strategy<Value = Event> {
    let used = (a_usage(), option::of(money()));
    (any::<u32>(), a_failure(), used).prop_map(|(request, error, (usage, cost))| {
        Event::ModelFailed(ModelFailed { request: RequestNo(request), error, usage, cost })
    })
}

fn a_dispatch() -> impl Strategy<Value = Event> {
    (a_call(), text(), text(), option::of(a_time())).prop_map(
        |(call, name, arguments, deadline)| {
            Event::ToolStarted(ToolStarted { call, name, arguments, deadline })
        },
    )
}

fn a_result() -> impl Strategy<Value = Event> {
    let result = (one(), text(), option::of(any::<u64>()))
        .prop_map(|(status, text, full_size)| CallResult { status, text, full_size });
    (a_call(), text(), result, any::<u64>()).prop_map(|(call, name, result, duration)| {
        Event::ToolFinished(ToolFinished { call, name, result, duration_ms: Millis(duration) })
    })
}

fn a_spawn() -> impl Strategy<Value = Event> {
    let words = (text(), text(), maybe_text(), vec(text(), 0..3), maybe_text(), maybe_text());
    let ways = (one(), one(), one(), one());
    (any::<[u32; 2]>(), words, ways, a_call()).prop_map(
        |(
            [subagent, depth],
            (name, task, label, write_scope, goal, context),
            (role, mode, delivery, placement),
            for_call,
        )| {
            Event::SubagentStarted(SubagentStarted {
                subagent: AgentId(subagent),
                name,
                role,
                task,
                label,
                write_scope,
                goal,
                context,
                mode,
                delivery,
                placement,
                for_call,
                depth,
            })
        },
    )
}

fn a_report() -> impl Strategy<Value = Event> {
    (any::<u32>(), one(), text(), one(), a_usage(), option::of(a_failure())).prop_map(
        |(subagent, status, summary, finish_reason, usage, error)| {
            let subagent = AgentId(subagent);
            Event::SubagentFinished(SubagentFinished {
                subagent,
                status,
                summary,
                finish_reason,
                usage,
                error,
            })
        },
    )
}

fn an_ending() -> impl Strategy<Value = Event> {
    (one(), one(), text(), text(), option::of(a_failure())).prop_map(
        |(outcome, finish_reason, reason, text, error)| {
            Event::Ending(Ending { outcome, finish_reason, reason, text, error })
        },
    )
}

fn an_end() -> impl Strategy<Value = Event> {
    let agent = (any::<u32>(), text(), a_usage(), option::of(money())).prop_map(
        |(agent, name, usage, cost_usd)| AgentUsage {
            agent: AgentId(agent),
            name,
            usage,
            cost_usd,
        },
    );
    let how = (one(), one(), text(), option::of(a_failure()), maybe_text());
    (how, a_usage(), option::of(money()), vec(agent, 0..4), any::<u64>()).prop_map(
        |((outcome, finish_reason, text, error, detail), usage, cost_usd, agents, duration)| {
            Event::RunFinished(RunFinished {
                outcome,
                finish_reason,
                text,
                error,
                usage,
                cost_usd,
                detail,
                agents,
                duration_ms: Millis(duration),
            })
        },
    )
}
