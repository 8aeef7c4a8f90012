//! Replay: folding an agent's events gives its live state, and all events the live ledger.

use std::collections::BTreeMap;

use kinfolk_actors::agent::{AgentMachine, AgentState, Command};
use kinfolk_actors::id::{AgentId, RunId};
use kinfolk_actors::machine::Machine;

use super::{Invariant, hold};
use crate::world::{Step, World, fold};

/// The states as they follow from the journal alone; the lead's goes through all runs.
#[derive(Default)]
pub struct Replay {
    states: BTreeMap<(Option<RunId>, AgentId), AgentState>,
}

impl Invariant for Replay {
    fn name(&self) -> &'static str {
        "replay"
    }

    fn step(&mut self, step: &Step, world: &World) -> Result<(), String> {
        // To compare whole histories at every step would take most of the time.
        let compares = matches!(step.command, Command::Recovered(_) | Command::Start(_))
            || world.steps.is_multiple_of(4);
        let agent = step.agent();
        let run = (!agent.is_lead()).then_some(step.machine.run);
        let state = self.states.entry((run, agent)).or_default();
        hold!(!compares || *state == step.before, "{agent} began from another state");
        step.events().iter().for_each(|event| AgentMachine::evolve(state, event));
        hold!(!compares || *state == step.after, "{agent} came to another state");
        Ok(())
    }

    fn end(&mut self, world: &World) -> Result<(), String> {
        for (agent, loaded) in &world.loaded {
            let own = world
                .journal
                .iter()
                .filter(|line| line.agent == *agent && (agent.is_lead() || line.run == world.run));
            hold!(fold(own) == loaded.state, "{agent} is not what its chain says");
        }
        hold!(world.refold() == world.ledger, "the ledger is not what the journal says");
        Ok(())
    }
}
