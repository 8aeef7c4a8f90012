//! What needs a person's word never begins without it, and what is blocked or refused never does.

use std::collections::{BTreeMap, BTreeSet};

use kinfolk_actors::call::Gate;
use kinfolk_actors::event::{ApprovalSubject, Decision, Event, Message};
use kinfolk_actors::id::{AskId, CallId};

use super::{Invariant, hold};
use crate::coverage::note;
use crate::world::{Step, World};

#[derive(Default)]
pub struct Gates {
    gates: BTreeMap<CallId, Gate>,
    asked: BTreeMap<AskId, CallId>,
    approved: BTreeSet<CallId>,
    audited: BTreeMap<CallId, bool>,
}

impl Invariant for Gates {
    fn name(&self) -> &'static str {
        "gates"
    }

    fn step(&mut self, step: &Step, _world: &World) -> Result<(), String> {
        for event in step.events() {
            match event {
                Event::Message(Message::Assistant(reply)) => {
                    let gates = reply.calls.iter().map(|call| (call.call, call.gate.clone()));
                    self.gates.extend(gates);
                }
                Event::CallAudited(audited) => {
                    self.audited.insert(audited.call, audited.intervene);
                }
                Event::ApprovalRequested(asked) => {
                    if let ApprovalSubject::Tool { call, .. } = &asked.subject {
                        self.asked.insert(asked.approval, *call);
                    }
                }
                Event::ApprovalSettled(settled) if settled.decision == Decision::Approved => {
                    let call = self.asked.get(&settled.approval).copied();
                    self.approved.extend(call);
                }
                Event::ToolStarted(started) => self.begins(started.call)?,
                _ => {}
            }
        }
        Ok(())
    }
}

impl Gates {
    fn begins(&self, call: CallId) -> Result<(), String> {
        let approved = self.approved.contains(&call);
        let asked = self.asked.values().any(|asked| *asked == call);
        hold!(approved || !asked, "{call} began without the word that was asked for");
        match self.gates.get(&call) {
            Some(Gate::Pass) => {}
            Some(Gate::Ask(_)) => {
                note("case", self.name());
                hold!(approved, "{call} began without approval");
            }
            Some(Gate::Audit { .. }) => {
                note("case", self.name());
                hold!(self.audited.contains_key(&call), "{call} began before its check");
            }
            Some(Gate::Block(_)) | None => return Err(format!("{call} is blocked and began")),
        }
        Ok(())
    }
}
