//! The state of a run as hosts and people see it.

use serde::{Deserialize, Serialize};

use super::{About, AgentState, CallState, Phase, Turn, Wait};
use crate::event::Outcome;

/// Where a run stands. Parked and interrupted runs are at rest and can go on; only the terminal
/// ones are over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStanding {
    /// Being set up.
    Preparing,
    /// The model thinks.
    Planning,
    /// Tools or subagents work.
    Acting,
    /// What was seen is being made smaller or taken in.
    Observing,
    /// The last answer is being written.
    Verifying,
    /// It is being ended.
    Cancelling,
    /// A person has to answer.
    AwaitingUser,
    /// The parent agent has to answer.
    AwaitingParent,
    /// The host, a client or a later answer has to settle a call.
    AwaitingTool,
    /// It rests and can be resumed.
    Interrupted,
    /// It did what it was asked.
    Completed,
    /// Part of it stands.
    PartialSuccess,
    /// It was cancelled.
    Cancelled,
    /// It failed.
    Failed,
}

impl RunStanding {
    /// Whether it waits for somebody outside and holds nothing meanwhile.
    #[must_use]
    pub fn is_parked(self) -> bool {
        match self {
            Self::AwaitingUser | Self::AwaitingParent | Self::AwaitingTool => true,
            Self::Preparing
            | Self::Planning
            | Self::Acting
            | Self::Observing
            | Self::Verifying
            | Self::Cancelling
            | Self::Interrupted
            | Self::Completed
            | Self::PartialSuccess
            | Self::Cancelled
            | Self::Failed => false,
        }
    }

    /// Whether it is at rest and can go on: parked or interrupted.
    #[must_use]
    pub fn is_blocked(self) -> bool {
        self.is_parked() || self == Self::Interrupted
    }

    /// Whether it is over.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Completed | Self::PartialSuccess | Self::Cancelled | Self::Failed => true,
            Self::Preparing
            | Self::Planning
            | Self::Acting
            | Self::Observing
            | Self::Verifying
            | Self::Cancelling
            | Self::AwaitingUser
            | Self::AwaitingParent
            | Self::AwaitingTool
            | Self::Interrupted => false,
        }
    }

    /// The standing of a run that has ended.
    #[must_use]
    pub fn ended(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Completed => Self::Completed,
            Outcome::PartialSuccess => Self::PartialSuccess,
            Outcome::Cancelled => Self::Cancelled,
            Outcome::Failed => Self::Failed,
        }
    }
}

impl AgentState {
    /// Where the agent's run stands; none if it has none under way.
    #[must_use]
    pub fn standing(&self) -> Option<RunStanding> {
        Some(match &self.phase {
            Phase::Resting => return None,
            Phase::Done(report) => RunStanding::ended(report.status),
            Phase::Deciding if self.has_live_children() => RunStanding::Acting,
            Phase::Deciding => RunStanding::Preparing,
            Phase::Thinking { .. } if self.is_sealed() => RunStanding::Verifying,
            Phase::Thinking { .. } => RunStanding::Planning,
            Phase::Acting(turn) => self.of_turn(turn),
            Phase::Compacting(_) => RunStanding::Observing,
            Phase::Asking(id) => match self.asks.get(id).map(|ask| &ask.about) {
                Some(About::Words { parent: true, .. }) => RunStanding::AwaitingParent,
                Some(About::Words { .. } | About::Call(_) | About::Limit(_)) | None => {
                    RunStanding::AwaitingUser
                }
            },
            Phase::Interrupted => RunStanding::Interrupted,
            Phase::Ending(_) => RunStanding::Cancelling,
        })
    }

    fn of_turn(&self, turn: &Turn) -> RunStanding {
        let here = turn.dispatched().next().is_some() || self.has_live_children();
        let waits = |entry: &CallState| matches!(entry, CallState::Waiting(Wait::Person(_)));
        let asked = turn.calls.iter().any(|entry| waits(&entry.state));
        let parent = self.open_asks().any(|(_, ask)| match &ask.about {
            About::Words { parent, .. } => *parent,
            About::Call(_) | About::Limit(_) => false,
        });
        match (here, asked, turn.deferred().next().is_some()) {
            (true, _, _) => RunStanding::Acting,
            (false, true, _) if parent => RunStanding::AwaitingParent,
            (false, true, _) => RunStanding::AwaitingUser,
            (false, false, true) => RunStanding::AwaitingTool,
            (false, false, false) => RunStanding::Acting,
        }
    }
}
