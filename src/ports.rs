//! Traits to the world. Each adapter implements one; nothing above them knows an adapter.

pub mod clock;
pub mod model;
pub mod store;
pub mod tool;
