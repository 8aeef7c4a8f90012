//! Compaction as one piece: the named cases, and the laws over random histories.

mod bench;
mod cases;
mod fixture;
mod laws;
mod summaries;
