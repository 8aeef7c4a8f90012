//! Words that reach a run at work: between rounds, sealed at the end, never lost in silence.

use kinfolk_actors::agent::{Command, Key, Outcome, Refusal, Start, Steer};
use kinfolk_actors::call::CallKind;
use kinfolk_actors::context::RequestMessage;
use kinfolk_actors::event::{Event, FinishReason, Outcome as End, RunKind, Source, ToolsActivated};
use kinfolk_actors::limits::{Limits, OnLimit};

use crate::bench::{Bench, runs, thinks};
use crate::fixture::*;

fn texts(lead: &Bench) -> Vec<String> {
    let text = |message: &RequestMessage| match message {
        RequestMessage::User(text) => text.to_string(),
        RequestMessage::Assistant { text, .. } => format!("said {text}"),
        RequestMessage::ToolResult { text, .. } => format!("result {text}"),
    };
    lead.request().messages.iter().map(text).collect()
}

#[test]
fn guidance_enters_after_the_results_of_the_round_in_which_it_came() {
    let look = raw_call("look", "{}");
    let mut lead = Bench::lead(family()).given(&[start("go"), calls(1, vec![look.clone()])]);
    let running = vec![runs(&proposed(0, &look, LOOK))];
    lead.check(&steer("look left"), &[told(Source::Guidance, "look left")], &running);
    lead.take(&done(id(0), "seen")).unwrap();
    assert_eq!(texts(&lead), ["go", "said ", "result seen", "look left"]);
}

#[test]
fn guidance_during_a_request_is_in_the_next_one_and_not_in_this_one() {
    let mut lead = Bench::lead(family()).given(&[start("go")]);
    lead.check(&steer("be brief"), &[told(Source::Guidance, "be brief")], &thinks(1));
    assert_eq!(texts(&lead), ["go"], "the request in flight stays as it was sent");
    // The answer came too early to have read it: the model is asked again.
    lead.take(&says(1, "done")).unwrap();
    assert_eq!(lead.outstanding(), thinks(2));
    assert_eq!(texts(&lead), ["go", "said done", "be brief"]);
    lead.take(&says(2, "done, in short")).unwrap();
    assert_eq!(&*lead.finished().text, "done, in short");
}

#[test]
fn an_acknowledged_word_survives_a_crash() {
    let mut lead = Bench::lead(family()).given(&[start("go"), steer("be brief")]).crashed();
    lead.take(&recovered(2)).unwrap();
    let lead = lead.given(&[says(1, "done")]);
    assert_eq!(texts(&lead), ["go", "said done", "be brief"]);
}

#[test]
fn the_last_answer_takes_no_more_words_but_the_next_run_does() {
    let one = Limits { max_steps: Some(1), ..Limits::none() };
    let mut lead = Bench::lead(limited(one, OnLimit::Finish)).given(&[start("go")]);
    assert!(lead.state.is_sealed());
    lead.check_refused(&steer("late"), &Refusal::Sealed);
    lead.check_refused(&Command::Compact, &Refusal::Sealed);
    lead.check(&queue("next"), &[told(Source::Queued, "next")], &thinks(1));
    lead.take(&says(1, "all")).unwrap();
    lead.finished();
    lead.next_run(2);
    let queued =
        Start { input: "".into(), kind: RunKind::Queued, parent_run: None, prepared_at: None };
    lead.take(&Command::Start(queued)).unwrap();
    assert_eq!(texts(&lead)[..3], ["go", texts(&lead)[1].as_str(), "said all"]);
    assert!(texts(&lead).contains(&"next".to_owned()));
}

#[test]
fn who_is_not_at_work_hears_nothing() {
    let mut resting = Bench::lead(family());
    let mut ended = Bench::lead(family()).given(&[start("go"), says(1, "done")]);
    let mut ending = Bench::lead(family()).given(&[start("go"), cancel()]);
    for command in [steer("x"), queue("x"), Command::Compact, interrupt()] {
        resting.check_refused(&command, &Refusal::AtRest);
        ended.check_refused(&command, &Refusal::AtRest);
        ending.check_refused(&command, &Refusal::AlreadyEnding);
    }
}

#[test]
fn queued_input_makes_the_run_give_way_after_the_round_and_starts_the_next() {
    let look = raw_call("look", "{}");
    let mut lead = Bench::lead(family()).given(&[start("go"), calls(1, vec![look.clone()])]);
    let running = vec![runs(&proposed(0, &look, LOOK))];
    lead.check(&queue("first"), &[told(Source::Queued, "first")], &running);
    lead.take(&queue("second")).unwrap();
    lead.take(&done(id(0), "seen")).unwrap();
    let finished = lead.finished();
    let end = (finished.outcome, finished.finish_reason);
    assert_eq!(end, (End::PartialSuccess, FinishReason::QueuedMessageInterrupt));
    lead.next_run(2);
    let queued =
        Start { input: "".into(), kind: RunKind::Queued, parent_run: None, prepared_at: None };
    let events = lead.take(&Command::Start(queued.clone())).unwrap();
    let Event::RunStarted(started) = &events[0] else { panic!("{events:?}") };
    assert_eq!((&*started.input, started.kind), ("first\n\nsecond", RunKind::Queued));
    assert_eq!(texts(&lead), ["go", "said ", "result seen", "first", "second"]);
    let mut lead = lead.given(&[says(1, "both")]);
    lead.next_run(3);
    lead.check_refused(&Command::Start(queued), &Refusal::NothingQueued);
}

#[test]
fn no_more_than_64_words_wait() {
    let mut lead = Bench::lead(family()).given(&[start("go")]);
    for n in 0..64 {
        lead.take(&steer(&format!("word {n}"))).unwrap();
    }
    for command in [steer("one more"), queue("one more")] {
        lead.check_refused(&command, &Refusal::TooMuchWaiting(64));
    }
}

#[test]
fn a_subagent_can_be_steered_and_not_queued_interrupted_or_resumed() {
    let started = scout_started(1, &proposed(0, &ask_scout("t"), CallKind::Subagent), "t");
    let mut scout = Bench::subagent(started, family()).given(&[recovered(1), steer("left")]);
    for command in [queue("x"), interrupt(), resume()] {
        scout.check_refused(&command, &Refusal::NotALead);
    }
    let tell = |n| Command::Steer(Steer { text: "right".into(), from: Some(id(n)) });
    scout.take(&tell(5)).unwrap();
    assert_eq!(scout.take(&tell(5)), Ok(vec![]), "said twice, it is taken once");
    scout.take(&says(1, "found")).unwrap();
    assert_eq!(texts(&scout)[2..], ["left", "right"]);
}

#[test]
fn tools_that_were_held_back_are_offered_once_they_are_activated() {
    let activate = |name: &str| Command::Activate { tools: vec![name.into()] };
    let offered = |lead: &Bench| lead.request().tools.iter().any(|tool| &*tool.name == "hidden");
    let mut lead = Bench::lead(full()).given(&[start("go")]);
    assert!(!offered(&lead));
    for name in ["look", "nothing"] {
        lead.check_refused(&activate(name), &Refusal::NoSuchTool(name.into()));
    }
    let activated = ToolsActivated { tools: vec!["hidden".into()] };
    lead.check(&activate("hidden"), &[Event::ToolsActivated(activated)], &thinks(1));
    assert!(offered(&lead));
    lead.check_refused(&activate("hidden"), &Refusal::NoSuchTool("hidden".into()));
    let lead = lead.given(&[calls(1, vec![raw_call("hidden", "{}")])]);
    assert_eq!(lead.keys(), [Key::Tool(id(0))]);
    // It belongs to the run.
    let mut lead = lead.given(&[settle(Key::Tool(id(0)), Outcome::Gone), says(2, "done")]);
    lead.next_run(2);
    let lead = lead.given(&[start("more")]);
    assert!(!offered(&lead));
}

#[test]
fn a_wish_to_compact_needs_something_to_compact() {
    let mut fresh = Bench::lead(full()).given(&[start("go")]);
    fresh.check_refused(&Command::Compact, &Refusal::NothingToCompact);
    let look = raw_call("look", "{}");
    let long = "abc ".repeat(4_000);
    let mut lead =
        Bench::lead(full()).given(&[start("go"), calls(1, vec![look]), done(id(0), &long)]);
    assert_eq!(lead.take(&Command::Compact), Ok(vec![Event::CompactionAsked]));
    assert!(lead.state.run.compact_asked);
}
