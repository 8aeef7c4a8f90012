//! Approvals, questions, compactions, limits.

use kinfolk_actors::event::{
    ApprovalRequested, ApprovalSettled, ApprovalSubject, CompactionFinished, CompactionStarted,
    Event, LimitReached, LimitWarning, QuestionAnswered, QuestionAsked,
};
use kinfolk_actors::policy::canonical::ArgumentDigest;
use kinfolk_actors::time::Millis;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::parts::{
    a_call, a_failure, a_scope, a_time, a_usage, an_amount, an_ask, limits, maybe_text, money, one,
    text,
};

pub(super) fn a_request() -> impl Strategy<Value = Event> {
    let tool = (a_call(), text(), text(), any::<[u8; 32]>()).prop_map(
        |(call, name, arguments, digest)| {
            let digest = ArgumentDigest(digest);
            ApprovalSubject::Tool { call, name, arguments, digest }
        },
    );
    let subject = prop_oneof![
        tool,
        (one(), a_scope()).prop_map(|(limit, scope)| ApprovalSubject::Limit { limit, scope })
    ];
    (an_ask(), subject, text(), option::of(a_time())).prop_map(
        |(approval, subject, reason, deadline)| {
            Event::ApprovalRequested(ApprovalRequested { approval, subject, reason, deadline })
        },
    )
}

pub(super) fn a_settlement() -> impl Strategy<Value = Event> {
    (an_ask(), one(), maybe_text(), maybe_text(), option::of(limits())).prop_map(
        |(approval, decision, by, reason, raised)| {
            Event::ApprovalSettled(ApprovalSettled { approval, decision, by, reason, raised })
        },
    )
}

pub(super) fn a_question() -> impl Strategy<Value = Event> {
    (an_ask(), one(), text(), vec(text(), 0..3), option::of(a_call())).prop_map(
        |(question, kind, text, options, call)| {
            Event::QuestionAsked(QuestionAsked { question, kind, text, options, call })
        },
    )
}

pub(super) fn an_answer() -> impl Strategy<Value = Event> {
    (an_ask(), text(), maybe_text()).prop_map(|(question, answer, by)| {
        Event::QuestionAnswered(QuestionAnswered { question, answer, by })
    })
}

pub(super) fn a_withdrawal() -> impl Strategy<Value = Event> {
    an_ask().prop_map(|question| Event::QuestionWithdrawn { question })
}

pub(super) fn a_compaction() -> impl Strategy<Value = Event> {
    (any::<[u32; 2]>(), one(), any::<[u64; 2]>(), text()).prop_map(
        |([n, entries], trigger, [tokens, max_output], model)| {
            Event::CompactionStarted(CompactionStarted {
                n,
                trigger,
                tokens,
                entries,
                max_output,
                model,
            })
        },
    )
}

pub(super) fn a_summary() -> impl Strategy<Value = Event> {
    let sizes = any::<[u64; 3]>();
    let how = (any::<u32>(), any::<[bool; 2]>(), maybe_text(), option::of(a_failure()));
    (how, sizes, text(), (a_usage(), option::of(money()))).prop_map(
        |((n, [ok, gained], summary, error), [before, after, duration], model, (usage, cost))| {
            Event::CompactionFinished(CompactionFinished {
                n,
                ok,
                summary,
                tokens_before: before,
                tokens_after: after,
                gained,
                error,
                model,
                usage,
                cost,
                duration_ms: Millis(duration),
            })
        },
    )
}

pub(super) fn a_warning() -> impl Strategy<Value = Event> {
    (one(), a_scope(), an_amount(), an_amount()).prop_map(|(limit, scope, used, of)| {
        Event::LimitWarning(LimitWarning { limit, scope, used, of })
    })
}

pub(super) fn a_limit() -> impl Strategy<Value = Event> {
    (one(), a_scope()).prop_map(|(limit, scope)| Event::LimitReached(LimitReached { limit, scope }))
}
