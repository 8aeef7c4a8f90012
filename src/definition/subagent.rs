//! A subagent as an embedding host writes it down.

use std::sync::Arc;

use kinfolk_actors::family::{Delivery, Placement, Role, ToolChoicePlan};
use kinfolk_actors::limits::Limits;

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
    pub(crate) limits: Limits,
    pub(crate) delivery: Delivery,
    pub(crate) placement: Placement,
    pub(crate) internal: bool,
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
        Self {
            name,
            description,
            role,
            prompt: None,
            model: None,
            tools: None,
            tool_choice: ToolChoicePlan::default(),
            limits: Limits::none(),
            delivery: Delivery::default(),
            placement: Placement::default(),
            internal: false,
        }
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

    /// The names of its tools, out of the family's and those for subagents and people: with
    /// `call_subagent` or `spawn_subagent` it starts subagents of its own, as deep as the caps
    /// allow, with `ask_parent` it asks who started it. Default: every tool of the family that its
    /// role may use.
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

    /// What it may use, beside the limits of the family.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// How its end is told from its talk. With [`Delivery::Return`] it gets the tool `task_return`
    /// and has to end by it. Default: a reply without calls is its report.
    #[must_use]
    pub fn delivery(mut self, delivery: Delivery) -> Self {
        self.delivery = delivery;
        self
    }

    /// The host or a client runs it, not the runtime: the call that starts it waits until its
    /// result is delivered.
    #[must_use]
    pub fn client(mut self) -> Self {
        self.placement = Placement::Client;
        self
    }

    /// Models are not told of it; who starts it has to know its name.
    #[must_use]
    pub fn internal(mut self) -> Self {
        self.internal = true;
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
