//! What `record-v2.bin` holds: every kind of event with every optional part there, and every way
//! in which an event's part can be.

use kinfolk_actors::budget::account::Scope;
use kinfolk_actors::call::{
    AuditDefault, CallKind, CallResult, CallStatus, EffectClass, Gate, ProposedCall,
};
use kinfolk_actors::compaction::Trigger;
use kinfolk_actors::event::{
    AgentUsage, ApprovalRequested, ApprovalSettled, ApprovalSubject, CallAudited, CallDeferred,
    ChildMode, CompactionFinished, CompactionStarted, Decision, Ending, Event, Finish,
    FinishReason, LimitReached, LimitWarning, Message, ModelFailed, ModelRequested, Outcome,
    QuestionAnswered, QuestionAsked, QuestionKind, Reply, RunFinished, RunInterrupted, RunKind,
    RunResumed, RunStarted, Source, SubagentFinished, SubagentStarted, ToolFinished, ToolStarted,
    ToolsActivated, UserMessage,
};
use kinfolk_actors::family::{Caps, Delivery, FamilyHash, FamilyLimits, Placement, Role};
use kinfolk_actors::id::{AgentId, AskId, Attempt, Offset, RequestNo, RunId};
use kinfolk_actors::limits::{Amount, ChildBudget, LimitKind, Limits, OnLimit};
use kinfolk_actors::money::Money;
use kinfolk_actors::policy::canonical::ArgumentDigest;
use kinfolk_actors::time::{Millis, Timestamp};
use kinfolk_actors::usage::Usage;
use uuid::Uuid;

use super::{call, failure, run};

/// At least one event of every kind.
pub(in super::super) fn every_event() -> Vec<Event> {
    let parts = [starts(), requests(), tools(), subagents(), asking(), compacting(), ends()];
    parts.into_iter().flatten().collect()
}

fn ask() -> AskId {
    AskId { run: run(), agent: AgentId(1), n: 4 }
}

fn limits() -> Limits {
    Limits::none().steps(1).tool_calls(2).tokens(300).cost(money()).time(Millis(70_000))
}

fn money() -> Money {
    Money::from_pico(1_500_000_000_001)
}

/// Each kind has a count of its own.
fn usage() -> Usage {
    Usage {
        model_requests: 1,
        turns: 2,
        tool_calls: 3,
        input_tokens: 4,
        output_tokens: 5,
        cached_input_tokens: 6,
        reasoning_tokens: 7,
        cache_write_5m_tokens: 8,
        cache_write_1h_tokens: 9,
        cache_miss_input_tokens: 10,
        provider_tool_input_tokens: 11,
        text_input_tokens: 12,
        image_input_tokens: 13,
        audio_input_tokens: 14,
        video_input_tokens: 15,
        text_output_tokens: 16,
        image_output_tokens: 17,
        audio_output_tokens: 18,
        video_output_tokens: 19,
        accepted_prediction_tokens: 20,
        rejected_prediction_tokens: 70_000,
    }
}

fn starts() -> Vec<Event> {
    vec![
        Event::RunStarted(RunStarted {
            input: "Plan a weekend".into(),
            model: "openai:m".into(),
            limits: FamilyLimits {
                caps: Caps { max_subagents: 7, max_parallel: 4, max_depth: 2 },
                limits: limits(),
                on_limit: OnLimit::Ask,
                child_budget: ChildBudget::Grant,
            },
            kind: RunKind::Queued,
            family: FamilyHash(std::array::from_fn(|at| u8::try_from(at * 8).unwrap())),
            parent_run: Some(RunId(Uuid::from_u128(5))),
        }),
        Event::RunInterrupted(RunInterrupted {
            reason: "the limit of steps".into(),
            limit: Some(LimitKind::Steps),
            resumable: true,
        }),
        Event::RunResumed(RunResumed {
            attempt: Attempt(2),
            from_offset: Offset(8),
            raised: Some(limits()),
        }),
        Event::Message(Message::User(UserMessage {
            text: "sub-2 is done".into(),
            source: Source::Notice,
            for_call: Some(call()),
            question: Some(ask()),
            ended: Some((Outcome::PartialSuccess, FinishReason::BudgetCompleted)),
        })),
        Event::InterruptAsked { reason: "later".into() },
    ]
}

fn requests() -> Vec<Event> {
    let gates = [
        Gate::Pass,
        Gate::Ask("it writes".into()),
        Gate::Audit { audit: "egress".into(), default: AuditDefault::Ask },
        Gate::Block("blacklist".into()),
    ];
    let calls = gates.into_iter().map(|gate| ProposedCall {
        call: call(),
        alias: "c300".into(),
        name: "read_file".into(),
        arguments: r#"{"path":"a"}"#.into(),
        kind: CallKind::Client(EffectClass::Reconcilable),
        gate,
        provider_id: "call_x".into(),
    });
    vec![
        Event::ModelRequest(ModelRequested {
            request: RequestNo(1),
            model: "openai:m".into(),
            attempt_no: 1,
            estimated_tokens: 251,
            closing: Some(LimitKind::Cost),
            max_output: Some(8_192),
        }),
        Event::ModelFailed(ModelFailed {
            request: RequestNo(1),
            error: failure(),
            usage: usage(),
            cost: Some(money()),
        }),
        Event::Message(Message::Assistant(Reply {
            cost: Some(money()),
            request: RequestNo(2),
            text: "I look.".into(),
            calls: calls.collect(),
            finish: Finish::Other("paused".into()),
            usage: usage(),
            model: "m-2026".into(),
            duration_ms: Millis(1500),
            opaque: Some("[]".into()),
        })),
    ]
}

fn tools() -> Vec<Event> {
    vec![
        Event::CallAudited(CallAudited { call: call(), intervene: true }),
        Event::ToolsActivated(ToolsActivated { tools: vec!["grep".into(), "list".into()] }),
        Event::ToolStarted(ToolStarted {
            call: call(),
            name: "read_file".into(),
            arguments: r#"{"path":"a"}"#.into(),
            deadline: Some(Timestamp(1_790_000_060_000)),
        }),
        Event::CallDeferred(CallDeferred { call: call() }),
        Event::ToolFinished(ToolFinished {
            call: call(),
            name: "read_file".into(),
            result: CallResult {
                status: CallStatus::UnknownOutcome,
                text: "?".into(),
                full_size: Some(99_999),
            },
            duration_ms: Millis(3),
        }),
    ]
}

fn subagents() -> Vec<Event> {
    vec![
        Event::SubagentStarted(SubagentStarted {
            subagent: AgentId(2),
            name: "scout".into(),
            role: Role::Task,
            task: "look".into(),
            label: Some("north".into()),
            write_scope: vec!["src".into(), "docs".into()],
            goal: Some("Plan a weekend".into()),
            context: Some("So far: nothing.".into()),
            mode: ChildMode::Background,
            delivery: Delivery::Return,
            placement: Placement::Client,
            for_call: call(),
            depth: 1,
        }),
        Event::SubagentFinished(SubagentFinished {
            subagent: AgentId(2),
            status: Outcome::PartialSuccess,
            summary: "half".into(),
            finish_reason: FinishReason::Timeout,
            usage: usage(),
            error: Some(failure()),
        }),
    ]
}

fn asking() -> Vec<Event> {
    let requested = |subject| {
        Event::ApprovalRequested(ApprovalRequested {
            approval: ask(),
            subject,
            reason: "it writes".into(),
            deadline: Some(Timestamp(1_790_000_090_000)),
        })
    };
    vec![
        requested(ApprovalSubject::Tool {
            call: call(),
            name: "append".into(),
            arguments: r#"{"text":"a"}"#.into(),
            digest: ArgumentDigest(std::array::from_fn(|at| u8::try_from(at * 7).unwrap())),
        }),
        requested(ApprovalSubject::Limit {
            limit: LimitKind::Tokens,
            scope: Scope::Agent(AgentId::LEAD),
        }),
        Event::ApprovalSettled(ApprovalSettled {
            approval: ask(),
            decision: Decision::DeniedAndStop,
            by: Some("operator".into()),
            reason: Some("no".into()),
            raised: Some(limits()),
        }),
        Event::QuestionAsked(QuestionAsked {
            question: ask(),
            kind: QuestionKind::Choice,
            text: "By train?".into(),
            options: vec!["yes".into(), "no".into()],
            call: Some(call()),
        }),
        Event::QuestionAnswered(QuestionAnswered {
            question: ask(),
            answer: "yes".into(),
            by: Some("operator".into()),
        }),
        Event::QuestionWithdrawn { question: ask() },
    ]
}

fn compacting() -> Vec<Event> {
    vec![
        Event::CompactionAsked,
        Event::CompactionStarted(CompactionStarted {
            n: 1,
            trigger: Trigger::Overflow,
            tokens: 90_000,
            entries: 17,
            max_output: 4_096,
            model: "openai:s".into(),
        }),
        Event::CompactionFinished(CompactionFinished {
            cost: Some(money()),
            n: 1,
            ok: true,
            summary: Some("They plan a weekend.".into()),
            tokens_before: 90_000,
            tokens_after: 9_000,
            gained: true,
            error: Some(failure()),
            model: "openai:s".into(),
            usage: usage(),
            duration_ms: Millis(2_500),
        }),
    ]
}

fn ends() -> Vec<Event> {
    vec![
        Event::LimitWarning(LimitWarning {
            limit: LimitKind::ToolCalls,
            scope: Scope::Family,
            used: Amount::Count(5),
            of: Amount::Count(6),
        }),
        Event::LimitWarning(LimitWarning {
            limit: LimitKind::Cost,
            scope: Scope::Agent(AgentId(1)),
            used: Amount::Money(Money::from_dollars(1)),
            of: Amount::Money(money()),
        }),
        Event::LimitReached(LimitReached {
            limit: LimitKind::Time,
            scope: Scope::Agent(AgentId(1)),
        }),
        Event::Ending(Ending {
            outcome: Outcome::Cancelled,
            finish_reason: FinishReason::UserRequested,
            reason: "enough".into(),
            text: "So far".into(),
            error: Some(failure()),
        }),
        Event::RunFinished(RunFinished {
            outcome: Outcome::Failed,
            finish_reason: FinishReason::LoopDetected,
            text: "no".into(),
            error: Some(failure()),
            usage: usage(),
            cost_usd: Some(money()),
            detail: Some("c7 could not be read".into()),
            agents: vec![AgentUsage {
                agent: AgentId::LEAD,
                name: "lead".into(),
                usage: usage(),
                cost_usd: Some(money()),
            }],
            duration_ms: Millis(60_000),
        }),
    ]
}
