//! The runtime under faults: panics, cancels, stores that fail, many families at once.

mod bounds;
mod cancel;
mod crash;
mod handles;
mod many;
mod panics;
mod store_faults;
mod support;
mod wire;
