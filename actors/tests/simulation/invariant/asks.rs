//! Questions are settled once, by the end of their run, and never answered twice.

use std::collections::BTreeSet;

use kinfolk_actors::agent::{Command, Refusal};
use kinfolk_actors::event::Event;
use kinfolk_actors::id::AskId;

use super::{Invariant, hold};
use crate::coverage::note;
use crate::world::{Step, World};

#[derive(Default)]
pub struct Asks {
    open: BTreeSet<AskId>,
    settled: BTreeSet<AskId>,
}

impl Invariant for Asks {
    fn name(&self) -> &'static str {
        "asks"
    }

    fn step(&mut self, step: &Step, _world: &World) -> Result<(), String> {
        let answered = match &step.command {
            Command::Approve(approve) => Some(approve.approval),
            Command::Answer(answer) => Some(answer.question),
            _ => None,
        };
        if let (Some(id), Ok(_)) = (answered, &step.result) {
            hold!(self.open.contains(&id), "an answer to {id}, which is not open, was taken");
        }
        if let (Some(id), Err(refusal)) = (answered, &step.result)
            && self.settled.contains(&id)
            && step.after.is_active()
        {
            let late = [Refusal::AlreadyAnswered(id), Refusal::StaleAnswer(id)];
            let other_kind = Refusal::UnknownAsk(id);
            hold!(late.contains(refusal) || *refusal == other_kind, "{id}: {refusal}");
        }
        for event in step.events() {
            match event {
                Event::ApprovalRequested(asked) => self.ask(asked.approval)?,
                Event::QuestionAsked(asked) => self.ask(asked.question)?,
                Event::ApprovalSettled(settled) => self.settle(settled.approval)?,
                Event::QuestionAnswered(answered) => self.settle(answered.question)?,
                Event::QuestionWithdrawn { question } => self.settle(*question)?,
                Event::RunFinished(_) | Event::SubagentFinished(_) => {
                    let left = self
                        .open
                        .iter()
                        .find(|id| id.agent == step.agent() && id.run == step.machine.run);
                    hold!(left.is_none(), "{left:?} is open after the end");
                }
                _ => {}
            }
        }
        let open = step.after.open_asks().map(|(id, _)| id).collect::<BTreeSet<_>>();
        let of_agent = |id: &&AskId| id.agent == step.agent() && id.run == step.machine.run;
        let known: BTreeSet<AskId> = self.open.iter().filter(of_agent).copied().collect();
        hold!(open == known, "the state has {open:?} open and its events {known:?}");
        Ok(())
    }
}

impl Asks {
    fn ask(&mut self, id: AskId) -> Result<(), String> {
        let new = !self.settled.contains(&id) && self.open.insert(id);
        hold!(new, "{id} is asked twice");
        Ok(())
    }

    fn settle(&mut self, id: AskId) -> Result<(), String> {
        note("case", self.name());
        hold!(self.open.remove(&id), "{id} is settled and was not open");
        self.settled.insert(id);
        Ok(())
    }
}
