//! From a family as it was written to one that can run: everything that it names is found, and
//! what is frozen gets its content hash.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kinfolk_actors::brain::Brain;
use kinfolk_actors::call::EffectClass;
use kinfolk_actors::family::{
    CALL_SUBAGENT, Family as FrozenFamily, FamilyHash, Invocation, ModelEndpoint, Role,
    SubagentSpec, ToolSpec,
};
use sha2::{Digest as _, Sha256};

use crate::definition::{Family, Source, Subagent, Written};
use crate::family::activation::Frozen;
use crate::model::catalog;
use crate::ports::model::ModelProvider;
use crate::settings::subagent_tool::call_subagent;
use crate::tools::command::{NoProgram, command_tool};
use crate::tools::tool::Tool;
use crate::tools::toolbox::{Toolbox, ToolboxError};
use crate::tools::workspace::{Workspace, WorkspaceError};

/// What a host registered with its runtime.
#[derive(Default)]
pub(crate) struct Registry {
    pub models: BTreeMap<Arc<str>, Arc<dyn ModelProvider>>,
    pub default_model: Option<Arc<str>>,
    pub tools: Vec<Tool>,
    /// How to reach the lead's model, where it differs from what is frozen.
    pub lead_endpoint: ModelEndpoint,
    /// Directories that no tool may see.
    pub hidden: Vec<PathBuf>,
}

/// A family that cannot run.
#[derive(Debug, thiserror::Error)]
pub enum FamilyError {
    /// No model was named and the runtime has none.
    #[error("the family has no model: name one, or register one with the runtime")]
    NoModel,
    /// A model cannot be reached as it is named.
    #[error("{detail}")]
    Model {
        /// The model, `provider:name`.
        model: Arc<str>,
        /// Why, with its name.
        detail: String,
    },
    /// An agent has a tool that nobody provides.
    #[error(
        "`{agent}` has the tool `{tool}`, which nobody provides ({known}); give it to the family, \
         or, for a resume, register it with `RuntimeBuilder::tool`"
    )]
    UnknownTool {
        /// The agent.
        agent: Arc<str>,
        /// The tool.
        tool: Arc<str>,
        /// The tools that there are.
        known: String,
    },
    /// A subagent that only looks has a tool that changes things.
    #[error("`{agent}` explores and may not have `{tool}`, which changes things; make it a `task`")]
    ChangingTool {
        /// The subagent.
        agent: Arc<str>,
        /// The tool.
        tool: Arc<str>,
    },
    /// A subagent's name cannot be used.
    #[error(
        "`{0}` cannot name a subagent: use 1 to 64 of A-Z a-z 0-9 _ -, but not `lead`, `all` or `sub-…`"
    )]
    SubagentName(Arc<str>),
    /// Two subagents have one name.
    #[error("there are two subagents named `{0}`; rename one")]
    DuplicateSubagent(Arc<str>),
    /// A tool's name or schema does not hold.
    #[error(transparent)]
    Tools(#[from] ToolboxError),
    /// The workspace cannot be used.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// The workspace's path cannot be written into the journal.
    #[error("the path of the workspace {} is not UTF-8; rename it", .0.display())]
    WorkspaceName(PathBuf),
    /// A command tool names no program.
    #[error(transparent)]
    Command(#[from] NoProgram),
    /// The frozen family cannot be written or read as JSON.
    #[error("the frozen family cannot be read: {0}")]
    Frozen(String),
}

impl Registry {
    /// Finds everything that a family names.
    pub fn assemble(&self, family: &Family) -> Result<Frozen, FamilyError> {
        let brain = Arc::clone(&family.brain);
        match &family.source {
            Source::Written(written) => {
                let frozen = self.freeze(written)?;
                self.equip(Arc::new(frozen), &written.tools, brain)
            }
            Source::Frozen(frozen) => self.equip(Arc::clone(frozen), &[], brain),
        }
    }

    /// Finds everything that a family from the journal names. What cannot be frozen, functions and
    /// the brain, is taken from the family that the host has given its session, if it has.
    pub fn revive(
        &self,
        frozen: FrozenFamily,
        given: Option<&Family>,
    ) -> Result<Frozen, FamilyError> {
        let Some(given) = given else {
            return self.assemble(&Family::frozen(frozen));
        };
        let tools = match &given.source {
            Source::Written(written) => written.tools.as_slice(),
            Source::Frozen(_) => &[],
        };
        self.equip(Arc::new(frozen), tools, Arc::clone(&given.brain))
    }

    /// Finds everything that a frozen family names. `tools` go before those of the runtime.
    fn equip(
        &self,
        family: Arc<FrozenFamily>,
        tools: &[Tool],
        brain: Arc<dyn Brain>,
    ) -> Result<Frozen, FamilyError> {
        let (json, hash) = freeze_text(&family)?;
        let toolbox = Arc::new(self.toolbox(&family, tools)?);
        let mut models = HashMap::new();
        for invocation in family.invocations() {
            let model = &invocation.model;
            if !models.contains_key(model) {
                models.insert(Arc::clone(model), self.model(&family, model)?);
            }
        }
        Ok(Frozen { family, hash, json, toolbox, models, brain })
    }

    fn model(
        &self,
        family: &FrozenFamily,
        model: &Arc<str>,
    ) -> Result<Arc<dyn ModelProvider>, FamilyError> {
        if let Some(provider) = self.models.get(model) {
            return Ok(Arc::clone(provider));
        }
        let mut endpoint = family.models.get(&**model).cloned().unwrap_or_default();
        if *model == family.lead.model {
            let ModelEndpoint { base_url, api_key_env } = self.lead_endpoint.clone();
            endpoint.base_url = base_url.or(endpoint.base_url);
            endpoint.api_key_env = api_key_env.or(endpoint.api_key_env);
        }
        catalog::resolve(model, &endpoint).map_err(|error| FamilyError::Model {
            model: Arc::clone(model),
            detail: error.to_string(),
        })
    }

    fn toolbox(&self, family: &FrozenFamily, given: &[Tool]) -> Result<Toolbox, FamilyError> {
        let mut available: BTreeMap<Arc<str>, Tool> = BTreeMap::new();
        let mut offer = |tool: Tool| {
            available.entry(Arc::clone(&tool.spec().name)).or_insert(tool);
        };
        given.iter().chain(&self.tools).cloned().for_each(&mut offer);
        if let Some(workspace) = &family.workspace {
            self.workspace_tools(Path::new(workspace))?.into_iter().for_each(&mut offer);
        }
        let mut named: BTreeMap<Arc<str>, ToolSpec> = BTreeMap::new();
        for (agent, invocation) in named_invocations(family) {
            for spec in invocation.tools.iter().filter(|spec| &*spec.name != CALL_SUBAGENT) {
                let command = family.commands.get(&*spec.name);
                if let Some(command) = command {
                    let tool = command_tool(spec.clone(), command.clone())?;
                    available.entry(Arc::clone(&spec.name)).or_insert(tool);
                }
                if !available.contains_key(&spec.name) {
                    return Err(unknown_tool(agent, &spec.name, available.keys()));
                }
                named.insert(Arc::clone(&spec.name), spec.clone());
            }
        }
        let used = available.into_iter().filter(|(name, _)| named.contains_key(name));
        Ok(Toolbox::new(used.map(|(_, tool)| tool))?)
    }

    fn workspace_tools(&self, directory: &Path) -> Result<Vec<Tool>, FamilyError> {
        let mut workspace = Workspace::open(directory)?;
        for hidden in &self.hidden {
            workspace = workspace.hide(hidden)?;
        }
        Ok(Arc::new(workspace).tools().into())
    }

    /// Turns what a host wrote into what is frozen.
    fn freeze(&self, written: &Written) -> Result<FrozenFamily, FamilyError> {
        let model = written.model.clone().or_else(|| self.default_model.clone());
        let model = model.ok_or(FamilyError::NoModel)?;
        let mut tools: Vec<ToolSpec> =
            written.tools.iter().map(|tool| tool.spec().clone()).collect();
        if let Some(directory) = &written.workspace {
            let more = self.workspace_tools(directory)?;
            tools.extend(more.iter().map(|tool| tool.spec().clone()));
        }
        let names: Vec<&str> = written.subagents.iter().map(|one| &*one.name).collect();
        check_distinct(&written.subagents)?;
        let delegate = (!names.is_empty()).then(|| call_subagent(&names));
        check_tools(tools.iter().chain(&delegate))?;
        let subagent = |one: &Subagent| frozen_subagent(one, &tools, delegate.as_ref(), &model);
        let subagents: Vec<SubagentSpec> =
            written.subagents.iter().map(subagent).collect::<Result<_, _>>()?;
        let workspace = written.workspace.as_deref().map(canonical).transpose()?;
        Ok(FrozenFamily {
            lead: Invocation {
                prompt: Arc::clone(&written.prompt),
                model: Arc::clone(&model),
                tools: tools.iter().chain(&delegate).cloned().collect(),
                tool_choice: written.tool_choice,
            },
            subagents,
            caps: written.caps,
            approval: written.approval,
            commands: BTreeMap::new(),
            models: BTreeMap::new(),
            workspace,
        })
    }
}

/// The JSON text of a frozen family and its content hash.
fn freeze_text(family: &FrozenFamily) -> Result<(Arc<str>, FamilyHash), FamilyError> {
    let json = serde_json::to_string(family).map_err(|e| FamilyError::Frozen(e.to_string()))?;
    let hash = FamilyHash(Sha256::digest(json.as_bytes()).into());
    Ok((json.into(), hash))
}

/// Reads a frozen family back.
pub(crate) fn thaw(json: &str) -> Result<FrozenFamily, FamilyError> {
    serde_json::from_str(json).map_err(|error| FamilyError::Frozen(error.to_string()))
}

/// One name for each directory, whatever links lead to it: the workspace's lease goes by it.
fn canonical(directory: &Path) -> Result<String, FamilyError> {
    let path = Workspace::open(directory)?.root().to_owned();
    match path.to_str() {
        Some(text) => Ok(text.to_owned()),
        None => Err(FamilyError::WorkspaceName(path)),
    }
}

/// The names that a model is told have to be distinct, the built-in ones among them.
fn check_tools<'a>(specs: impl Iterator<Item = &'a ToolSpec>) -> Result<(), FamilyError> {
    let mut seen = BTreeSet::new();
    for spec in specs {
        if !seen.insert(&spec.name) {
            return Err(ToolboxError::Duplicate { name: Arc::clone(&spec.name) }.into());
        }
    }
    Ok(())
}

/// The same rule as in a family file.
fn is_subagent_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let reserved = matches!(name, "lead" | "all") || name.starts_with("sub-");
    (1..=64).contains(&name.len()) && name.chars().all(allowed) && !reserved
}

fn check_distinct(subagents: &[Subagent]) -> Result<(), FamilyError> {
    if let Some(one) = subagents.iter().find(|one| !is_subagent_name(&one.name)) {
        return Err(FamilyError::SubagentName(Arc::clone(&one.name)));
    }
    let mut seen = BTreeSet::new();
    match subagents.iter().find(|one| !seen.insert(&one.name)) {
        Some(twice) => Err(FamilyError::DuplicateSubagent(Arc::clone(&twice.name))),
        None => Ok(()),
    }
}

fn frozen_subagent(
    subagent: &Subagent,
    tools: &[ToolSpec],
    delegate: Option<&ToolSpec>,
    model: &Arc<str>,
) -> Result<SubagentSpec, FamilyError> {
    let allowed = |spec: &ToolSpec| match subagent.role {
        Role::Explore => spec.effect == EffectClass::ReadOnly || &*spec.name == CALL_SUBAGENT,
        Role::Task => true,
    };
    let tools: Vec<ToolSpec> = match &subagent.tools {
        None => tools.iter().filter(|spec| allowed(spec)).cloned().collect(),
        Some(names) => {
            let find = |name: &Arc<str>| {
                let spec = tools.iter().chain(delegate).find(|spec| spec.name == *name);
                let known = tools.iter().map(|spec| &spec.name);
                spec.ok_or_else(|| unknown_tool(&subagent.name, name, known)).cloned()
            };
            names.iter().map(find).collect::<Result<_, _>>()?
        }
    };
    if let Some(spec) = tools.iter().find(|spec| !allowed(spec)) {
        let (agent, tool) = (Arc::clone(&subagent.name), Arc::clone(&spec.name));
        return Err(FamilyError::ChangingTool { agent, tool });
    }
    Ok(SubagentSpec {
        name: Arc::clone(&subagent.name),
        description: Arc::clone(&subagent.description),
        role: subagent.role,
        invocation: Invocation {
            prompt: subagent.prompt_text(),
            model: subagent.model.clone().unwrap_or_else(|| Arc::clone(model)),
            tools: tools.into(),
            tool_choice: subagent.tool_choice,
        },
    })
}

fn named_invocations(family: &FrozenFamily) -> impl Iterator<Item = (&str, &Invocation)> {
    let subagents = family.subagents.iter().map(|spec| (&*spec.name, &spec.invocation));
    std::iter::once(("lead", &family.lead)).chain(subagents)
}

fn unknown_tool<'a>(
    agent: &str,
    tool: &Arc<str>,
    known: impl Iterator<Item = &'a Arc<str>>,
) -> FamilyError {
    let known: Vec<&str> = known.map(AsRef::as_ref).collect();
    let known = match known.as_slice() {
        [] => "there are no tools".to_owned(),
        known => format!("the tools are: {}", known.join(", ")),
    };
    FamilyError::UnknownTool { agent: agent.into(), tool: Arc::clone(tool), known }
}
