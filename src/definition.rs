//! A family as an embedding host writes it down: prompts, tools and bounds, in a few lines.

pub mod amounts;
mod subagent;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use kinfolk_actors::brain::{Brain, PhaseBrain};
use kinfolk_actors::compaction::CompactionSettings;
use kinfolk_actors::family::{Caps, Family as FrozenFamily, ToolChoicePlan};
use kinfolk_actors::limits::{ChildBudget, Limits, OnLimit};
use kinfolk_actors::policy::{Mode, Policy};
use kinfolk_actors::profile::ProfileOverrides;
use kinfolk_actors::time::Millis;

pub use self::subagent::Subagent;
use crate::family::activation::AgentExecutors;
use crate::ports::executor::{Executor, ExecutorKind};
use crate::tools::tool::Tool;

/// A family: a lead, its tools and the subagents that it may start.
///
/// Nothing is checked until a session is opened with it; then a name that is taken twice, a tool
/// that does not exist or a model that nobody provides is an error that names it.
#[derive(Clone)]
pub struct Family {
    pub(crate) source: Source,
    pub(crate) brain: Arc<dyn Brain>,
    pub(crate) executors: AgentExecutors,
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
    pub agent_tools: Option<Vec<Arc<str>>>,
    pub lead_limits: Limits,
    pub limits: Limits,
    pub on_limit: OnLimit,
    pub child_budget: ChildBudget,
    pub policy: Policy,
    pub approval_timeout: Option<Millis>,
    pub compaction: CompactionSettings,
    pub profiles: BTreeMap<String, ProfileOverrides>,
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
            agent_tools: None,
            lead_limits: Limits::none(),
            limits: Limits::none(),
            on_limit: OnLimit::default(),
            child_budget: ChildBudget::default(),
            policy: Policy::default(),
            approval_timeout: None,
            compaction: CompactionSettings::default(),
            profiles: BTreeMap::new(),
            workspace: None,
        };
        Self::of(Source::Written(Box::new(written)))
    }

    /// A family that is frozen already, for example from a family file. What the methods below
    /// would change is in it; they leave it as it is.
    #[must_use]
    pub fn frozen(family: FrozenFamily) -> Self {
        Self::of(Source::Frozen(Arc::new(family)))
    }

    fn of(source: Source) -> Self {
        Self { source, brain: Arc::new(PhaseBrain), executors: AgentExecutors::new() }
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

    /// The lead's tools for subagents and people, by name: `call_subagent`, `spawn_subagent`,
    /// `wait_subagents`, `message_subagent`, `stop_subagent`, `ask_user`. Default: `call_subagent`
    /// if there are subagents.
    #[must_use]
    pub fn agent_tools<T: Into<Arc<str>>>(self, names: impl IntoIterator<Item = T>) -> Self {
        let names = names.into_iter().map(Into::into).collect();
        self.write(|written| written.agent_tools = Some(names))
    }

    /// What the whole family may use: `Limits::none().cost(usd!(0.50)).time(minutes(10))`.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        self.write(|written| written.limits = limits)
    }

    /// What the lead alone may use, beside the family's limits.
    #[must_use]
    pub fn lead_limits(self, limits: Limits) -> Self {
        self.write(|written| written.lead_limits = limits)
    }

    /// What happens at a limit. Default: a closing turn without tools.
    #[must_use]
    pub fn on_limit(self, what: OnLimit) -> Self {
        self.write(|written| written.on_limit = what)
    }

    /// How a subagent's own limits are made. Default: it draws on its parent's.
    #[must_use]
    pub fn child_budget(self, how: ChildBudget) -> Self {
        self.write(|written| written.child_budget = how)
    }

    /// Whether changing tools may run. Default: a person is asked.
    #[must_use]
    pub fn approval(self, mode: Mode) -> Self {
        self.write(|written| written.policy.mode = mode)
    }

    /// What runs, what asks and what never runs, in full; it holds the mode too.
    #[must_use]
    pub fn policy(self, policy: Policy) -> Self {
        self.write(|written| written.policy = policy)
    }

    /// How long an approval waits; silence is a no. Default: for ever.
    #[must_use]
    pub fn approval_timeout(self, timeout: Millis) -> Self {
        self.write(|written| written.approval_timeout = Some(timeout))
    }

    /// When and how histories are compacted.
    #[must_use]
    pub fn compaction(self, settings: CompactionSettings) -> Self {
        self.write(|written| written.compaction = settings)
    }

    /// What is known of a model, `provider:name`, beside the table that is part of Kinfolk: its
    /// window, its prices. Frozen when a run starts.
    #[must_use]
    pub fn model_profile(self, model: impl Into<String>, profile: ProfileOverrides) -> Self {
        self.write(|written| written.profiles.extend([(model.into(), profile)]))
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

    /// Has work of a kind done another way for one agent: `lead`, or a subagent's name. It goes
    /// before what the runtime has for all. Like a brain it is code and is not frozen.
    #[must_use]
    pub fn executor(
        mut self,
        agent: impl Into<Arc<str>>,
        kind: ExecutorKind,
        executor: impl Executor,
    ) -> Self {
        self.executors.insert((agent.into(), kind), Arc::new(executor));
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
