//! A family as an embedding host writes it down: prompts, tools and bounds, in a few lines.

use std::path::PathBuf;
use std::sync::Arc;

use kinfolk_actors::brain::{Brain, PhaseBrain};
use kinfolk_actors::family::{ApprovalMode, Caps, Family as FrozenFamily, Role, ToolChoicePlan};

use crate::tools::tool::Tool;

/// A family: a lead, its tools and the subagents that it may start.
///
/// Nothing is checked until a session is opened with it; then a name that is taken twice, a tool
/// that does not exist or a model that nobody provides is an error that names it.
#[derive(Clone)]
pub struct Family {
    pub(crate) source: Source,
    pub(crate) brain: Arc<dyn Brain>,
}

#[derive(Clone)]
pub(crate) enum Source {
    /// Written by a host.
    Written(Box<Written>),
    /// Frozen already: from a family file or a journal.
    Frozen(Arc<FrozenFamily>),
}

#[derive(Clone)]
pub(crate) struct Written {
    pub prompt: Arc<str>,
    pub model: Option<Arc<str>>,
    pub tools: Vec<Tool>,
    pub tool_choice: ToolChoicePlan,
    pub subagents: Vec<Subagent>,
    pub caps: Caps,
    pub approval: ApprovalMode,
    pub workspace: Option<PathBuf>,
}

impl Family {
    /// A family whose lead has this role prompt.
    #[must_use]
    pub fn lead(prompt: impl Into<Arc<str>>) -> Self {
        let written = Written {
            prompt: prompt.into(),
            model: None,
            tools: Vec::new(),
            tool_choice: ToolChoicePlan::default(),
            subagents: Vec::new(),
            caps: Caps::default(),
            approval: ApprovalMode::default(),
            workspace: None,
        };
        Self { source: Source::Written(Box::new(written)), brain: Arc::new(PhaseBrain) }
    }

    /// A family that is frozen already, for example from a family file. What the methods below
    /// would change is in it; they leave it as it is.
    #[must_use]
    pub fn frozen(family: FrozenFamily) -> Self {
        Self { source: Source::Frozen(Arc::new(family)), brain: Arc::new(PhaseBrain) }
    }

    /// Gives the lead, and every subagent that does not narrow its tools, one more tool. An
    /// `explore` subagent gets it only if it is read-only.
    #[must_use]
    pub fn tool(self, tool: Tool) -> Self {
        self.write(|written| written.tools.push(tool))
    }

    /// Adds a subagent that the lead may start with `call_subagent`.
    #[must_use]
    pub fn subagent(self, subagent: Subagent) -> Self {
        self.write(|written| written.subagents.push(subagent))
    }

    /// The lead's model, `provider:name`, and that of every subagent without its own. Default: the
    /// runtime's first model.
    #[must_use]
    pub fn model(self, model: impl Into<Arc<str>>) -> Self {
        self.write(|written| written.model = Some(model.into()))
    }

    /// Whether the lead has to call a tool.
    #[must_use]
    pub fn tool_choice(self, choice: ToolChoicePlan) -> Self {
        self.write(|written| written.tool_choice = choice)
    }

    /// How large the family may grow.
    #[must_use]
    pub fn caps(self, caps: Caps) -> Self {
        self.write(|written| written.caps = caps)
    }

    /// Whether changing tools may run.
    #[must_use]
    pub fn approval(self, mode: ApprovalMode) -> Self {
        self.write(|written| written.approval = mode)
    }

    /// Gives the family a directory to look at: the tools `workspace_tree`, `read_file` and
    /// `search_workspace` for all its members. Nothing outside of it can be read.
    #[must_use]
    pub fn workspace(self, directory: impl Into<PathBuf>) -> Self {
        self.write(|written| written.workspace = Some(directory.into()))
    }

    /// Decides what the agents do next, instead of the default brain. It is code and is not
    /// frozen: to resume a run with it, open the session with this family again.
    #[must_use]
    pub fn brain(mut self, brain: impl Brain + 'static) -> Self {
        self.brain = Arc::new(brain);
        self
    }

    fn write(mut self, change: impl FnOnce(&mut Written)) -> Self {
        match &mut self.source {
            Source::Written(written) => change(written),
            Source::Frozen(_) => {}
        }
        self
    }
}

/// A subagent as a host writes it down.
#[derive(Clone)]
pub struct Subagent {
    pub(crate) name: Arc<str>,
    pub(crate) description: Arc<str>,
    pub(crate) role: Role,
    pub(crate) prompt: Option<Arc<str>>,
    pub(crate) model: Option<Arc<str>>,
    pub(crate) tools: Option<Vec<Arc<str>>>,
    pub(crate) tool_choice: ToolChoicePlan,
}

impl Subagent {
    /// One that looks and reports: read-only tools.
    #[must_use]
    pub fn explore(name: impl Into<Arc<str>>, description: impl Into<Arc<str>>) -> Self {
        Self::new(name.into(), description.into(), Role::Explore)
    }

    /// One that may change things.
    #[must_use]
    pub fn task(name: impl Into<Arc<str>>, description: impl Into<Arc<str>>) -> Self {
        Self::new(name.into(), description.into(), Role::Task)
    }

    fn new(name: Arc<str>, description: Arc<str>, role: Role) -> Self {
        let tool_choice = ToolChoicePlan::default();
        Self { name, description, role, prompt: None, model: None, tools: None, tool_choice }
    }

    /// Its role prompt. Default: its name and description, and to report what it found.
    #[must_use]
    pub fn prompt(mut self, prompt: impl Into<Arc<str>>) -> Self {
        self.prompt = Some(prompt.into());
        self
    }

    /// Its model, `provider:name`. Default: the lead's.
    #[must_use]
    pub fn model(mut self, model: impl Into<Arc<str>>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// The names of its tools, out of the family's. `call_subagent` lets it start subagents of its
    /// own, as deep as the caps allow. Default: every tool that its role may use.
    #[must_use]
    pub fn tools<T: Into<Arc<str>>>(mut self, names: impl IntoIterator<Item = T>) -> Self {
        self.tools = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Whether it has to call a tool.
    #[must_use]
    pub fn tool_choice(mut self, choice: ToolChoicePlan) -> Self {
        self.tool_choice = choice;
        self
    }

    pub(crate) fn prompt_text(&self) -> Arc<str> {
        match &self.prompt {
            Some(prompt) => Arc::clone(prompt),
            None => format!(
                "You are {}. {} Do the task that you are given and report what you found; your \
                 last message is your report.",
                self.name, self.description
            )
            .into(),
        }
    }
}
