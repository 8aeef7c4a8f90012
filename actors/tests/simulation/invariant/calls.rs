//! Each call has exactly one result and begins at most once; only what was proposed begins.

use std::collections::{BTreeMap, BTreeSet};

use kinfolk_actors::event::{Event, Message};
use kinfolk_actors::id::CallId;

use super::{Invariant, hold};
use crate::coverage::note;
use crate::world::{Step, World};

#[derive(Default)]
pub struct Calls {
    proposed: BTreeSet<CallId>,
    begun: BTreeSet<CallId>,
    ended: BTreeMap<CallId, u64>,
}

impl Invariant for Calls {
    fn name(&self) -> &'static str {
        "calls"
    }

    fn step(&mut self, step: &Step, _world: &World) -> Result<(), String> {
        for event in step.events() {
            match event {
                Event::Message(Message::Assistant(reply)) => {
                    for call in &reply.calls {
                        hold!(self.proposed.insert(call.call), "{} proposed twice", call.call);
                    }
                }
                Event::ToolStarted(started) => {
                    let call = started.call;
                    hold!(self.proposed.contains(&call), "{call} was never proposed");
                    hold!(self.begun.insert(call), "{call} began twice");
                    hold!(!self.ended.contains_key(&call), "{call} began after its end");
                }
                Event::ToolFinished(finished) => {
                    note("case", self.name());
                    let call = finished.call;
                    hold!(self.proposed.contains(&call), "{call} was never proposed");
                    let before = self.ended.insert(call, 1);
                    hold!(before.is_none(), "{call} has two results");
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn end(&mut self, world: &World) -> Result<(), String> {
        for call in &self.proposed {
            let lost = world.ever_lost.contains(&(call.run, call.agent));
            hold!(self.ended.contains_key(call) || lost, "{call} has no result");
        }
        Ok(())
    }
}
