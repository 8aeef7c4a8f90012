//! The first command of every load, in every phase, to go on and to end.

use kinfolk_actors::agent::{Command, Key, Outcome, failed};
use kinfolk_actors::call::{CallKind, CallResult, CallStatus};
use kinfolk_actors::event::{Event, Outcome as End, RunResumed};
use kinfolk_actors::failure::{ErrorCode, Failure};
use kinfolk_actors::id::{Attempt, Offset, RequestNo};

use crate::bench::{
    Bench, has_at_work, runs, stops, stops_child, stops_thinking, thinks, waits_for_lease,
};
use crate::fixture::*;

const UNKNOWN: &str = "the process died while this ran; whether it happened is not known. \
                       Look before you do it again.";

fn resumed(attempt: u32, head: usize) -> Event {
    let from_offset = Offset(u64::try_from(head).unwrap());
    Event::RunResumed(RunResumed { attempt: Attempt(attempt), from_offset, raised: None })
}

fn crash() -> Failure {
    Failure::new(ErrorCode::AgentCrashed, "the family crashed too often")
}

fn end() -> Command {
    recovered_to_end(2, failed(crash()))
}

fn lead_after(commands: &[Command]) -> Bench {
    Bench::lead(family()).given(&[start("go")]).given(commands).crashed()
}

/// A lead that was cut off while these calls ran.
fn lead_acting(names: &[&str]) -> Bench {
    lead_after(&[calls(1, names.iter().map(|name| raw_call(name, "{}")).collect())])
}

#[track_caller]
fn assert_failed(lead: &Bench) {
    let finished = lead.finished();
    assert_eq!((finished.outcome, finished.error), (End::Failed, Some(crash())));
    assert_eq!(lead.outstanding(), vec![]);
}

#[test]
fn a_lead_at_rest_has_nothing_to_recover() {
    for command in [recovered(1), end()] {
        Bench::lead(family()).check(&command, &[], &vec![]);
        lead_after(&[says(1, "done")]).check(&command, &[], &vec![]);
    }
}

#[test]
fn a_request_is_simply_still_outstanding() {
    let mut lead = lead_after(&[]);
    let head = lead.journal.len();
    lead.check(&recovered(2), &[resumed(2, head)], &thinks(1));
    assert_eq!(lead.ledger.attempt(), Attempt(2));
}

#[test]
fn a_request_of_a_lead_that_is_loaded_to_end_is_stopped() {
    let mut lead = lead_after(&[]);
    let head = lead.journal.len();
    let events = [resumed(2, head), Event::Ending(failed(crash()))];
    lead.check(&end(), &events, &stops_thinking(1));
    lead.take(&settle(Key::Model(RequestNo(1)), Outcome::Gone)).unwrap();
    assert_failed(&lead);
}

#[test]
fn calls_that_may_run_again_stay_outstanding() {
    let mut lead = lead_acting(&["look", "look"]);
    let head = lead.journal.len();
    let looks = [0, 1].map(|n| runs(&proposed(n, &raw_call("look", "{}"), LOOK)));
    lead.check(&recovered(2), &[resumed(2, head)], &looks.to_vec());

    let put = proposed(0, &raw_call("put", "{}"), PUT);
    let mut lead = Bench::lead(family())
        .given(&[start("go"), calls(1, vec![raw_call("put", "{}")]), leased(id(0))])
        .crashed();
    let head = lead.journal.len();
    lead.check(&recovered(2), &[resumed(2, head)], &vec![runs(&put)]);
}

#[test]
fn a_change_that_was_cut_off_has_an_unknown_outcome_and_the_rest_goes_on() {
    for (name, kind) in [("write", WRITE), ("book", BOOK)] {
        let batch = vec![raw_call(name, "{}"), raw_call("look", "{}")];
        let mut lead = Bench::lead(family())
            .given(&[start("go"), calls(1, batch.clone()), leased(id(0))])
            .crashed();
        let head = lead.journal.len();
        let (change, look) = (proposed(0, &batch[0], kind), proposed(1, &batch[1], LOOK));
        let lost = refused(&change, CallStatus::UnknownOutcome, UNKNOWN);
        lead.check(&recovered(2), &[resumed(2, head), lost, begun(&look)], &vec![runs(&look)]);
    }
}

#[test]
fn the_last_call_of_a_turn_that_was_cut_off_leads_to_the_next_request() {
    let batch = vec![raw_call("write", "{}")];
    let mut lead = lead_after(&[calls(1, batch.clone()), leased(id(0))]);
    let head = lead.journal.len();
    let lost = refused(&proposed(0, &batch[0], WRITE), CallStatus::UnknownOutcome, UNKNOWN);
    lead.check(&recovered(2), &[resumed(2, head), lost, requested(2)], &thinks(2));
}

#[test]
fn a_change_that_waited_for_its_lease_waits_again() {
    let mut lead = lead_acting(&["write"]);
    let head = lead.journal.len();
    let call = proposed(0, &raw_call("write", "{}"), WRITE);
    lead.check(&recovered(2), &[resumed(2, head)], &vec![waits_for_lease(&call)]);
}

#[test]
fn a_lead_that_is_loaded_to_end_stops_what_may_still_run_and_cancels_what_has_not_begun() {
    let batch = ["look", "write"].map(|name| raw_call(name, "{}"));
    let mut lead = lead_acting(&["look", "write"]);
    let head = lead.journal.len();
    let (look, write) = (proposed(0, &batch[0], LOOK), proposed(1, &batch[1], WRITE));
    let unbegun = refused(&write, CallStatus::Cancelled, "cancelled before it began");
    let events = [resumed(2, head), Event::Ending(failed(crash())), unbegun];
    lead.check(&end(), &events, &vec![stops(&look)]);
    lead.take(&settle(Key::Tool(id(0)), Outcome::Gone)).unwrap();
    assert_failed(&lead);
}

#[test]
fn a_lead_that_is_loaded_to_end_with_nothing_left_ends_at_once() {
    let mut lead = lead_after(&[calls(1, vec![raw_call("write", "{}")]), leased(id(0))]);
    lead.take(&end()).unwrap();
    assert_eq!(lead.settled()[&id(0)], CallResult::new(CallStatus::UnknownOutcome, UNKNOWN));
    assert_failed(&lead);
}

#[test]
fn an_end_that_was_cut_off_goes_on_ending() {
    let mut lead = lead_after(&[cancel()]);
    let head = lead.journal.len();
    lead.check(&recovered(2), &[resumed(2, head)], &stops_thinking(1));

    let look = raw_call("look", "{}");
    let mut lead = lead_after(&[calls(1, vec![look.clone()]), cancel()]);
    let head = lead.journal.len();
    lead.check(&recovered(2), &[resumed(2, head)], &vec![stops(&proposed(0, &look, LOOK))]);

    let write = vec![raw_call("write", "{}")];
    let mut lead = lead_after(&[calls(1, write), leased(id(0)), cancel()]);
    lead.take(&recovered(2)).unwrap();
    assert_eq!(lead.finished().outcome, End::Cancelled);
    assert_eq!(lead.settled()[&id(0)].status, CallStatus::UnknownOutcome);
}

#[test]
fn a_subagent_at_work_stays_at_work_or_is_stopped() {
    let started = scout_started(1, &proposed(0, &ask_scout("t"), CallKind::Subagent), "t");
    let mut lead = lead_after(&[calls(1, vec![ask_scout("t")])]);
    let head = lead.journal.len();
    lead.check(&recovered(2), &[resumed(2, head)], &vec![has_at_work(&started)]);

    let mut lead = lead_after(&[calls(1, vec![ask_scout("t")])]);
    let head = lead.journal.len();
    let events = [resumed(2, head), Event::Ending(failed(crash()))];
    lead.check(&end(), &events, &vec![stops_child(&started)]);
}

#[test]
fn a_subagent_recovers_by_its_own_chain() {
    let started = scout_started(1, &proposed(0, &ask_scout("t"), CallKind::Subagent), "t");
    let new = || Bench::subagent(started.clone(), family());
    // An empty chain begins, or ends without having begun.
    assert_eq!(new().given(&[recovered(2)]).outstanding(), thinks(1));
    let ended = new().given(&[end()]);
    let report = ended.state.report().unwrap();
    assert_eq!((report.status, report.error.clone()), (End::Failed, Some(crash())));
    assert_eq!(ended.journal.len(), 1);
    // One at work goes on without a word.
    new().given(&[recovered(1)]).crashed().check(&recovered(2), &[], &thinks(1));
    // One that is done stays done.
    for command in [recovered(2), end()] {
        let done = new().given(&[recovered(1), says(1, "found")]);
        done.crashed().check(&command, &[], &vec![]);
    }
}
