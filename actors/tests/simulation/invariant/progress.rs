//! Progress: every outcome that work can have is taken and ends its key; any other is a misfit.

use std::collections::BTreeSet;

use kinfolk_actors::agent::{AgentMachine, AgentState, Command, Key, Outcome, Refusal, Timer};
use kinfolk_actors::machine::Machine;

use super::{Invariant, hold};
use crate::coverage::note;
use crate::dice::mix;
use crate::probe;
use crate::world::{Step, World};

pub struct Progress;

impl Invariant for Progress {
    fn name(&self) -> &'static str {
        "progress"
    }

    fn step(&mut self, step: &Step, world: &World) -> Result<(), String> {
        if !mix(&[world.seed, world.steps, 1]).is_multiple_of(64) {
            return Ok(());
        }
        for key in keys(&step.after) {
            note("case", self.name());
            for outcome in probe::outcomes(step) {
                let command = Command::Settle { key, outcome: outcome.clone() };
                let followed = probe::follow(step, &command);
                if !probe::fits(key, &outcome) {
                    let misfit = followed == Err(Refusal::Misfit(key));
                    hold!(misfit, "{key:?} took {outcome:?}: {followed:?}");
                    continue;
                }
                match followed {
                    Ok(state) if ends(key, &outcome) => {
                        let left = keys(&state).contains(&key);
                        hold!(!left, "{key:?} goes on after {outcome:?}");
                    }
                    Ok(state) => {
                        let left = keys(&state).contains(&key);
                        hold!(left, "{key:?} ended with {outcome:?}");
                    }
                    Err(refusal) => {
                        return Err(format!("{key:?} refused {outcome:?}: {refusal}"));
                    }
                }
            }
        }
        Ok(())
    }
}

/// A question of a subagent does not end its work, and a time is waited for until it comes.
fn ends(key: Key, outcome: &Outcome) -> bool {
    match outcome {
        Outcome::ChildAsks { .. } => false,
        Outcome::Gone | Outcome::Panicked { .. } => !matches!(key, Key::Timer(_)),
        _ => true,
    }
}

pub fn keys(state: &AgentState) -> BTreeSet<Key> {
    let keys = AgentMachine::outstanding(state).into_keys();
    keys.filter(|key| !matches!(key, Key::Timer(Timer::Closing | Timer::Deadline))).collect()
}
