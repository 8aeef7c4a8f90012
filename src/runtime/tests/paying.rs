//! What requests cost as the host says it, and that retries and summaries stay within what the
//! limits have for them.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kinfolk_actors::agent::RawReply;
use kinfolk_actors::compaction::CompactionSettings;
use kinfolk_actors::event::{Event, Message};
use kinfolk_actors::failure::{ErrorCode, Failure};
use kinfolk_actors::limits::{Limits, OnLimit};
use kinfolk_actors::money::Money;
use kinfolk_actors::usage::Usage;

use super::scene::{Scene, setup};
use super::support::{Gate, look, looks, records, within};
use crate::model::scripted::{Scripted, ScriptedReply};
use crate::ports::model::{ModelCall, ModelError, ModelProvider};

async fn events(scene: &Scene) -> Vec<Event> {
    let recorded = records(&scene.runtime, scene.session.id()).await;
    recorded.into_iter().map(|recorded| recorded.event.clone()).collect()
}

#[tokio::test(start_paused = true)]
async fn what_the_hosts_function_says_is_journaled_with_each_request_and_binds() {
    let script = Scripted::builder().reply("lead", 1, looks("one")).reply(
        "lead",
        2,
        ScriptedReply::text("The last."),
    );
    let limit = Limits::none().cost(Money::from_dollars(3));
    let a_fixed_price =
        |model: &str, _: &Usage| (model == "test:m").then_some(Money::from_dollars(3));
    let scene = setup(script.build())
        .tool(look(&Gate::closed([])))
        .family(|family| (family.limits, family.on_limit) = (limit, OnLimit::Finish))
        .open_with(|_, builder| builder.cost(a_fixed_price), |family| family)
        .await;
    let run = scene.start().await;
    within("the outcome", run.outcome()).await.unwrap();
    let events = events(&scene).await;
    let costs = events.iter().filter_map(|event| match event {
        Event::Message(Message::Assistant(reply)) => Some(reply.cost),
        _ => None,
    });
    assert_eq!(costs.collect::<Vec<_>>(), [Some(Money::from_dollars(3)); 2]);
    assert!(scene.model.request("lead#2").tools.is_empty(), "the limit is met");
    let Some(Event::RunFinished(finished)) = events.last() else { panic!("{events:?}") };
    assert_eq!(finished.cost_usd, Some(Money::from_dollars(6)));
}

/// Fails each time in the middle of a long answer.
struct Breaks;

impl ModelProvider for Breaks {
    fn call<'a>(&'a self, call: ModelCall<'a>) -> BoxFuture<'a, Result<RawReply, ModelError>> {
        let most = call.request.max_output.unwrap_or(u64::MAX);
        let output_tokens = most.min(4_000);
        let usage = Usage { model_requests: 1, output_tokens, ..Usage::default() };
        let failure = Failure::new(ErrorCode::ModelTruncated, "it broke off");
        std::future::ready(Err(ModelError { failure, usage, retry_after: None })).boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_is_not_sent_again_past_the_limit_of_tokens() {
    for (limits, requests) in
        [(Limits::none().tokens(4_000), 1), (Limits::none().tokens(7_000), 2), (Limits::none(), 3)]
    {
        let scene = setup(Scripted::builder().build())
            .family(|family| (family.limits, family.on_limit) = (limits, OnLimit::Stop))
            .open_with(|_, builder| builder.model("test:m", Breaks), |family| family)
            .await;
        let run = scene.start().await;
        let outcome = within("the outcome", run.outcome()).await.unwrap();
        assert_eq!(outcome.usage.model_requests, requests, "{limits:?}");
        assert!(outcome.usage.total_tokens() <= limits.max_tokens.unwrap_or(u64::MAX));
        let message = outcome.error.unwrap().message;
        assert_eq!(message.contains("no budget"), requests < 3, "{message}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_summary_is_asked_for_with_the_cap_that_the_limits_granted() {
    let mut script = Scripted::builder().summary("lead", 1, ScriptedReply::text("Goal: to look."));
    for turn in 1..=4 {
        script = script.reply("lead", turn, looks(&format!("{turn}{}", "word ".repeat(400))));
    }
    let script = script.reply("lead", 5, ScriptedReply::text("Done."));
    let scene = setup(script.build())
        .tool(look(&Gate::closed([])))
        .family(|family| {
            (family.limits, family.on_limit) = (Limits::none().tokens(14_000), OnLimit::Stop);
            let only_look = family.lead.tools.iter().filter(|tool| &*tool.name == "look");
            family.lead.tools = only_look.cloned().collect();
            family.compaction = CompactionSettings {
                threshold: Some(3_000),
                keep: Some(100),
                ..CompactionSettings::default()
            };
        })
        .open()
        .await;
    let run = scene.start().await;
    within("the outcome", run.outcome()).await.unwrap();
    let granted = events(&scene).await.into_iter().find_map(|event| match event {
        Event::CompactionStarted(started) => Some(started.max_output),
        _ => None,
    });
    assert!(granted.is_some());
    assert_eq!(scene.model.request("lead/summary#1").max_output, granted);
}
