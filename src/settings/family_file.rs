//! The family file: TOML in, tables with known keys and typed values out. Whether they fit each
//! other is decided when they are frozen.
//!
//! Relative paths in the file (a script of `scripted:FILE`, `workspace`, `data`) are relative to
//! the file's own directory. Commands of tools run in the workspace, so paths in `command` are
//! relative to the workspace.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kinfolk_actors::call::EffectClass;
use kinfolk_actors::family::{ApprovalMode, ModelEndpoint, Role, ToolChoice, ToolChoicePlan};
use kinfolk_actors::id::SessionId;
use toml::de::{DeTable, DeValue};

use super::error::{Place, SettingsError, Told};
use super::table::{Document, Keys, Section, line_ends};
use super::value::{self, Durability, OutputFormat};

/// The largest family file in bytes.
pub const MAX_FILE: u64 = 1024 * 1024;

/// How long a command tool may take if its table says nothing.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// The schema of a command tool whose table has none: an object of any content.
const ANY_OBJECT: &str = r#"{"type":"object"}"#;

/// A family file that was read. [`freeze`](FamilyFile::freeze) makes a family of it.
#[derive(Clone, Debug)]
pub struct FamilyFile {
    pub(super) dir: PathBuf,
    pub(super) lead: AgentTable,
    pub(super) subagents: Vec<SubagentTable>,
    pub(super) tools: Vec<ToolTable>,
    pub(super) models: Vec<(Told<String>, ModelEndpoint)>,
    pub(super) approval: Option<ApprovalMode>,
    pub(super) limits: LimitsTable,
    pub(super) launch: LaunchKeys,
}

/// What `[lead]` and `[[subagents]]` have in common.
#[derive(Clone, Debug)]
pub(super) struct AgentTable {
    pub(super) prompt: Told<String>,
    pub(super) model: Option<Told<String>>,
    pub(super) tools: Vec<Told<String>>,
    pub(super) tool_choice: Option<Told<ToolChoicePlan>>,
}

#[derive(Clone, Debug)]
pub(super) struct SubagentTable {
    pub(super) name: Told<String>,
    pub(super) description: String,
    pub(super) role: Role,
    pub(super) agent: AgentTable,
}

#[derive(Clone, Debug)]
pub(super) struct ToolTable {
    pub(super) name: Told<String>,
    pub(super) description: String,
    pub(super) command: Vec<String>,
    pub(super) effect: EffectClass,
    pub(super) timeout: Duration,
    pub(super) schema: String,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LimitsTable {
    pub(super) max_subagents: Option<u32>,
    pub(super) max_parallel: Option<u32>,
    pub(super) max_depth: Option<u32>,
}

/// The keys that say how the launcher runs the family, with the names of its options.
#[derive(Clone, Debug, Default)]
pub(super) struct LaunchKeys {
    pub(super) workspace: Option<Told<PathBuf>>,
    pub(super) data: Option<Told<PathBuf>>,
    pub(super) session: Option<SessionId>,
    pub(super) durability: Option<Durability>,
    pub(super) output: Option<OutputFormat>,
}

const ROOT: Keys = Keys {
    known: &[
        "lead",
        "subagents",
        "tools",
        "limits",
        "models",
        "approval",
        "workspace",
        "data",
        "session",
        "durability",
        "output",
    ],
    later: &["compaction", "mcp", "attach"],
};
const LEAD: Keys = Keys { known: &["prompt", "model", "tools", "tool_choice"], later: &["limits"] };
const SUBAGENT: Keys = Keys {
    known: &["name", "description", "prompt", "role", "model", "tools", "tool_choice"],
    later: &["limits", "delivery"],
};
const TOOL: Keys = Keys {
    known: &["name", "description", "command", "effect", "timeout", "schema"],
    later: &["check"],
};
const LIMITS: Keys = Keys {
    known: &["max_subagents", "max_parallel", "max_depth"],
    later: &[
        "max_steps",
        "max_tool_calls",
        "max_tokens",
        "max_cost",
        "max_time",
        "on_limit",
        "child_budget",
    ],
};
const MODEL: Keys = Keys {
    known: &["base_url", "api_key_env"],
    later: &["window", "response", "prices", "return_reasoning", "retries", "timeouts"],
};
const APPROVAL: Keys = Keys { known: &["mode"], later: &["allow", "ask", "deny"] };
const TOOL_CHOICE: Keys = Keys { known: &["first"], later: &[] };

impl FamilyFile {
    /// Reads a family file of at most [`MAX_FILE`] bytes.
    ///
    /// # Errors
    /// What is wrong, with the file and, where there is one, the line.
    pub fn read(path: &Path) -> Result<Self, SettingsError> {
        let text = read_text(path)?;
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        let dir = absolute.parent().unwrap_or(Path::new("/"));
        Self::parse(&path.display().to_string(), &text, dir)
    }

    /// The built-in family: a lead and explorers that look into a directory and change nothing.
    ///
    /// # Errors
    /// None in practice: the text is part of the program and a test reads it.
    pub fn explorer() -> Result<Self, SettingsError> {
        let name = "the built-in explorer family";
        Self::parse(name, include_str!("explorer.toml"), Path::new("/"))
    }

    /// Reads the text of a family file. `file` is its name for messages, `dir` the absolute
    /// directory that its relative paths start from.
    ///
    /// # Errors
    /// What is wrong, with the file and line.
    pub fn parse(file: &str, text: &str, dir: &Path) -> Result<Self, SettingsError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let document = Document { file, line_ends: &line_ends(text) };
        let table = DeTable::parse(text).map_err(|error| {
            let place = document.place(error.span().map_or(0, |span| span.start));
            place.error(format!("this is not valid TOML: {}", error.message().trim()))
        })?;
        let root = Section::root(document, &table);
        root.expect_only(ROOT)?;
        let lead = root.section("lead")?.ok_or_else(|| {
            root.place().error("a family file needs a table `[lead]` with a `prompt`")
        })?;
        lead.expect_only(LEAD)?;
        let approval = root.section("approval")?.map(|table| approval(&table)).transpose()?;
        Ok(Self {
            dir: dir.to_path_buf(),
            lead: agent(&lead)?,
            subagents: root
                .sections("subagents")?
                .iter()
                .map(subagent)
                .collect::<Result<_, _>>()?,
            tools: root.sections("tools")?.iter().map(tool).collect::<Result<_, _>>()?,
            models: models(&root)?,
            approval: approval.flatten(),
            limits: root.section("limits")?.as_ref().map(limits).transpose()?.unwrap_or_default(),
            launch: launch(&root, dir)?,
        })
    }
}

/// A family file's text, bounded and checked.
fn read_text(path: &Path) -> Result<String, SettingsError> {
    let place = Place::Path(path.display().to_string().into());
    let cannot = |error: std::io::Error| place.error(format!("cannot be read: {error}"));
    // Looked at by its name, because opening a pipe would wait for its writer.
    let kind = std::fs::metadata(path).map_err(cannot)?;
    if !kind.is_file() {
        let what = if kind.is_dir() { "a directory" } else { "no regular file" };
        return Err(place.error(format!("this is {what}; --family wants a TOML file")));
    }
    let file = std::fs::File::open(path).map_err(cannot)?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MAX_FILE {
        return Err(place.error(format!("is larger than {MAX_FILE} bytes; no family file may be")));
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + valid.iter().filter(|byte| **byte == b'\n').count();
        let place = Place::Line { file: path.display().to_string().into(), line };
        place.error("this is not UTF-8 text; save the file as UTF-8")
    })
}

fn agent(table: &Section<'_>) -> Result<AgentTable, SettingsError> {
    Ok(AgentTable {
        prompt: table.required_text("prompt")?,
        model: table.parsed("model", value::model)?,
        tools: table.texts("tools")?.map(|tools| tools.value).unwrap_or_default(),
        tool_choice: tool_choice(table)?,
    })
}

/// One choice for every request, or `{ first = "…" }` for the first one only.
fn tool_choice(table: &Section<'_>) -> Result<Option<Told<ToolChoicePlan>>, SettingsError> {
    let key = "tool_choice";
    let Some(found) = table.value(key) else { return Ok(None) };
    if found.get_ref().is_str() {
        let choice = table.parsed(key, value::tool_choice)?;
        return Ok(choice
            .map(|told| Told { value: ToolChoicePlan::always(told.value), place: told.place }));
    }
    let expected = "`auto`, `required`, `none` or `{ first = \"required\" }`";
    let name = format!("`{key}` in {}", table.name());
    let plan = table.as_section(found, name, (key, expected))?;
    plan.expect_only(TOOL_CHOICE)?;
    let first = plan
        .parsed("first", value::tool_choice)?
        .ok_or_else(|| plan.place().error(format!("{} must be {expected}", plan.name())))?;
    let value = ToolChoicePlan { first: first.value, then: ToolChoice::Auto };
    Ok(Some(Told { value, place: first.place }))
}

fn subagent(table: &Section<'_>) -> Result<SubagentTable, SettingsError> {
    table.expect_only(SUBAGENT)?;
    Ok(SubagentTable {
        name: name(table)?,
        description: table.required_text("description")?.value,
        role: table.parsed("role", value::role)?.map(|told| told.value).unwrap_or_default(),
        agent: agent(table)?,
    })
}

fn name(table: &Section<'_>) -> Result<Told<String>, SettingsError> {
    table.required_text("name")?;
    table
        .parsed("name", value::function_name)?
        .ok_or_else(|| table.place().error(format!("{} needs `name`", table.name())))
}

fn tool(table: &Section<'_>) -> Result<ToolTable, SettingsError> {
    table.expect_only(TOOL)?;
    Ok(ToolTable {
        name: name(table)?,
        description: table.required_text("description")?.value,
        command: command(table)?,
        effect: table
            .parsed("effect", value::effect)?
            .map_or(EffectClass::Changing, |told| told.value),
        timeout: table
            .parsed("timeout", value::timeout)?
            .map_or(DEFAULT_TIMEOUT, |told| told.value),
        schema: schema(table)?,
    })
}

fn command(table: &Section<'_>) -> Result<Vec<String>, SettingsError> {
    let needed = || {
        table.place().error(format!(
            "{} needs `command`, a list: the program and its arguments",
            table.name()
        ))
    };
    let list = table.texts("command")?.ok_or_else(needed)?;
    if list.value.first().is_none_or(|program| program.value.trim().is_empty()) {
        return Err(list.error("`command` must begin with the name of a program"));
    }
    if let Some(argument) = list.value.iter().find(|argument| argument.value.contains('\0')) {
        return Err(argument.error("`command` must not hold the character NUL"));
    }
    Ok(list.value.into_iter().map(|argument| argument.value).collect())
}

/// The schema as JSON text. It is compiled once here so that a mistake shows before a run.
fn schema(table: &Section<'_>) -> Result<String, SettingsError> {
    let Some(found) = table.value("schema") else { return Ok(ANY_OBJECT.to_owned()) };
    let expected = "a table, for example `{ type = \"object\", properties = {} }`";
    let section = table.as_section(found, "`schema`".to_owned(), ("schema", expected))?;
    let wrong = |problem: String| section.place().error(problem);
    let schema = json(found.get_ref()).map_err(wrong)?;
    if schema.get("type").and_then(serde_json::Value::as_str) != Some("object") {
        return Err(wrong(
            "`schema` must have `type = \"object\"`: arguments are an object".into(),
        ));
    }
    jsonschema::validator_for(&schema).map_err(|error| {
        wrong(format!(
            "`schema` is no valid JSON schema: {}",
            crate::output::plain::line(&error.to_string(), 200)
        ))
    })?;
    Ok(schema.to_string())
}

/// A TOML value as JSON.
fn json(value: &DeValue<'_>) -> Result<serde_json::Value, String> {
    let no_number = |text: &str| format!("the number {text} in `schema` has no form in JSON");
    Ok(match value {
        DeValue::String(text) => text.as_ref().into(),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_err(|_| no_number(number.as_str()))?
            .into(),
        DeValue::Float(number) => number
            .as_str()
            .parse()
            .ok()
            .and_then(serde_json::Number::from_f64)
            .ok_or_else(|| no_number(number.as_str()))?
            .into(),
        DeValue::Boolean(value) => (*value).into(),
        DeValue::Datetime(date) => {
            return Err(format!("the date {date} in `schema` has no form in JSON; quote it"));
        }
        DeValue::Array(list) => {
            list.iter().map(|item| json(item.get_ref())).collect::<Result<_, _>>()?
        }
        DeValue::Table(table) => {
            let pair = |(key, value): (
                &toml::Spanned<toml::de::DeString<'_>>,
                &toml::Spanned<DeValue<'_>>,
            )| { Ok((key.to_string(), json(value.get_ref())?)) };
            serde_json::Value::Object(table.iter().map(pair).collect::<Result<_, String>>()?)
        }
    })
}

fn models(root: &Section<'_>) -> Result<Vec<(Told<String>, ModelEndpoint)>, SettingsError> {
    let Some(table) = root.section("models")? else { return Ok(Vec::new()) };
    let endpoint = |(name, found): (Told<String>, _)| {
        let wrong = |problem| name.error(format!("a key of [models] is wrong: {problem}"));
        let model = value::model(&name.value).map_err(wrong)?;
        let expected = (name.value.as_str(), "a table, for example `[models.\"openai:NAME\"]`");
        let title = format!("[models.\"{model}\"]");
        let section = table.as_section(found, title, expected)?;
        section.expect_only(MODEL)?;
        let endpoint = ModelEndpoint {
            base_url: section.parsed("base_url", value::base_url)?.map(|told| told.value),
            api_key_env: section.parsed("api_key_env", value::api_key_env)?.map(|told| told.value),
        };
        Ok((name, endpoint))
    };
    table.entries().into_iter().map(endpoint).collect()
}

fn approval(table: &Section<'_>) -> Result<Option<ApprovalMode>, SettingsError> {
    table.expect_only(APPROVAL)?;
    Ok(table.parsed("mode", value::approval)?.map(|told| told.value))
}

fn limits(table: &Section<'_>) -> Result<LimitsTable, SettingsError> {
    table.expect_only(LIMITS)?;
    Ok(LimitsTable {
        max_subagents: table.count("max_subagents", 0)?,
        max_parallel: table.count("max_parallel", 1)?,
        max_depth: table.count("max_depth", 0)?,
    })
}

fn launch(root: &Section<'_>, dir: &Path) -> Result<LaunchKeys, SettingsError> {
    let path = |key| -> Result<Option<Told<PathBuf>>, SettingsError> {
        if root.value(key).is_none() {
            return Ok(None);
        }
        let told = root.required_text(key)?;
        Ok(Some(Told { value: dir.join(&told.value), place: told.place }))
    };
    Ok(LaunchKeys {
        workspace: path("workspace")?,
        data: path("data")?,
        session: root.parsed("session", value::session)?.map(|told| told.value),
        durability: root.parsed("durability", value::durability)?.map(|told| told.value),
        output: root.parsed("output", value::output_format)?.map(|told| told.value),
    })
}

impl FamilyFile {
    /// A model as the file names it: its script is relative to the file's directory.
    pub(super) fn model_of_file(&self, name: &Told<String>) -> Told<Arc<str>> {
        let value = super::freeze::absolute_model(&name.value, &self.dir);
        Told { value, place: name.place.clone() }
    }
}
