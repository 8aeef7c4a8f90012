//! One event of every kind, and some that show what can be left out.

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
use kinfolk_actors::failure::{ErrorCode, Failure};
use kinfolk_actors::family::{Delivery, FamilyHash, FamilyLimits, Placement, Role};
use kinfolk_actors::id::{AgentId, AskId, Attempt, CallId, Offset, RequestNo, RunId};
use kinfolk_actors::limits::{Amount, ChildBudget, LimitKind, Limits, OnLimit};
use kinfolk_actors::money::Money;
use kinfolk_actors::policy::canonical::ArgumentDigest;
use kinfolk_actors::time::{Millis, Timestamp};
use kinfolk_actors::usage::Usage;
use uuid::Uuid;

/// At least one event of every kind.
pub(super) fn every_event() -> Vec<Event> {
    let parts = [runs(), messages(), requests(), tools(), subagents(), approvals(), questions()];
    let more = [compactions(), limits(), ends()];
    parts.into_iter().chain(more).flatten().collect()
}

fn run() -> RunId {
    RunId(Uuid::from_u128(1))
}

fn call() -> CallId {
    CallId { run: run(), agent: AgentId(2), n: 7 }
}

fn ask() -> AskId {
    AskId { run: run(), agent: AgentId(2), n: 3 }
}

fn usage() -> Usage {
    Usage { model_requests: 1, turns: 1, input_tokens: 900, output_tokens: 40, ..Usage::NONE }
}

fn failure() -> Failure {
    Failure::new(ErrorCode::ModelTimeout, "it took too long")
}

fn cents() -> Money {
    Money::from_pico(12_300_000_000)
}

fn runs() -> Vec<Event> {
    vec![
        Event::RunStarted(RunStarted {
            input: "hello".into(),
            model: "openai:m".into(),
            limits: FamilyLimits::default(),
            kind: RunKind::Request,
            family: FamilyHash([0xab; 32]),
            parent_run: None,
        }),
        Event::RunStarted(RunStarted {
            input: "hello".into(),
            model: "openai:m".into(),
            limits: FamilyLimits {
                limits: Limits::none().steps(20).cost(cents()).time(Millis(60_000)),
                on_limit: OnLimit::Interrupt,
                child_budget: ChildBudget::Mirror,
                ..FamilyLimits::default()
            },
            kind: RunKind::Queued,
            family: FamilyHash([0xab; 32]),
            parent_run: Some(run()),
        }),
        Event::RunInterrupted(RunInterrupted {
            reason: "limit".into(),
            limit: Some(LimitKind::Steps),
            resumable: true,
        }),
        Event::RunResumed(RunResumed {
            attempt: Attempt(1),
            from_offset: Offset(4),
            raised: Some(Limits::none().steps(40)),
        }),
        Event::InterruptAsked { reason: "later".into() },
    ]
}

fn messages() -> Vec<Event> {
    vec![
        Event::Message(Message::User(UserMessage::new(Source::Input, "hello"))),
        Event::Message(Message::User(UserMessage {
            text: "sub-3 is done".into(),
            source: Source::Notice,
            for_call: Some(call()),
            question: Some(ask()),
            ended: Some((Outcome::Completed, FinishReason::Completed)),
        })),
        Event::Message(Message::Assistant(Reply {
            cost: Some(Money::from_dollars(2)),
            request: RequestNo(2),
            text: "I look.".into(),
            calls: vec![ProposedCall {
                call: call(),
                alias: "c7".into(),
                name: "append_line".into(),
                arguments: r#"{"text":"a"}"#.into(),
                kind: CallKind::Tool(EffectClass::Changing),
                gate: Gate::Audit { audit: "egress".into(), default: AuditDefault::Ask },
                provider_id: "call_x".into(),
            }],
            finish: Finish::ToolCalls,
            usage: usage(),
            model: "m-2026".into(),
            duration_ms: Millis(1500),
            opaque: None,
        })),
    ]
}

fn requests() -> Vec<Event> {
    vec![
        Event::ModelRequest(ModelRequested {
            request: RequestNo(1),
            model: "openai:m".into(),
            attempt_no: 1,
            estimated_tokens: 250,
            closing: Some(LimitKind::Tokens),
            max_output: Some(800),
        }),
        Event::ModelFailed(ModelFailed {
            cost: Some(Money::from_dollars(2)),
            request: RequestNo(1),
            error: failure(),
            usage: Usage { cache_write_1h_tokens: 5, ..usage() },
        }),
    ]
}

fn tools() -> Vec<Event> {
    vec![
        Event::CallAudited(CallAudited { call: call(), intervene: true }),
        Event::ToolsActivated(ToolsActivated { tools: vec!["grep".into()] }),
        Event::ToolStarted(ToolStarted {
            call: call(),
            name: "append_line".into(),
            arguments: r#"{"text":"a"}"#.into(),
            deadline: None,
        }),
        Event::CallDeferred(CallDeferred { call: call() }),
        Event::ToolFinished(ToolFinished {
            call: call(),
            name: "append_line".into(),
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
            subagent: AgentId(3),
            name: "scout".into(),
            role: Role::Explore,
            task: "look".into(),
            label: Some("north".into()),
            write_scope: Vec::new(),
            goal: Some("hello".into()),
            context: None,
            mode: ChildMode::Background,
            delivery: Delivery::Return,
            placement: Placement::Runtime,
            for_call: call(),
            depth: 1,
        }),
        Event::SubagentFinished(SubagentFinished {
            subagent: AgentId(3),
            status: Outcome::Failed,
            summary: "nothing".into(),
            finish_reason: FinishReason::Timeout,
            usage: usage(),
            error: Some(failure()),
        }),
    ]
}

fn approvals() -> Vec<Event> {
    vec![
        Event::ApprovalRequested(ApprovalRequested {
            approval: ask(),
            subject: ApprovalSubject::Tool {
                call: call(),
                name: "append_line".into(),
                arguments: r#"{"text":"a"}"#.into(),
                digest: ArgumentDigest([0xcd; 32]),
            },
            reason: "it changes files".into(),
            deadline: Some(Timestamp(1_790_000_060_000)),
        }),
        Event::ApprovalRequested(ApprovalRequested {
            approval: ask(),
            subject: ApprovalSubject::Limit { limit: LimitKind::Cost, scope: Scope::Family },
            reason: "0.0123 USD are used".into(),
            deadline: None,
        }),
        Event::ApprovalSettled(ApprovalSettled {
            approval: ask(),
            decision: Decision::DeniedAndStop,
            by: Some("operator".into()),
            reason: Some("no".into()),
            raised: None,
        }),
        Event::ApprovalSettled(ApprovalSettled {
            approval: ask(),
            decision: Decision::Approved,
            by: None,
            reason: None,
            raised: Some(Limits::none().cost(cents())),
        }),
    ]
}

fn questions() -> Vec<Event> {
    vec![
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

fn compactions() -> Vec<Event> {
    vec![
        Event::CompactionAsked,
        Event::CompactionStarted(CompactionStarted {
            n: 1,
            trigger: Trigger::Threshold,
            tokens: 90_000,
            entries: 17,
            max_output: 4_096,
            model: "openai:s".into(),
        }),
        Event::CompactionFinished(CompactionFinished {
            cost: Some(Money::from_dollars(2)),
            n: 1,
            ok: false,
            summary: None,
            tokens_before: 90_000,
            tokens_after: 90_000,
            gained: false,
            error: Some(failure()),
            model: "openai:s".into(),
            usage: usage(),
            duration_ms: Millis(2_500),
        }),
    ]
}

fn limits() -> Vec<Event> {
    vec![
        Event::LimitWarning(LimitWarning {
            limit: LimitKind::ToolCalls,
            scope: Scope::Family,
            used: Amount::Count(5),
            of: Amount::Count(6),
        }),
        Event::LimitWarning(LimitWarning {
            limit: LimitKind::Cost,
            scope: Scope::Agent(AgentId(2)),
            used: Amount::Money(cents()),
            of: Amount::Money(Money::from_dollars(1)),
        }),
        Event::LimitReached(LimitReached {
            limit: LimitKind::Time,
            scope: Scope::Agent(AgentId::LEAD),
        }),
    ]
}

fn ends() -> Vec<Event> {
    vec![
        Event::Ending(Ending {
            outcome: Outcome::Cancelled,
            finish_reason: FinishReason::UserRequested,
            reason: "enough".into(),
            text: "".into(),
            error: None,
        }),
        Event::RunFinished(RunFinished {
            outcome: Outcome::Completed,
            finish_reason: FinishReason::BudgetCompleted,
            text: "done".into(),
            error: None,
            usage: Usage { text_input_tokens: 900, rejected_prediction_tokens: 2, ..usage() },
            cost_usd: Some(cents()),
            detail: Some("c7 could not be read".into()),
            agents: vec![AgentUsage {
                agent: AgentId::LEAD,
                name: "lead".into(),
                usage: usage(),
                cost_usd: None,
            }],
            duration_ms: Millis(60_000),
        }),
    ]
}
