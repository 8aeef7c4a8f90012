//! The family file: TOML in, tables with known keys and typed values out. Whether they fit each
//! other is decided when they are frozen.
//!
//! Relative paths in the file (a script of `scripted:FILE`, `workspace`, `data`) are relative to
//! the file's own directory. Commands of tools run in the workspace, so paths in `command` are
//! relative to the workspace.

mod approval;
mod bounds;
mod models;
mod tools;

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kinfolk_actors::family::{Delivery, Role, ToolChoice, ToolChoicePlan};
use kinfolk_actors::id::SessionId;
use kinfolk_actors::limits::Limits;
use toml::de::DeTable;

pub(super) use self::approval::ApprovalTable;
pub(super) use self::bounds::{CompactionTable, LimitsTable};
pub(super) use self::models::ModelTable;
pub use self::tools::DEFAULT_TIMEOUT;
pub(super) use self::tools::ToolTable;

use super::error::{Place, SettingsError, Told};
use super::table::{Document, Keys, Section, line_ends};
use super::value::{self, Durability, OutputFormat};

/// The largest family file in bytes.
pub const MAX_FILE: u64 = 1024 * 1024;

/// A family file that was read. [`freeze`](FamilyFile::freeze) makes a family of it.
#[derive(Clone, Debug)]
pub struct FamilyFile {
    pub(super) dir: PathBuf,
    pub(super) lead: AgentTable,
    pub(super) subagents: Vec<SubagentTable>,
    pub(super) tools: Vec<ToolTable>,
    pub(super) models: Vec<ModelTable>,
    pub(super) approval: ApprovalTable,
    pub(super) limits: LimitsTable,
    pub(super) compaction: CompactionTable,
    pub(super) launch: LaunchKeys,
}

/// What `[lead]` and `[[subagents]]` have in common.
#[derive(Clone, Debug)]
pub(super) struct AgentTable {
    pub(super) prompt: Told<String>,
    pub(super) model: Option<Told<String>>,
    pub(super) tools: Vec<Told<String>>,
    pub(super) tool_choice: Option<Told<ToolChoicePlan>>,
    pub(super) limits: Limits,
}

#[derive(Clone, Debug)]
pub(super) struct SubagentTable {
    pub(super) name: Told<String>,
    pub(super) description: String,
    pub(super) role: Role,
    pub(super) delivery: Delivery,
    pub(super) agent: AgentTable,
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
        "compaction",
        "models",
        "approval",
        "workspace",
        "data",
        "session",
        "durability",
        "output",
    ],
    later: &["mcp", "attach"],
};
const LEAD: Keys =
    Keys { known: &["prompt", "model", "tools", "tool_choice", "limits"], later: &[] };
const SUBAGENT: Keys = Keys {
    known: &[
        "name",
        "description",
        "prompt",
        "role",
        "delivery",
        "model",
        "tools",
        "tool_choice",
        "limits",
    ],
    later: &[],
};
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
        Ok(Self {
            dir: dir.to_path_buf(),
            lead: agent(&lead)?,
            subagents: root
                .sections("subagents")?
                .iter()
                .map(subagent)
                .collect::<Result<_, _>>()?,
            tools: root.sections("tools")?.iter().map(tools::tool).collect::<Result<_, _>>()?,
            models: models::models(&root)?,
            approval: approval::approval(&root)?,
            limits: bounds::limits(&root)?,
            compaction: bounds::compaction(&root)?,
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
        limits: bounds::own_limits(table)?,
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
        delivery: table
            .parsed("delivery", value::delivery)?
            .map(|told| told.value)
            .unwrap_or_default(),
        agent: agent(table)?,
    })
}

fn name(table: &Section<'_>) -> Result<Told<String>, SettingsError> {
    table.required_text("name")?;
    table
        .parsed("name", value::function_name)?
        .ok_or_else(|| table.place().error(format!("{} needs `name`", table.name())))
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
