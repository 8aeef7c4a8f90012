//! The runtime under faults: panics, cancels, stores that fail, many families at once.

mod approvals;
mod background;
mod bounds;
mod cancel;
mod compaction;
mod crash;
mod handles;
mod limits;
mod many;
mod outside;
mod panics;
mod paying;
mod restarts;
mod scene;
mod steering;
mod store_faults;
mod support;
mod wire;
