//! What a host writes down, frozen.

use kinfolk_actors::compaction::{CompactionSettings, Fallback};
use kinfolk_actors::family::{Offer, Placement};
use kinfolk_actors::limits::{ChildBudget, Limits, OnLimit};
use kinfolk_actors::policy::Mode;
use kinfolk_actors::profile::ProfileOverrides;
use kinfolk_actors::time::Millis;
use serde_json::json;

use super::*;
use crate::definition::amounts::minutes;
use crate::definition::{Family, Source};
use crate::tools::tool::Tool;
use crate::usd;

fn freeze(family: Family) -> Result<FrozenFamily, String> {
    let registry = Registry { default_model: Some("openai:gpt-4o".into()), ..Registry::default() };
    let Source::Written(written) = &family.source else { panic!("it is written") };
    registry.freeze(written).map_err(|error| error.to_string())
}

fn names(invocation: &Invocation) -> Vec<&str> {
    invocation.tools.iter().map(|tool| &*tool.name).collect()
}

#[test]
fn limits_policy_and_compaction_are_frozen_as_they_are_written() {
    let compaction = CompactionSettings {
        threshold: Some(9_000),
        keep: None,
        model: Some("openai:small".into()),
        fallback: Fallback::Digest,
    };
    let family = Family::lead("p")
        .limits(Limits::none().cost(usd!(0.50)).time(minutes(10)))
        .lead_limits(Limits::none().steps(9))
        .on_limit(OnLimit::Ask)
        .child_budget(ChildBudget::Grant)
        .approval(Mode::AllowList)
        .approval_timeout(minutes(1))
        .compaction(compaction.clone())
        .model_profile(
            "openai:small",
            ProfileOverrides { window: Some(16_000), ..ProfileOverrides::default() },
        );
    let frozen = freeze(family).unwrap();
    let half: kinfolk_actors::money::Money = "0.5".parse().unwrap();
    assert_eq!(frozen.limits, Limits::none().cost(half).time(Millis(600_000)));
    assert_eq!(frozen.lead.limits, Limits::none().steps(9));
    assert_eq!((frozen.on_limit, frozen.child_budget), (OnLimit::Ask, ChildBudget::Grant));
    assert_eq!(frozen.policy.mode, Mode::AllowList);
    assert_eq!(frozen.approval_timeout, Some(Millis(60_000)));
    assert_eq!(frozen.compaction, compaction);
    let profiles: Vec<_> =
        frozen.models.iter().map(|(name, model)| (name.as_str(), &model.profile)).collect();
    let (known, small) =
        (ModelProfile::of("openai:gpt-4o"), &frozen.models["openai:small"].profile);
    assert_eq!(profiles, [("openai:gpt-4o", &known), ("openai:small", small)]);
    assert_eq!(small.window, 16_000);
}

#[test]
fn a_profile_without_room_is_an_error_that_names_the_model() {
    let set = ProfileOverrides { window: Some(10), response: Some(10), ..Default::default() };
    let error = freeze(Family::lead("p").model_profile("openai:gpt-4o", set)).unwrap_err();
    assert!(
        error.starts_with("the profile of openai:gpt-4o cannot be used: a window of 10"),
        "{error}"
    );
}

#[test]
fn agents_have_the_tools_that_are_named_and_a_return_where_it_is_needed() {
    let clock = Tool::of_client("clock", "Says the time", &json!({ "type": "object" }))
        .read_only()
        .held_back()
        .cost(usd!(0.002));
    let family = Family::lead("p")
        .tool(clock)
        .agent_tools(["spawn_subagent", "wait_subagents", "ask_user"])
        .subagent(Subagent::explore("scout", "looks").delivery(Delivery::Return))
        .subagent(
            Subagent::task("writer", "writes")
                .tools(["clock", "ask_parent"])
                .limits(Limits::none().tokens(7))
                .internal()
                .client(),
        );
    let frozen = freeze(family).unwrap();
    let tools: Vec<_> = frozen.invocations().map(names).collect();
    let lead = vec!["clock", "spawn_subagent", "wait_subagents", "ask_user"];
    assert_eq!(tools, [lead, vec!["clock", "task_return"], vec!["clock", "ask_parent"]]);
    let clock = frozen.lead.tool("clock").unwrap();
    assert_eq!((clock.placement, clock.offer), (Placement::Client, Offer::OnceActivated));
    assert_eq!(clock.cost, Some("0.002".parse().unwrap()));
    let spawn = frozen.lead.tool("spawn_subagent").unwrap();
    assert!(spawn.schema.contains("scout") && !spawn.schema.contains("writer"), "{}", spawn.schema);
    let [scout, writer] = frozen.subagents.as_slice() else { panic!("two subagents") };
    assert_eq!((scout.delivery, scout.internal), (Delivery::Return, false));
    assert_eq!((writer.placement, writer.internal), (Placement::Client, true));
    assert_eq!(writer.invocation.limits, Limits::none().tokens(7));
}

#[test]
fn the_lead_starts_subagents_only_if_there_are_any() {
    assert_eq!(names(&freeze(Family::lead("p")).unwrap().lead), Vec::<&str>::new());
    let scout = Subagent::explore("scout", "looks");
    assert_eq!(names(&freeze(Family::lead("p").subagent(scout)).unwrap().lead), ["call_subagent"]);
    for tool in ["spawn_subagent", "ask_parent", "task_return"] {
        let error = freeze(Family::lead("p").agent_tools([tool])).unwrap_err();
        assert!(error.contains(tool), "{error}");
    }
}
