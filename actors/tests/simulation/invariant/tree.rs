//! The tree is dead before an agent ends, and an agent at rest has nothing going on.

use kinfolk_actors::agent::{AgentMachine, Phase};
use kinfolk_actors::machine::{Demand, Machine};

use super::{Invariant, hold};
use crate::world::{Step, World};

pub struct Tree;

impl Invariant for Tree {
    fn name(&self) -> &'static str {
        "tree"
    }

    fn step(&mut self, step: &Step, world: &World) -> Result<(), String> {
        let demands = AgentMachine::outstanding(&step.after);
        if !step.after.is_active() {
            hold!(demands.is_empty(), "{} is at rest with {demands:?}", step.agent());
            hold!(!step.after.has_live_children(), "{} ended before its tree", step.agent());
        }
        if let Phase::Ending(_) = step.after.phase {
            let runs = demands.values().any(|demand| matches!(demand, Demand::Run(_)));
            hold!(!runs, "{} ends and starts: {demands:?}", step.agent());
        }
        if step.agent().is_lead() && step.before.is_active() && !step.after.is_active() {
            for (agent, loaded) in &world.loaded {
                let living = !agent.is_lead() && loaded.state.is_active();
                hold!(!living, "{agent} lives on after the run");
            }
        }
        Ok(())
    }
}
