//! One end: each run and each subagent has one terminal event, and it is the last of its chain.

use std::collections::BTreeSet;

use kinfolk_actors::event::Event;
use kinfolk_actors::id::{AgentId, RunId};

use super::{Invariant, hold};
use crate::coverage::note;
use crate::world::{Step, World};

#[derive(Default)]
pub struct Terminal {
    started: BTreeSet<RunId>,
    ended: BTreeSet<(RunId, AgentId)>,
}

impl Invariant for Terminal {
    fn name(&self) -> &'static str {
        "terminal"
    }

    fn step(&mut self, step: &Step, _world: &World) -> Result<(), String> {
        let (run, agent) = (step.machine.run, step.agent());
        for event in step.events() {
            if let Event::RunStarted(_) = event {
                hold!(self.started.insert(run), "{run} started twice");
            }
            hold!(self.started.contains(&run), "{agent}: {event:?} before the run");
            hold!(!self.ended.contains(&(run, agent)), "{agent}: {event:?} after its end");
            hold!(!self.ended.contains(&(run, AgentId::LEAD)), "{agent}: late {event:?}");
            let end = matches!(event, Event::RunFinished(_) | Event::SubagentFinished(_));
            if end {
                note("case", self.name());
                self.ended.insert((run, agent));
            }
        }
        Ok(())
    }

    fn end(&mut self, world: &World) -> Result<(), String> {
        for run in &self.started {
            hold!(self.ended.contains(&(*run, AgentId::LEAD)), "{run} has no end");
        }
        for line in &world.journal {
            let Event::SubagentStarted(started) = &line.event else { continue };
            let ended = self.ended.contains(&(line.run, started.subagent));
            let lost = world.ever_lost.contains(&(line.run, started.subagent));
            hold!(ended || lost, "{} of {} has no end", started.subagent, line.run);
        }
        Ok(())
    }
}
