//! Histories that are made smaller while their agents work.

use kinfolk_actors::agent::Refusal;
use kinfolk_actors::compaction::{CompactionSettings, Fallback};
use kinfolk_actors::estimate::RequestSize;
use kinfolk_actors::event::{CompactionFinished, Event, Outcome};
use kinfolk_actors::failure::ErrorCode;
use kinfolk_actors::id::AgentId;

use super::scene::{Scene, Setup, setup};
use super::support::{Gate, look, looks, records, within};
use crate::model::scripted::{ScriptBuilder, Scripted, ScriptedReply};
use crate::runtime::StartError;

const NOTES: &str = "Goal: to look. Done: most of it.";

/// A lead that looks at four long places, and answers. Its history is compacted on the way.
fn looking(script: ScriptBuilder) -> Setup {
    after_four_looks(script.reply("lead", 5, ScriptedReply::text("Done.")))
}

fn after_four_looks(mut script: ScriptBuilder) -> Setup {
    for turn in 1..=4 {
        script = script.reply("lead", turn, looks(&format!("{turn}{}", "word ".repeat(400))));
    }
    setup(script.build()).tool(look(&Gate::closed([]))).family(|family| {
        let only_look = family.lead.tools.iter().filter(|tool| &*tool.name == "look");
        family.lead.tools = only_look.cloned().collect();
        family.compaction = CompactionSettings {
            threshold: Some(3_000),
            keep: Some(100),
            ..CompactionSettings::default()
        };
    })
}

/// The same, with this answer to each request for a summary.
fn answered(summary: &ScriptedReply) -> Setup {
    let every = |script: ScriptBuilder, n| script.summary("lead", n, summary.clone());
    looking((1..=4).fold(Scripted::builder(), every))
}

async fn compactions(scene: &Scene) -> Vec<CompactionFinished> {
    let events = records(&scene.runtime, scene.session.id()).await;
    let finished = |event: &Event| match event {
        Event::CompactionFinished(finished) => Some(finished.clone()),
        _ => None,
    };
    events.iter().filter_map(|recorded| finished(&recorded.event)).collect()
}

fn reads(scene: &Scene, key: &str, words: &str) -> bool {
    format!("{:?}", scene.model.request(key).messages).contains(words)
}

#[tokio::test(start_paused = true)]
async fn a_history_at_its_threshold_is_replaced_by_the_models_notes() {
    let scene = answered(&ScriptedReply::text(NOTES)).open().await;
    let run = scene.start().await;
    assert_eq!(scene.text(&run).await, "Done.");
    let done = compactions(&scene).await;
    assert!(!done.is_empty());
    for one in &done {
        assert!(one.ok && one.gained && one.usage.model_requests == 1, "{one:?}");
        assert!(one.tokens_after < one.tokens_before, "{one:?}");
    }
    assert!(reads(&scene, "lead#5", NOTES));
    assert!(!reads(&scene, "lead#5", "seen 1"), "the oldest exchange is in the notes");
    let asked = scene.model.request("lead/summary#1");
    assert!(asked.max_output.is_some());
    let family = scene.session.slot.family_of(run.id());
    assert!(family.is_none_or(|family| !family.summaries.is_staffed()), "it left");
}

#[tokio::test(start_paused = true)]
async fn a_summary_that_fails_leaves_the_history_as_it_is() {
    let no = ScriptedReply::error(ErrorCode::ModelBadRequest, "No summaries here.");
    let scene = answered(&no).open().await;
    let run = scene.start().await;
    assert_eq!(scene.text(&run).await, "Done.");
    let done = compactions(&scene).await;
    assert!(!done.is_empty());
    for one in &done {
        let code = one.error.as_ref().map(|error| error.code.clone());
        assert_eq!((one.ok, code), (false, Some(ErrorCode::ModelBadRequest)));
    }
    assert!(reads(&scene, "lead#5", "seen 1"), "nothing is lost");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_calls_tools_is_asked_for_once_more() {
    let every =
        |script: ScriptBuilder, n| script.summary_again("lead", n, ScriptedReply::text(NOTES));
    let mut script = (1..=4).fold(Scripted::builder(), every);
    for n in 1..=4 {
        script = script.summary("lead", n, looks("nowhere"));
    }
    let scene = looking(script).open().await;
    let run = scene.start().await;
    assert_eq!(scene.text(&run).await, "Done.");
    for one in compactions(&scene).await {
        assert!(one.ok && one.usage.model_requests == 2, "{one:?}");
    }
    let events = records(&scene.runtime, scene.session.id()).await;
    let looked = |event: &Event| match event {
        Event::ToolStarted(started) => started.arguments.contains("nowhere"),
        _ => false,
    };
    assert!(!events.iter().any(|recorded| looked(&recorded.event)), "a summary ran a tool");
}

#[tokio::test(start_paused = true)]
async fn a_request_for_a_summary_that_is_too_large_is_made_smaller_once_and_a_digest_may_follow() {
    let full = ScriptedReply::error(ErrorCode::ModelContextOverflow, "Too large.");
    for fallback in [Fallback::None, Fallback::Digest] {
        let scene =
            answered(&full).family(|family| family.compaction.fallback = fallback).open().await;
        let run = scene.start().await;
        assert_eq!(scene.text(&run).await, "Done.");
        let done = compactions(&scene).await;
        assert!(done.iter().all(|one| one.ok == (fallback == Fallback::Digest)), "{done:?}");
        assert_eq!(scene.model.asked()["lead/summary#1"], 2, "tried again with less");
        assert_eq!(reads(&scene, "lead#5", "plain digest"), fallback == Fallback::Digest);
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancel_ends_a_summary_in_the_making() {
    let scene = answered(&ScriptedReply::text(NOTES)).closed(&["lead/summary#1"]).open().await;
    let run = scene.start().await;
    scene.gate.arrived("lead/summary#1", 1).await;
    assert_eq!(scene.model.in_flight(), 1);
    let outcome = within("the cancel", run.cancel("enough")).await.unwrap();
    assert_eq!(outcome.outcome, Outcome::Cancelled);
    assert_eq!(scene.model.in_flight(), 0);
    assert_eq!(compactions(&scene).await.len(), 1, "begun and ended");
}

#[tokio::test(start_paused = true)]
async fn a_compactor_that_crashes_begins_its_summary_anew() {
    let scene = answered(&ScriptedReply::text(NOTES)).closed(&["lead/summary#1"]).open().await;
    let run = scene.start().await;
    scene.gate.arrived("lead/summary#1", 1).await;
    let family = scene.session.slot.family_of(run.id()).unwrap();
    assert!(family.summaries.panic_executor());
    drop(family);
    scene.gate.arrived("lead/summary#1", 2).await;
    scene.gate.open();
    assert_eq!(scene.text(&run).await, "Done.");
    assert!(compactions(&scene).await.iter().all(|one| one.ok));
}

#[tokio::test(start_paused = true)]
async fn a_lead_that_crashes_while_its_history_is_summarised_goes_on() {
    let scene = answered(&ScriptedReply::text(NOTES)).closed(&["lead/summary#1"]).open().await;
    let run = scene.start().await;
    scene.gate.arrived("lead/summary#1", 1).await;
    let family = scene.session.slot.family_of(run.id()).unwrap();
    assert!(family.panic_agent(AgentId::LEAD));
    drop(family);
    scene.gate.arrived("lead/summary#1", 2).await;
    scene.gate.open();
    assert_eq!(scene.text(&run).await, "Done.");
}

#[tokio::test(start_paused = true)]
async fn a_session_can_be_compacted_between_its_runs() {
    let wide = |family: &mut kinfolk_actors::family::Family| {
        family.compaction.threshold = Some(1_000_000);
    };
    let scene = answered(&ScriptedReply::text(NOTES)).family(wide).open().await;
    let nothing = scene.session.compact().await;
    assert!(matches!(nothing, Err(StartError::Refused(Refusal::NothingToCompact))));
    let run = scene.start().await;
    assert_eq!(scene.text(&run).await, "Done.");
    assert_eq!(compactions(&scene).await, []);
    let run = scene.session.compact().await.unwrap();
    let outcome = within("the compaction", run.outcome()).await.unwrap();
    assert_eq!((outcome.outcome, &*outcome.text), (Outcome::Completed, ""));
    let done = compactions(&scene).await;
    assert!(done.len() == 1 && done[0].ok, "{done:?}");
}

#[tokio::test(start_paused = true)]
async fn a_run_is_compacted_before_its_next_request_if_somebody_wants_it() {
    let wide = |family: &mut kinfolk_actors::family::Family| {
        family.compaction.threshold = Some(1_000_000);
    };
    let scene = answered(&ScriptedReply::text(NOTES)).family(wide).closed(&["lead#4"]).open().await;
    let run = scene.start().await;
    scene.gate.arrived("lead#4", 1).await;
    run.compact().await.unwrap();
    scene.gate.open();
    assert_eq!(scene.text(&run).await, "Done.");
    assert_eq!(compactions(&scene).await.len(), 1);
    assert!(reads(&scene, "lead#5", NOTES));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_the_provider_finds_too_large_is_compacted_and_sent_again_once() {
    let full = ScriptedReply::error(ErrorCode::ModelContextOverflow, "Too large.");
    let wide = |family: &mut kinfolk_actors::family::Family| {
        family.compaction.threshold = Some(1_000_000);
    };
    let mut script = Scripted::builder().summary("lead", 1, ScriptedReply::text(NOTES));
    script = script.reply("lead", 5, full).reply("lead", 6, ScriptedReply::text("Done."));
    let scene = after_four_looks(script).family(wide).open().await;
    let run = scene.start().await;
    assert_eq!(scene.text(&run).await, "Done.");
    let done = compactions(&scene).await;
    assert!(done.len() == 1 && done[0].ok, "{done:?}");
    assert!(reads(&scene, "lead#6", NOTES));
    let (sent, summary) = (scene.model.request("lead#5"), scene.model.request("lead/summary#1"));
    let size = |request| RequestSize::of(request).total();
    assert!(size(&summary) < size(&sent), "less than what was just refused");
}
