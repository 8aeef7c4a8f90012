//! Compaction as one piece: the named cases, and the laws over random histories.

mod bench;
mod cases;
#[path = "../support/laws.rs"]
mod cases_of_laws;
mod fixture;
mod laws;
mod summaries;
