//! Caps of a family and of the gateway: they hold, and nobody waits for himself.

use std::time::Duration;

use kinfolk_actors::call::CallStatus;
use kinfolk_actors::event::Outcome;
use kinfolk_actors::family::Caps;
use kinfolk_actors::id::AgentId;

use super::support::{
    At, Gate, HELPERS, Model, check_events, delegates, family, look, looks, records, script,
    session, within,
};
use crate::definition::{Family, Subagent};
use crate::model::scripted::{Scripted, ScriptedReply};
use crate::ports::tool::Call;
use crate::runtime::Runtime;
use crate::tools::tool::Tool;

/// Three parents with two children each, and looks in between.
fn deep_script() -> Scripted {
    let three = (0..3).fold(ScriptedReply::default(), |asks, _| delegates(asks, "parent"));
    let two = (0..2).fold(ScriptedReply::default(), |asks, _| delegates(asks, "leaf"));
    Scripted::builder()
        .reply("lead", 1, three)
        .reply("lead", 2, ScriptedReply::text("All done."))
        .reply("parent", 1, two)
        .reply("parent", 2, ScriptedReply::text("Both done."))
        .reply("leaf", 1, looks("leaf"))
        .reply("leaf", 2, ScriptedReply::text("Done."))
        .build()
}

fn deep_family(gate: &Gate, max_parallel: u32) -> Family {
    Family::lead("L")
        .tool(look(gate))
        .subagent(Subagent::explore("parent", "Asks.").tools(["call_subagent"]))
        .subagent(Subagent::explore("leaf", "Looks.").tools(["look"]))
        .caps(Caps { max_subagents: 9, max_parallel, max_depth: 2 })
}

#[tokio::test]
async fn f01_a_deep_family_ends_under_any_cap_and_the_caps_hold() {
    for (concurrency, parallel, most) in [(2, 3, 2), (1, 3, 1), (64, 2, 2), (64, 1, 1), (1, 1, 1)] {
        let gate = Gate::closed([]);
        let model = Model::new(deep_script(), &gate);
        let builder = Runtime::builder().model_concurrency(concurrency);
        let runtime = builder.model("test:m", model.clone()).start().await.unwrap();
        let session = session(&runtime, "s", deep_family(&gate, parallel)).await;
        let run = session.start("Go").await.unwrap();
        let outcome = within("the outcome", run.outcome()).await.unwrap();
        assert_eq!((outcome.outcome, &*outcome.text), (Outcome::Completed, "All done."));
        let requests: usize = model.asked().values().sum();
        assert_eq!(
            (requests, model.most()),
            (2 + 3 * 2 + 6 * 2, most),
            "{concurrency}, {parallel}"
        );
        model.check_pairs();
        check_events(&records(&runtime, session.id()).await);
    }
}

#[tokio::test]
async fn f01_a_family_that_fans_out_does_not_starve_another() {
    let gate = Gate::closed(["a#1", "b#1", "c#1"]);
    let model = Model::new(script(), &gate);
    let builder = Runtime::builder().model_concurrency(4).model("test:m", model.clone());
    let runtime = builder.start().await.unwrap();
    let wide = session(&runtime, "wide", family(&gate)).await.start("Go").await.unwrap();
    for helper in HELPERS {
        gate.arrived(&format!("{helper}#1"), 1).await;
    }
    // Three of four places are taken and stay so; the other family goes on through the fourth.
    let alone = Family::lead("L").tool(look(&gate)).subagent(Subagent::explore("x", "Is not."));
    let alone = session(&runtime, "alone", alone).await.start("Go").await.unwrap();
    let outcome = within("the other family", alone.outcome()).await.unwrap();
    assert_eq!(&*outcome.text, "All is well.");
    gate.open();
    assert_eq!(&*within("the wide one", wide.outcome()).await.unwrap().text, "All is well.");
}

fn statuses(shape: &super::support::Shape, agent: AgentId) -> Vec<CallStatus> {
    shape.iter().filter(|(key, _)| key.1 == agent).map(|(_, told)| told.1).collect()
}

#[tokio::test]
async fn f02_a_child_that_fails_is_an_error_between_two_values() {
    let gate = Gate::closed([]);
    let model = Model::new(script(), &gate).panicking("b#2");
    let runtime = Runtime::builder().model("test:m", model.clone()).start().await.unwrap();
    let session = session(&runtime, "s", family(&gate)).await;
    let run = session.start("Go").await.unwrap();
    let outcome = within("the outcome", run.outcome()).await.unwrap();
    assert_eq!(&*outcome.text, "All is well.");
    let shape = check_events(&records(&runtime, session.id()).await);
    let (ok, error) = (CallStatus::Ok, CallStatus::Error);
    assert_eq!(statuses(&shape, AgentId::LEAD), [ok, error, ok, ok]);
    let words: Vec<bool> = shape
        .iter()
        .filter(|((_, agent, n), _)| agent.is_lead() && *n < 3)
        .map(|(_, (_, _, text))| text.contains("the model panics at b#2"))
        .collect();
    assert_eq!(words, [false, true, false]);
    model.check();
}

#[tokio::test(start_paused = true)]
async fn f02_a_child_whose_tool_never_ends_holds_up_nobody_for_ever() {
    let gate = Gate::closed(["look:c"]);
    let model = Model::new(script(), &gate);
    let runtime = Runtime::builder().model("test:m", model.clone()).start().await.unwrap();
    let inner = gate.clone();
    let tool = Tool::function("look", "Looks.", move |At { at }: At, _: Call| {
        let gate = inner.clone();
        async move {
            gate.pass(&format!("look:{at}")).await;
            at
        }
    });
    let tool = tool.read_only().timeout(Duration::from_secs(2));
    let family = HELPERS.iter().fold(Family::lead("L").tool(tool), |family, helper| {
        family.subagent(Subagent::explore(*helper, "Helps."))
    });
    let session = session(&runtime, "s", family).await;
    let run = session.start("Go").await.unwrap();
    assert_eq!(&*within("the outcome", run.outcome()).await.unwrap().text, "All is well.");
    let shape = check_events(&records(&runtime, session.id()).await);
    assert_eq!(statuses(&shape, AgentId(3)), [CallStatus::Timeout]);
    assert_eq!(statuses(&shape, AgentId(2)), [CallStatus::Ok]);
}
