//! Which command leads to what.

use super::draft::Draft;
use super::{
    AgentMachine, AgentState, Command, Refusal, answers, cancelled, ending, outcomes, recovery,
    steering,
};
use crate::budget::Facts;
use crate::event::Event;
use crate::lead;

pub(super) fn decide(
    machine: &AgentMachine,
    state: &AgentState,
    command: &Command,
    facts: &Facts,
) -> Result<Vec<Event>, Refusal> {
    let draft = Draft::new(machine, state, facts);
    match command {
        Command::Start(start) => lead::start(draft, start),
        Command::Recovered(recovered) => Ok(recovery::recover(draft, recovered)),
        Command::Settle { key, outcome } => outcomes::settle(draft, *key, outcome),
        Command::Steer(steer) => steering::steer(draft, steer),
        Command::Queue { text } => steering::queue(draft, text),
        Command::Approve(approve) => answers::approve(draft, approve),
        Command::Answer(answer) => answers::answer(draft, answer),
        Command::Deliver(deliver) => answers::deliver(draft, deliver),
        Command::Compact => steering::compact(draft),
        Command::Activate { tools } => steering::activate(draft, tools),
        Command::Interrupt { reason } => steering::interrupt(draft, reason),
        Command::Resume { raised } => steering::resume(draft, *raised),
        Command::Cancel { cause, reason } => ending::cancel(draft, &cancelled(*cause, reason)),
    }
}
