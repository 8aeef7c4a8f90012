//! Each call has its one result, directly after its message, whatever happened. The cases of
//! `docs/cases.md`; the simulation holds the law over everything else.

use kinfolk_actors::agent::{Key, Outcome, RawReply, Refusal, Summarised};
use kinfolk_actors::call::{CallKind, CallStatus};
use kinfolk_actors::compaction::CompactionSettings;
use kinfolk_actors::family::Family;
use kinfolk_actors::time::Millis;

use crate::bench::Bench;
use crate::fixture::*;
use crate::runs::assert_paired;

fn look(n: u32) -> kinfolk_actors::agent::RawCall {
    raw_call("look", &format!("{{\"n\":{n}}}"))
}

#[test]
fn b05_every_request_of_a_loop_of_five_rounds_is_paired() {
    let mut lead = Bench::lead(family()).given(&[start("go")]);
    for round in 0..5 {
        assert_paired(&lead.request().messages);
        let batch = vec![look(round), look(round + 10)];
        lead = lead.given(&[calls(round + 1, batch)]).crashed();
        lead.take(&recovered(round + 2)).unwrap();
        lead = lead.given(&[done(id(2 * round + 1), "b"), done(id(2 * round), "a")]);
    }
    assert_paired(&lead.request().messages);
    assert_eq!(lead.results().len(), 10);
}

#[test]
fn b05_a_cancel_within_parallel_calls_leaves_each_with_its_result_before_the_next_message() {
    let batch = vec![look(0), look(1)];
    let cancelled = [start("go"), calls(1, batch), done(id(0), "ok 1"), cancel()];
    let mut lead = Bench::lead(family()).given(&cancelled).crashed();
    lead.take(&recovered(2)).unwrap();
    lead.take(&settle(Key::Tool(id(1)), Outcome::Gone)).unwrap();
    lead.next_run(2);
    lead.take(&start("and now?")).unwrap();
    let expected = [("call_1_0", "ok 1"), ("call_1_1", "cancelled before it was done")];
    assert_eq!(lead.results(), expected.map(|(id, text)| (id.to_owned(), text.to_owned())));
    assert_paired(&lead.request().messages);
}

#[test]
fn b05_a_compaction_between_keeps_whole_groups() {
    let compaction =
        CompactionSettings { threshold: Some(1_000), keep: Some(400), ..Default::default() };
    let mut lead = Bench::lead(Family { compaction, ..family() }).given(&[start("go")]);
    for n in 0..3 {
        let counted =
            RawReply { usage: usage(1, 10 + u64::from(n) * 400, 5), ..reply("", vec![look(n)]) };
        lead = lead.given(&[replied(n + 1, counted), done(id(n), &"abc ".repeat(300))]);
    }
    assert_eq!(lead.keys(), [Key::Summary(1)]);
    let result = Ok("notes".into());
    let summarised = Summarised {
        result,
        fallback: None,
        cost: None,
        usage: usage(1, 1, 1),
        duration: Millis(1),
    };
    lead.take(&settle(Key::Summary(1), Outcome::Summarised(summarised))).unwrap();
    assert_paired(&lead.request().messages);
    assert_eq!(lead.results().len(), 1, "the newest round stays whole");
}

#[test]
fn b06_the_first_result_stands_and_the_second_is_refused() {
    let mut lead = Bench::lead(family()).given(&[start("go"), calls(1, vec![look(0), look(1)])]);
    let failed = Outcome::Tool {
        status: CallStatus::Error,
        text: "broken pipe".into(),
        duration: Millis(1),
    };
    lead.take(&settle(Key::Tool(id(0)), failed)).unwrap();
    lead.check_refused(&done(id(0), "from the fallback"), &Refusal::Stale(Key::Tool(id(0))));
    let lead = lead.given(&[done(id(1), "seen")]);
    assert_eq!(lead.results()[0].1, "broken pipe");
    assert_paired(&lead.request().messages);
}

#[test]
fn b07_ids_that_a_provider_counts_anew_in_each_round_never_meet() {
    let mut lead = Bench::lead(family()).given(&[start("go")]);
    for n in 0..4 {
        let call = with_id("call_0", "look", &format!("{{\"n\":{n}}}"));
        lead = lead.given(&[calls(n + 1, vec![call]), done(id(n), "seen")]);
        assert_paired(&lead.request().messages);
    }
    assert_eq!(lead.results().len(), 4, "all of them ran");
}

#[test]
fn b08_calls_without_ids_have_the_same_ones_before_and_after_a_restart() {
    let batch = vec![raw_call("look", r#"{"n":1}"#), raw_call("look", r#"{"n":2}"#)];
    let lead = Bench::lead(family()).given(&[start("go"), calls(1, batch.clone())]);
    let second =
        proposed(1, &batch[1], CallKind::Tool(kinfolk_actors::call::EffectClass::ReadOnly));
    let lead = lead.given(&[done(id(0), "one"), done(second.call, "two")]);
    let before = lead.request().messages;
    let expected = [("call_1_0", "one"), ("call_1_1", "two")];
    assert_eq!(lead.results(), expected.map(|(id, text)| (id.to_owned(), text.to_owned())));
    let mut lead = lead.crashed();
    lead.take(&recovered(2)).unwrap();
    assert_eq!(lead.request().messages, before);
}
