//! How the launcher shows events and stores to people and scripts.
//!
//! Everything here is a pure function of what is shown: writers are arguments, and a writer that
//! fails ends the output but never the run.

pub mod asks;
pub mod events;
pub mod exit;
pub mod family_view;
pub mod inspect;
pub mod plain;
pub mod renderer;
mod text;

#[cfg(test)]
mod tests;
