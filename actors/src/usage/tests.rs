//! Sums, their text, and the tally of a family.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::call::CallStatus;
use crate::cost::Cost;
use crate::money::Money;
use crate::time::Millis;

fn tokens(input_tokens: u64, output_tokens: u64) -> Usage {
    Usage { model_requests: 1, input_tokens, output_tokens, ..Usage::NONE }
}

#[test]
fn the_seven_public_counts_are_always_written_and_the_others_if_they_are_used() {
    let seven = r#"{"model_requests":0,"turns":0,"tool_calls":0,"input_tokens":0,"output_tokens":0,"cached_input_tokens":0,"reasoning_tokens":0}"#;
    assert_eq!(serde_json::to_string(&Usage::NONE).unwrap(), seven);
    assert_eq!(serde_json::from_str::<Usage>(seven).unwrap(), Usage::default());
    let cached = Usage { cache_write_1h_tokens: 3, ..Usage::NONE };
    let text = serde_json::to_string(&cached).unwrap();
    assert_eq!(text, seven.replace('}', r#","cache_write_1h_tokens":3}"#));
    assert_eq!(serde_json::from_str::<Usage>(&text).unwrap(), cached);
}

#[test]
fn every_kind_is_added_and_none_wraps() {
    let counts: Vec<u64> = (1..=21).collect();
    let names = Vec::from_iter(all_kinds(&counts).as_object().unwrap().keys().cloned());
    assert_eq!(names.iter().filter(|name| name.ends_with("_tokens")).count(), 18);
    let one: Usage = serde_json::from_value(all_kinds(&counts)).unwrap();
    let doubled = counts.iter().map(|count| 2 * count).collect::<Vec<u64>>();
    let two: Usage = serde_json::from_value(all_kinds(&doubled)).unwrap();
    let mut sum = one;
    sum.add(&one);
    assert_eq!(sum, two);
    let most: Usage = serde_json::from_value(all_kinds(&[u64::MAX; 21])).unwrap();
    sum.add(&most);
    assert_eq!((sum, sum.total_tokens()), (most, u64::MAX));
}

/// Each count under its name, so that a test need not spell them all.
fn all_kinds(counts: &[u64]) -> serde_json::Value {
    let names = "model_requests turns tool_calls input_tokens output_tokens cached_input_tokens \
         reasoning_tokens cache_write_5m_tokens cache_write_1h_tokens cache_miss_input_tokens \
         provider_tool_input_tokens text_input_tokens image_input_tokens audio_input_tokens \
         video_input_tokens text_output_tokens image_output_tokens audio_output_tokens \
         video_output_tokens accepted_prediction_tokens rejected_prediction_tokens";
    names.split_whitespace().zip(counts).map(|(name, count)| (name.to_owned(), *count)).collect()
}

#[test]
fn e06_the_total_holds_every_agent_the_failed_one_too() {
    let (big, small): (Arc<str>, Arc<str>) = ("a:big".into(), "a:small".into());
    let agents = [(&big, 100, 10), (&small, 200, 20), (&small, 300, 30), (&big, 40, 4)];
    let mut family = Tally::default();
    for (model, input, output) in agents {
        let mut agent = Tally::default();
        agent.count_request(model, &tokens(input, output), Some(Money::from_pico(input)));
        family.add(&agent);
    }
    let sums = |input, output, requests| ModelTally {
        requests,
        usage: Usage { model_requests: requests, ..tokens(input, output) },
        cost: Cost::of(0, Some(Money::from_pico(input))),
    };
    let models = BTreeMap::from([(big, sums(140, 14, 2)), (small, sums(500, 50, 2))]);
    assert_eq!(family, Tally { models, ..Tally::default() });
    assert_eq!(family.usage(), Usage { model_requests: 4, ..tokens(640, 64) });
    assert_eq!(family.cost().known(), Some(Money::from_pico(640)));
    let text = serde_json::to_string(&family).unwrap();
    assert_eq!(serde_json::from_str::<Tally>(&text).unwrap(), family);
}

#[test]
fn tools_and_people_are_counted_by_what_they_did() {
    let (look, write): (Arc<str>, Arc<str>) = ("look".into(), "write".into());
    let mut tally = Tally::default();
    tally.count_call(&look, CallStatus::Ok, Millis(5), Money::from_pico(2));
    tally.count_call(&look, CallStatus::Timeout, Millis(7), Money::from_pico(1));
    tally.count_call(&write, CallStatus::Denied, Millis(0), Money::ZERO);
    tally.count_wait(Wait::Approval, Millis(1_000));
    tally.count_wait(Wait::Question, Millis(20));
    let sums = |calls, errors, time, pico| ToolTally {
        calls,
        errors,
        time_ms: Millis(time),
        cost: Money::from_pico(pico),
    };
    let expected = Tally {
        models: BTreeMap::new(),
        tools: BTreeMap::from([(look, sums(2, 1, 12, 3)), (write, sums(1, 1, 0, 0))]),
        human: Human { approvals: 1, questions: 1, wait_ms: Millis(1_020) },
    };
    assert_eq!(tally, expected);
    assert_eq!(tally.tool_sums(), sums(3, 2, 12, 3));
    assert_eq!(tally.cost().known(), Some(Money::from_pico(3)));
}

#[test]
fn one_model_without_a_price_makes_the_whole_cost_unknown() {
    let mut tally = Tally::default();
    tally.count_request(&"a:priced".into(), &tokens(1, 1), Some(Money::from_pico(9)));
    tally.count_request(&"b:silent".into(), &tokens(0, 0), None);
    assert_eq!(tally.cost().known(), Some(Money::from_pico(9)), "it used no token");
    tally.count_request(&"b:silent".into(), &tokens(2, 3), None);
    let cost = tally.cost();
    assert_eq!(cost, Cost { priced: Money::from_pico(9), unpriced_tokens: 5 });
    assert_eq!(cost.known(), None);
}

/// One thing that a tally counts.
fn entry() -> impl Strategy<Value = Tally> {
    let request = (0..3u8, 0..50u64, proptest::option::of(0..9u64));
    let call = (0..3u8, 0..9u64);
    (request, call, any::<bool>()).prop_map(|((model, input, price), (tool, time), asked)| {
        let mut tally = Tally::default();
        let price = price.map(Money::from_pico);
        tally.count_request(&format!("m:{model}").into(), &tokens(input, 1), price);
        let tool: Arc<str> = format!("t{tool}").into();
        tally.count_call(&tool, CallStatus::Ok, Millis(time), Money::from_pico(time));
        tally.count_wait(if asked { Wait::Question } else { Wait::Approval }, Millis(time));
        tally
    })
}

proptest! {
    #![proptest_config(crate::laws::cases(10_000))]

    #[test]
    fn the_order_of_merging_does_not_matter(
        (entries, shuffled) in proptest::collection::vec(entry(), 0..12)
            .prop_flat_map(|entries| (Just(entries.clone()), Just(entries).prop_shuffle())),
        cut in 0..12usize,
    ) {
        let merge = |entries: &[Tally]| entries.iter().fold(Tally::default(), |mut sum, entry| {
            sum.add(entry);
            sum
        });
        let (first, second) = shuffled.split_at(cut.min(shuffled.len()));
        let mut parts = merge(first);
        parts.add(&merge(second));
        prop_assert_eq!(parts, merge(&entries));
    }
}
