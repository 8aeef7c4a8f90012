//! Work that is done outside: by a client, by a tool that answers later, by executors and checks
//! of the host.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kinfolk_actors::agent::{Outcome, Refusal, RunStanding, Verdict};
use kinfolk_actors::call::CallStatus;
use kinfolk_actors::event::Event;
use kinfolk_actors::policy::rule::Need;
use kinfolk_actors::policy::{Dynamic, Intervention};
use kinfolk_actors::time::Millis;

use super::scene::{Scene, Setup, calls, change, lead_call, says, setup};
use super::support::{At, Gate, look, looks, records, within};
use crate::definition::Family;
use crate::model::scripted::{Scripted, ScriptedReply};
use crate::ports::executor::{Executor, ExecutorKind, Order, Stop};
use crate::ports::tool::{Call, ToolAnswer};
use crate::runtime::{RuntimeBuilder, Settled, WishError};
use crate::tools::tool::Tool;

fn one_call(name: &str) -> Setup {
    let script = Scripted::builder().reply("lead", 1, calls(name, r#"{"at":"x"}"#)).reply(
        "lead",
        2,
        ScriptedReply::text("Done."),
    );
    setup(script.build())
}

async fn results(scene: &Scene) -> Vec<(CallStatus, String)> {
    let events = records(&scene.runtime, scene.session.id()).await;
    let result = |event: &Event| match event {
        Event::ToolFinished(end) => Some((end.result.status, end.result.text.to_string())),
        _ => None,
    };
    events.iter().filter_map(|recorded| result(&recorded.event)).collect()
}

async fn delivered(scene: Scene) {
    let run = scene.start().await;
    let settled = within("parked", run.settled()).await.unwrap();
    assert_eq!(settled, Settled::Parked(RunStanding::AwaitingTool));
    let family = scene.session.slot.family_of(run.id()).unwrap();
    assert_eq!(family.effects.in_flight(), 0, "nothing is held");
    drop(family);
    let events = records(&scene.runtime, scene.session.id()).await;
    let call = events.iter().find_map(|recorded| match &recorded.event {
        Event::ToolStarted(started) => Some(started.call),
        _ => None,
    });
    let call = call.unwrap();
    let other = lead_call(&run, call.n + 7);
    let nobody = run.deliver(other, CallStatus::Ok, "42").await;
    assert_eq!(nobody, Err(WishError::Refused(Refusal::NotAwaited(other))));
    run.deliver(call, CallStatus::Ok, "42").await.unwrap();
    assert_eq!(scene.text(&run).await, "Done.");
    assert_eq!(results(&scene).await, [(CallStatus::Ok, "42".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn a_clients_tool_parks_the_run_until_its_result_is_delivered() {
    let never = |_: At, _: Call| async { "never runs here" };
    let page = Tool::function("page", "The client's page.", never).read_only().client();
    delivered(one_call("page").tool(page).open().await).await;
}

#[tokio::test(start_paused = true)]
async fn a_tool_can_answer_later() {
    let later = |_: At, _: Call| async { ToolAnswer::later() };
    let later = Tool::function("later", "Answers later.", later).read_only();
    delivered(one_call("later").tool(later).open().await).await;
}

/// Says its name instead of running tools.
struct Says(&'static str);

impl Executor for Says {
    fn run(&self, order: Order, _stop: Stop) -> BoxFuture<'static, Outcome> {
        let text = format!("{} for {}", self.0, order.name).into();
        let (status, duration) = (CallStatus::Ok, Millis(0));
        std::future::ready(Outcome::Tool { status, text, duration }).boxed()
    }
}

/// Gives what no work of its kind can have.
struct Wrong;

impl Executor for Wrong {
    fn run(&self, _order: Order, _stop: Stop) -> BoxFuture<'static, Outcome> {
        std::future::ready(Outcome::Leased).boxed()
    }
}

async fn told(
    more: impl FnOnce(RuntimeBuilder) -> RuntimeBuilder,
    given: impl FnOnce(Family) -> Family,
) -> Vec<String> {
    let script = Scripted::builder()
        .reply("lead", 1, looks("x").call("look", r#"{"at":"y"}"#))
        .reply("lead", 2, ScriptedReply::text("Done."));
    let setup = setup(script.build()).tool(look(&Gate::closed([])));
    let scene = setup.open_with(|_, builder| more(builder), given).await;
    let run = scene.start().await;
    assert_eq!(scene.text(&run).await, "Done.");
    results(&scene).await.into_iter().map(|(_, text)| text).collect()
}

#[tokio::test(start_paused = true)]
async fn an_executor_of_the_agent_goes_before_the_runtimes_and_that_before_the_built_in_one() {
    const TOOL: ExecutorKind = ExecutorKind::Tool;
    let built_in = told(|builder| builder, |family| family).await;
    assert_eq!(built_in, ["seen x", "seen y"]);
    let runtime = |builder: RuntimeBuilder| builder.executor(TOOL, Says("the runtime"));
    let of_all = told(runtime, |family| family.executor("a", TOOL, Says("another"))).await;
    assert_eq!(of_all, ["the runtime for lead"; 2], "batches too");
    let of_lead = told(runtime, |family| family.executor("lead", TOOL, Says("the agent"))).await;
    assert_eq!(of_lead, ["the agent for lead"; 2]);
}

#[tokio::test(start_paused = true)]
async fn an_outcome_that_does_not_fit_is_the_executors_failure() {
    let wrong = |builder: RuntimeBuilder| builder.executor(ExecutorKind::Tool, Wrong);
    let told = told(wrong, |family| family).await;
    assert!(told.iter().all(|text| text.contains("cannot have")), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn every_kind_of_work_can_be_done_by_another_executor() {
    struct Replies;
    impl Executor for Replies {
        fn run(&self, order: Order, _stop: Stop) -> BoxFuture<'static, Outcome> {
            let reply = kinfolk_actors::agent::RawReply {
                cost: None,
                text: format!("{} was asked", order.name).into(),
                calls: Vec::new(),
                finish: kinfolk_actors::event::Finish::Stop,
                usage: kinfolk_actors::usage::Usage::default(),
                model: "own".into(),
                duration: Millis(0),
                opaque: None,
            };
            std::future::ready(Outcome::Replied(reply)).boxed()
        }
    }
    let own = |_: &Gate, builder: RuntimeBuilder| builder.executor(ExecutorKind::Model, Replies);
    let scene = one_call("look").tool(look(&Gate::closed([]))).open_with(own, |one| one).await;
    let run = scene.start().await;
    assert_eq!(scene.text(&run).await, "lead was asked");
    assert!(scene.model.asked().is_empty());
}

fn audited(default: Need) -> Setup {
    one_call("change").tool(change(&Gate::closed([]))).family(|family| {
        let audit = Dynamic { kind: "careful".to_owned(), default, policy: Need::Always };
        family.policy.tools.insert("change".to_owned(), Intervention::Dynamic(audit));
    })
}

#[tokio::test(start_paused = true)]
async fn a_check_of_the_host_says_whether_a_person_is_asked() {
    let careful = |answer: bool| {
        move |_: &Gate, builder: RuntimeBuilder| {
            builder.audit("careful", move |tool: Arc<str>, arguments: Arc<str>| async move {
                assert_eq!((&*tool, &*arguments), ("change", r#"{"at":"x"}"#));
                answer
            })
        }
    };
    let scene = audited(Need::Never).open_with(careful(true), |family| family).await;
    let run = scene.start().await;
    let pending = scene.parked(&run).await;
    run.approve(says(pending[0].id(), Verdict::Approve)).await.unwrap();
    assert_eq!(scene.text(&run).await, "Done.");
    let scene = audited(Need::Never).open_with(careful(false), |family| family).await;
    let run = scene.start().await;
    assert_eq!(scene.text(&run).await, "Done.", "nobody is asked");
}

#[tokio::test(start_paused = true)]
async fn a_check_that_panics_asks_a_person_and_one_that_nobody_has_comes_to_its_default() {
    let panics = |_: &Gate, builder: RuntimeBuilder| {
        builder.audit("careful", |_: Arc<str>, _: Arc<str>| async { panic!("no idea") })
    };
    let scene = audited(Need::Never).open_with(panics, |family| family).await;
    let run = scene.start().await;
    assert_eq!(scene.parked(&run).await.len(), 1);
    let scene = audited(Need::Never).open().await;
    let run = scene.start().await;
    assert_eq!(scene.text(&run).await, "Done.");
    let scene = audited(Need::Always).open().await;
    let run = scene.start().await;
    assert_eq!(scene.parked(&run).await.len(), 1);
}
