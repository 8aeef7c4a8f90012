//! The gates that a call passes before it runs, in their order. The first one that has an answer
//! decides; the higher a gate, the less can override it.
//!
//! | gate | decides |
//! | --- | --- |
//! | 1 audits of everything | a deny rule blocks; a line that cannot be read and a blacklist rule that is `always` ask; a `required` one asks unless the mode runs everything |
//! | 2 the tool's own setting | decides nothing; finds which setting counts: the policy's for the tool, for its server, the tool's own declaration |
//! | 3 dynamic audit | a setting that asks an audit outside is answered by it |
//! | 4 always | the setting, or an `ask` rule, that says `always` for these arguments asks |
//! | 5 mode | `auto-run` and `headless` let pass |
//! | 6 unknown tools | ask |
//! | 7 lists and settings | `ask` rules ask, `allow` rules let pass, then what the tool is and its setting; nothing fits: ask |
//!
//! In `headless` mode nobody can be asked: what would ask is blocked, and the call gets a result.

#[cfg(test)]
mod tests;

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::blacklist::Hit;
use super::call::Examined;
use super::rule::{Need, Rule, allowed_by};
use super::{Intervention, Mode, Policy};
use crate::call::EffectClass;

/// What is known of a tool.
#[derive(Clone, Copy, Debug)]
pub struct ToolFacts<'t> {
    /// The name that calls use.
    pub name: &'t str,
    /// The server or group that it belongs to, if any.
    pub server: Option<&'t str>,
    /// Where it comes from.
    pub origin: Origin,
    /// What it may do to the world.
    pub effect: EffectClass,
    /// What its declaration asks for, if it says anything.
    pub declared: Option<&'t Intervention>,
}

/// Where a tool comes from. It decides whose word on its effect is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A tool of the runtime.
    BuiltIn,
    /// The runtime's control of a run: finish, ask, plan. It changes nothing outside.
    Control,
    /// The start, steering or end of a subagent, whose own calls pass these gates.
    Subagent,
    /// The family file or the host program declares it, with its effect.
    Host,
    /// A server declares it. What it says of its effect is not believed.
    Server,
    /// Nobody declares it.
    Unknown,
}

/// One call, and what is known of its audit.
#[derive(Clone, Copy, Debug)]
pub struct CallFacts<'c> {
    /// What it is called with.
    pub arguments: &'c Map<String, Value>,
    /// What its dynamic audit said.
    pub audit: Audit,
}

/// The state of a call's dynamic audit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Audit {
    /// It has not been asked.
    #[default]
    NotAsked,
    /// Nobody has registered one of this kind.
    Unregistered,
    /// It was asked: whether a person should look at the call.
    Answered {
        /// `true`: a person should.
        intervene: bool,
    },
}

/// What becomes of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It runs.
    Allow,
    /// A person has to approve it.
    Ask {
        /// Why.
        reason: Reason,
    },
    /// It does not run and gets a result that says why.
    Block {
        /// Why.
        reason: Reason,
    },
    /// An audit outside has to be asked first; its answer comes back as [`Audit`].
    Audit {
        /// The audit's name.
        kind: String,
    },
}

/// Why a call is held up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// A deny rule means it.
    Denied {
        /// The rule, as it is shown.
        rule: String,
    },
    /// Its shell line cannot be read with certainty.
    Unreadable {
        /// What is wrong with the line.
        why: String,
    },
    /// A rule of the blacklist means it.
    Blacklisted(Hit),
    /// An audit wants a person to look at it.
    Audited {
        /// The audit's name.
        kind: String,
    },
    /// An ask rule means it.
    AskRule {
        /// The rule, as it is shown.
        rule: String,
    },
    /// The tool's setting asks.
    Setting,
    /// Nobody declares the tool.
    UnknownTool,
    /// Nothing lets it pass.
    NotAllowed,
}

/// What becomes of a call, by the seven gates of this module.
#[must_use]
pub fn decide(policy: &Policy, tool: &ToolFacts<'_>, call: &CallFacts<'_>) -> Verdict {
    let examined = Examined::new(tool.name, call.arguments);
    let gates = Gates { policy, tool, call: &examined, runs_all: policy.mode.runs_all() };
    let answer = gates.decide(call.audit);
    match answer {
        Verdict::Ask { reason } if policy.mode == Mode::Headless => Verdict::Block { reason },
        Verdict::Allow | Verdict::Ask { .. } | Verdict::Block { .. } | Verdict::Audit { .. } => {
            answer
        }
    }
}

struct Gates<'g> {
    policy: &'g Policy,
    tool: &'g ToolFacts<'g>,
    call: &'g Examined<'g>,
    runs_all: bool,
}

impl Gates<'_> {
    fn decide(&self, audit: Audit) -> Verdict {
        let setting = self.setting();
        self.audits()
            .or_else(|| self.dynamic(setting, audit))
            .or_else(|| self.always(setting))
            .or_else(|| self.runs_all.then_some(Verdict::Allow))
            .or_else(|| (self.tool.origin == Origin::Unknown).then(|| ask(Reason::UnknownTool)))
            .unwrap_or_else(|| self.lists(setting))
    }

    /// Gate 1.
    fn audits(&self) -> Option<Verdict> {
        if let Some(rule) = self.hit(&self.policy.deny) {
            return Some(Verdict::Block { reason: Reason::Denied { rule: rule.to_string() } });
        }
        let hit = self.policy.blacklist.strongest(self.call, self.tool.effect);
        let binding = |need| match need {
            Need::Always => true,
            // What never asks of itself does not start to for what may be bypassed.
            Need::Required => !self.runs_all && !self.is_safe(),
            Need::Never => false,
        };
        if let Some(hit) = hit.filter(|hit| binding(hit.need)) {
            return Some(ask(Reason::Blacklisted(hit)));
        }
        // The blacklist has not seen it, so no mode lets it pass.
        let unreadable = self.call.line.as_ref()?.as_ref().err()?;
        Some(ask(Reason::Unreadable { why: unreadable.to_string() }))
    }

    /// Gate 2.
    fn setting(&self) -> Option<&Intervention> {
        let of_server = || self.policy.servers.get(self.tool.server?);
        self.policy.tools.get(self.tool.name).or_else(of_server).or(self.tool.declared)
    }

    /// Gate 3.
    fn dynamic(&self, setting: Option<&Intervention>, audit: Audit) -> Option<Verdict> {
        let Some(Intervention::Dynamic(dynamic)) = setting else { return None };
        let need = match audit {
            Audit::NotAsked => return Some(Verdict::Audit { kind: dynamic.kind.clone() }),
            Audit::Answered { intervene: true } => dynamic.policy,
            Audit::Answered { intervene: false } | Audit::Unregistered => dynamic.default,
        };
        Some(match need {
            Need::Never => Verdict::Allow,
            Need::Required if self.runs_all => Verdict::Allow,
            Need::Required | Need::Always => ask(Reason::Audited { kind: dynamic.kind.clone() }),
        })
    }

    /// Gate 4.
    fn always(&self, setting: Option<&Intervention>) -> Option<Verdict> {
        let by_setting = match setting {
            Some(Intervention::Always) => true,
            Some(Intervention::Rules(rules)) => {
                rules.iter().any(|rule| rule.need() == Need::Always && rule.hits(self.call))
            }
            Some(Intervention::Never | Intervention::Required | Intervention::Dynamic(_))
            | None => false,
        };
        if by_setting {
            return Some(ask(Reason::Setting));
        }
        let rules = &self.policy.ask;
        let always = rules.iter().find(|rule| rule.need() == Need::Always && rule.hits(self.call));
        always.map(|rule| ask(Reason::AskRule { rule: rule.to_string() }))
    }

    /// Gate 7.
    fn lists(&self, setting: Option<&Intervention>) -> Verdict {
        let asks = |rule: &&Rule| rule.need() == Need::Required && rule.hits(self.call);
        if let Some(rule) = self.policy.ask.iter().find(asks) {
            return ask(Reason::AskRule { rule: rule.to_string() });
        }
        let own = self.policy.tools.get(self.tool.name);
        let set_otherwise = own.is_some_and(|own| *own != Intervention::Never);
        let safe = self.is_safe() && !set_otherwise;
        if safe || allowed_by(&self.policy.allow, self.call) {
            return Verdict::Allow;
        }
        match self.policy.mode {
            // Only what the user lists passes; a tool's own word does not count.
            Mode::AllowList => ask(Reason::NotAllowed),
            Mode::Manual | Mode::AutoRun | Mode::Headless => self.by_setting(setting),
        }
    }

    fn by_setting(&self, setting: Option<&Intervention>) -> Verdict {
        match setting {
            Some(Intervention::Never) => Verdict::Allow,
            Some(Intervention::Required | Intervention::Always | Intervention::Dynamic(_)) => {
                ask(Reason::Setting)
            }
            Some(Intervention::Rules(rules)) => {
                let lets_pass: Vec<Rule> =
                    rules.iter().filter(|rule| rule.need() == Need::Never).cloned().collect();
                let holds_up =
                    rules.iter().any(|rule| rule.need() != Need::Never && rule.hits(self.call));
                if !holds_up && allowed_by(&lets_pass, self.call) {
                    Verdict::Allow
                } else {
                    ask(Reason::Setting)
                }
            }
            None => ask(Reason::NotAllowed),
        }
    }

    /// Whether a tool never asks by what it is.
    fn is_safe(&self) -> bool {
        match self.tool.origin {
            Origin::Control | Origin::Subagent => true,
            Origin::BuiltIn | Origin::Host => self.tool.effect == EffectClass::ReadOnly,
            Origin::Server | Origin::Unknown => false,
        }
    }

    fn hit<'r>(&self, rules: &'r [Rule]) -> Option<&'r Rule> {
        rules.iter().find(|rule| rule.hits(self.call))
    }
}

fn ask(reason: Reason) -> Verdict {
    Verdict::Ask { reason }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied { rule } => write!(f, "the deny rule `{rule}` means it"),
            Self::Unreadable { why } => f.write_str(why),
            Self::Blacklisted(hit) => write!(f, "it {} ({})", hit.about, hit.id),
            Self::Audited { kind } => write!(f, "the audit `{kind}` wants a person to look at it"),
            Self::AskRule { rule } => write!(f, "the ask rule `{rule}` means it"),
            Self::Setting => f.write_str("the tool is set to ask"),
            Self::UnknownTool => f.write_str("the tool is unknown"),
            Self::NotAllowed => f.write_str("nothing allows it yet"),
        }
    }
}
