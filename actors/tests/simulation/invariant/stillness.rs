//! Stillness: a refusal changes nothing, and a decision is a function of what it is given.

use kinfolk_actors::machine::Machine;

use super::{Invariant, hold};
use crate::coverage::note;
use crate::world::{Step, World};

pub struct Stillness;

impl Invariant for Stillness {
    fn name(&self) -> &'static str {
        "stillness"
    }

    fn step(&mut self, step: &Step, world: &World) -> Result<(), String> {
        if step.result.is_ok() && !world.steps.is_multiple_of(4) {
            return Ok(());
        }
        note("case", self.name());
        let again = step.machine.decide(&step.before, &step.command, &step.facts);
        hold!(again == step.result, "the same question had another answer: {again:?}");
        hold!(step.result.is_ok() || step.before == step.after, "a refusal changed something");
        Ok(())
    }
}
