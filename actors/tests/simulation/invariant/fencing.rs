//! Fencing: an outcome of what is not in flight any more is stale, whatever it is.

use std::collections::{BTreeMap, BTreeSet};

use kinfolk_actors::agent::{AgentMachine, Command, Key, Refusal};
use kinfolk_actors::id::{AgentId, RunId};
use kinfolk_actors::machine::Machine;

use super::{Invariant, hold};
use crate::coverage::note;
use crate::dice::mix;
use crate::probe;
use crate::world::{Step, World};

#[derive(Default)]
pub struct Fencing {
    seen: BTreeMap<(RunId, AgentId), BTreeSet<Key>>,
}

impl Invariant for Fencing {
    fn name(&self) -> &'static str {
        "fencing"
    }

    fn step(&mut self, step: &Step, world: &World) -> Result<(), String> {
        let chain = (step.machine.run, step.agent());
        let living: BTreeSet<Key> = AgentMachine::outstanding(&step.after).into_keys().collect();
        let seen = self.seen.entry(chain).or_default();
        seen.extend(&living);
        if !mix(&[world.seed, world.steps, 2]).is_multiple_of(64) {
            return Ok(());
        }
        for key in seen.difference(&living) {
            note("case", "fencing");
            for outcome in probe::outcomes(step) {
                let command = Command::Settle { key: *key, outcome: outcome.clone() };
                let refusal = probe::follow(step, &command).err();
                hold!(refusal == Some(Refusal::Stale(*key)), "{key:?} {outcome:?}: {refusal:?}");
            }
        }
        Ok(())
    }
}
