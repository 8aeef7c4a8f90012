//! Runs that wait for a person's word.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use kinfolk_actors::agent::{Refusal, RunStanding, Verdict};
use kinfolk_actors::call::CallStatus;
use kinfolk_actors::event::{Event, FinishReason, Outcome};
use kinfolk_actors::id::AgentId;
use kinfolk_actors::time::Millis;

use super::scene::{Scene, Setup, calls, change, says, setup};
use super::support::{Gate, records, session, until, within};
use crate::model::scripted::{Scripted, ScriptedReply};
use crate::runtime::{PendingAsk, Run, Settled, StartError, WishError};

fn two_changes() -> Setup {
    let script = Scripted::builder()
        .reply("lead", 1, calls("change", r#"{"at":"x"}"#).call("change", r#"{"at":"y"}"#))
        .reply("lead", 2, ScriptedReply::text("Done."));
    setup(script.build()).tool(change(&Gate::closed([])))
}

async fn results(scene: &Scene) -> Vec<(CallStatus, String)> {
    let events = records(&scene.runtime, scene.session.id()).await;
    let result = |event: &Event| match event {
        Event::ToolFinished(end) => Some((end.result.status, end.result.text.to_string())),
        _ => None,
    };
    events.iter().filter_map(|recorded| result(&recorded.event)).collect()
}

fn changed(at: &str) -> (CallStatus, String) {
    (CallStatus::Ok, format!("changed {at}"))
}

#[tokio::test(start_paused = true)]
async fn an_approved_call_runs_and_the_run_goes_on() {
    let scene = two_changes().open().await;
    let run = scene.start().await;
    let pending = scene.parked(&run).await;
    let family = scene.session.slot.family_of(run.id()).unwrap();
    assert_eq!(family.effects.in_flight(), 0, "a parked run holds nothing");
    drop(family);
    let asked: Vec<String> = pending
        .iter()
        .map(|pending| match &pending.ask {
            PendingAsk::Approval(asked) => format!("{:?}", asked.subject),
            PendingAsk::Question(asked) => panic!("{asked:?}"),
        })
        .collect();
    assert!(asked[0].contains(r#"{\"at\":\"x\"}"#) && asked[1].contains(r#"{\"at\":\"y\"}"#));
    for pending in pending {
        run.approve(says(pending.id(), Verdict::Approve)).await.unwrap();
    }
    assert_eq!(scene.text(&run).await, "Done.");
    assert_eq!(results(&scene).await, [changed("x"), changed("y")]);
    assert_eq!(scene.session.pending().await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn h01_one_of_two_approvals_lets_one_call_run() {
    let scene = two_changes().open().await;
    let run = scene.start().await;
    let pending = scene.parked(&run).await;
    let second = pending[1].id();
    run.approve(says(second, Verdict::Approve)).await.unwrap();
    let left = scene.parked(&run).await;
    assert_eq!(left, pending[..1]);
    assert_eq!(results(&scene).await, [changed("y")]);
    assert_eq!(scene.model.asked().len(), 1, "no request before all is settled");
    let again = run.approve(says(second, Verdict::Deny)).await;
    assert_eq!(again, Err(WishError::Refused(Refusal::AlreadyAnswered(second))));
    run.approve(says(pending[0].id(), Verdict::Deny)).await.unwrap();
    assert_eq!(scene.text(&run).await, "Done.");
    let statuses: Vec<CallStatus> = results(&scene).await.iter().map(|end| end.0).collect();
    assert_eq!(statuses, [CallStatus::Ok, CallStatus::Denied]);
    let late = run.approve(says(second, Verdict::Approve)).await;
    assert_eq!(late, Err(WishError::NotActive));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_can_end_the_run() {
    let scene = two_changes().open().await;
    let run = scene.start().await;
    let pending = scene.parked(&run).await;
    run.approve(says(pending[0].id(), Verdict::DenyAndStop)).await.unwrap();
    let outcome = within("the outcome", run.outcome()).await.unwrap();
    assert_eq!(outcome.outcome, Outcome::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn silence_is_a_no() {
    let patience = Millis(60 * 60 * 1000);
    let scene =
        two_changes().family(|family| family.approval_timeout = Some(patience)).open().await;
    let run = scene.start().await;
    let begun = tokio::time::Instant::now();
    assert_eq!(scene.parked(&run).await.len(), 2);
    tokio::time::timeout(2 * super::support::PATIENCE * 120, run.outcome()).await.unwrap().unwrap();
    assert_eq!(begun.elapsed(), patience.into());
    let statuses: Vec<CallStatus> = results(&scene).await.iter().map(|end| end.0).collect();
    assert_eq!(statuses, [CallStatus::Denied, CallStatus::Denied]);
}

#[tokio::test(start_paused = true)]
async fn a_lead_that_crashes_while_it_is_parked_goes_on_waiting() {
    let scene = two_changes().open().await;
    let run = scene.start().await;
    let before = scene.parked(&run).await;
    let family = scene.session.slot.family_of(run.id()).unwrap();
    assert!(family.panic_agent(AgentId::LEAD));
    drop(family);
    wait_for_resume(&scene, run.control()).await;
    assert_eq!(scene.parked(&run).await, before);
    for pending in before {
        run.approve(says(pending.id(), Verdict::Approve)).await.unwrap();
    }
    assert_eq!(scene.text(&run).await, "Done.");
    assert_eq!(results(&scene).await, [changed("x"), changed("y")]);
}

async fn wait_for_resume(scene: &Scene, run: crate::runtime::RunControl) {
    let mut run = scene.runtime.resume(run.id()).await.unwrap();
    run.seek(kinfolk_actors::id::Offset(0));
    let resumed = |event: &Event| matches!(event, Event::RunResumed(_));
    until(&mut run, "resumed", |recorded| resumed(&recorded.event)).await;
}

#[tokio::test(start_paused = true)]
async fn a_question_of_a_subagent_parks_the_whole_family() {
    let script = Scripted::builder()
        .reply("lead", 1, calls("call_subagent", r#"{"agent":"a","task":"Ask."}"#))
        .reply("lead", 2, ScriptedReply::text("Done."))
        .reply("a", 1, calls("ask_user", r#"{"question":"Which?"}"#))
        .reply("a", 2, ScriptedReply::text("That one."));
    let scene = setup(script.build()).open().await;
    let run: Run = scene.start().await;
    let pending = scene.parked(&run).await;
    assert_eq!(pending.len(), 1);
    assert_eq!(pending[0].agent, AgentId(1));
    run.answer(pending[0].id(), "The red one.", None).await.unwrap();
    assert_eq!(scene.text(&run).await, "Done.");
    let second = scene.model.request("a#2");
    assert!(format!("{:?}", second.messages).contains("The red one."), "{second:?}");
    let settled = within("settled", run.settled()).await.unwrap();
    assert!(matches!(settled, Settled::Finished(_)));
    assert_ne!(settled, Settled::Parked(RunStanding::AwaitingUser));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_was_answered_is_not_parked_any_more() {
    let scene = two_changes().closed(&["lead#2"]).open().await;
    let run = scene.start().await;
    for pending in scene.parked(&run).await {
        run.approve(says(pending.id(), Verdict::Approve)).await.unwrap();
    }
    assert_eq!(run.settled().now_or_never(), None, "it is at work");
    scene.gate.arrived("lead#2", 1).await;
    assert_eq!(run.settled().now_or_never(), None, "it thinks");
    scene.gate.open();
    assert_eq!(scene.text(&run).await, "Done.");
}

#[tokio::test(start_paused = true)]
async fn a_family_is_not_parked_while_one_of_its_subagents_works() {
    let task = |agent: &str| format!(r#"{{"agent":"{agent}","task":"Do it."}}"#);
    let both = calls("call_subagent", &task("a")).call("call_subagent", task("b"));
    let script = Scripted::builder()
        .reply("lead", 1, both)
        .reply("lead", 2, ScriptedReply::text("Done."))
        .reply("a", 1, ScriptedReply::text("A."))
        .reply("b", 1, calls("ask_user", r#"{"question":"Which?"}"#))
        .reply("b", 2, ScriptedReply::text("B."));
    let scene = setup(script.build()).closed(&["a#1"]).open().await;
    let run = scene.start().await;
    scene.gate.arrived("a#1", 1).await;
    let mut reader = scene.session.active().await.unwrap().expect("the run");
    let asked = |event: &Event| matches!(event, Event::QuestionAsked(_));
    until(&mut reader, "the question", |recorded| asked(&recorded.event)).await;
    // Time passes only when nothing else can: by then everybody has done what they could.
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(run.settled().now_or_never(), None, "one of them thinks");
    scene.gate.open();
    let pending = scene.parked(&run).await;
    run.answer(pending[0].id(), "This.", None).await.unwrap();
    assert_eq!(scene.text(&run).await, "Done.");
}

/// Families whose leads wait for two subagents that ask a person, all at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_families_park_and_go_on_side_by_side() {
    let task = |agent: &str| format!(r#"{{"agent":"{agent}","task":"Ask."}}"#);
    let asks = || calls("ask_user", r#"{"question":"Which?"}"#);
    let both = calls("call_subagent", &task("a")).call("call_subagent", task("b"));
    let script = Scripted::builder()
        .reply("lead", 1, both)
        .reply("lead", 2, ScriptedReply::text("Done."))
        .reply("a", 1, asks())
        .reply("a", 2, ScriptedReply::text("A."))
        .reply("b", 1, asks())
        .reply("b", 2, asks())
        .reply("b", 3, ScriptedReply::text("B."));
    let scene = Arc::new(setup(script.build()).open().await);
    let mut going = tokio::task::JoinSet::new();
    for n in 0..100 {
        let (scene, family) = (Arc::clone(&scene), scene.family.clone());
        going.spawn(async move {
            let session = session(&scene.runtime, &format!("s{n}"), family).await;
            let run = session.start("Go").await.unwrap();
            loop {
                match within("a rest", run.settled()).await.unwrap() {
                    Settled::Parked(standing) => assert_eq!(standing, RunStanding::AwaitingUser),
                    Settled::Finished(outcome) => return outcome.text.to_string(),
                    Settled::Interrupted(why) => panic!("{why:?}"),
                }
                let pending = session.pending().await.unwrap();
                assert!(!pending.is_empty(), "parked for nobody");
                run.answer(pending[0].id(), "This.", None).await.unwrap();
            }
        });
    }
    while let Some(text) = going.join_next().await {
        assert_eq!(text.unwrap(), "Done.");
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_attends_and_goes_away_without_an_answer_has_said_no() {
    let scene = two_changes().open().await;
    let run = scene.start().await;
    let pending = scene.parked(&run).await;
    let gone = run.attend(pending[0].id());
    drop(gone);
    run.attend(pending[1].id()).answer(Verdict::Approve, None, None).await.unwrap();
    assert_eq!(scene.text(&run).await, "Done.");
    let results = results(&scene).await;
    assert_eq!((results[0].0, &results[1]), (CallStatus::Denied, &changed("y")));
    assert!(results[0].1.contains("went away without an answer"), "{results:?}");
}

#[tokio::test(start_paused = true)]
async fn an_approval_that_is_left_to_others_goes_on_waiting() {
    let scene = two_changes().open().await;
    let run = scene.start().await;
    let pending = scene.parked(&run).await;
    run.attend(pending[0].id()).leave();
    let left = scene.parked(&run).await;
    assert_eq!(left, pending);
    run.cancel("enough").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_start_is_refused_if_the_session_went_on_while_it_was_prepared() {
    let script = Scripted::builder().reply("lead", 1, ScriptedReply::text("One."));
    let scene = setup(script.build()).open().await;
    let prepared = scene.session.head().await.unwrap();
    let run = scene.session.start_prepared("first", prepared).await.unwrap();
    run.outcome().await.unwrap();
    let now = scene.session.head().await.unwrap();
    let refused = scene.session.start_prepared("second", prepared).await.map(drop);
    let Err(StartError::Refused(refused)) = refused else { panic!("{refused:?}") };
    assert_eq!(refused, Refusal::HistoryChanged { prepared, now });
    scene.session.start_prepared("second", now).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_abort_of_a_person_is_told_from_a_cancel() {
    let scene = two_changes().open().await;
    let run = scene.start().await;
    let pending = scene.parked(&run).await;
    let outcome = run.abort("stop it").await.unwrap();
    let end = (outcome.outcome, outcome.finish_reason);
    assert_eq!(end, (Outcome::Cancelled, FinishReason::UserAborted));
    let late = run.approve(says(pending[0].id(), Verdict::Approve)).await;
    assert_eq!(late, Err(WishError::NotActive));
}
