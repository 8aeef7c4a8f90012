//! Family files that are accepted, and the families that they become.

use std::path::Path;

use kinfolk::settings::error::{Place, Told};
use kinfolk::settings::family_file::FamilyFile;
use kinfolk::settings::freeze::{Host, Overrides};
use kinfolk_actors::call::EffectClass;
use kinfolk_actors::family::{
    ApprovalMode, Caps, CommandSpec, Family, ModelEndpoint, Role, ToolChoice, ToolChoicePlan,
    ToolSpec,
};
use kinfolk_actors::time::Millis;

fn built_in() -> Vec<ToolSpec> {
    ["read_file", "workspace_tree", "search_workspace"]
        .map(|name| ToolSpec {
            name: name.into(),
            description: "reads".into(),
            schema: r#"{"type":"object"}"#.into(),
            effect: EffectClass::ReadOnly,
        })
        .into()
}

fn known_provider(model: &str, _: &ModelEndpoint) -> Result<(), String> {
    if model.starts_with("openai:") || model.starts_with("scripted:") {
        return Ok(());
    }
    Err(format!("`{model}` has no known provider; use openai: or scripted:"))
}

fn freeze(text: &str, overrides: &Overrides) -> Result<Family, String> {
    let tools = built_in();
    let host =
        Host { tools: &tools, check_model: &known_provider, current_dir: Path::new("/here") };
    FamilyFile::parse("f.toml", text, Path::new("/families"))
        .and_then(|file| file.freeze(overrides, Some("/work space".into()), &host))
        .map_err(|error| error.to_string())
}

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
model = "scripted:w.jsonl"
tools = ["append_line"]
tool_choice = "required"
[[tools]]
name = "append_line"
description = "appends"
command = ["sh", "append.sh"]
effect = "idempotent"
timeout = "1m 30s"
schema = { type = "object", properties = { n = { type = "integer", minimum = 1 } } }
[[tools]]
name = "unused"
description = "nobody has it"
command = ["true"]
[limits]
max_subagents = 4
max_depth = 2
[models."openai:big"]
base_url = "https://host/v1"
api_key_env = "BIG_KEY"
[models."openai:unused"]
base_url = "https://other/v1"
[approval]
mode = "auto-run"
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
        })
    );
    let names: Vec<_> =
        family.subagents.iter().map(|spec| (&*spec.name, &*spec.description, spec.role)).collect();
    assert_eq!(names, [("explorer", "looks", Role::Explore), ("writer", "writes", Role::Task)]);
    assert_eq!(family.caps, Caps { max_subagents: 4, max_parallel: 3, max_depth: 2 });
    assert_eq!(family.approval, ApprovalMode::AutoRun);
    let command =
        CommandSpec { argv: vec!["sh".into(), "append.sh".into()], timeout: Millis(90_000) };
    assert_eq!(family.commands, [("append_line".to_owned(), command)].into());
    let endpoint = ModelEndpoint {
        base_url: Some("https://host/v1".into()),
        api_key_env: Some("BIG_KEY".into()),
    };
    assert_eq!(family.models, [("openai:big".to_owned(), endpoint)].into());
    assert_eq!(family.workspace.as_deref(), Some("/work space"));
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
    let text = "[lead]\nprompt='p'\nmodel='openai:m'\n[limits]\nmax_depth=5\nmax_parallel=2\n\
                [approval]\nmode='manual'\n[models.'openai:m']\nbase_url='http://file/v1'\n";
    let overrides = Overrides {
        model: None,
        base_url: told("http://flag/v1", "--base-url"),
        api_key_env: told("KEY", "--api-key-env"),
        approval: Some(ApprovalMode::AutoRun),
        max_subagents: Some(1),
        max_parallel: None,
        max_depth: Some(0),
    };
    let family = freeze(text, &overrides).unwrap();
    assert_eq!(family.caps, Caps { max_subagents: 1, max_parallel: 2, max_depth: 0 });
    assert_eq!(family.approval, ApprovalMode::AutoRun);
    let endpoint =
        ModelEndpoint { base_url: Some("http://flag/v1".into()), api_key_env: Some("KEY".into()) };
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
