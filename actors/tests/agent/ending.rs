//! A cancel in every phase: admission closes, what is in flight is stopped, then the end follows.

use std::sync::Arc;

use kinfolk_actors::agent::{Cause, Key, Outcome, Refusal};
use kinfolk_actors::call::{CallKind, CallResult, CallStatus};
use kinfolk_actors::event::{Event, FinishReason, Outcome as End};
use kinfolk_actors::failure::{ErrorCode, Failure};
use kinfolk_actors::id::RequestNo;

use crate::bench::{Bench, stops, stops_child, stops_thinking};
use crate::fixture::*;

const UNBEGUN: &str = "cancelled before it began";

fn stopped() -> Failure {
    Failure::new(ErrorCode::ModelCancelled, "the request was stopped because its agent ends")
}

#[track_caller]
fn assert_cancelled(lead: &Bench) {
    let finished = lead.finished();
    let end = (finished.outcome, finished.finish_reason, finished.error);
    assert_eq!(end, (End::Cancelled, FinishReason::UserRequested, None));
    assert_eq!(lead.outstanding(), vec![]);
}

#[test]
fn at_rest_there_is_nothing_to_cancel() {
    let mut lead = Bench::lead(family());
    lead.check_refused(&cancel(), &Refusal::AtRest);
    let mut lead = Bench::lead(family()).given(&[start("go"), says(1, "done")]);
    lead.check_refused(&cancel(), &Refusal::AtRest);
}

#[test]
fn a02_a_reply_that_arrives_after_the_cancel_runs_nothing() {
    let mut lead = Bench::lead(family()).given(&[start("go")]);
    lead.check(&cancel(), &[Event::Ending(ending_by_cancel())], &stops_thinking(1));
    lead.check_refused(&cancel(), &Refusal::AlreadyEnding);
    let late = reply("", vec![raw_call("write", "{}")]);
    let events = lead.take(&replied(1, late)).unwrap();
    assert_eq!(events[0], model_failed(1, stopped(), usage(1, 10, 5)));
    assert_eq!(events.len(), 2);
    assert_cancelled(&lead);
    // The tokens were spent, so they are counted; no turn was taken.
    assert_eq!(lead.finished().usage, usage(1, 10, 5));
    lead.check_refused(&says(1, "later"), &Refusal::Stale(Key::Model(RequestNo(1))));
}

#[test]
fn every_end_of_a_stopped_request_ends_the_run_as_cancelled() {
    let down = Failure::new(ErrorCode::ModelUnreachable, "no connection");
    let failed = Outcome::ModelFailed { error: down.clone(), usage: usage(1, 0, 0), cost: None };
    let panicked = Outcome::Panicked { message: "index".into() };
    let panic = Failure::new(ErrorCode::EffectPanicked, "the model request failed inside: index");
    for (outcome, error, used) in [
        // It may have reached the provider, so it counts.
        (Outcome::Gone, stopped(), usage(1, 0, 0)),
        (failed, down, usage(1, 0, 0)),
        (panicked, panic, usage(1, 0, 0)),
    ] {
        let mut lead = Bench::lead(family()).given(&[start("go"), cancel()]);
        let events = lead.take(&settle(Key::Model(RequestNo(1)), outcome)).unwrap();
        assert_eq!(events[0], model_failed(1, error, used));
        assert_cancelled(&lead);
    }
}

#[test]
fn b05_a_cancel_settles_what_has_not_begun_and_waits_for_what_has() {
    let batch = ["look", "look", "write"].map(|name| raw_call(name, "{}")).to_vec();
    let mut lead =
        Bench::lead(family()).given(&[start("go"), calls(1, batch.clone()), done(id(0), "ok 1")]);
    let running = proposed(1, &batch[1], LOOK);
    let waiting = proposed(2, &batch[2], WRITE);
    let events =
        [Event::Ending(ending_by_cancel()), refused(&waiting, CallStatus::Cancelled, UNBEGUN)];
    lead.check(&cancel(), &events, &vec![stops(&running)]);
    lead.check_refused(&cancel(), &Refusal::AlreadyEnding);
    lead.take(&settle(Key::Tool(id(1)), Outcome::Gone)).unwrap();
    assert_cancelled(&lead);

    lead.next_run(2);
    lead.take(&start("go on")).unwrap();
    let results =
        [("call_1_0", "ok 1"), ("call_1_1", "cancelled before it was done"), ("call_1_2", UNBEGUN)];
    assert_eq!(lead.results(), results.map(|(id, text)| (id.to_owned(), text.to_owned())));
}

#[test]
fn a_tool_that_was_let_finish_keeps_its_real_result() {
    let look = raw_call("look", "{}");
    let mut lead =
        Bench::lead(family()).given(&[start("go"), calls(1, vec![look.clone()]), cancel()]);
    let events = lead.take(&done(id(0), "done in time")).unwrap();
    let result = CallResult::new(CallStatus::Ok, "done in time");
    assert_eq!(events[0], ended(&proposed(0, &look, LOOK), result, 2));
    assert_cancelled(&lead);
}

#[test]
fn a_change_that_was_stopped_in_the_middle_says_that_its_effect_is_not_known() {
    let batch = vec![raw_call("write", "{}")];
    let mut lead =
        Bench::lead(family()).given(&[start("go"), calls(1, batch), leased(id(0)), cancel()]);
    lead.take(&settle(Key::Tool(id(0)), Outcome::Gone)).unwrap();
    let text = "cancelled before it was done; whether it happened is not known";
    assert_eq!(lead.settled()[&id(0)], CallResult::new(CallStatus::Cancelled, text));
}

#[test]
fn a_cancel_with_nothing_in_flight_ends_at_once() {
    let write = raw_call("write", "{}");
    let mut lead = Bench::lead(family()).given(&[start("go"), calls(1, vec![write.clone()])]);
    let events = lead.take(&cancel()).unwrap();
    let call = proposed(0, &write, WRITE);
    let expected =
        [Event::Ending(ending_by_cancel()), refused(&call, CallStatus::Cancelled, UNBEGUN)];
    assert_eq!(events[..2], expected);
    assert_eq!(events.len(), 3);
    assert_cancelled(&lead);
    // The lease may have been granted meanwhile; whoever holds it for the call has to let go.
    lead.check_refused(&leased(id(0)), &Refusal::Stale(Key::Lease(id(0))));
}

#[test]
fn a05_living_subagents_are_stopped_and_queued_ones_never_start() {
    let batch = vec![ask_scout("a"), ask_scout("b")];
    let mut lead = Bench::lead(capped(6, 1, 1)).given(&[start("go"), calls(1, batch.clone())]);
    let call = proposed(0, &batch[0], CallKind::Subagent);
    let queued = proposed(1, &batch[1], CallKind::Subagent);
    let living = scout_started(1, &call, "a");
    let events =
        [Event::Ending(ending_by_cancel()), refused(&queued, CallStatus::Cancelled, UNBEGUN)];
    lead.check(&cancel(), &events, &vec![stops_child(&living)]);
    lead.take(&settle(Key::Child(id(0)), Outcome::Gone)).unwrap();
    assert_cancelled(&lead);
    assert!(!lead.state.has_live_children());
}

#[test]
fn a_subagent_can_be_ended_before_it_began_and_not_after_it_reported() {
    let started = scout_started(1, &proposed(0, &ask_scout("t"), CallKind::Subagent), "t");
    let mut scout = Bench::subagent(started.clone(), family()).given(&[cancel()]);
    assert_eq!(scout.state.report().map(|report| report.status), Some(End::Cancelled));
    scout.check_refused(&cancel(), &Refusal::AtRest);

    let mut scout = Bench::subagent(started, family()).given(&[recovered(1), says(1, "found")]);
    scout.check_refused(&cancel(), &Refusal::AtRest);
}

#[test]
fn the_first_end_stands() {
    let look = raw_call("look", "{}");
    let crashed = kinfolk_actors::agent::failed(Failure::new(ErrorCode::AgentCrashed, "too often"));
    let mut lead = Bench::lead(family())
        .given(&[start("go"), calls(1, vec![look]), cancel()])
        .crashed()
        .given(&[recovered_to_end(2, crashed)]);
    lead.take(&settle(Key::Tool(id(0)), Outcome::Gone)).unwrap();
    assert_cancelled(&lead);
    let reason: Arc<str> = "enough".into();
    assert_eq!(kinfolk_actors::agent::cancelled(Cause::Requested, &reason), ending_by_cancel());
}
