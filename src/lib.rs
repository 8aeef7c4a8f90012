//! Runs what [`kinfolk_actors`] decides: shells, supervision, ports and their adapters.

pub mod events;
pub mod model;
pub mod output;
pub mod ports;
pub mod settings;
pub mod store;
pub mod supervise;
pub mod tools;
