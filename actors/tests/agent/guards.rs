//! Guards against going round in circles: the same call again and again, and talk where a call is
//! wanted.

use kinfolk_actors::agent::{Key, RawCall};
use kinfolk_actors::call::{CallKind, CallStatus};
use kinfolk_actors::event::{Event, FinishReason, Outcome as End, Source};
use kinfolk_actors::failure::ErrorCode;
use kinfolk_actors::family::{Caps, Delivery, Family, ToolChoice, ToolChoicePlan};

use crate::bench::{Bench, thinks};
use crate::fixture::*;

/// A lead whose model makes the same call in every round; `spelled` writes its arguments, `says`
/// its result.
fn repeating(rounds: u32, spelled: impl Fn(u32) -> String, says: impl Fn(u32) -> String) -> Bench {
    let mut lead = Bench::lead(family()).given(&[start("go")]);
    for n in 0..rounds {
        lead.take(&calls(n + 1, vec![raw_call("look", &spelled(n))])).unwrap();
        if !lead.state.is_active() {
            break;
        }
        lead.take(&done(id(n), &says(n))).unwrap();
    }
    lead
}

fn runs_of(lead: &Bench) -> usize {
    lead.journal.iter().filter(|event| matches!(event, Event::ToolStarted(_))).count()
}

fn hints(lead: &Bench) -> usize {
    let hint = |event: &&Event| match event {
        Event::Message(kinfolk_actors::event::Message::User(message)) => {
            message.source == Source::Hint
        }
        _ => false,
    };
    lead.journal.iter().filter(hint).count()
}

#[test]
fn e05_the_third_call_of_a_row_runs_with_a_hint_and_the_fourth_never_runs() {
    let spellings: [fn(u32) -> String; 2] = [
        |_| r#"{"a":1,"b":[2]}"#.to_owned(),
        |n| match n % 3 {
            0 => r#"{"a":1,"b":[2]}"#.to_owned(),
            1 => r#"{"b":[2],"a":1}"#.to_owned(),
            _ => " { \"b\" : [ 2 ], \"a\" : 1 } ".to_owned(),
        },
    ];
    for spelled in spellings {
        let lead = repeating(85, spelled, |_| "nothing new".to_owned());
        assert_eq!((runs_of(&lead), hints(&lead)), (3, 1));
        let finished = lead.finished();
        let end = (finished.outcome, finished.finish_reason);
        assert_eq!(end, (End::Failed, FinishReason::LoopDetected));
        assert_eq!(finished.error.map(|error| error.code), Some(ErrorCode::LoopDetected));
        assert_eq!(lead.settled().len(), 4, "all ids are answered");
        assert_eq!(lead.settled()[&id(3)].status, CallStatus::Blocked);
    }
}

#[test]
fn e05_a_poll_whose_result_changes_goes_on() {
    let lead = repeating(30, |_| "{}".to_owned(), |n| format!("{n} of 30"));
    assert_eq!(runs_of(&lead), 30);
    assert!(lead.state.is_active());
}

#[test]
fn a_circle_of_a_few_calls_is_gone_round_three_times() {
    for length in 2..=4_u32 {
        let around = |n: u32| format!("{{\"n\":{}}}", n % length);
        let lead = repeating(30, around, |_| "same".to_owned());
        let runs = 3 * length as usize;
        assert_eq!((runs_of(&lead), hints(&lead)), (runs, 1), "{length}");
        assert_eq!(lead.finished().finish_reason, FinishReason::LoopDetected);
        // One result that changes is progress.
        let lead =
            repeating(
                30,
                around,
                |n| if n % length == 0 { n.to_string() } else { "same".to_owned() },
            );
        assert_eq!((runs_of(&lead), hints(&lead)), (30, 0), "{length}");
    }
    let lead = repeating(30, |n| format!("{{\"n\":{}}}", n % 5), |_| "same".to_owned());
    assert_eq!(runs_of(&lead), 30, "a longer circle is work for all that is known");
}

#[test]
fn a_spawn_that_is_refused_for_want_of_room_again_and_again_is_a_loop() {
    let spawn =
        |task: &str| raw_call("spawn_subagent", &format!(r#"{{"agent":"scout","task":"{task}"}}"#));
    let family =
        Family { caps: Caps { max_subagents: 9, max_parallel: 1, max_depth: 1 }, ..full() };
    let mut lead = Bench::lead(family).given(&[start("go"), calls(1, vec![spawn("first")])]);
    for request in 2..9 {
        if !lead.state.is_active() || lead.outstanding().is_empty() {
            break;
        }
        lead.take(&calls(request, vec![spawn("second")])).ok();
    }
    let ended = lead.journal.iter().find_map(|event| match event {
        Event::Ending(ending) => Some(ending.finish_reason),
        _ => None,
    });
    assert_eq!(ended, Some(FinishReason::LoopDetected));
}

#[test]
fn e05_of_equal_calls_in_one_reply_three_run_and_their_results_tell_the_loop() {
    let same = |times| vec![raw_call("look", "{}"); times];
    let lead = Bench::lead(family()).given(&[start("go"), calls(1, same(3))]);
    assert_eq!((runs_of(&lead), hints(&lead)), (3, 1));
    let all_done = |said: fn(u32) -> &'static str| {
        let mut lead = Bench::lead(family()).given(&[start("go"), calls(1, same(5))]);
        assert_eq!((runs_of(&lead), lead.settled().len()), (3, 2), "the others are refused");
        for n in 0..3 {
            lead.take(&done(id(n), said(n))).unwrap();
        }
        lead.take(&calls(2, same(1))).unwrap();
        lead
    };
    let lead = all_done(|_| "same");
    assert_eq!(runs_of(&lead), 3);
    assert_eq!(lead.finished().finish_reason, FinishReason::LoopDetected);
    let lead = all_done(|n| ["one", "two", "three"][n as usize]);
    assert_eq!(runs_of(&lead), 4, "what changes is no loop");
}

fn has_to_call() -> Family {
    let mut family = full();
    family.lead.tool_choice = ToolChoicePlan::always(ToolChoice::Required);
    family
}

/// Talks where a call is wanted; the number of the next request.
fn talk(agent: &mut Bench, first: u32, times: u32) -> u32 {
    for n in first..first + times {
        assert_eq!(agent.keys(), [Key::Model(kinfolk_actors::id::RequestNo(n))]);
        agent.take(&says(n, "I shall")).unwrap();
    }
    first + times
}

#[test]
fn drift_is_reminded_twenty_times_and_the_next_reply_in_words_fails() {
    let mut lead = Bench::lead(has_to_call()).given(&[start("go")]);
    let next = talk(&mut lead, 1, 20);
    assert_eq!((next, hints(&lead)), (21, 20));
    lead.take(&says(next, "I shall")).unwrap();
    let finished = lead.finished();
    assert_eq!(finished.error.map(|error| error.code), Some(ErrorCode::ModelToolCallRequired));
    assert_eq!(finished.finish_reason, FinishReason::ErrorRecovery);
}

#[test]
fn a_good_round_does_not_reset_drift_and_a_resume_does() {
    let look: RawCall = raw_call("look", "{}");
    let mut lead = Bench::lead(has_to_call()).given(&[start("go")]);
    let next = talk(&mut lead, 1, 12);
    let mut lead = lead.given(&[calls(next, vec![look]), done(id(0), "seen")]);
    let next = talk(&mut lead, next + 1, 8);
    let mut failed = Bench::lead(has_to_call());
    failed.journal = lead.journal.clone();
    failed.ledger = lead.ledger.clone();
    let mut failed = failed.crashed();
    failed.take(&says(next, "I shall")).unwrap();
    failed.finished();
    // The same after a resume has twenty more.
    let mut lead = lead.crashed().given(&[recovered(2)]);
    let next = talk(&mut lead, next, 20);
    lead.take(&says(next, "I shall")).unwrap();
    lead.finished();
}

#[test]
fn a_subagent_in_return_mode_drifts_too_and_a_lead_that_may_answer_does_not() {
    let mut started = scout_started(1, &proposed(0, &ask_scout("t"), CallKind::Subagent), "t");
    started.delivery = Delivery::Return;
    let mut clerk = Bench::subagent(started, full()).given(&[recovered(1)]);
    let next = talk(&mut clerk, 1, 20);
    clerk.take(&says(next, "done")).unwrap();
    let report = clerk.state.report().unwrap();
    let code = report.error.as_ref().map(|error| error.code.clone());
    assert_eq!(code, Some(ErrorCode::ModelToolCallRequired));

    let lead = Bench::lead(full()).given(&[start("go")]);
    assert_eq!(lead.outstanding(), thinks(1));
    assert_eq!(lead.given(&[says(1, "done")]).finished().outcome, End::Completed);
}
