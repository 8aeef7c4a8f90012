//! The agent's machine under test: examples as data, its transition table, and its laws over
//! random histories of a simulated family.

mod bench;
mod fixture;

mod approvals;
mod brains;
mod children;
mod clients;
mod compacting;
mod ending;
mod guards;
mod interrupting;
mod limiting;
mod ordering;
mod pairing;
mod phases;
mod questions;
mod recovering;
mod replying;
mod requests;
mod returning;
mod runs;
mod settling;
mod spawning;
mod starting;
mod steering;
mod transitions;
