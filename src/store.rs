//! Adapters of the store port.
pub mod memory;
