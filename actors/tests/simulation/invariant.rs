//! What has to hold in every family, one law a file.

use crate::world::{Step, World};

pub mod asks;
pub mod calls;
pub mod commands;
pub mod crash;
pub mod delivered;
pub mod dense;
pub mod fencing;
pub mod flight;
pub mod gates;
pub mod limits;
pub mod pairing;
pub mod passport;
pub mod prefix;
pub mod progress;
pub mod reached;
pub mod replay;
pub mod rest;
pub mod stillness;
pub mod sums;
pub mod terminal;
pub mod tree;

/// A law that was broken.
#[derive(Clone, Debug)]
pub struct Fault {
    pub law: &'static str,
    pub why: String,
}

/// A law over the story of one family.
pub trait Invariant {
    fn name(&self) -> &'static str;

    /// What it says to one step.
    fn step(&mut self, _step: &Step, _world: &World) -> Result<(), String> {
        Ok(())
    }

    /// What it says once the story is over.
    fn end(&mut self, _world: &World) -> Result<(), String> {
        Ok(())
    }
}

/// All laws, fresh for one family.
pub fn all() -> Vec<Box<dyn Invariant>> {
    vec![
        Box::new(asks::Asks::default()),
        Box::new(calls::Calls::default()),
        Box::new(commands::Commands),
        Box::new(crash::Crash),
        Box::new(delivered::Delivered::default()),
        Box::new(dense::Dense::default()),
        Box::new(fencing::Fencing::default()),
        Box::new(flight::Flight),
        Box::new(gates::Gates::default()),
        Box::new(limits::Bounded::default()),
        Box::new(pairing::Pairing),
        Box::new(passport::Passport),
        Box::new(prefix::Prefix::default()),
        Box::new(progress::Progress),
        Box::new(reached::Reached),
        Box::new(replay::Replay::default()),
        Box::new(rest::Rest),
        Box::new(stillness::Stillness),
        Box::new(sums::Sums),
        Box::new(terminal::Terminal::default()),
        Box::new(tree::Tree),
    ]
}

/// Fails with these words unless something holds.
macro_rules! hold {
    ($holds:expr, $($words:tt)*) => {
        if !$holds {
            return Err(format!($($words)*));
        }
    };
}
pub(crate) use hold;
