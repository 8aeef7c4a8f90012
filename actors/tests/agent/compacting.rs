//! Compaction as an agent decides it: when it begins, what becomes of words meanwhile, how it ends.

use kinfolk_actors::agent::{Command, Key, Outcome, Phase, Refusal, Start, Summarised, Verdict};
use kinfolk_actors::compaction::{CompactionSettings, Trigger};
use kinfolk_actors::context::RequestMessage;
use kinfolk_actors::event::{Event, FinishReason, Outcome as End, RunKind};
use kinfolk_actors::failure::{ErrorCode, Failure};
use kinfolk_actors::family::Family;
use kinfolk_actors::id::RequestNo;
use kinfolk_actors::limits::{LimitKind, Limits, OnLimit};
use kinfolk_actors::time::Millis;

use crate::bench::{Bench, thinks};
use crate::fixture::*;
use crate::runs::assert_paired;

/// A family whose histories are compacted from a thousand tokens on.
fn small() -> Family {
    let compaction = CompactionSettings {
        threshold: Some(1_000),
        keep: Some(100),
        ..CompactionSettings::default()
    };
    Family { compaction, ..family() }
}

fn words(tokens: usize) -> String {
    "abc ".repeat(tokens)
}

fn look(n: u32) -> kinfolk_actors::agent::RawCall {
    raw_call("look", &format!("{{\"n\":{n}}}"))
}

fn summed_up(n: u32, result: Result<&str, Failure>) -> Command {
    let result = result.map(Into::into);
    let summarised = Summarised {
        result,
        fallback: None,
        cost: None,
        usage: usage(1, 30, 9),
        duration: Millis(4),
    };
    settle(Key::Summary(n), Outcome::Summarised(summarised))
}

fn no_summary() -> Failure {
    Failure::new(ErrorCode::CompactionFailed, "the summary was empty")
}

fn too_large(request: u32) -> Command {
    let error = Failure::new(ErrorCode::ModelContextOverflow, "too large");
    let failed = Outcome::ModelFailed { error, usage: usage(1, 0, 0), cost: None };
    settle(Key::Model(RequestNo(request)), failed)
}

/// The compactions that were begun: number, reason, entries that go.
fn begun_compactions(lead: &Bench) -> Vec<(u32, Trigger, u32)> {
    let started = lead.journal.iter().filter_map(|event| match event {
        Event::CompactionStarted(started) => Some((started.n, started.trigger, started.entries)),
        _ => None,
    });
    started.collect()
}

/// A lead that found so much that it has to compact before it asks again.
fn full_of_results() -> Bench {
    Bench::lead(small()).given(&[
        start("the task"),
        calls(1, vec![look(0)]),
        done(id(0), &words(1_200)),
    ])
}

fn texts(lead: &Bench) -> Vec<String> {
    let messages = lead.request().messages;
    assert_paired(&messages);
    let inputs = messages.iter().filter_map(|message| match message {
        RequestMessage::User(text) => Some(text.to_string()),
        RequestMessage::Assistant { .. } | RequestMessage::ToolResult { .. } => None,
    });
    inputs.collect()
}

#[test]
fn d06_it_begins_within_a_turn_and_keeps_the_task_and_words_that_come_meanwhile() {
    let mut lead = full_of_results();
    assert_eq!(begun_compactions(&lead), [(1, Trigger::Threshold, 2)]);
    assert_eq!(lead.keys(), [Key::Summary(1)]);
    lead.take(&steer("and hurry")).unwrap();
    lead.take(&summed_up(1, Ok("Goal: the task"))).unwrap();
    assert_eq!(lead.outstanding(), thinks(2));
    let texts = texts(&lead);
    assert!(texts[0].ends_with("Goal: the task"), "{texts:?}");
    assert_eq!(texts[1..], ["the task", "and hurry"]);
    assert!(lead.results().is_empty());
    // What the provider counted before is void: it does not begin again at once.
    let lead = lead.crashed().given(&[recovered(2), calls(2, vec![look(1)]), done(id(1), "b")]);
    assert_eq!(begun_compactions(&lead).len(), 1);
}

#[test]
fn d02_exactly_one_compaction_follows_from_what_was_counted_before() {
    let counted =
        kinfolk_actors::agent::RawReply { usage: usage(1, 900, 200), ..reply("", vec![look(0)]) };
    let lead = Bench::lead(small()).given(&[
        start("the task"),
        replied(1, counted),
        done(id(0), &words(150)),
        summed_up(1, Ok("Goal: the task")),
    ]);
    assert_eq!(begun_compactions(&lead).len(), 1);
    assert_eq!(lead.outstanding(), thinks(2));
}

#[test]
fn d07_an_overflow_is_compacted_and_sent_again_once_and_the_second_is_the_end() {
    let mut lead = Bench::lead(family()).given(&[
        start("the task"),
        calls(1, vec![look(0)]),
        done(id(0), &words(4_000)),
        calls(2, vec![look(1)]),
        done(id(1), &words(5_000)),
        too_large(3),
    ]);
    // Nothing of what was refused is recent enough to stay but the task.
    assert_eq!(begun_compactions(&lead), [(1, Trigger::Overflow, 3)]);
    lead.take(&summed_up(1, Ok("Goal: the task"))).unwrap();
    assert_eq!((lead.outstanding(), lead.results().len()), (thinks(4), 0));
    // There would be more to sum up, but that was no help.
    lead.take(&too_large(4)).unwrap();
    let error = lead.finished().error.unwrap();
    assert_eq!(error.code, ErrorCode::ContextFull);
    assert!(error.message.contains("even after a compaction"), "{error}");
    assert_eq!(begun_compactions(&lead).len(), 1);
}

#[test]
fn an_overflow_whose_compaction_fails_is_the_end_with_its_reason() {
    let lead = Bench::lead(family()).given(&[
        start("the task"),
        calls(1, vec![look(0)]),
        done(id(0), &words(4_000)),
        too_large(2),
        summed_up(1, Err(no_summary())),
    ]);
    assert_eq!(lead.finished().error, Some(no_summary()));
}

#[test]
fn d01_a_compaction_that_makes_no_room_is_followed_by_one_clear_error() {
    let mut lead = full_of_results();
    lead.take(&summed_up(1, Ok(&words(1_500)))).unwrap();
    let code = |lead: &Bench| lead.finished().error.map(|error| error.code);
    assert_eq!(code(&lead), Some(ErrorCode::ContextFull));
    let requests = lead
        .journal
        .iter()
        .filter(|event| matches!(event, Event::ModelRequest(_) | Event::CompactionStarted(_)));
    assert!(requests.count() <= 5);
    // The notes alone are too large, and nothing makes them smaller: no request is wasted on it.
    lead.next_run(2);
    lead.take(&start("again")).unwrap();
    assert_eq!(begun_compactions(&lead).len(), 1);
    assert_eq!(code(&lead), Some(ErrorCode::ContextFull));
}

#[test]
fn a_failed_compaction_is_an_event_and_the_history_is_untouched() {
    let panicked = settle(Key::Summary(1), Outcome::Panicked { message: "oh".into() });
    let gone = settle(Key::Summary(1), Outcome::Gone);
    for (command, code) in [
        (summed_up(1, Err(no_summary())), ErrorCode::CompactionFailed),
        (panicked, ErrorCode::EffectPanicked),
        (gone, ErrorCode::ServiceDown),
    ] {
        let mut lead = full_of_results();
        let before = lead.state.transcript.clone();
        let events = lead.take(&command).unwrap();
        let Event::CompactionFinished(finished) = &events[0] else { panic!("{events:?}") };
        let error = finished.error.as_ref().map(|error| error.code.clone());
        assert_eq!((finished.ok, finished.summary.clone(), error), (false, None, Some(code)));
        assert_eq!(finished.tokens_before, finished.tokens_after);
        assert_eq!(lead.state.transcript, before);
        // The provider may still take the request; it is not tried again before it has answered.
        assert_eq!(lead.outstanding(), thinks(2));
    }
}

#[test]
fn somebody_may_ask_for_it_and_it_is_made_before_the_next_request() {
    let mut lead = Bench::lead(family()).given(&[start("old"), says(1, &words(5_000))]);
    lead.next_run(2);
    let second = |n| kinfolk_actors::id::CallId { run: lead.machine.run, ..id(n) };
    let seen = done(second(0), "seen");
    let mut lead = lead.given(&[start("new"), calls(1, vec![look(0)])]);
    let events = lead.take(&Command::Compact).unwrap();
    assert_eq!(events, [Event::CompactionAsked]);
    lead.take(&seen).unwrap();
    assert_eq!(begun_compactions(&lead).len(), 1);
    assert_eq!(begun_compactions(&lead)[0].1, Trigger::Manual);
    let lead = lead.given(&[summed_up(1, Ok("Goal: old and new"))]);
    assert!(texts(&lead).contains(&"new".to_owned()));
}

#[test]
fn a_run_that_only_compacts_ends_with_its_compaction() {
    let compact = || {
        Command::Start(Start {
            input: "".into(),
            kind: RunKind::Compact,
            parent_run: None,
            prepared_at: None,
        })
    };
    let mut fresh = Bench::lead(family()).given(&[start("old"), says(1, "short")]);
    fresh.next_run(2);
    fresh.check_refused(&compact(), &Refusal::NothingToCompact);
    for (result, outcome, reason) in [
        (Ok("Goal: old"), End::Completed, FinishReason::Completed),
        (Err(no_summary()), End::Failed, FinishReason::ErrorRecovery),
    ] {
        let mut lead = Bench::lead(family()).given(&[start("old"), says(1, &words(5_000))]);
        lead.next_run(2);
        lead.take(&compact()).unwrap();
        assert_eq!(lead.keys(), [Key::Summary(1)]);
        lead.take(&summed_up(1, result)).unwrap();
        let finished = lead.finished();
        assert_eq!((finished.outcome, finished.finish_reason), (outcome, reason));
        assert_eq!(finished.usage.model_requests, 1, "the summary is paid");
        assert_eq!(lead.state.transcript.summary().is_some(), outcome == End::Completed);
    }
}

#[test]
fn an_end_while_it_is_made_stops_it_and_what_it_says_is_not_taken() {
    let mut lead = full_of_results().given(&[cancel()]);
    let before = lead.state.transcript.clone();
    assert_eq!(lead.keys(), [Key::Summary(1)]);
    lead.take(&summed_up(1, Ok("Goal: the task"))).unwrap();
    assert_eq!(lead.finished().outcome, End::Cancelled);
    assert_eq!(lead.state.transcript, before);
    lead.check_refused(&summed_up(1, Ok("late")), &Refusal::Stale(Key::Summary(1)));
}

#[test]
fn it_is_still_outstanding_after_a_crash() {
    let mut lead = full_of_results().crashed();
    lead.take(&recovered(2)).unwrap();
    assert_eq!(lead.keys(), [Key::Summary(1)]);
}

/// A lead that has used so much of its tokens that a summary no longer fits beside its last answer.
/// Its history is compacted from so many tokens on.
fn short_of_tokens(on_limit: OnLimit, threshold: u64) -> Bench {
    let mut family = Family { limits: Limits::none().tokens(12_000), on_limit, ..small() };
    family.compaction.threshold = Some(threshold);
    let used =
        kinfolk_actors::agent::RawReply { usage: usage(1, 100, 4_115), ..reply("", vec![look(0)]) };
    Bench::lead(family).given(&[start("the task"), replied(1, used)])
}

fn closing(lead: &Bench) -> Option<LimitKind> {
    lead.journal.iter().rev().find_map(|event| match event {
        Event::ModelRequest(requested) => requested.closing,
        _ => None,
    })
}

#[test]
fn a_wish_to_compact_that_there_is_no_budget_for_is_dropped_and_ends_nothing() {
    let mut lead = short_of_tokens(OnLimit::Finish, 1_000_000);
    lead.take(&done(id(0), &words(3_000))).unwrap();
    let again =
        kinfolk_actors::agent::RawReply { usage: usage(1, 2_400, 5), ..reply("", vec![look(1)]) };
    let mut lead = lead.given(&[replied(2, again), Command::Compact]);
    assert!(lead.state.run.compact_asked);
    lead.take(&done(id(1), "r")).unwrap();
    assert_eq!(begun_compactions(&lead), []);
    assert_eq!((lead.outstanding(), closing(&lead)), (thinks(3), None));
    assert!(!lead.state.run.compact_asked);
}

#[test]
fn a_due_compaction_without_budget_is_a_limit_that_is_met_and_the_policy_says_what_follows() {
    let met = |on_limit: OnLimit| {
        // Only under `finish` some is set aside for the last answer.
        let found = if on_limit.closes() { 3_600 } else { 7_800 };
        short_of_tokens(on_limit, 3_000).given(&[done(id(0), &words(found))])
    };
    let mut lead = met(OnLimit::Finish);
    assert_eq!((lead.outstanding(), closing(&lead)), (thinks(2), Some(LimitKind::Tokens)));
    lead.take(&says(2, "this far")).unwrap();
    assert_eq!(lead.finished().finish_reason, FinishReason::BudgetCompleted);
    let lead = met(OnLimit::Interrupt);
    assert_eq!(lead.state.phase, Phase::Interrupted);
    let lead = met(OnLimit::Ask).given(&[says_to(0, Verdict::Approve)]);
    assert_eq!(lead.keys(), [Key::Summary(1)], "with more, it is made");
    let lead = met(OnLimit::Stop);
    assert_eq!(lead.finished().error.map(|error| error.code), Some(ErrorCode::LimitTokens));
}

#[test]
fn a_digest_that_stands_for_a_summary_says_why_no_model_wrote_one() {
    let mut lead = full_of_results();
    let summarised = Summarised {
        result: Ok("Goal: the task".into()),
        fallback: Some(no_summary()),
        usage: usage(1, 30, 9),
        cost: None,
        duration: Millis(4),
    };
    let events = lead.take(&settle(Key::Summary(1), Outcome::Summarised(summarised))).unwrap();
    let Event::CompactionFinished(finished) = &events[0] else { panic!("{events:?}") };
    assert_eq!((finished.ok, finished.error.clone()), (true, Some(no_summary())));
    assert_eq!(lead.outstanding(), thinks(2));
}
