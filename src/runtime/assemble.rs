//! From a family as it was written to one that can run: everything that it names is found, and
//! what is frozen gets its content hash.

mod written;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kinfolk_actors::family::{
    Family as FrozenFamily, FamilyHash, Invocation, ModelEndpoint, Placement, ToolSpec,
};
use sha2::{Digest as _, Sha256};

use crate::definition::{Family, Source};
use crate::family::activation::Frozen;
use crate::model::catalog;
use crate::ports::model::ModelProvider;
use crate::settings::agent_tools::is_agent_tool;
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
    /// Who says what requests cost.
    pub pricing: Pricing,
}

/// Who says what requests cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Pricing {
    /// The prices of each model's profile.
    #[default]
    Profiles,
    /// A function of the host, where it has an answer.
    Host,
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
    /// A limit on money could not bind: nobody knows what a model costs.
    #[error(
        "a limit on cost needs the prices of `{0}`, which are not known; add them as \
         `[models.\"{0}\"]` with `prices = {{ input = …, output = … }}`, or leave the limit out"
    )]
    Unpriced(Arc<str>),
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
        let frozen = match &family.source {
            Source::Written(written) => Arc::new(self.freeze(written)?),
            Source::Frozen(frozen) => Arc::clone(frozen),
        };
        self.check_prices(&frozen)?;
        self.equip(frozen, family)
    }

    /// A limit on money that silently binds nothing is worse than none.
    fn check_prices(&self, family: &FrozenFamily) -> Result<(), FamilyError> {
        let own = family.invocations().any(|invocation| invocation.limits.max_cost.is_some());
        if self.pricing == Pricing::Host || !(own || family.limits.max_cost.is_some()) {
            return Ok(());
        }
        let invoked = family.invocations().map(|invocation| &invocation.model);
        let priced = |model: &str| {
            family.models.get(model).is_some_and(|endpoint| endpoint.profile.prices.is_some())
        };
        match invoked.chain(&family.compaction.model).find(|model| !priced(model)) {
            Some(model) => Err(FamilyError::Unpriced(Arc::clone(model))),
            None => Ok(()),
        }
    }

    /// Finds everything that a family from the journal names. What cannot be frozen, functions,
    /// executors and the brain, is taken from the family that the host has given its session, if it has.
    pub fn revive(
        &self,
        frozen: FrozenFamily,
        given: Option<&Family>,
    ) -> Result<Frozen, FamilyError> {
        let frozen = Arc::new(frozen);
        match given {
            Some(given) => self.equip(frozen, given),
            None => self.equip(Arc::clone(&frozen), &Family::frozen(FrozenFamily::clone(&frozen))),
        }
    }

    /// Finds everything that a frozen family names. The tools of the family that is given go
    /// before those of the runtime.
    fn equip(&self, family: Arc<FrozenFamily>, given: &Family) -> Result<Frozen, FamilyError> {
        let tools = match &given.source {
            Source::Written(written) => written.tools.as_slice(),
            Source::Frozen(_) => &[],
        };
        let (json, hash) = freeze_text(&family)?;
        let toolbox = Arc::new(self.toolbox(&family, tools)?);
        let mut models = HashMap::new();
        let invoked = family.invocations().map(|invocation| &invocation.model);
        for model in invoked.chain(&family.compaction.model) {
            if !models.contains_key(model) {
                models.insert(Arc::clone(model), self.model(&family, model)?);
            }
        }
        let (brain, executors) = (Arc::clone(&given.brain), given.executors.clone());
        Ok(Frozen { family, hash, json, toolbox, models, brain, executors })
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
            // What is known of the model was frozen with the family and stays as it was.
            let ModelEndpoint { base_url, api_key_env, profile: _ } = self.lead_endpoint.clone();
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
            for spec in invocation.tools.iter().filter(|spec| runs_here(spec)) {
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
}

/// Whether a toolbox has to have the tool: the agents' own tools are the kernel's, and a client's
/// are run by the client.
fn runs_here(spec: &ToolSpec) -> bool {
    let here = match spec.placement {
        Placement::Runtime => true,
        Placement::Client => false,
    };
    here && !is_agent_tool(&spec.name)
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
