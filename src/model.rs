//! Adapters of the model port, the one retry layer above them, and the catalogue that finds an
//! adapter by a model's full name.

pub mod catalog;
pub mod explorer;
pub mod openai;
pub mod retry;
pub mod scripted;

mod estimate;
mod sse;
