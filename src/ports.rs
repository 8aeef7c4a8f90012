//! Traits to the world. Each adapter implements one; nothing above them knows an adapter.

pub mod audit;
pub mod clock;
pub mod cost;
pub mod executor;
pub mod model;
pub mod store;
pub mod tool;
