//! Adapters of the store port and the stored form of records.

mod index;
pub mod memory;
mod record;
pub mod sled;
