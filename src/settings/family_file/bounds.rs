//! `[limits]`, the limits of single agents, and `[compaction]`.

use kinfolk_actors::compaction::Fallback;
use kinfolk_actors::limits::{ChildBudget, Limits, OnLimit};

use crate::settings::error::{SettingsError, Told};
use crate::settings::table::{Keys, Section};
use crate::settings::value;

/// `[limits]`: what the whole family may use.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::settings) struct LimitsTable {
    pub(in crate::settings) max_subagents: Option<u32>,
    pub(in crate::settings) max_parallel: Option<u32>,
    pub(in crate::settings) max_depth: Option<u32>,
    pub(in crate::settings) limits: Limits,
    pub(in crate::settings) on_limit: Option<OnLimit>,
    pub(in crate::settings) child_budget: ChildBudget,
}

/// `[compaction]`. Sizes are in tokens.
#[derive(Clone, Debug, Default)]
pub(in crate::settings) struct CompactionTable {
    pub(in crate::settings) threshold: Option<u64>,
    pub(in crate::settings) keep: Option<u64>,
    pub(in crate::settings) model: Option<Told<String>>,
    pub(in crate::settings) fallback: Fallback,
}

const LIMITS: Keys = Keys {
    known: &[
        "max_steps",
        "max_tool_calls",
        "max_tokens",
        "max_cost",
        "max_time",
        "max_subagents",
        "max_parallel",
        "max_depth",
        "on_limit",
        "child_budget",
    ],
    later: &[],
};
const OWN_LIMITS: Keys = Keys {
    known: &["max_steps", "max_tool_calls", "max_tokens", "max_cost", "max_time"],
    later: &[],
};
const COMPACTION: Keys = Keys { known: &["threshold", "keep", "model", "fallback"], later: &[] };

/// Reads `[limits]` of the file.
pub(super) fn limits(root: &Section<'_>) -> Result<LimitsTable, SettingsError> {
    let Some(table) = root.section("limits")? else { return Ok(LimitsTable::default()) };
    table.expect_only(LIMITS)?;
    let child_budget = table.parsed("child_budget", value::child_budget)?;
    Ok(LimitsTable {
        max_subagents: table.count("max_subagents", 0)?,
        max_parallel: table.count("max_parallel", 1)?,
        max_depth: table.count("max_depth", 0)?,
        limits: amounts(&table)?,
        on_limit: table.parsed("on_limit", value::on_limit)?.map(|told| told.value),
        child_budget: child_budget.map(|told| told.value).unwrap_or_default(),
    })
}

/// Reads `limits` of one agent.
pub(super) fn own_limits(agent: &Section<'_>) -> Result<Limits, SettingsError> {
    let Some(table) = agent.inner("limits")? else { return Ok(Limits::default()) };
    table.expect_only(OWN_LIMITS)?;
    amounts(&table)
}

fn amounts(table: &Section<'_>) -> Result<Limits, SettingsError> {
    Ok(Limits {
        max_steps: table.amount("max_steps", 1)?,
        max_tool_calls: table.amount("max_tool_calls", 1)?,
        max_tokens: table.amount("max_tokens", 1)?,
        max_cost: table.money("max_cost", value::money)?,
        max_time: table.parsed("max_time", value::long_time)?.map(|told| told.value),
    })
}

/// Reads `[compaction]` of the file.
pub(super) fn compaction(root: &Section<'_>) -> Result<CompactionTable, SettingsError> {
    let Some(table) = root.section("compaction")? else { return Ok(CompactionTable::default()) };
    table.expect_only(COMPACTION)?;
    let fallback = table.parsed("fallback", value::fallback)?;
    Ok(CompactionTable {
        threshold: table.amount("threshold", 1)?,
        keep: table.amount("keep", 1)?,
        model: table.parsed("model", value::model)?,
        fallback: fallback.map(|told| told.value).unwrap_or_default(),
    })
}
