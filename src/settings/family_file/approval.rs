//! `[approval]`: which calls run, which ask a person, which never run.

use std::collections::BTreeMap;

use kinfolk_actors::policy::blacklist::{Blacklist, ExtraRule};
use kinfolk_actors::policy::rule::Rule;
use kinfolk_actors::policy::{Intervention, Mode, Policy};
use kinfolk_actors::time::Millis;
use serde::de::DeserializeOwned;

use super::tools::json;
use crate::output::plain;
use crate::settings::error::{Place, SettingsError, Told};
use crate::settings::table::{Keys, Section, Value};
use crate::settings::value;

/// `[approval]` of a file.
#[derive(Clone, Debug, Default)]
pub(in crate::settings) struct ApprovalTable {
    pub(in crate::settings) mode: Option<Mode>,
    /// All of it but the mode.
    pub(in crate::settings) policy: Policy,
    pub(in crate::settings) timeout: Option<Millis>,
    /// The tools that it has settings for.
    pub(in crate::settings) tools: Vec<Told<String>>,
}

const APPROVAL: Keys = Keys {
    known: &["mode", "allow", "ask", "deny", "timeout", "tools", "blacklist"],
    later: &["servers"],
};
const RULE: Keys = Keys { known: &["tool", "match", "policy"], later: &[] };
const PATTERN: Keys =
    Keys { known: &["exact", "prefix", "wildcard", "regex", "command"], later: &[] };
const EXTRA: Keys = Keys { known: &["id", "class", "about", "rule"], later: &[] };
const INTERVENTION: Keys = Keys { known: &["rules", "dynamic"], later: &[] };
const DYNAMIC: Keys = Keys { known: &["kind", "default", "policy"], later: &[] };

/// Reads `[approval]`.
pub(super) fn approval(root: &Section<'_>) -> Result<ApprovalTable, SettingsError> {
    let Some(table) = root.section("approval")? else { return Ok(ApprovalTable::default()) };
    table.expect_only(APPROVAL)?;
    let mut tools = Vec::new();
    let mut settings = BTreeMap::new();
    if let Some(of_tools) = table.inner("tools")? {
        for (name, found) in of_tools.entries() {
            settings.insert(name.value.clone(), intervention(&of_tools, &name.value, found)?);
            tools.push(name);
        }
    }
    let policy = Policy {
        mode: Mode::default(),
        allow: rules(&table, "allow")?,
        ask: rules(&table, "ask")?,
        deny: rules(&table, "deny")?,
        tools: settings,
        servers: BTreeMap::new(),
        blacklist: blacklist(&table)?,
    };
    Ok(ApprovalTable {
        mode: table.parsed("mode", value::approval)?.map(|told| told.value),
        policy,
        timeout: table.parsed("timeout", value::long_time)?.map(|told| told.value),
        tools,
    })
}

fn rules(table: &Section<'_>, key: &'static str) -> Result<Vec<Rule>, SettingsError> {
    table.list(key)?.into_iter().map(|found| rule(table, key, found)).collect()
}

/// One rule: a text, or a table with checked keys.
fn rule(table: &Section<'_>, key: &str, found: Value<'_>) -> Result<Rule, SettingsError> {
    if !found.get_ref().is_str() {
        check_rule(table, key, found)?;
    }
    read(&table.place_of(found), &format!("a rule of `{key}`"), found)
}

fn check_rule(table: &Section<'_>, key: &str, found: Value<'_>) -> Result<(), SettingsError> {
    let expected = "a list of texts and tables, for example `[\"git status\", { tool = \"x\" }]`";
    let section = table.as_section(found, format!("a rule of `{key}`"), (key, expected))?;
    section.expect_only(RULE)?;
    let Some(matches) = section.inner("match")? else { return Ok(()) };
    for (parameter, found) in matches.entries() {
        if found.get_ref().is_str() {
            continue;
        }
        let expected = "a text or a table, for example `{ prefix = \"docs/\" }`";
        let name = format!("the pattern of `{}`", plain::line(&parameter.value, 60));
        matches.as_section(found, name, (&parameter.value, expected))?.expect_only(PATTERN)?;
    }
    Ok(())
}

fn intervention(
    table: &Section<'_>,
    tool: &str,
    found: Value<'_>,
) -> Result<Intervention, SettingsError> {
    let shown = plain::line(tool, 60);
    if !found.get_ref().is_str() {
        let expected = "`never`, `required`, `always` or a table with `rules` or `dynamic`";
        let section =
            table.as_section(found, format!("the setting of `{shown}`"), (tool, expected))?;
        section.expect_only(INTERVENTION)?;
        for found in section.list("rules")? {
            check_rule(&section, "rules", found)?;
        }
        if let Some(dynamic) = section.inner("dynamic")? {
            dynamic.expect_only(DYNAMIC)?;
        }
    }
    read(&table.place_of(found), &format!("the setting of `{shown}`"), found)
}

fn blacklist(table: &Section<'_>) -> Result<Blacklist, SettingsError> {
    let extra = |found: Value<'_>| -> Result<ExtraRule, SettingsError> {
        let expected = "a list of tables with `id`, `class`, `about` and `rule`";
        let name = "a rule of `blacklist`".to_owned();
        let section = table.as_section(found, name, ("blacklist", expected))?;
        section.expect_only(EXTRA)?;
        if let Some(found) = section.value("rule") {
            check_rule(&section, "blacklist", found)?;
        }
        read(&table.place_of(found), "a rule of `blacklist`", found)
    };
    let extra = table.list("blacklist")?.into_iter().map(extra).collect::<Result<_, _>>()?;
    Ok(Blacklist { extra })
}

/// What the policy's own form reads out of a value whose keys were checked.
fn read<T: DeserializeOwned>(
    place: &Place,
    what: &str,
    found: Value<'_>,
) -> Result<T, SettingsError> {
    let wrong = |problem: String| place.error(format!("{what} is wrong: {problem}"));
    let value = json(found.get_ref()).map_err(wrong)?;
    serde_json::from_value(value).map_err(|error| wrong(plain::line(&error.to_string(), 300)))
}
