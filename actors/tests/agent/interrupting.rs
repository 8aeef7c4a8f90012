//! A run that rests and goes on: at the next boundary, with everything that was recorded.

use kinfolk_actors::agent::{Command, Key, Refusal, RunStanding};
use kinfolk_actors::call::CallKind;
use kinfolk_actors::event::{Event, FinishReason, RunInterrupted, RunResumed};
use kinfolk_actors::id::{Attempt, Offset};
use kinfolk_actors::limits::{LimitKind, Limits, OnLimit};

use crate::bench::{Bench, has_at_work, runs, thinks};
use crate::fixture::*;

fn rests(reason: &str, limit: Option<LimitKind>) -> Event {
    Event::RunInterrupted(RunInterrupted { reason: reason.into(), limit, resumable: true })
}

fn resumed(attempt: u32, lead: &Bench, raised: Option<Limits>) -> Event {
    let from_offset = Offset(u64::try_from(lead.journal.len()).unwrap());
    Event::RunResumed(RunResumed { attempt: Attempt(attempt), from_offset, raised })
}

fn wish() -> Event {
    Event::InterruptAsked { reason: "later".into() }
}

#[test]
fn an_interrupt_lets_the_round_end_and_the_run_rests_before_the_next_request() {
    let look = raw_call("look", "{}");
    let call = proposed(0, &look, LOOK);
    let mut lead = Bench::lead(family()).given(&[start("go"), calls(1, vec![look])]);
    lead.check(&interrupt(), &[wish()], &vec![runs(&call)]);
    let events = lead.take(&done(id(0), "seen")).unwrap();
    assert_eq!(events[1], rests("later", None));
    assert_eq!(lead.outstanding(), vec![]);
    assert_eq!(lead.state.standing(), Some(RunStanding::Interrupted));
    lead.check_refused(&interrupt(), &Refusal::AtRest);
    lead.check_refused(&start("other"), &Refusal::RunActive);
    // A load does not resume it.
    let mut lead = lead.crashed();
    lead.check(&recovered(2), &[], &vec![]);
    let on = [resumed(2, &lead, None), requested(2)];
    lead.check(&resume(), &on, &thinks(2));
    assert_eq!(lead.results(), [("call_1_0".to_owned(), "seen".to_owned())]);
    lead.check_refused(&resume(), &Refusal::NotInterrupted);
}

#[test]
fn an_answer_that_was_on_its_way_ends_the_run_all_the_same() {
    let mut lead = Bench::lead(family()).given(&[start("go"), interrupt(), says(1, "done")]);
    assert_eq!(lead.finished().finish_reason, FinishReason::Completed);
    lead.check_refused(&resume(), &Refusal::NotInterrupted);
}

#[test]
fn words_may_come_while_it_rests_and_a_cancel_ends_it() {
    let look = vec![raw_call("look", "{}")];
    let rest = || {
        let commands = [start("go"), calls(1, look.clone()), interrupt(), done(id(0), "seen")];
        Bench::lead(family()).given(&commands)
    };
    let lead = rest().given(&[steer("go left")]);
    assert_eq!(lead.outstanding(), vec![], "words do not resume it");
    let lead = lead.given(&[resume()]);
    assert!(format!("{:?}", lead.request().messages).contains("go left"));
    let cancelled = rest().given(&[cancel()]);
    assert_eq!(cancelled.finished().finish_reason, FinishReason::UserRequested);
}

#[test]
fn it_rests_only_once_its_subagents_in_the_background_have_ended() {
    let spawn = raw_call("spawn_subagent", r#"{"agent":"scout","task":"t"}"#);
    let lead = Bench::lead(full()).given(&[start("go"), calls(1, vec![spawn.clone()])]);
    let mut started = scout_started(1, &proposed(0, &spawn, CallKind::Spawn), "t");
    started.mode = kinfolk_actors::event::ChildMode::Background;
    let mut lead = lead.given(&[interrupt(), calls(2, vec![raw_call("look", "{}")])]);
    lead.take(&done(id(1), "seen")).unwrap();
    assert_eq!(lead.outstanding(), vec![has_at_work(&started)]);
    let report = reported_by(report(&started, "found"));
    lead.take(&settle(Key::Child(id(0)), report)).unwrap();
    assert_eq!(lead.state.standing(), Some(RunStanding::Interrupted));
    let lead = lead.given(&[resume()]);
    assert_eq!(format!("{:?}", lead.request().messages).matches("found").count(), 1);
}

#[test]
fn a_limit_that_interrupts_is_resumed_with_a_higher_one_and_goes_on_counting() {
    let two = Limits { max_steps: Some(2), ..Limits::none() };
    let look = |n: u32| raw_call("look", &format!("{{\"n\":{n}}}"));
    let mut lead = Bench::lead(limited(two, OnLimit::Interrupt)).given(&[
        start("go"),
        calls(1, vec![look(0)]),
        done(id(0), "a"),
        calls(2, vec![look(1)]),
    ]);
    let events = lead.take(&done(id(1), "b")).unwrap();
    let reason = "the limit of steps is reached";
    assert_eq!(events[3..], [limit(LimitKind::Steps), rests(reason, Some(LimitKind::Steps))]);
    // Without more room it rests again at once.
    let mut stuck = lead.crashed();
    stuck.take(&resume()).unwrap();
    assert_eq!(stuck.state.standing(), Some(RunStanding::Interrupted));
    let three = Limits { max_steps: Some(3), ..Limits::none() };
    let raise = Command::Resume { raised: Some(three) };
    let on = [resumed(3, &stuck, Some(three)), requested(3)];
    let events = stuck.take(&raise).unwrap();
    assert_eq!(events[0], on[0]);
    assert_eq!(stuck.outstanding(), thinks(3));
    stuck.take(&calls(3, vec![look(2)])).unwrap();
    stuck.take(&done(id(2), "c")).unwrap();
    assert_eq!(
        stuck.state.standing(),
        Some(RunStanding::Interrupted),
        "three in all, not two more"
    );
    assert_eq!(stuck.ledger.total_usage().turns, 3);
}
