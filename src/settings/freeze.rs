//! Makes the frozen [`Family`] of a family file: overrides applied, names resolved, and everything
//! checked that needs more than one table to be seen.

mod agents;
mod models;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kinfolk_actors::compaction::CompactionSettings;
use kinfolk_actors::family::{Caps, CommandSpec, Family, ModelEndpoint, ToolSpec};
use kinfolk_actors::limits::{Limits, OnLimit};
use kinfolk_actors::policy::{Mode, Policy};

use self::agents::Freeze;
use super::agent_tools::{AGENT_TOOLS, is_agent_tool};
use super::error::{Place, SettingsError, Told};
use super::family_file::{FamilyFile, SubagentTable, ToolTable};
use crate::output::plain;

/// The prefix of models that play back a file.
const SCRIPTED: &str = "scripted:";

/// The most subagents that a family has.
pub const MAX_SUBAGENTS: usize = 256;

/// The most command tools that a family has.
pub const MAX_TOOLS: usize = 512;

/// The script that is part of the program.
const BUILT_IN_SCRIPT: &str = "explorer";

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
    pub approval: Option<Mode>,
    /// The family's limits, each of which wins over the file's.
    pub limits: Limits,
    /// What happens at a limit.
    pub on_limit: Option<OnLimit>,
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
        let summaries = self.compaction.model.as_ref().map(|name| self.model_of_file(name));
        models.extend(summaries.clone());
        let mut family = Family {
            lead,
            subagents,
            caps: self.caps(overrides),
            limits: overrides.limits.or(self.limits.limits),
            on_limit: overrides.on_limit.or(self.limits.on_limit).unwrap_or_default(),
            child_budget: self.limits.child_budget,
            policy: self.policy(overrides, host)?,
            approval_timeout: self.approval.timeout,
            compaction: CompactionSettings {
                threshold: self.compaction.threshold,
                keep: self.compaction.keep,
                model: summaries.map(|model| model.value),
                fallback: self.compaction.fallback,
            },
            commands: BTreeMap::new(),
            models: models::endpoints(self, overrides, &models, host)?,
            workspace,
        };
        family.commands = self.commands(&family);
        Ok(family)
    }

    /// The policy, with settings only for tools that there are.
    fn policy(&self, overrides: &Overrides, host: &Host<'_>) -> Result<Policy, SettingsError> {
        for told in &self.approval.tools {
            let name = told.value.as_str();
            let known = self.tools.iter().any(|tool| tool.name.value == name)
                || host.tools.iter().any(|tool| &*tool.name == name);
            if is_agent_tool(name) {
                return Err(told.error(format!("`{name}` never asks; it needs no setting")));
            }
            if !known {
                let shown = plain::line(name, 80);
                let problem = format!("there is no tool `{shown}` to ask about");
                return Err(told.error(problem));
            }
        }
        let mode = overrides.approval.or(self.approval.mode).unwrap_or_default();
        Ok(Policy { mode, ..self.approval.policy.clone() })
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
            let built_in = host.tools.iter().any(|tool| &*tool.name == name);
            if built_in || AGENT_TOOLS.contains(&name) {
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
