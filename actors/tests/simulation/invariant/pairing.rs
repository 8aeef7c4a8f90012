//! Pairing: in every request each call has exactly one result, directly after its message, in call
//! order, under an id of its own; and no request has what providers refuse.

use std::collections::BTreeSet;

use kinfolk_actors::agent::{AgentMachine, AgentState, Phase};
use kinfolk_actors::context::{RequestMessage, model_request};

use super::{Invariant, hold};
use crate::coverage::note;
use crate::world::{Step, World};

pub struct Pairing;

impl Invariant for Pairing {
    fn name(&self) -> &'static str {
        "pairing"
    }

    fn step(&mut self, step: &Step, world: &World) -> Result<(), String> {
        let sent = matches!(step.after.phase, Phase::Thinking { .. } | Phase::Compacting(_));
        // And now and then the one that would be sent next, whatever happened.
        if !sent && !world.steps.is_multiple_of(8) {
            return Ok(());
        }
        note("case", self.name());
        paired(&step.machine, &step.after)
    }
}

pub fn paired(machine: &AgentMachine, state: &AgentState) -> Result<(), String> {
    let request = model_request(machine, state);
    let mut open: Vec<&str> = vec![];
    let mut seen = BTreeSet::new();
    for message in &request.messages {
        match message {
            RequestMessage::ToolResult { id, .. } => {
                hold!(!open.is_empty(), "the result of {id} answers no call");
                let next = open.remove(0);
                hold!(next == &**id, "{id} stands where {next} should");
            }
            RequestMessage::User(_) => hold!(open.is_empty(), "{open:?} have no result"),
            RequestMessage::Assistant { text, calls, opaque } => {
                hold!(open.is_empty(), "{open:?} have no result");
                let empty = text.trim().is_empty() && calls.is_empty() && opaque.is_none();
                hold!(!empty, "an empty message");
                for call in calls {
                    hold!(seen.insert(&*call.id), "{} is there twice", call.id);
                    let arguments = serde_json::from_str(&call.arguments);
                    let object = matches!(arguments, Ok(serde_json::Value::Object(_)));
                    hold!(object, "arguments {}", call.arguments);
                    hold!(!call.name.is_empty(), "a call without a name");
                    open.push(&call.id);
                }
            }
        }
    }
    hold!(open.is_empty(), "{open:?} have no result");
    Ok(())
}
