//! Nothing hangs: an agent that is under way has something in flight or waits for somebody who can
//! be named.

use kinfolk_actors::agent::{AgentMachine, AgentState, Key, Phase, RunStanding, Timer};
use kinfolk_actors::machine::Machine;

use super::{Invariant, hold};
use crate::coverage::{name, note};
use crate::world::{Step, World};

pub struct Rest;

impl Invariant for Rest {
    fn name(&self) -> &'static str {
        "rest"
    }

    fn step(&mut self, step: &Step, _world: &World) -> Result<(), String> {
        note("case", self.name());
        let standing = step.after.standing();
        note("phase", phase(&step.after.phase));
        let standing = standing.map_or("None".to_owned(), |standing| name(&standing));
        note("standing", &standing);
        alive(&step.after).map_err(|why| format!("{}: {why}", step.agent()))
    }
}

/// Whether something will go on, or somebody has to be waited for.
pub fn alive(state: &AgentState) -> Result<(), String> {
    let standing = state.standing();
    let ended = standing.is_none_or(RunStanding::is_terminal);
    hold!(state.is_active() != ended, "{standing:?} in {:?}", state.phase);
    if !state.is_active() {
        return Ok(());
    }
    let timer = |key: &Key| matches!(key, Key::Timer(Timer::Closing | Timer::Deadline));
    let works = AgentMachine::outstanding(state).keys().any(|key| !timer(key));
    let asks = state.open_asks().next().is_some();
    let deferred = state.turn().is_some_and(|turn| turn.deferred().next().is_some());
    let interrupted = state.phase == Phase::Interrupted;
    hold!(works || asks || deferred || interrupted, "it waits for nothing: {:?}", state.phase);
    let parked = standing.is_some_and(RunStanding::is_parked);
    hold!(!parked || asks || deferred, "parked for nothing: {standing:?}");
    Ok(())
}

fn phase(phase: &Phase) -> &'static str {
    match phase {
        Phase::Resting => "resting",
        Phase::Deciding => "deciding",
        Phase::Thinking { .. } => "thinking",
        Phase::Acting(_) => "acting",
        Phase::Compacting(_) => "compacting",
        Phase::Asking(_) => "asking",
        Phase::Interrupted => "interrupted",
        Phase::Ending(_) => "ending",
        Phase::Done(_) => "done",
    }
}
