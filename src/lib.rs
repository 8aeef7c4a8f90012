//! Runs what [`kinfolk_actors`] decides: shells, supervision, ports and their adapters.

pub mod definition;
pub mod events;
pub(crate) mod family;
pub(crate) mod gateway;
pub(crate) mod hub;
pub(crate) mod journal;
pub mod model;
pub mod output;
pub mod ports;
pub mod runtime;
pub mod settings;
pub(crate) mod shell;
pub mod store;
pub(crate) mod supervise;
pub mod tools;
