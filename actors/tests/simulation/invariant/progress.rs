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
                    // What is said of a timer that did not fire is dropped.
                    let timer = matches!(key, Key::Timer(_));
                    let misfit = followed == Err(Refusal::Misfit(key))
                        || timer && followed == Err(Refusal::Stale(key));
                    hold!(misfit, "{key:?} took {outcome:?}: {followed:?}");
                    continue;
                }
                match followed {
                    Ok(state) => {
                        let left = ends(&outcome) && keys(&state).contains(&key);
                        hold!(!left, "{key:?} goes on after {outcome:?}");
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

/// A question of a subagent is the one outcome that does not end its work.
fn ends(outcome: &Outcome) -> bool {
    !matches!(outcome, Outcome::ChildAsks { .. })
}

pub fn keys(state: &AgentState) -> BTreeSet<Key> {
    let keys = AgentMachine::outstanding(state).into_keys();
    keys.filter(|key| !matches!(key, Key::Timer(Timer::Closing | Timer::Deadline))).collect()
}
