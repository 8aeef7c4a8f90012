//! The parts that many events have.

use std::fmt::Debug;
use std::sync::Arc;

use kinfolk_actors::budget::account::Scope;
use kinfolk_actors::failure::{ErrorCode, Failure};
use kinfolk_actors::id::{AgentId, AskId, CallId, RunId};
use kinfolk_actors::limits::{Amount, LimitKind, Limits};
use kinfolk_actors::money::Money;
use kinfolk_actors::time::{Millis, Timestamp};
use kinfolk_actors::usage::Usage;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use uuid::Uuid;

use crate::store::record::number::Numbered;

/// Any value of an enum that is stored as a number.
pub(super) fn one<T: Numbered + Clone + Debug + 'static>() -> impl Strategy<Value = T> {
    select(T::all())
}

pub(super) fn text() -> impl Strategy<Value = Arc<str>> {
    any::<String>().prop_map(Arc::from)
}

pub(super) fn maybe_text() -> impl Strategy<Value = Option<Arc<str>>> {
    option::of(text())
}

pub(super) fn a_run() -> impl Strategy<Value = RunId> {
    any::<u128>().prop_map(|number| RunId(Uuid::from_u128(number)))
}

pub(super) fn a_call() -> impl Strategy<Value = CallId> {
    (a_run(), any::<u32>(), any::<u32>()).prop_map(|(run, agent, n)| CallId {
        run,
        agent: AgentId(agent),
        n,
    })
}

pub(super) fn an_ask() -> impl Strategy<Value = AskId> {
    a_call().prop_map(|CallId { run, agent, n }| AskId { run, agent, n })
}

pub(super) fn a_time() -> impl Strategy<Value = Timestamp> {
    any::<u64>().prop_map(Timestamp)
}

pub(super) fn money() -> impl Strategy<Value = Money> {
    any::<u64>().prop_map(Money::from_pico)
}

/// Every count is nothing as often as not.
pub(super) fn a_usage() -> impl Strategy<Value = Usage> {
    let count = prop_oneof![Just(0_u64), any::<u64>()];
    proptest::collection::vec(count, 21).prop_map(|counts| Usage {
        model_requests: counts[0],
        turns: counts[1],
        tool_calls: counts[2],
        input_tokens: counts[3],
        output_tokens: counts[4],
        cached_input_tokens: counts[5],
        reasoning_tokens: counts[6],
        cache_write_5m_tokens: counts[7],
        cache_write_1h_tokens: counts[8],
        cache_miss_input_tokens: counts[9],
        provider_tool_input_tokens: counts[10],
        text_input_tokens: counts[11],
        image_input_tokens: counts[12],
        audio_input_tokens: counts[13],
        video_input_tokens: counts[14],
        text_output_tokens: counts[15],
        image_output_tokens: counts[16],
        audio_output_tokens: counts[17],
        video_output_tokens: counts[18],
        accepted_prediction_tokens: counts[19],
        rejected_prediction_tokens: counts[20],
    })
}

pub(super) fn a_failure() -> impl Strategy<Value = Failure> {
    let code = prop_oneof![
        select(ErrorCode::ALL.to_vec()),
        any::<String>().prop_map(|text| ErrorCode::from(text.as_str())),
    ];
    (code, one(), any::<bool>(), text()).prop_map(|(code, attribution, retryable, message)| {
        Failure { code, attribution, retryable, message }
    })
}

pub(super) fn limits() -> impl Strategy<Value = Limits> {
    let amount = || option::of(any::<u64>());
    let counts = (amount(), amount(), amount());
    (counts, option::of(money()), amount()).prop_map(
        |((max_steps, max_tool_calls, max_tokens), max_cost, time)| Limits {
            max_steps,
            max_tool_calls,
            max_tokens,
            max_cost,
            max_time: time.map(Millis),
        },
    )
}

pub(super) fn maybe_limit() -> impl Strategy<Value = Option<LimitKind>> {
    option::of(one())
}

pub(super) fn an_amount() -> impl Strategy<Value = Amount> {
    prop_oneof![any::<u64>().prop_map(Amount::Count), money().prop_map(Amount::Money)]
}

pub(super) fn a_scope() -> impl Strategy<Value = Scope> {
    prop_oneof![Just(Scope::Family), any::<u32>().prop_map(|n| Scope::Agent(AgentId(n)))]
}
