//! The one machine that a lead and its subagents share.
//!
//! An agent thinks (one model request), acts (the calls of one reply), and ends. What it is made of
//! is on this page; its words are in [`Command`], [`Event`] and [`Outcome`], what it remembers in
//! [`AgentState`], and the three functions in the modules below.

mod advance;
mod answers;
mod arguments;
mod asking;
mod children;
mod command;
mod compacting;
mod decide;
mod draft;
mod ending;
mod evolve;
mod frozen;
mod gate;
mod outcomes;
mod outstanding;
mod pairs;
mod perform;
mod propose;
mod recent;
mod recovery;
mod refusal;
mod repeats;
mod reply;
mod request;
mod standing;
mod state;
mod steering;
mod turn;
mod work;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use self::command::{
    Answer, Approve, Cause, Command, Deliver, Recovered, Refusal, Start, Steer, Verdict,
};
pub(crate) use self::draft::Draft;
pub use self::propose::{MAX_CALLS, RawCall};
pub use self::recent::{REMEMBERED, Recent};
pub use self::refusal::RefusalCode;
pub use self::repeats::Repeats;
pub use self::standing::RunStanding;
pub use self::state::{
    About, AgentState, Ask, Child, ChildState, Closing, Compaction, Left, Measured, Phase,
    RunState, Settled,
};
pub use self::turn::{CallState, Turn, TurnCall, Wait};
pub use self::work::{Audited, Key, Outcome, RawReply, Summarised, Timer, Work};
use crate::brain::Brain;
use crate::budget::Facts;
use crate::event::{Ending, Event, FinishReason, Outcome as EndOutcome, SubagentStarted};
use crate::failure::Failure;
use crate::family::{Family, FamilyHash};
use crate::id::RunId;
use crate::machine::{Demand, Machine};

/// What is frozen for one agent in one run.
#[derive(Clone)]
pub struct AgentMachine {
    /// The run that this generation serves.
    pub run: RunId,
    /// Which member of the family this is.
    pub member: Member,
    /// The frozen family.
    pub family: Arc<Family>,
    /// Its content hash.
    pub family_hash: FamilyHash,
    /// Decides what comes next.
    pub brain: Arc<dyn Brain>,
}

/// A member of a family.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Member {
    /// The lead.
    Lead,
    /// A subagent, by the event that started it.
    Subagent(SubagentStarted),
}

impl Machine for AgentMachine {
    type State = AgentState;
    type Command = Command;
    type Event = Event;
    type Refusal = Refusal;
    type Facts = Facts;
    type Key = Key;
    type Work = Work;

    fn decide(
        &self,
        state: &AgentState,
        command: &Command,
        facts: &Facts,
    ) -> Result<Vec<Event>, Refusal> {
        decide::decide(self, state, command, facts)
    }

    fn evolve(state: &mut AgentState, event: &Event) {
        evolve::evolve(state, event);
    }

    fn settles(command: &Command) -> Option<Key> {
        match command {
            // The subagent goes on waiting: its work is not over.
            Command::Settle { outcome: Outcome::ChildAsks { .. }, .. } => None,
            Command::Settle { key, outcome: _ } => Some(*key),
            Command::Start(_)
            | Command::Recovered(_)
            | Command::Steer(_)
            | Command::Queue { .. }
            | Command::Approve(_)
            | Command::Answer(_)
            | Command::Deliver(_)
            | Command::Compact
            | Command::Activate { .. }
            | Command::Interrupt { .. }
            | Command::Resume { .. }
            | Command::Cancel { .. } => None,
        }
    }

    fn outstanding(state: &AgentState) -> BTreeMap<Key, Demand<Work>> {
        outstanding::outstanding(state)
    }
}

/// A cancel as an ending.
#[must_use]
pub fn cancelled(cause: Cause, reason: &Arc<str>) -> Ending {
    let finish_reason = match cause {
        Cause::Requested | Cause::Parent => FinishReason::UserRequested,
        Cause::Aborted => FinishReason::UserAborted,
        Cause::Shutdown => FinishReason::SystemShutdown,
    };
    let reason = Arc::clone(reason);
    Ending { outcome: EndOutcome::Cancelled, finish_reason, reason, text: "".into(), error: None }
}

/// A failure as an ending.
#[must_use]
pub fn failed(error: Failure) -> Ending {
    Ending {
        outcome: EndOutcome::Failed,
        finish_reason: FinishReason::ErrorRecovery,
        reason: Arc::clone(&error.message),
        text: "".into(),
        error: Some(error),
    }
}
