//! Requests grow only at their end between compactions, so that a provider's cache keeps working.

use std::collections::BTreeMap;

use kinfolk_actors::agent::Phase;
use kinfolk_actors::context::{RequestMessage, model_request};
use kinfolk_actors::event::Event;
use kinfolk_actors::id::{AgentId, RunId};

use super::{Invariant, hold};
use crate::coverage::note;
use crate::world::{Step, World};

#[derive(Default)]
pub struct Prefix {
    sent: BTreeMap<(Option<RunId>, AgentId), Vec<RequestMessage>>,
}

impl Invariant for Prefix {
    fn name(&self) -> &'static str {
        "prefix"
    }

    fn step(&mut self, step: &Step, _world: &World) -> Result<(), String> {
        let agent = step.agent();
        let chain = ((!agent.is_lead()).then_some(step.machine.run), agent);
        let compacted = step
            .events()
            .iter()
            .any(|event| matches!(event, Event::CompactionFinished(finished) if finished.ok));
        if compacted {
            self.sent.remove(&chain);
        }
        if let Phase::Thinking { .. } = step.after.phase {
            note("case", self.name());
            let messages = model_request(&step.machine, &step.after).messages;
            let before = self.sent.entry(chain).or_default();
            hold!(messages.starts_with(before), "{agent}: a request changed before its end");
            *before = messages;
        }
        Ok(())
    }
}
