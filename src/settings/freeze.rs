//! Makes the frozen [`Family`] of a family file: overrides applied, names resolved, and everything
//! checked that needs more than one table to be seen.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kinfolk_actors::call::EffectClass;
use kinfolk_actors::family::{
    ApprovalMode, CALL_SUBAGENT, Caps, CommandSpec, Family, Invocation, ModelEndpoint, Role,
    SubagentSpec, ToolChoice, ToolChoicePlan, ToolSpec,
};

use super::error::{Place, SettingsError, Told};
use super::family_file::{AgentTable, FamilyFile, SubagentTable, ToolTable};
use super::subagent_tool::call_subagent;
use crate::output::plain;

/// The prefix of models that play back a file.
const SCRIPTED: &str = "scripted:";

/// The most subagents that a family has.
pub const MAX_SUBAGENTS: usize = 256;

/// The most command tools that a family has.
pub const MAX_TOOLS: usize = 512;

/// The script that is part of the program.
const BUILT_IN_SCRIPT: &str = "explorer";

/// Tools of later versions; their names stay free for them.
const LATER_TOOLS: [&str; 5] =
    ["spawn_subagent", "wait_subagents", "message_subagent", "stop_subagent", "task_return"];

/// What the host of a family knows.
#[derive(Clone, Copy)]
pub struct Host<'a> {
    /// The built-in tools.
    pub tools: &'a [ToolSpec],
    /// Whether a model can be reached so; the error says what would be right.
    pub check_model: &'a dyn Fn(&str, &ModelEndpoint) -> Result<(), String>,
    /// The absolute directory that paths of flags and variables are relative to.
    pub current_dir: &'a Path,
}

/// What was said beside the file and wins over it.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// The lead's model, and that of every subagent whose table names none.
    pub model: Option<Told<String>>,
    /// The base URL of the lead's model.
    pub base_url: Option<Told<String>>,
    /// The variable that holds the key of the lead's model.
    pub api_key_env: Option<Told<String>>,
    /// The approval mode.
    pub approval: Option<ApprovalMode>,
    /// See [`Caps::max_subagents`].
    pub max_subagents: Option<u32>,
    /// See [`Caps::max_parallel`].
    pub max_parallel: Option<u32>,
    /// See [`Caps::max_depth`].
    pub max_depth: Option<u32>,
}

impl FamilyFile {
    /// Freezes the family. The workspace is an absolute directory, see [`workspace`].
    ///
    /// # Errors
    /// What does not fit, with its file and line or its option.
    pub fn freeze(
        &self,
        overrides: &Overrides,
        workspace: Option<String>,
        host: &Host<'_>,
    ) -> Result<Family, SettingsError> {
        self.check_counts()?;
        self.check_names(host)?;
        let lead_model = self.lead_model(overrides, host)?;
        let frozen = Freeze::new(self, host, lead_model);
        let lead = frozen.invocation("lead", &self.lead, &frozen.lead_model)?;
        let mut subagents = Vec::new();
        let mut models = vec![frozen.lead_model.clone()];
        for table in &self.subagents {
            let own = table.agent.model.as_ref().map(|name| self.model_of_file(name));
            let model = own.unwrap_or_else(|| frozen.lead_model.clone());
            subagents.push(frozen.subagent(table, &model)?);
            models.push(model);
        }
        let mut family = Family {
            lead,
            subagents,
            caps: self.caps(overrides),
            approval: overrides.approval.or(self.approval).unwrap_or_default(),
            commands: BTreeMap::new(),
            models: self.endpoints(overrides, &models, host)?,
            workspace,
        };
        family.commands = self.commands(&family);
        Ok(family)
    }

    fn lead_model(
        &self,
        overrides: &Overrides,
        host: &Host<'_>,
    ) -> Result<Told<Arc<str>>, SettingsError> {
        if let Some(name) = &overrides.model {
            let value = absolute_model(&name.value, host.current_dir);
            return Ok(Told { value, place: name.place.clone() });
        }
        let missing = || {
            let problem = "[lead] names no model; add `model = \"PROVIDER:NAME\"` or use --model";
            self.lead.prompt.error(problem)
        };
        self.lead.model.as_ref().map(|name| self.model_of_file(name)).ok_or_else(missing)
    }

    fn caps(&self, overrides: &Overrides) -> Caps {
        let default = Caps::default();
        let pick = |said: Option<u32>, file: Option<u32>, or| said.or(file).unwrap_or(or);
        Caps {
            max_subagents: pick(
                overrides.max_subagents,
                self.limits.max_subagents,
                default.max_subagents,
            ),
            max_parallel: pick(
                overrides.max_parallel,
                self.limits.max_parallel,
                default.max_parallel,
            ),
            max_depth: pick(overrides.max_depth, self.limits.max_depth, default.max_depth),
        }
    }

    /// How to reach each model that is used, checked. The lead's comes first in `used`.
    fn endpoints(
        &self,
        overrides: &Overrides,
        used: &[Told<Arc<str>>],
        host: &Host<'_>,
    ) -> Result<BTreeMap<String, ModelEndpoint>, SettingsError> {
        let mut of_file = HashMap::new();
        for (name, endpoint) in &self.models {
            of_file.entry(self.model_of_file(name).value).or_insert(endpoint);
        }
        let mut endpoints = BTreeMap::new();
        for (n, model) in used.iter().enumerate() {
            let name = model.value.to_string();
            if endpoints.contains_key(&name) {
                continue;
            }
            let mut endpoint: ModelEndpoint =
                of_file.get(&model.value).copied().cloned().unwrap_or_default();
            if n == 0 {
                let said =
                    |told: &Option<Told<String>>| told.as_ref().map(|told| told.value.clone());
                endpoint.base_url = said(&overrides.base_url).or(endpoint.base_url);
                endpoint.api_key_env = said(&overrides.api_key_env).or(endpoint.api_key_env);
            }
            (host.check_model)(&name, &endpoint).map_err(|problem| model.error(problem))?;
            endpoints.insert(name, endpoint);
        }
        endpoints.retain(|_, endpoint| *endpoint != ModelEndpoint::default());
        Ok(endpoints)
    }

    /// The commands of the tools that some agent has.
    fn commands(&self, family: &Family) -> BTreeMap<String, CommandSpec> {
        let tools = family.invocations().flat_map(|agent| agent.tools.iter());
        let names: HashSet<&str> = tools.map(|tool| &*tool.name).collect();
        let used = |tool: &&ToolTable| names.contains(tool.name.value.as_str());
        let command = |tool: &ToolTable| {
            let command = CommandSpec { argv: tool.command.clone(), timeout: tool.timeout.into() };
            (tool.name.value.clone(), command)
        };
        self.tools.iter().filter(used).map(command).collect()
    }

    fn check_counts(&self) -> Result<(), SettingsError> {
        if let Some(first_over) = self.subagents.get(MAX_SUBAGENTS) {
            let problem = format!(
                "there are {} subagents; a family has at most {MAX_SUBAGENTS}",
                self.subagents.len()
            );
            return Err(first_over.name.error(problem));
        }
        if let Some(first_over) = self.tools.get(MAX_TOOLS) {
            let problem =
                format!("there are {} tools; a family has at most {MAX_TOOLS}", self.tools.len());
            return Err(first_over.name.error(problem));
        }
        Ok(())
    }

    fn check_names(&self, host: &Host<'_>) -> Result<(), SettingsError> {
        let mut seen = BTreeSet::new();
        for tool in &self.tools {
            let name = tool.name.value.as_str();
            let built_in = name == CALL_SUBAGENT || host.tools.iter().any(|t| &*t.name == name);
            if built_in || LATER_TOOLS.contains(&name) {
                let problem = format!("`{name}` is the name of a built-in tool; use another one");
                return Err(tool.name.error(problem));
            }
            if !seen.insert(name) {
                return Err(tool.name.error(format!("there are two tools named `{name}`")));
            }
        }
        seen.clear();
        for SubagentTable { name: told, .. } in &self.subagents {
            let name = told.value.as_str();
            if matches!(name, "lead" | "all") || name.starts_with("sub-") {
                let problem = format!("`{name}` is reserved (`lead`, `all`, `sub-…`); use another");
                return Err(told.error(problem));
            }
            if !seen.insert(name) {
                return Err(told.error(format!("there are two subagents named `{name}`")));
            }
        }
        Ok(())
    }
}

/// What every agent of the family is resolved against.
struct Freeze<'a> {
    file: &'a FamilyFile,
    host: &'a Host<'a>,
    lead_model: Told<Arc<str>>,
    /// The tools of the host and the file by name.
    tools: HashMap<&'a str, ToolSpec>,
    /// The tool that starts subagents, if there are any to start. It names all of them, so that it
    /// is made once.
    call_subagent: Option<ToolSpec>,
    /// Whether no subagent may change anything.
    every_explorer: bool,
}

impl<'a> Freeze<'a> {
    fn new(file: &'a FamilyFile, host: &'a Host<'a>, lead_model: Told<Arc<str>>) -> Self {
        let own = file.tools.iter().map(|tool| (tool.name.value.as_str(), command_tool(tool)));
        let built_in = host.tools.iter().map(|spec| (&*spec.name, spec.clone()));
        let names: Vec<&str> =
            file.subagents.iter().map(|table| table.name.value.as_str()).collect();
        Self {
            file,
            host,
            lead_model,
            tools: own.chain(built_in).collect(),
            call_subagent: (!names.is_empty()).then(|| call_subagent(&names)),
            every_explorer: file.subagents.iter().all(|table| table.role == Role::Explore),
        }
    }

    fn subagent(
        &self,
        table: &SubagentTable,
        model: &Told<Arc<str>>,
    ) -> Result<SubagentSpec, SettingsError> {
        let invocation = self.invocation(&table.name.value, &table.agent, model)?;
        if table.role == Role::Explore {
            self.check_explorer(table, &invocation)?;
        }
        Ok(SubagentSpec {
            name: table.name.value.as_str().into(),
            description: table.description.as_str().into(),
            role: table.role,
            invocation,
        })
    }

    fn invocation(
        &self,
        agent: &str,
        table: &AgentTable,
        model: &Told<Arc<str>>,
    ) -> Result<Invocation, SettingsError> {
        let mut tools: Vec<ToolSpec> = Vec::new();
        let mut seen = HashSet::new();
        for name in &table.tools {
            if !seen.insert(name.value.as_str()) {
                return Err(name.error(format!("`{agent}` has the tool `{}` twice", name.value)));
            }
            tools.push(self.tool(agent, name)?);
        }
        let choice = table.tool_choice.as_ref();
        if let Some(choice) = choice.filter(|choice| tools.is_empty() && requires(choice.value)) {
            let problem = format!("`{agent}` must call a tool and has none; give it `tools`");
            return Err(choice.error(problem));
        }
        Ok(Invocation {
            prompt: table.prompt.value.as_str().into(),
            model: Arc::clone(&model.value),
            tools: tools.into(),
            tool_choice: choice.map(|choice| choice.value).unwrap_or_default(),
        })
    }

    fn tool(&self, agent: &str, name: &Told<String>) -> Result<ToolSpec, SettingsError> {
        let wanted = name.value.as_str();
        if wanted == CALL_SUBAGENT {
            let nobody = || {
                name.error(format!(
                    "`{agent}` has the tool `{CALL_SUBAGENT}` and the family has no [[subagents]]"
                ))
            };
            return self.call_subagent.clone().ok_or_else(nobody);
        }
        let spec = self.tools.get(wanted).cloned();
        spec.ok_or_else(|| name.error(self.unknown_tool(agent, wanted)))
    }

    fn unknown_tool(&self, agent: &str, wanted: &str) -> String {
        if LATER_TOOLS.contains(&wanted) {
            return format!("the tool `{wanted}` of `{agent}` is not supported by this version");
        }
        let built_in = self.host.tools.iter().map(|tool| &*tool.name);
        let own = self.file.tools.iter().map(|tool| tool.name.value.as_str());
        let known: Vec<&str> = built_in.chain([CALL_SUBAGENT]).chain(own).collect();
        let wanted = plain::line(wanted, 80);
        format!("there is no tool `{wanted}` for `{agent}`; the tools are: {}", known.join(", "))
    }

    /// An explorer changes nothing, and starts nobody who could.
    fn check_explorer(
        &self,
        table: &SubagentTable,
        invocation: &Invocation,
    ) -> Result<(), SettingsError> {
        let name = &table.name.value;
        let allowed = |tool: &str, effect| {
            effect == EffectClass::ReadOnly || (tool == CALL_SUBAGENT && self.every_explorer)
        };
        let refused = invocation.tools.iter().find(|tool| !allowed(&tool.name, tool.effect));
        let Some(tool) = refused.map(|tool| &*tool.name) else { return Ok(()) };
        let why = if tool == CALL_SUBAGENT {
            "could start a subagent that changes things"
        } else {
            "is not read-only"
        };
        let problem = format!(
            "`{name}` has the role `explore` and its tool `{tool}` {why}; \
             take it away or use `role = \"task\"`"
        );
        let told = table.agent.tools.iter().find(|told| told.value == tool);
        Err(told.unwrap_or(&table.name).error(problem))
    }
}

fn requires(plan: ToolChoicePlan) -> bool {
    plan.first == ToolChoice::Required || plan.then == ToolChoice::Required
}

fn command_tool(table: &ToolTable) -> ToolSpec {
    ToolSpec {
        name: table.name.value.as_str().into(),
        description: table.description.as_str().into(),
        schema: table.schema.as_str().into(),
        effect: table.effect,
    }
}

/// A model's name with the path of its script, if it is one, made absolute, so that the run can be
/// resumed from any directory.
pub(super) fn absolute_model(name: &str, base: &Path) -> Arc<str> {
    match name.strip_prefix(SCRIPTED) {
        Some(script) if script != BUILT_IN_SCRIPT => {
            let joined = base.join(script);
            let path = std::path::absolute(&joined).unwrap_or(joined);
            format!("{SCRIPTED}{}", path.display()).into()
        }
        Some(_) | None => name.into(),
    }
}

/// The workspace as an absolute path without links, if it is a directory.
///
/// # Errors
/// What it is instead.
pub fn workspace(told: &Told<PathBuf>, host: &Host<'_>) -> Result<String, SettingsError> {
    let path = host.current_dir.join(&told.value);
    let wrong = |what: String| {
        let problem =
            format!("the workspace {} {what}; name an existing directory", path.display());
        told.error(problem)
    };
    let real = path.canonicalize().map_err(|error| wrong(format!("cannot be used: {error}")))?;
    if !real.is_dir() {
        return Err(wrong("is not a directory".to_owned()));
    }
    let text = real.into_os_string().into_string();
    text.map_err(|_| wrong("has a path that is not UTF-8".to_owned()))
}

/// The place of a path that nobody named.
pub(super) fn default_path(option: &'static str, path: &str) -> Told<PathBuf> {
    Told { value: path.into(), place: Place::Default(option) }
}
