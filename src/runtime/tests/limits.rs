//! What happens at a limit, policy by policy.

use std::time::Duration;

use kinfolk_actors::agent::{Approve, Verdict};
use kinfolk_actors::event::{Event, FinishReason, Outcome};
use kinfolk_actors::failure::ErrorCode;
use kinfolk_actors::limits::{LimitKind, Limits, OnLimit};
use kinfolk_actors::policy::Mode;
use kinfolk_actors::time::Millis;
use tokio::time::Instant;

use super::scene::{Scene, calls, change, says, setup};
use super::support::{Gate, look, looks, records, within};
use crate::model::scripted::{Scripted, ScriptedReply};
use crate::runtime::Settled;

fn steps(max: u64) -> Limits {
    Limits { max_steps: Some(max), ..Limits::none() }
}

/// A lead that looks twice under a limit of steps, and answers in its last.
async fn two_looks(on_limit: OnLimit, max: u64) -> Scene {
    let script = Scripted::builder()
        .reply("lead", 1, looks("one"))
        .reply("lead", 2, looks("two"))
        .reply("lead", 3, ScriptedReply::text("That is all."));
    setup(script.build())
        .tool(look(&Gate::closed([])))
        .family(|family| (family.limits, family.on_limit) = (steps(max), on_limit))
        .open()
        .await
}

#[tokio::test(start_paused = true)]
async fn finish_ends_with_a_closing_turn_without_tools() {
    let scene = two_looks(OnLimit::Finish, 3).await;
    let run = scene.start().await;
    let outcome = within("the outcome", run.outcome()).await.unwrap();
    let (how, why) = (outcome.outcome, outcome.finish_reason);
    assert_eq!((how, why), (Outcome::Completed, FinishReason::MaxStepsCompleted));
    assert_eq!(&*outcome.text, "That is all.");
    assert_eq!(scene.model.request("lead#3").tools.len(), 0);
    assert_eq!(scene.model.asked().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn stop_fails_with_the_limits_code() {
    let scene = two_looks(OnLimit::Stop, 2).await;
    let run = scene.start().await;
    let outcome = within("the outcome", run.outcome()).await.unwrap();
    assert_eq!(outcome.error.map(|error| error.code), Some(ErrorCode::LimitSteps));
    assert_eq!(outcome.finish_reason, FinishReason::MaxStepsExceeded);
    assert_eq!(scene.model.asked().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn interrupt_rests_until_it_is_resumed_with_more() {
    let scene = two_looks(OnLimit::Interrupt, 2).await;
    let run = scene.start().await;
    let settled = within("the pause", run.settled()).await.unwrap();
    let Settled::Interrupted(why) = settled else { panic!("{settled:?}") };
    assert_eq!(why.limit, Some(LimitKind::Steps));
    run.resume(Some(steps(5))).await.unwrap();
    assert_eq!(scene.text(&run).await, "That is all.");
    let events = records(&scene.runtime, scene.session.id()).await;
    let raised = events.iter().find_map(|recorded| match &recorded.event {
        Event::RunResumed(resumed) => resumed.raised,
        _ => None,
    });
    assert_eq!(raised, Some(steps(5)));
}

#[tokio::test(start_paused = true)]
async fn ask_parks_until_a_person_raises_the_limit() {
    let scene = two_looks(OnLimit::Ask, 2).await;
    let run = scene.start().await;
    let pending = scene.parked(&run).await;
    assert_eq!(pending.len(), 1);
    let yes = says(pending[0].id(), Verdict::Approve);
    run.approve(Approve { raised: Some(steps(5)), ..yes }).await.unwrap();
    assert_eq!(scene.text(&run).await, "That is all.");
}

#[tokio::test(start_paused = true)]
async fn warn_says_so_and_goes_on() {
    let scene = two_looks(OnLimit::Warn, 2).await;
    let run = scene.start().await;
    assert_eq!(scene.text(&run).await, "That is all.");
}

fn in_time(max_time: Millis) -> Limits {
    Limits { max_time: Some(max_time), ..Limits::none() }
}

#[tokio::test(start_paused = true)]
async fn a_request_is_stopped_for_the_closing_turn_when_time_is_short() {
    let script = Scripted::builder().reply("lead", 1, ScriptedReply::stall()).reply(
        "lead",
        2,
        ScriptedReply::text("In time."),
    );
    let max_time = Millis(20 * 60 * 1000);
    let scene =
        setup(script.build()).family(|family| family.limits = in_time(max_time)).open().await;
    let begun = Instant::now();
    let run = scene.start().await;
    let outcome = tokio::time::timeout(max_time.into(), run.outcome()).await.unwrap().unwrap();
    assert_eq!(
        (&*outcome.text, outcome.finish_reason),
        ("In time.", FinishReason::BudgetCompleted)
    );
    assert!(begun.elapsed() < max_time.into(), "{:?}", begun.elapsed());
    assert_eq!(scene.model.in_flight(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_closing_turn_takes_too_long_is_ended_at_its_deadline() {
    let stall = ScriptedReply::stall;
    let script = Scripted::builder().reply("lead", 1, stall()).reply("lead", 2, stall());
    let max_time = Millis(20 * 60 * 1000);
    let scene =
        setup(script.build()).family(|family| family.limits = in_time(max_time)).open().await;
    let (begun, twice) = (Instant::now(), 2 * Duration::from(max_time));
    let run = scene.start().await;
    let outcome = tokio::time::timeout(twice, run.outcome()).await.unwrap().unwrap();
    assert_eq!(outcome.finish_reason, FinishReason::Timeout);
    assert_eq!(outcome.error.map(|error| error.code), Some(ErrorCode::LimitTime));
    assert_eq!(begun.elapsed(), max_time.into());
    assert_eq!(scene.model.in_flight(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_time_that_a_person_takes_is_not_charged() {
    let max_time = Millis(20 * 60 * 1000);
    let script = Scripted::builder()
        .reply("lead", 1, calls("ask_user", r#"{"question":"Which?"}"#))
        .reply("lead", 2, ScriptedReply::text("That one.").after(Duration::from_secs(60)));
    let scene =
        setup(script.build()).family(|family| family.limits = in_time(max_time)).open().await;
    let run = scene.start().await;
    let pending = scene.parked(&run).await;
    tokio::time::sleep(3 * Duration::from(max_time)).await;
    assert_eq!(scene.parked(&run).await, pending, "no timer has fired");
    run.answer(pending[0].id(), "The red one.", None).await.unwrap();
    let patience = Duration::from(max_time);
    let outcome = tokio::time::timeout(patience, run.outcome()).await.unwrap().unwrap();
    let (text, why) = (&*outcome.text, outcome.finish_reason);
    assert_eq!((text, why), ("That one.", FinishReason::Completed));
}

#[tokio::test(start_paused = true)]
async fn a_raised_limit_of_time_is_heard_by_the_timers() {
    let max_time = Millis(20 * 60 * 1000);
    let stall = ScriptedReply::stall;
    let script = Scripted::builder().reply("lead", 1, stall()).reply(
        "lead",
        2,
        ScriptedReply::text("At last.").after(max_time.into()),
    );
    let scene = setup(script.build())
        .family(|family| {
            (family.limits, family.on_limit) = (in_time(max_time), OnLimit::Interrupt);
        })
        .open()
        .await;
    let run = scene.start().await;
    let settled = tokio::time::timeout(2 * Duration::from(max_time), run.settled()).await;
    let settled = settled.unwrap().unwrap();
    let Settled::Interrupted(why) = settled else { panic!("{settled:?}") };
    assert_eq!(why.limit, Some(LimitKind::Time));
    run.resume(Some(in_time(Millis(10 * max_time.0)))).await.unwrap();
    let patience = 20 * Duration::from(max_time);
    let outcome = tokio::time::timeout(patience, run.outcome()).await.unwrap().unwrap();
    let (text, why) = (&*outcome.text, outcome.finish_reason);
    assert_eq!((text, why), ("At last.", FinishReason::Completed));
}

#[tokio::test(start_paused = true)]
async fn e01_a_batch_of_changes_over_the_limit_of_calls_ends_and_frees_the_workspace() {
    for on_limit in [OnLimit::Finish, OnLimit::Stop] {
        let mut batch = ScriptedReply::text("All at once.");
        for n in 0..8 {
            batch = batch.call("change", format!(r#"{{"at":"{n}"}}"#));
        }
        let script = Scripted::builder().reply("lead", 1, batch).reply(
            "lead",
            2,
            ScriptedReply::text("Six are done."),
        );
        let scene = setup(script.build())
            .tool(change(&Gate::closed([])))
            .family(|family| {
                family.policy.mode = Mode::AutoRun;
                family.limits = Limits { max_tool_calls: Some(6), ..Limits::none() };
                family.on_limit = on_limit;
            })
            .open()
            .await;
        let run = scene.start().await;
        let outcome = within("the end", run.outcome()).await.unwrap();
        let reason = match on_limit {
            OnLimit::Finish => FinishReason::MaxStepsCompleted,
            _ => FinishReason::MaxStepsExceeded,
        };
        assert_eq!(outcome.finish_reason, reason);
        let events = records(&scene.runtime, scene.session.id()).await;
        let count = |wanted: fn(&Event) -> bool| {
            events.iter().filter(|recorded| wanted(&recorded.event)).count()
        };
        assert_eq!(count(|event| matches!(event, Event::ToolStarted(_))), 6);
        assert_eq!(count(|event| matches!(event, Event::ToolFinished(_))), 8);
    }
}
