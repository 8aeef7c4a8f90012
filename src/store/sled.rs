//! tmp
pub use super::memory::MemoryStore as SledStore;
