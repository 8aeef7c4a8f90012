//! The start of a run and of a subagent's task.

use kinfolk_actors::agent::{RawReply, Refusal};
use kinfolk_actors::event::{Event, Message, Outcome, Source, UserMessage};
use kinfolk_actors::usage::Usage;

use crate::bench::{Bench, thinks};
use crate::fixture::*;

#[test]
fn a_start_records_the_run_its_input_and_the_first_request() {
    let mut lead = Bench::lead(family());
    let events = [run_started("hello", &family()), user("hello"), requested(1)];
    lead.check(&start("hello"), &events, &thinks(1));
}

#[test]
fn a_second_start_is_refused_while_a_run_is_active() {
    let mut lead = Bench::lead(family()).given(&[start("hello")]);
    lead.check_refused(&start("again"), &Refusal::RunActive);
    let mut acting =
        Bench::lead(family()).given(&[start("hello"), calls(1, vec![raw_call("look", "{}")])]);
    acting.check_refused(&start("again"), &Refusal::RunActive);
    let mut ending = Bench::lead(family()).given(&[start("hello"), cancel()]);
    ending.check_refused(&start("again"), &Refusal::RunActive);
}

#[test]
fn only_a_lead_starts_runs() {
    let call = proposed(0, &ask_scout("t"), kinfolk_actors::call::CallKind::Subagent);
    let mut scout = Bench::subagent(scout_started(1, &call, "t"), family());
    scout.check_refused(&start("hello"), &Refusal::NotALead);
}

const PART: &str = "\n\nThe task is part of this work: go";

#[test]
fn a_subagent_begins_with_its_task_its_place_and_what_it_may_change() {
    let call = proposed(0, &ask_scout("t"), kinfolk_actors::call::CallKind::Subagent);
    let plain = scout_started(1, &call, "map the roads");
    let told = |text: &str| {
        let message =
            UserMessage { for_call: Some(id(0)), ..UserMessage::new(Source::Input, text) };
        Event::Message(Message::User(message))
    };
    let mut scout = Bench::subagent(plain.clone(), family());
    scout.check(&recovered(1), &[told(&format!("map the roads{PART}")), requested(1)], &thinks(1));

    let mut scoped = plain;
    scoped.write_scope = vec!["a".into(), "b".into()];
    let mut scout = Bench::subagent(scoped, family());
    let text = format!("map the roads{PART}\n\nChange nothing outside of: a, b");
    scout.check(&recovered(1), &[told(&text), requested(1)], &thinks(1));
}

#[test]
fn a_text_reply_ends_the_run_and_its_own_usage_is_counted() {
    let mut lead = Bench::lead(family()).given(&[start("hello")]);
    lead.take(&says(1, "hi")).unwrap();
    let finished = lead.finished();
    let used = Usage { turns: 1, ..usage(1, 10, 5) };
    assert_eq!(
        (finished.outcome, &*finished.text, finished.usage),
        (Outcome::Completed, "hi", used)
    );
    assert_eq!(finished.agents.len(), 1);
    assert_eq!((finished.error.clone(), finished.duration_ms.0), (None, 1));
    assert_eq!(lead.outstanding(), vec![]);
    assert!(!lead.state.is_active());
}

#[test]
fn the_estimate_is_what_was_counted_last_and_a_guess_for_what_came_after() {
    let mut lead = Bench::lead(family());
    let estimate = |events: &[Event]| {
        let mut requests = events.iter().filter_map(|event| match event {
            Event::ModelRequest(requested) => Some(requested.estimated_tokens),
            _ => None,
        });
        requests.next_back().unwrap()
    };
    // Nothing was counted yet: a quarter of the bytes, and a little for each message.
    let first = estimate(&lead.take(&start(&"abc ".repeat(1_000))).unwrap());
    assert!((1_000..1_100).contains(&first), "{first}");
    let look = raw_call("look", "{}");
    let counted = RawReply { usage: usage(1, 700, 50), ..reply("", vec![look]) };
    lead.take(&replied(1, counted)).unwrap();
    let second = estimate(&lead.take(&done(id(0), &"abc ".repeat(2_000))).unwrap());
    // The 700 that were sent, and the turn with its result.
    assert!((2_700..2_800).contains(&second), "{second}");
}
