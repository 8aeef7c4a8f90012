//! Settings.
pub mod subagent_tool;
