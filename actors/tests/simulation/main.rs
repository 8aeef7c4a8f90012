//! Whole families, simulated by lot: random replies, outcomes, delays, words of people, cancels,
//! crashes and duplicates. A family is its seed; one that breaks a law can be played again:
//!
//! ```text
//! KINFOLK_SEED=42 KINFOLK_COUNT=1 cargo test -p kinfolk-actors --test simulation
//! ```

mod brain;
mod coverage;
mod dice;
mod happen;
mod heal;
mod invariant;
mod outcome;
mod probe;
mod setting;
mod world;

mod families;
mod reaching;
