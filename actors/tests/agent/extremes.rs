//! Numbers as large as they can be, wherever a model, a provider or a tool gives one: nothing
//! overflows.

use kinfolk_actors::agent::{Key, Outcome, RawReply, Timer};
use kinfolk_actors::call::CallStatus;
use kinfolk_actors::failure::ErrorCode;
use kinfolk_actors::family::WAIT_SUBAGENTS;
use kinfolk_actors::machine::Demand;
use kinfolk_actors::time::{Millis, Timestamp};
use kinfolk_actors::usage::Usage;

use crate::bench::Bench;
use crate::fixture::*;

const MOST: Usage = Usage {
    turns: u64::MAX,
    model_requests: u64::MAX,
    input_tokens: u64::MAX,
    output_tokens: u64::MAX,
    tool_calls: u64::MAX,
    ..Usage::NONE
};

fn most(calls: Vec<kinfolk_actors::agent::RawCall>) -> RawReply {
    RawReply { usage: MOST, duration: Millis(u64::MAX), ..reply("", calls) }
}

#[test]
fn the_longest_wait_for_subagents_ends_with_the_clock() {
    let wait = raw_call(WAIT_SUBAGENTS, r#"{"timeout":18446744073709551615}"#);
    let spawn = raw_call("spawn_subagent", r#"{"agent":"scout","task":"t"}"#);
    let lead = Bench::lead(full()).given(&[start("go"), calls(1, vec![spawn, wait])]);
    let timers: Vec<_> = lead
        .outstanding()
        .into_iter()
        .filter(|(key, _)| *key == Key::Timer(Timer::Call(id(1))))
        .collect();
    let [(_, Demand::Run(kinfolk_actors::agent::Work::Timer { at, .. }))] = timers.as_slice()
    else {
        panic!("{timers:?}");
    };
    assert_eq!(*at, Some(Timestamp(u64::MAX)));
}

#[test]
fn the_largest_counts_of_a_provider_and_a_tool_are_taken() {
    let mut lead = Bench::lead(full()).given(&[start("go")]);
    lead.take(&replied(1, most(vec![raw_call("look", "{}")]))).unwrap();
    let duration = Millis(u64::MAX);
    let outcome = Outcome::Tool { status: CallStatus::Ok, text: "r".into(), duration };
    lead.take(&settle(Key::Tool(id(0)), outcome)).unwrap();
    // No history is smaller than that.
    assert_eq!(lead.finished().error.unwrap().code, ErrorCode::ContextFull);
}
