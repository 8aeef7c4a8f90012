//! What is frozen when a run starts: prompts, tools, models, limits. A change of settings in the
//! middle of a run changes nothing that is here.
//!
//! It is stored once as JSON under the hash of its text; events carry the hash.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::call::EffectClass;
use crate::compaction::CompactionSettings;
use crate::id::InvalidId;
use crate::limits::{ChildBudget, Limits, OnLimit};
use crate::money::Money;
use crate::policy::Policy;
use crate::profile::ModelProfile;
use crate::time::Millis;

/// The reserved name of the tool that starts a subagent and waits for it.
pub const CALL_SUBAGENT: &str = "call_subagent";

/// The reserved name of the tool that starts a subagent and goes on.
pub const SPAWN_SUBAGENT: &str = "spawn_subagent";

/// The reserved name of the tool that waits for subagents that were spawned.
pub const WAIT_SUBAGENTS: &str = "wait_subagents";

/// The reserved name of the tool that tells a subagent something.
pub const MESSAGE_SUBAGENT: &str = "message_subagent";

/// The reserved name of the tool that stops a subagent.
pub const STOP_SUBAGENT: &str = "stop_subagent";

/// The reserved name of the tool that asks the user.
pub const ASK_USER: &str = "ask_user";

/// The reserved name of the tool by which a subagent asks its parent.
pub const ASK_PARENT: &str = "ask_parent";

/// The reserved name of the tool that ends a subagent in return mode with its result.
pub const TASK_RETURN: &str = "task_return";

/// A whole family as one run sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Family {
    /// The lead's invocation.
    pub lead: Invocation,
    /// The subagents that may be started, in the order in which the model is told of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subagents: Vec<SubagentSpec>,
    /// How large the family may grow.
    #[serde(default)]
    pub caps: Caps,
    /// What the whole family may use.
    #[serde(default)]
    pub limits: Limits,
    /// What happens at a limit.
    #[serde(default)]
    pub on_limit: OnLimit,
    /// How a subagent's own limits are made.
    #[serde(default)]
    pub child_budget: ChildBudget,
    /// Which calls need a person's approval.
    #[serde(default)]
    pub policy: Policy,
    /// How long an approval waits for its answer; for ever if it is not set. Silence is a no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_timeout: Option<Millis>,
    /// When and how histories are compacted.
    #[serde(default)]
    pub compaction: CompactionSettings,
    /// The tools that run a command, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub commands: BTreeMap<String, CommandSpec>,
    /// How to reach the models, by full name (`provider:name`).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<String, ModelEndpoint>,
    /// The directory that file tools see and commands run in, as an absolute path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
}

impl Family {
    /// The subagent of that name, if the family has one.
    #[must_use]
    pub fn subagent(&self, name: &str) -> Option<&SubagentSpec> {
        self.subagents.iter().find(|spec| spec.name.as_ref() == name)
    }

    /// The caps and limits, as a run's first event shows them.
    #[must_use]
    pub fn limits(&self) -> FamilyLimits {
        let Self { caps, limits, on_limit, child_budget, .. } = self;
        FamilyLimits {
            caps: *caps,
            limits: *limits,
            on_limit: *on_limit,
            child_budget: *child_budget,
        }
    }

    /// Every invocation of the family, the lead's first.
    pub fn invocations(&self) -> impl Iterator<Item = &Invocation> {
        std::iter::once(&self.lead).chain(self.subagents.iter().map(|spec| &spec.invocation))
    }
}

/// What one agent is called with, the same in each of its requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invocation {
    /// The role layer of the system prompt.
    pub prompt: Arc<str>,
    /// The model's full name, `provider:name`.
    pub model: Arc<str>,
    /// The tools, in the order in which the model is told of them.
    pub tools: Arc<[ToolSpec]>,
    /// Whether the model has to call a tool.
    #[serde(default)]
    pub tool_choice: ToolChoicePlan,
    /// What this agent alone may use, beside the family's limits.
    #[serde(default)]
    pub limits: Limits,
}

impl Invocation {
    /// The tool of that name, if the agent has it.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&ToolSpec> {
        self.tools.iter().find(|tool| tool.name.as_ref() == name)
    }
}

/// A subagent that a model may start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubagentSpec {
    /// The name that calls use.
    pub name: Arc<str>,
    /// What it is for, told to the model.
    pub description: Arc<str>,
    /// What it may do.
    pub role: Role,
    /// What it is called with.
    pub invocation: Invocation,
    /// How its end is told from its talk.
    #[serde(default)]
    pub delivery: Delivery,
    /// Who runs it.
    #[serde(default)]
    pub placement: Placement,
    /// Not told to models; started by the host or by name only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub internal: bool,
}

/// How a subagent's end is told from its talk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// A reply without calls is its report.
    #[default]
    Answer,
    /// It has to end by `task_return`; talk alone is answered by a reminder.
    Return,
}

/// Who runs a tool or a subagent. It lives in the frozen family, so that it moves with the state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// The runtime.
    #[default]
    Runtime,
    /// The embedding host or a remote client; its result is delivered later.
    Client,
}

/// What a subagent may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Read-only tools.
    #[default]
    Explore,
    /// All tools of its list.
    Task,
}

/// A tool as the model is told of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The name that calls use.
    pub name: Arc<str>,
    /// What it does, told to the model.
    pub description: Arc<str>,
    /// The JSON schema of its arguments, as text.
    pub schema: Arc<str>,
    /// What it may do to the world.
    pub effect: EffectClass,
    /// Who runs it.
    #[serde(default)]
    pub placement: Placement,
    /// Whether models are told of it from the start.
    #[serde(default)]
    pub offer: Offer,
    /// What one run of it costs, if it costs money.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
}

/// Whether a tool of the frozen set is offered from the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Offer {
    /// From the first request.
    #[default]
    Always,
    /// Only once it was activated in the run.
    OnceActivated,
}

/// A tool that runs a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandSpec {
    /// The program and its arguments; no shell unless it is named here.
    pub argv: Vec<String>,
    /// How long one call may take.
    pub timeout: Millis,
}

/// How to reach a model. Never holds a key, only the name of the variable that does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelEndpoint {
    /// The server's base URL, if it is not the provider's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The environment variable that holds the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_env: Option<String>,
    /// Its window, prices and habits, as they were when the run began.
    #[serde(default = "ModelProfile::unknown")]
    pub profile: ModelProfile,
}

/// How large a family may grow; `docs/adr/0013` says why the defaults are as small as they
/// are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caps {
    /// Subagents that one run may start in all.
    pub max_subagents: u32,
    /// Subagents of one parent that live at once, and model requests of subagents that a family
    /// has in flight at once. A parent that waits for its children has no request in flight, so
    /// deep families cannot block themselves.
    pub max_parallel: u32,
    /// How deep the tree may grow below the lead; 0 forbids subagents.
    pub max_depth: u32,
}

impl Default for ModelEndpoint {
    fn default() -> Self {
        Self { base_url: None, api_key_env: None, profile: ModelProfile::unknown() }
    }
}

/// The caps and limits of a family, as a run's first event shows them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FamilyLimits {
    /// How large it may grow.
    #[serde(flatten)]
    pub caps: Caps,
    /// What it may use.
    #[serde(flatten)]
    pub limits: Limits,
    /// What happens at a limit.
    #[serde(default)]
    pub on_limit: OnLimit,
    /// How a subagent's own limits are made.
    #[serde(default)]
    pub child_budget: ChildBudget,
}

impl Default for Caps {
    fn default() -> Self {
        Self { max_subagents: 6, max_parallel: 3, max_depth: 1 }
    }
}

/// Whether the model has to call a tool in a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// It has to call at least one.
    Required,
    /// It must not call any.
    None,
}

/// The choice for the first request of a run and for those after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ToolChoicePlan {
    /// For the first request.
    pub first: ToolChoice,
    /// For every later one.
    pub then: ToolChoice,
}

impl ToolChoicePlan {
    /// The same choice for every request.
    #[must_use]
    pub fn always(choice: ToolChoice) -> Self {
        Self { first: choice, then: choice }
    }
}

/// The content hash of a frozen family: SHA-256 of its JSON text. Shown as 64 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FamilyHash(pub [u8; 32]);

impl fmt::Display for FamilyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for FamilyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for FamilyHash {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let parse = || {
            let mut bytes = [0; 32];
            if text.len() != 64 || !text.is_ascii() {
                return None;
            }
            for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
                *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
            }
            Some(Self(bytes))
        };
        parse().ok_or_else(|| InvalidId::new("family hash", text, "use 64 hex digits"))
    }
}

impl Serialize for FamilyHash {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for FamilyHash {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}
