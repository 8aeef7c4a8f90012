//! What each Kinfolk actor **decides**, as pure functions over plain values.
//!
//! This crate never performs I/O, reads a clock, draws randomness or awaits: time, ids and facts
//! about the family arrive as arguments. The crate `kinfolk` runs what is decided here.
//!
//! Start with [`machine`] for the shape of a decision, then [`agent`] for the one machine that a
//! lead and its subagents share.

#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used))]

pub mod agent;
pub mod brain;
pub mod budget;
pub mod call;
pub mod compaction;
pub mod context;
pub mod cost;
pub mod estimate;
pub mod event;
pub mod failure;
pub mod family;
pub mod id;
pub mod instruction;
pub mod lead;
pub mod limits;
pub mod machine;
pub mod money;
pub mod policy;
pub mod profile;
pub mod subagent;
pub mod supervision;
pub mod text;
pub mod time;
pub mod transcript;
pub mod usage;

#[cfg(test)]
#[path = "../tests/support/laws.rs"]
mod laws;
