//! Runs what [`kinfolk_actors`] decides: shells, supervision, ports and their adapters.

pub mod ports;
