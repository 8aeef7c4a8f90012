//! The order in which the calls of one reply run: reads together, changes one at a time, subagents
//! last.

use kinfolk_actors::agent::Key;
use kinfolk_actors::call::{CallKind, CallStatus};
use kinfolk_actors::id::AgentId;

use crate::bench::{Bench, has_at_work};
use crate::fixture::*;

fn tools(numbers: impl IntoIterator<Item = u32>) -> Vec<Key> {
    numbers.into_iter().map(|n| Key::Tool(id(n))).collect()
}

#[test]
fn at_most_eight_reads_run_at_once_and_the_next_begins_when_one_ends() {
    let look = |n: u32| raw_call("look", &format!("{{\"n\":{n}}}"));
    let looks = (0..10).map(look).collect();
    let mut lead = Bench::lead(family()).given(&[start("go"), calls(1, looks)]);
    assert_eq!(lead.keys(), tools(0..8));
    lead.take(&done(id(5), "r")).unwrap();
    assert_eq!(lead.keys(), tools([0, 1, 2, 3, 4, 6, 7, 8]));
    lead.take(&done(id(0), "r")).unwrap();
    assert_eq!(lead.keys(), tools([1, 2, 3, 4, 6, 7, 8, 9]));
    lead.take(&done(id(9), "r")).unwrap();
    assert_eq!(lead.keys(), tools([1, 2, 3, 4, 6, 7, 8]));
}

#[test]
fn a_change_waits_for_what_stands_before_it_and_holds_back_what_stands_after_it() {
    let names = ["look", "write", "look", "put", "write"];
    let batch = names.map(|name| raw_call(name, "{}")).to_vec();
    let mut lead = Bench::lead(family()).given(&[start("go"), calls(1, batch)]);
    let lease = |n| vec![Key::Lease(id(n))];
    assert_eq!(lead.keys(), tools([0]));
    lead.take(&done(id(0), "r")).unwrap();
    assert_eq!(lead.keys(), lease(1));
    lead.take(&leased(id(1))).unwrap();
    assert_eq!(lead.keys(), tools([1]));
    lead.take(&done(id(1), "r")).unwrap();
    assert_eq!(lead.keys(), tools([2]));
    lead.take(&done(id(2), "r")).unwrap();
    assert_eq!(lead.keys(), lease(3));
    lead.take(&leased(id(3))).unwrap();
    lead.take(&done(id(3), "r")).unwrap();
    assert_eq!(lead.keys(), lease(4));
}

#[test]
fn subagents_start_after_the_last_tool_and_at_most_max_parallel_of_them() {
    let batch = vec![
        ask_scout("a"),
        raw_call("write", "{}"),
        ask_scout("b"),
        ask_scout("c"),
        raw_call("look", "{}"),
    ];
    let raw = batch.clone();
    let mut lead = Bench::lead(capped(6, 2, 1)).given(&[start("go"), calls(1, batch)]);
    assert_eq!(lead.keys(), [Key::Lease(id(1))]);
    lead.take(&leased(id(1))).unwrap();
    lead.take(&done(id(1), "r")).unwrap();
    assert_eq!(lead.keys(), tools([4]));
    lead.take(&done(id(4), "r")).unwrap();
    let scout = |number, n: u32, task| {
        let call = proposed(n, &raw[n as usize], CallKind::Subagent);
        scout_started(number, &call, task)
    };
    let (a, b, c) = (scout(1, 0, "a"), scout(2, 2, "b"), scout(3, 3, "c"));
    assert_eq!(lead.outstanding(), vec![has_at_work(&a), has_at_work(&b)]);
    let reported = reported_by(report(&b, "B"));
    lead.take(&settle(Key::Child(id(2)), reported)).unwrap();
    assert_eq!(lead.outstanding(), vec![has_at_work(&a), has_at_work(&c)]);
}

#[test]
fn f01_a_cap_of_one_or_none_still_lets_one_subagent_work() {
    for cap in [0, 1] {
        let batch = vec![ask_scout("a"), ask_scout("b")];
        let lead = Bench::lead(capped(6, cap, 1)).given(&[start("go"), calls(1, batch)]);
        assert_eq!(lead.keys(), [Key::Child(id(0))]);
    }
}

#[test]
fn subagents_over_max_subagents_get_a_limit_result_and_the_others_run() {
    let batch = vec![ask_scout("a"), ask_scout("b"), ask_scout("c")];
    let lead = Bench::lead(capped(2, 3, 1)).given(&[start("go"), calls(1, batch)]);
    assert_eq!(lead.keys(), [Key::Child(id(0)), Key::Child(id(1))]);
    let settled: Vec<_> = lead.settled().into_iter().collect();
    let text = "the run may start at most 2 subagents and has; do it yourself";
    let result = kinfolk_actors::call::CallResult::new(CallStatus::Limit, text);
    assert_eq!(settled, [(id(2), result)]);
    assert_eq!(lead.ledger.subagents_left(), 0);
    assert_eq!(lead.ledger.next_agent(), AgentId(3));
}

#[test]
fn a_batch_of_nothing_but_refused_subagents_asks_the_model_again() {
    let batch = vec![ask_scout("a"), ask_scout("b")];
    let lead = Bench::lead(capped(0, 3, 1)).given(&[start("go"), calls(1, batch)]);
    assert_eq!(lead.keys(), [Key::Model(kinfolk_actors::id::RequestNo(2))]);
    assert_eq!(lead.settled().len(), 2);
}
