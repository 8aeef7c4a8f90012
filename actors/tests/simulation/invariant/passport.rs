//! Passport: a state can be written as JSON after any step, read elsewhere, and goes on.

use kinfolk_actors::agent::AgentState;

use super::{Invariant, hold};
use crate::coverage::note;
use crate::dice::mix;
use crate::world::{Step, World};

pub struct Passport;

impl Invariant for Passport {
    fn name(&self) -> &'static str {
        "passport"
    }

    fn step(&mut self, step: &Step, world: &World) -> Result<(), String> {
        // Writing every state would take most of the time.
        if !mix(&[world.seed, world.steps]).is_multiple_of(16) {
            return Ok(());
        }
        note("case", self.name());
        let text = serde_json::to_string(&step.after).map_err(|error| error.to_string())?;
        let read: AgentState = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        hold!(read == step.after, "it reads as something else: {text}");
        Ok(())
    }
}
