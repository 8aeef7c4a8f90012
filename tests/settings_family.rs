//! Family files that are accepted, and the families that they become.

#[path = "support/family_file.rs"]
mod family_file;

use std::path::Path;

use kinfolk::settings::error::{Place, Told};
use kinfolk::settings::family_file::FamilyFile;
use kinfolk::settings::freeze::{Host, Overrides};
use kinfolk_actors::call::EffectClass;
use kinfolk_actors::compaction::{CompactionSettings, Fallback};
use kinfolk_actors::cost::Rates;
use kinfolk_actors::family::{
    Caps, CommandSpec, Delivery, Family, ModelEndpoint, Offer, Placement, Role, ToolChoice,
    ToolChoicePlan, ToolSpec,
};
use kinfolk_actors::limits::{ChildBudget, Limits, OnLimit};
use kinfolk_actors::money::Money;
use kinfolk_actors::policy::{Mode, Policy};
use kinfolk_actors::profile::{ModelProfile, Prices, Sampling};
use kinfolk_actors::time::Millis;

use crate::family_file::{built_in, freeze, known_provider};

fn told(text: &str, option: &'static str) -> Option<Told<String>> {
    Some(Told { value: text.into(), place: Place::Option(option.into()) })
}

const WHOLE: &str = r#"
[lead]
prompt = "lead it"
model = "openai:big"
tools = ["read_file", "append_line", "call_subagent"]
tool_choice = { first = "required" }
[[subagents]]
name = "explorer"
description = "looks"
prompt = "look"
tools = ["read_file"]
[[subagents]]
name = "writer"
description = "writes"
prompt = "write"
role = "task"
delivery = "return"
limits = { max_steps = 7, max_cost = "0.10" }
model = "scripted:w.jsonl"
tools = ["append_line"]
tool_choice = "required"
[[tools]]
name = "append_line"
description = "appends"
command = ["sh", "append.sh"]
effect = "idempotent"
timeout = "1m 30s"
offer = "once_activated"
cost = 0.002
schema = { type = "object", properties = { n = { type = "integer", minimum = 1 } } }
[[tools]]
name = "unused"
description = "nobody has it"
command = ["true"]
[limits]
max_subagents = 4
max_depth = 2
max_steps = 40
max_tool_calls = 100
max_tokens = 1_000_000
max_cost = 0.50
max_time = "10m"
on_limit = "ask"
child_budget = "mirror"
[compaction]
threshold = 9000
keep = 900
model = "openai:small"
fallback = "digest"
[models."openai:big"]
base_url = "https://host/v1"
api_key_env = "BIG_KEY"
window = 64000
response = 8000
summary_reserve = 100
safety_buffer = 50
image_tokens = 900
return_reasoning = true
user_after_subagents = true
sampling = "refused"
prices = { input = 0.000001, output = "0.000002", cached_input = 0.0000001 }
[models."openai:unused"]
base_url = "https://other/v1"
[approval]
mode = "allow-list"
allow = ["git status", { tool = "append_line", match = { text = { prefix = "note" } } }]
ask = ["git push:*"]
deny = [{ tool = "append_line", match = { text = { regex = "secret" } } }]
timeout = "1h"
[approval.tools]
append_line = { dynamic = { kind = "reviewer", default = "required" } }
read_file = "never"
[[approval.blacklist]]
id = "no-notes"
class = "filesystem"
about = "writes notes"
rule = { tool = "append_*", policy = "required" }
"#;

#[test]
fn a_whole_file_becomes_a_whole_family() {
    let family = freeze(WHOLE, &Overrides::default()).unwrap();
    let choices: Vec<_> = family.invocations().map(|agent| agent.tool_choice).collect();
    let first = ToolChoicePlan { first: ToolChoice::Required, then: ToolChoice::Auto };
    let required = ToolChoicePlan::always(ToolChoice::Required);
    assert_eq!(choices, [first, ToolChoicePlan::default(), required]);
    let models: Vec<_> = family.invocations().map(|agent| &*agent.model).collect();
    assert_eq!(models, ["openai:big", "openai:big", "scripted:/families/w.jsonl"]);
    let tools: Vec<_> = family.lead.tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(tools, ["read_file", "append_line", "call_subagent"]);
    assert_eq!(
        family.lead.tool("append_line"),
        Some(&ToolSpec {
            name: "append_line".into(),
            description: "appends".into(),
            schema: r#"{"properties":{"n":{"minimum":1,"type":"integer"}},"type":"object"}"#.into(),
            effect: EffectClass::Idempotent,
            placement: Placement::Runtime,
            offer: Offer::OnceActivated,
            cost: Some("0.002".parse().unwrap()),
        })
    );
    let names: Vec<_> =
        family.subagents.iter().map(|spec| (&*spec.name, &*spec.description, spec.role)).collect();
    assert_eq!(names, [("explorer", "looks", Role::Explore), ("writer", "writes", Role::Task)]);
    assert_eq!(family.caps, Caps { max_subagents: 4, max_parallel: 3, max_depth: 2 });
    let usd = |text: &str| text.parse::<Money>().unwrap();
    let limits = Limits::none().steps(40).tool_calls(100).tokens(1_000_000);
    assert_eq!(family.limits, limits.cost(usd("0.5")).time(Millis(600_000)));
    assert_eq!((family.on_limit, family.child_budget), (OnLimit::Ask, ChildBudget::Mirror));
    let compaction = CompactionSettings {
        threshold: Some(9_000),
        keep: Some(900),
        model: Some("openai:small".into()),
        fallback: Fallback::Digest,
    };
    assert_eq!(family.compaction, compaction);
    let own: Vec<_> = family.invocations().map(|agent| agent.limits).collect();
    let seven = Limits::none().steps(7).cost(usd("0.1"));
    assert_eq!(own, [Limits::none(), Limits::none(), seven]);
    let deliveries: Vec<_> = family.subagents.iter().map(|spec| spec.delivery).collect();
    assert_eq!(deliveries, [Delivery::Answer, Delivery::Return]);
    let writer: Vec<_> =
        family.subagents[1].invocation.tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(writer, ["append_line", "task_return"]);
    let command =
        CommandSpec { argv: vec!["sh".into(), "append.sh".into()], timeout: Millis(90_000) };
    assert_eq!(family.commands, [("append_line".to_owned(), command)].into());
    assert_eq!(family.workspace.as_deref(), Some("/work space"));
}

#[test]
fn every_model_that_is_used_has_its_profile_the_one_for_summaries_too() {
    let family = freeze(WHOLE, &Overrides::default()).unwrap();
    let usd = |text: &str| text.parse::<Money>().unwrap();
    let endpoint = ModelEndpoint {
        base_url: Some("https://host/v1".into()),
        api_key_env: Some("BIG_KEY".into()),
        profile: ModelProfile {
            window: 64_000,
            response: 8_000,
            summary_reserve: 100,
            safety_buffer: 50,
            image_tokens: 900,
            prices: Some(Prices {
                rates: Rates {
                    input: usd("0.000001"),
                    cached_input: Some(usd("0.0000001")),
                    cache_write_5m: None,
                    cache_write_1h: None,
                    output: usd("0.000002"),
                    reasoning: None,
                },
                long_context: None,
            }),
            return_reasoning: true,
            user_after_subagents: true,
            sampling: Sampling::Refused,
        },
    };
    let unknown = ModelEndpoint::default();
    let models = [
        ("openai:big".to_owned(), endpoint),
        ("openai:small".to_owned(), unknown.clone()),
        ("scripted:/families/w.jsonl".to_owned(), unknown),
    ];
    assert_eq!(family.models, models.into());
}

#[test]
fn the_policy_of_a_file_is_frozen_whole() {
    let family = freeze(WHOLE, &Overrides::default()).unwrap();
    let expected: Policy = serde_json::from_value(serde_json::json!({
        "mode": "allow-list",
        "allow": [
            "git status",
            { "tool": "append_line", "match": { "text": { "prefix": "note" } } }
        ],
        "ask": ["git push:*"],
        "deny": [{ "tool": "append_line", "match": { "text": { "regex": "secret" } } }],
        "tools": {
            "append_line": { "dynamic": { "kind": "reviewer", "default": "required" } },
            "read_file": "never"
        },
        "blacklist": [{
            "id": "no-notes",
            "class": "filesystem",
            "about": "writes notes",
            "rule": { "tool": "append_*", "policy": "required" }
        }]
    }))
    .unwrap();
    assert_eq!(family.policy, expected);
    assert_eq!(family.approval_timeout, Some(Millis(3_600_000)));
    let json = serde_json::to_string(&family).unwrap();
    assert_eq!(serde_json::from_str::<Family>(&json).unwrap(), family);
}

#[test]
fn a_known_model_has_its_profile_from_the_table() {
    let text = "[lead]\nprompt='p'\nmodel='openai:gpt-4o'\n";
    let family = freeze(text, &Overrides::default()).unwrap();
    let profile = ModelProfile::of("openai:gpt-4o");
    assert!(profile.prices.is_some());
    assert_eq!(family.models["openai:gpt-4o"].profile, profile);
}

#[test]
fn every_agent_tool_is_offered_by_its_name() {
    let text = "[lead]\nprompt='p'\nmodel='openai:m'\ntools=['call_subagent', 'spawn_subagent', \
                'wait_subagents', 'message_subagent', 'stop_subagent', 'ask_user']\n\
                [[subagents]]\nname='a'\ndescription='d'\nprompt='p'\ntools=['ask_parent']\n";
    let family = freeze(text, &Overrides::default()).unwrap();
    let names = |agent: &kinfolk_actors::family::Invocation| {
        agent.tools.iter().map(|tool| tool.name.to_string()).collect::<Vec<_>>()
    };
    let tools: Vec<_> = family.invocations().map(names).collect();
    let lead = [
        "call_subagent",
        "spawn_subagent",
        "wait_subagents",
        "message_subagent",
        "stop_subagent",
        "ask_user",
    ];
    assert_eq!(tools, [lead.map(str::to_owned).to_vec(), vec!["ask_parent".to_owned()]]);
}

#[test]
fn the_subagent_tool_names_the_subagents() {
    let text = "[lead]\nprompt='p'\nmodel='openai:m'\ntools=['call_subagent']\n\
                [[subagents]]\nname='a'\ndescription='d'\nprompt='p'\n\
                [[subagents]]\nname='b'\ndescription='d'\nprompt='p'\n";
    let family = freeze(text, &Overrides::default()).unwrap();
    let tool = family.lead.tool("call_subagent").unwrap();
    let schema: serde_json::Value = serde_json::from_str(&tool.schema).unwrap();
    assert_eq!(schema["properties"]["agent"]["enum"], serde_json::json!(["a", "b"]));
    assert_eq!(schema["required"], serde_json::json!(["agent", "task"]));
    let valid = jsonschema::validator_for(&schema).unwrap();
    let whole = serde_json::json!({
        "agent": "a", "task": "t", "label": "l", "write_scope": ["src"]
    });
    assert!(valid.is_valid(&whole));
    assert!(!valid.is_valid(&serde_json::json!({ "agent": "c", "task": "t" })));
}

#[test]
fn what_is_said_beside_the_file_wins() {
    let text = "[lead]\nprompt='p'\nmodel='openai:m'\n[limits]\nmax_depth=5\nmax_parallel=2\nmax_steps=9\nmax_tokens=9\n\
                [approval]\nmode='manual'\n[models.'openai:m']\nbase_url='http://file/v1'\n";
    let overrides = Overrides {
        model: None,
        base_url: told("http://flag/v1", "--base-url"),
        api_key_env: told("KEY", "--api-key-env"),
        approval: Some(Mode::AutoRun),
        limits: Limits::none().steps(3),
        on_limit: Some(OnLimit::Warn),
        max_subagents: Some(1),
        max_parallel: None,
        max_depth: Some(0),
    };
    let family = freeze(text, &overrides).unwrap();
    assert_eq!(family.caps, Caps { max_subagents: 1, max_parallel: 2, max_depth: 0 });
    assert_eq!(family.policy.mode, Mode::AutoRun);
    assert_eq!(family.limits, Limits::none().steps(3).tokens(9));
    assert_eq!(family.on_limit, OnLimit::Warn);
    let endpoint = ModelEndpoint {
        base_url: Some("http://flag/v1".into()),
        api_key_env: Some("KEY".into()),
        ..ModelEndpoint::default()
    };
    assert_eq!(family.models, [("openai:m".to_owned(), endpoint)].into());

    let script = Overrides { model: told("scripted:x.jsonl", "--model"), ..Overrides::default() };
    assert_eq!(&*freeze(text, &script).unwrap().lead.model, "scripted:/here/x.jsonl");
    let unknown = Overrides { model: told("acme:x", "--model"), ..Overrides::default() };
    assert_eq!(
        freeze(text, &unknown).unwrap_err(),
        "--model: `acme:x` has no known provider; use openai: or scripted:"
    );
}

#[test]
fn the_built_in_family_and_the_examples_freeze() {
    let tools = built_in();
    let host =
        Host { tools: &tools, check_model: &known_provider, current_dir: Path::new("/here") };
    let explorer =
        FamilyFile::explorer().unwrap().freeze(&Overrides::default(), None, &host).unwrap();
    let models: Vec<_> = explorer.invocations().map(|agent| &*agent.model).collect();
    assert_eq!(models, ["scripted:explorer", "scripted:explorer"]);
    assert_eq!(explorer.subagents[0].name.as_ref(), "explorer");
    let other = Overrides { model: told("openai:m", "--model"), ..Overrides::default() };
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/families");
    let mut read = 0;
    for entry in std::fs::read_dir(examples).unwrap() {
        let path = entry.unwrap().path();
        FamilyFile::read(&path).unwrap().freeze(&other, None, &host).unwrap();
        read += 1;
    }
    assert_eq!(read, 2);
}

#[test]
fn the_documented_file_is_a_file() {
    let page = include_str!("../docs/family-file.md");
    let blocks = page.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let text: String = blocks.collect();
    let family = freeze(&text, &Overrides::default()).unwrap();
    assert_eq!(family.subagents[0].invocation.limits.max_steps, Some(8));
    assert_eq!(family.limits.max_tokens, Some(1_000_000));
    assert_eq!(family.policy.blacklist.extra.len(), 1);
    assert_eq!(family.models["openai:NAME"].profile.window, 128_000);
}
