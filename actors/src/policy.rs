//! Whether a tool call needs a person's word before it runs.
//!
//! [`gate::decide`] is the only entrance: plain data in, a verdict out. It knows nothing of who is
//! asked, how, or what they say. What has to be awaited (a host's own audit) is a verdict too, and
//! its answer comes back as data.
//!
//! The user's words are three lists: `deny` blocks, `ask` asks in every mode (unless a rule says
//! `required`), `allow` lets pass. `deny` is stronger than `ask`, `ask` than `allow`, and the
//! [`blacklist`] than `ask` and `allow`. `allow` counts in `manual` mode too: who allows `git
//! status` and is asked for it again would take the list for broken. The modes still differ: in
//! `manual` the setting of a tool counts beside the list, in `allow-list` only the list.

pub mod blacklist;
pub mod call;
pub mod canonical;
pub mod gate;
pub mod matcher;
pub mod rule;
pub mod shell;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use self::blacklist::Blacklist;
use self::rule::{Need, Rule};

/// What is allowed, frozen with the family.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Policy {
    /// What happens where no list and no setting decides.
    pub mode: Mode,
    /// What passes. A rule that is one text means a tool or a command (see [`Rule::short`]).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<Rule>,
    /// What asks, in every mode unless the rule says `required`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ask: Vec<Rule>,
    /// What never runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<Rule>,
    /// The settings of single tools, by name. They count before those of a server.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, Intervention>,
    /// The settings of all tools of a server, by the server's name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub servers: BTreeMap<String, Intervention>,
    /// Rules beside the built-in blacklist.
    #[serde(skip_serializing_if = "is_built_in_only")]
    pub blacklist: Blacklist,
}

/// Who decides where no list and no setting does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// A person does.
    #[default]
    Manual,
    /// A person does, for everything that is not on the allow list.
    AllowList,
    /// Everything runs but what has to be asked in every mode.
    AutoRun,
    /// As `auto-run`, with nobody there: what has to be asked is blocked.
    Headless,
}

impl Mode {
    /// Whether it lets pass what nothing holds up.
    #[must_use]
    pub fn runs_all(self) -> bool {
        match self {
            Self::AutoRun | Self::Headless => true,
            Self::Manual | Self::AllowList => false,
        }
    }
}

/// When a tool asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Intervention {
    /// Never.
    Never,
    /// Always, unless the mode runs everything.
    Required,
    /// Always, in every mode.
    Always,
    /// By its arguments, each rule with its own need. What no rule means asks.
    Rules(Vec<Rule>),
    /// As an audit of the host says.
    Dynamic(Dynamic),
}

/// An audit that a host registers: it looks at the arguments of a call and says whether a person
/// should too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dynamic {
    /// The audit's name.
    pub kind: String,
    /// What counts if it says no, or if nobody has registered it.
    #[serde(default = "never")]
    pub default: Need,
    /// What counts if it says yes.
    #[serde(default)]
    pub policy: Need,
}

fn never() -> Need {
    Need::Never
}

fn is_built_in_only(blacklist: &Blacklist) -> bool {
    blacklist.extra.is_empty()
}
