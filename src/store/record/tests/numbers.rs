//! The numbers that stand in stored bytes, written out: none of them ever changes.

use super::number::Numbered;
use super::*;

use kinfolk_actors::call::{AuditDefault, CallKind, CallStatus};
use kinfolk_actors::compaction::Trigger;
use kinfolk_actors::event::{
    ChildMode, Decision, FinishReason, Outcome, QuestionKind, RunKind, Source,
};
use kinfolk_actors::failure::Attribution;
use kinfolk_actors::family::{Delivery, Placement, Role};
use kinfolk_actors::limits::{ChildBudget, LimitKind, OnLimit};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use super::event::EntryV2;

/// The public names of an enum's values with their numbers, and the first number that is free.
fn numbers<T: Numbered + Clone + Serialize>() -> String {
    let mut text = String::new();
    for value in T::all() {
        let number = value.clone().number();
        let name = serde_json::to_string(&value).unwrap().replace('"', "");
        let again = T::of(number).map(|value| serde_json::to_string(&value).unwrap());
        assert_eq!(again, Ok(serde_json::to_string(&value).unwrap()));
        text.push_str(&format!("{number} {name}, "));
    }
    let free = u32::try_from(T::all().len()).unwrap();
    assert!(matches!(T::of(free), Err(Unreadable::Number { number, .. }) if number == free));
    text
}

#[test]
fn numbers_of_enums_never_change() {
    let table = [
        (numbers::<Outcome>(), "0 completed, 1 partial_success, 2 cancelled, 3 failed, "),
        (
            numbers::<FinishReason>(),
            "0 completed, 1 user_requested, 2 user_aborted, 3 max_steps_exceeded, \
             4 max_steps_completed, 5 cost_limit_exceeded, 6 timeout, 7 agent_decision, \
             8 queued_message_interrupt, 9 error_recovery, 10 system_shutdown, \
             11 budget_completed, 12 loop_detected, ",
        ),
        (
            numbers::<CallStatus>(),
            "0 ok, 1 error, 2 timeout, 3 cancelled, 4 denied, 5 blocked, 6 malformed, \
             7 unknown_tool, 8 unknown_outcome, 9 limit, ",
        ),
        (
            numbers::<CallKind>(),
            "0 {tool:read_only}, 1 {tool:idempotent}, 2 {tool:reconcilable}, 3 {tool:changing}, \
             4 subagent, 5 invalid, 6 {client:read_only}, 7 {client:idempotent}, \
             8 {client:reconcilable}, 9 {client:changing}, 10 client_subagent, 11 spawn, \
             12 wait, 13 tell, 14 stop, 15 ask_user, 16 ask_parent, 17 return, ",
        ),
        (numbers::<Role>(), "0 explore, 1 task, "),
        (numbers::<Attribution>(), "0 user, 1 provider, 2 harness, 3 system, "),
        (numbers::<AuditDefault>(), "0 never, 1 ask, "),
        (numbers::<RunKind>(), "0 request, 1 queued, 2 compact, "),
        (
            numbers::<Source>(),
            "0 input, 1 guidance, 2 queued, 3 notice, 4 question, 5 hint, 6 virtual, ",
        ),
        (
            numbers::<Decision>(),
            "0 approved, 1 denied, 2 denied_and_stop, 3 expired, 4 withdrawn, ",
        ),
        (numbers::<QuestionKind>(), "0 text, 1 choice, 2 parent, "),
        (numbers::<ChildMode>(), "0 foreground, 1 background, "),
        (numbers::<Delivery>(), "0 answer, 1 return, "),
        (numbers::<Placement>(), "0 runtime, 1 client, "),
        (numbers::<Trigger>(), "0 threshold, 1 overflow, 2 manual, "),
        (numbers::<LimitKind>(), "0 steps, 1 tool_calls, 2 tokens, 3 cost, 4 time, "),
        (numbers::<OnLimit>(), "0 finish, 1 stop, 2 interrupt, 3 ask, 4 warn, "),
        (numbers::<ChildBudget>(), "0 share, 1 grant, 2 mirror, "),
    ];
    for (today, fixed) in table {
        assert_eq!(today, fixed);
    }
}

/// A kind of event is stored as its place among the variants.
#[test]
fn numbers_of_events_never_change() {
    for event in samples::v2::every_event() {
        let entry = EntryV2::from(&event);
        let bytes = bincode::serde::encode_to_vec(&entry, bincode::config::standard()).unwrap();
        assert_eq!(usize::from(bytes[0]), samples::kind_of(&event), "{event:?}");
    }
}

/// The laws about random records are about every kind.
#[test]
fn random_events_are_of_every_kind() {
    let mut runner = TestRunner::deterministic();
    let events = super::random::an_event();
    let mut times = [0; samples::KINDS];
    for _ in 0..samples::KINDS * 50 {
        times[samples::kind_of(&events.new_tree(&mut runner).unwrap().current())] += 1;
    }
    assert!(times.iter().all(|times| *times >= 10), "{times:?}");
}

#[test]
fn numbers_of_usage_never_change() {
    use kinfolk_actors::usage::Usage;
    let names = [
        "model_requests",
        "turns",
        "tool_calls",
        "input_tokens",
        "output_tokens",
        "cached_input_tokens",
        "reasoning_tokens",
        "cache_write_5m_tokens",
        "cache_write_1h_tokens",
        "cache_miss_input_tokens",
        "provider_tool_input_tokens",
        "text_input_tokens",
        "image_input_tokens",
        "audio_input_tokens",
        "video_input_tokens",
        "text_output_tokens",
        "image_output_tokens",
        "audio_output_tokens",
        "video_output_tokens",
        "accepted_prediction_tokens",
        "rejected_prediction_tokens",
    ];
    for (number, name) in (0_u32..).zip(names) {
        let usage = Usage::from(super::parts::UsageV1(vec![(number, 5)]));
        let json = serde_json::to_value(usage).unwrap();
        assert_eq!(json[name], 5, "{name} is not number {number}");
    }
}
