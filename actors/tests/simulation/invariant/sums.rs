//! The sums of a run are those of its whole family, failed requests and summaries included.

use kinfolk_actors::event::{Event, Message};
use kinfolk_actors::usage::Usage;

use super::{Invariant, hold};
use crate::coverage::note;
use crate::world::{Step, World};

pub struct Sums;

impl Invariant for Sums {
    fn name(&self) -> &'static str {
        "sums"
    }

    fn step(&mut self, step: &Step, world: &World) -> Result<(), String> {
        let Some(Event::RunFinished(finished)) = step.events().last() else { return Ok(()) };
        note("case", self.name());
        let run = step.machine.run;
        let lines: Vec<_> = world.journal.iter().filter(|line| line.run == run).collect();
        let mut sum = Usage::default();
        lines.iter().for_each(|line| sum.add(&used(&line.event)));
        hold!(finished.usage == sum, "{:?} instead of {sum:?}", finished.usage);
        let agents: Vec<u32> = finished.agents.iter().map(|sums| sums.agent.0).collect();
        let begun = lines.iter().filter(|line| matches!(line.event, Event::SubagentStarted(_)));
        let expected: Vec<u32> = (0..).take(begun.count() + 1).collect();
        hold!(agents == expected, "{agents:?}");
        let by_agent = finished.agents.iter().fold(Usage::default(), |mut sum, agent| {
            sum.add(&agent.usage);
            sum
        });
        hold!(by_agent == sum, "by agent: {by_agent:?}");
        Ok(())
    }
}

fn used(event: &Event) -> Usage {
    match event {
        Event::Message(Message::Assistant(reply)) => {
            let tool_calls = u64::try_from(reply.calls.len()).unwrap();
            let mut used = Usage { turns: 1, tool_calls, ..Usage::default() };
            used.add(&reply.usage);
            used
        }
        Event::ModelFailed(failed) => failed.usage,
        Event::CompactionFinished(finished) => finished.usage,
        _ => Usage::default(),
    }
}
