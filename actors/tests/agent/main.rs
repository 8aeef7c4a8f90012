//! The agent's machine under test: examples as data, its transition table, and its laws over
//! random histories of a simulated family.

mod bench;
mod fixture;
mod script;
mod world;

mod brains;
mod children;
mod corners;
mod ending;
mod laws;
mod ordering;
mod recovering;
mod replying;
mod requests;
mod runs;
mod settling;
mod starting;
mod transitions;
