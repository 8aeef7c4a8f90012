//! Numbers without gaps: requests, calls, questions, subagents; a resumed run says where it is.

use std::collections::BTreeMap;

use kinfolk_actors::event::{Event, Message};
use kinfolk_actors::id::{AgentId, RunId};

use super::{Invariant, hold};
use crate::world::{Step, World};

#[derive(Default)]
pub struct Dense {
    next: BTreeMap<(RunId, AgentId, &'static str), u32>,
    events: u64,
}

impl Invariant for Dense {
    fn name(&self) -> &'static str {
        "dense"
    }

    fn step(&mut self, step: &Step, _world: &World) -> Result<(), String> {
        let (run, agent) = (step.machine.run, step.agent());
        let from = self.events;
        for event in step.events() {
            self.events += 1;
            match event {
                Event::RunResumed(resumed) => {
                    hold!(resumed.from_offset.0 == from, "it says {:?}", resumed.from_offset);
                }
                Event::ModelRequest(asked) => {
                    self.check((run, agent, "request"), asked.request.0 - 1)?;
                }
                Event::Message(Message::Assistant(reply)) => {
                    for call in &reply.calls {
                        hold!((call.call.run, call.call.agent) == (run, agent), "{}", call.call);
                        self.check((run, agent, "call"), call.call.n)?;
                        hold!(call.alias.len() <= 26, "a long alias: {}", call.alias);
                    }
                }
                Event::ApprovalRequested(asked) => {
                    self.check((run, agent, "ask"), asked.approval.n)?;
                }
                Event::QuestionAsked(asked) => {
                    self.check((run, agent, "ask"), asked.question.n)?;
                }
                Event::CompactionStarted(started) => {
                    self.check((run, agent, "compaction"), started.n - 1)?;
                }
                Event::SubagentStarted(started) => {
                    self.check((run, AgentId::LEAD, "subagent"), started.subagent.0 - 1)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn end(&mut self, world: &World) -> Result<(), String> {
        hold!(world.head().0 == self.events, "{} events", self.events);
        Ok(())
    }
}

impl Dense {
    fn check(&mut self, what: (RunId, AgentId, &'static str), n: u32) -> Result<(), String> {
        let next = self.next.entry(what).or_default();
        hold!(*next == n, "{what:?} {n} comes where {next} should");
        *next += 1;
        Ok(())
    }
}
