//! A change that was cut off by a crash is never run again: its outcome is unknown.

use kinfolk_actors::agent::{AgentMachine, Command, Key, Phase};
use kinfolk_actors::call::CallStatus;
use kinfolk_actors::event::Event;
use kinfolk_actors::machine::Machine;

use super::{Invariant, hold};
use crate::coverage::note;
use crate::world::{Step, World};

pub struct Crash;

impl Invariant for Crash {
    fn name(&self) -> &'static str {
        "crash"
    }

    fn step(&mut self, step: &Step, _world: &World) -> Result<(), String> {
        let (Command::Recovered(_), Phase::Acting(turn)) = (&step.command, &step.before.phase)
        else {
            return Ok(());
        };
        let after = AgentMachine::outstanding(&step.after);
        let unsafe_calls = turn
            .dispatched()
            .filter(|call| call.effect().is_some_and(|effect| !effect.may_run_again()));
        for call in unsafe_calls {
            note("case", self.name());
            let call = call.call;
            hold!(!after.contains_key(&Key::Tool(call)), "{call} runs again");
            let unknown = step.events().iter().any(|event| match event {
                Event::ToolFinished(finished) => {
                    finished.call == call && finished.result.status == CallStatus::UnknownOutcome
                }
                _ => false,
            });
            hold!(unknown, "{call} is not told as unknown");
        }
        Ok(())
    }
}
