//! The agent's machine under test: examples as data, and its transition table. Its
//! laws over random families are in `../simulation`.

mod bench;
mod fixture;

mod approvals;
mod brains;
mod children;
mod clients;
mod compacting;
mod ending;
mod extremes;
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
