//! What needs a person's word whatever the settings say: rules in six classes, over each command
//! of a shell line, over what it writes and names, and over the paths among the other arguments.
//!
//! The rules are functions over split commands, not expressions over text: quotes, the order of
//! flags, directories, wrappers and nested scripts are gone before a rule looks. Nothing has to
//! be compiled for them; a family's own rules are compiled when they are read.

mod credentials;
mod dangerous;
mod filesystem;
mod network;
mod packages;
pub(crate) mod paths;
mod system;
mod view;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use self::paths::{any_path, normal};
use self::view::View;
use super::call::Examined;
use super::rule::{FullRule, Need};
use crate::call::EffectClass;

/// What a rule guards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Files that are lost for good.
    Filesystem,
    /// Accounts, boot, services and start-up of the machine.
    SystemConfig,
    /// What harms the machine or its data at once.
    DangerousCommands,
    /// Ways in and out.
    Network,
    /// What is installed, removed or published.
    Packages,
    /// Keys, tokens and passwords.
    Credentials,
}

/// A rule that every policy has.
pub struct BuiltIn {
    /// Its stable name, for example `filesystem.remove_root`.
    pub id: &'static str,
    /// What it guards.
    pub class: Class,
    /// [`Need::Always`] or [`Need::Required`].
    pub need: Need,
    /// What it is about, for the person who is asked.
    pub about: &'static str,
    test: Test,
}

/// What a rule looks at.
enum Test {
    /// A command of a line.
    Command(fn(&View<'_>) -> bool),
    /// Files that are written, by a command or by a tool that changes something.
    Writes(&'static [&'static str]),
    /// Files that are named at all.
    Names(&'static [&'static str]),
    /// Both: a command, or files that are named.
    CommandOrNames(fn(&View<'_>) -> bool, &'static [&'static str]),
    /// Both: a command, or files that are written.
    CommandOrWrites(fn(&View<'_>) -> bool, &'static [&'static str]),
}

/// A rule of a family, beside the built-in ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExtraRule {
    /// Its name in reasons.
    pub id: String,
    /// What it guards.
    pub class: Class,
    /// What it is about, for the person who is asked.
    pub about: String,
    /// Which calls it means, and whether they may be bypassed (`policy`).
    pub rule: FullRule,
}

/// The built-in rules and a family's own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Blacklist {
    /// The family's own rules. They add to the built-in ones, which cannot be switched off.
    pub extra: Vec<ExtraRule>,
}

/// A rule that a call hits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hit {
    /// The rule's name.
    pub id: Cow<'static, str>,
    /// What it guards.
    pub class: Class,
    /// Whether a mode may bypass it.
    pub need: Need,
    /// What it is about.
    pub about: Cow<'static, str>,
}

/// The tables of the six classes.
const TABLES: [&[BuiltIn]; 6] = [
    filesystem::RULES,
    system::RULES,
    dangerous::RULES,
    network::RULES,
    packages::RULES,
    credentials::RULES,
];

impl Blacklist {
    /// Every built-in rule.
    pub fn built_in() -> impl Iterator<Item = &'static BuiltIn> {
        TABLES.into_iter().flatten()
    }

    /// The strongest rule that the call hits: one that cannot be bypassed before one that can.
    #[must_use]
    pub fn strongest(&self, call: &Examined<'_>, effect: EffectClass) -> Option<Hit> {
        let mut bypassable = None;
        for hit in self.hits(call, effect) {
            if hit.need == Need::Always {
                return Some(hit);
            }
            bypassable.get_or_insert(hit);
        }
        bypassable
    }

    /// Every rule that the call hits, in the order of the tables.
    pub fn hits<'b>(
        &'b self,
        call: &'b Examined<'_>,
        effect: EffectClass,
    ) -> impl Iterator<Item = Hit> + 'b {
        let sight = Sight::of(call, effect);
        let built_in = Self::built_in().filter(move |rule| rule.hits(&sight)).map(Hit::from);
        let extra = self.extra.iter().filter(|extra| extra.hits(call)).map(Hit::from);
        built_in.chain(extra)
    }
}

/// What the rules look at, prepared once for all of them.
struct Sight<'c> {
    commands: Vec<View<'c>>,
    /// The paths among the other arguments.
    paths: Vec<Cow<'c, str>>,
    changes: bool,
}

impl<'c> Sight<'c> {
    fn of(call: &'c Examined<'_>, effect: EffectClass) -> Self {
        let commands = call.commands().map_or(vec![], |line| {
            line.commands.iter().map(|command| View::new(line, command)).collect()
        });
        let paths = call.paths().map(|path| Cow::Owned(normal(&path).into_owned())).collect();
        Self { commands, paths, changes: effect != EffectClass::ReadOnly }
    }

    fn writes(&self, patterns: &[&str]) -> bool {
        let by_tool = self.changes && any_path(patterns, &self.paths);
        by_tool || self.commands.iter().any(|view| any_path(patterns, &view.written))
    }

    fn names(&self, patterns: &[&str]) -> bool {
        any_path(patterns, &self.paths)
            || self.commands.iter().any(|view| any_path(patterns, &view.named))
    }
}

impl BuiltIn {
    fn hits(&self, sight: &Sight<'_>) -> bool {
        let command = |test: &fn(&View<'_>) -> bool| sight.commands.iter().any(test);
        match &self.test {
            Test::Command(test) => command(test),
            Test::Writes(patterns) => sight.writes(patterns),
            Test::Names(patterns) => sight.names(patterns),
            Test::CommandOrNames(test, patterns) => command(test) || sight.names(patterns),
            Test::CommandOrWrites(test, patterns) => command(test) || sight.writes(patterns),
        }
    }
}

impl ExtraRule {
    fn hits(&self, call: &Examined<'_>) -> bool {
        self.rule.policy != Need::Never && self.rule.hits(call)
    }
}

impl From<&BuiltIn> for Hit {
    fn from(rule: &BuiltIn) -> Self {
        let (id, about) = (Cow::Borrowed(rule.id), Cow::Borrowed(rule.about));
        Self { id, class: rule.class, need: rule.need, about }
    }
}

impl From<&ExtraRule> for Hit {
    fn from(extra: &ExtraRule) -> Self {
        let (id, about) = (extra.id.clone().into(), extra.about.clone().into());
        Self { id, class: extra.class, need: extra.rule.policy, about }
    }
}
