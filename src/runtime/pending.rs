//! What a session's run waits for people to say, read from the journal.

use kinfolk_actors::event::{ApprovalRequested, Event, QuestionAsked, Recorded};
use kinfolk_actors::id::{AgentId, AskId};
use kinfolk_actors::time::Timestamp;

/// An approval or a question that waits for its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// The agent that waits.
    pub agent: AgentId,
    /// When it asked.
    pub since: Timestamp,
    /// What it asks.
    pub ask: PendingAsk,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PendingAsk {
    /// Whether a call may run or a limit may be raised; answered by
    /// [`RunControl::approve`](super::RunControl::approve).
    Approval(ApprovalRequested),
    /// Words; answered by [`RunControl::answer`](super::RunControl::answer).
    Question(QuestionAsked),
}

impl Pending {
    /// The id that an answer names.
    #[must_use]
    pub fn id(&self) -> AskId {
        match &self.ask {
            PendingAsk::Approval(requested) => requested.approval,
            PendingAsk::Question(asked) => asked.question,
        }
    }
}

/// What is open after these events of a run, in the order in which it was asked. What an agent
/// asked that has ended is not.
pub(super) fn pending(events: impl IntoIterator<Item = Recorded>) -> Vec<Pending> {
    let mut open: Vec<Pending> = Vec::new();
    for recorded in events {
        let Recorded { agent, at: since, event, .. } = recorded;
        match event {
            Event::ApprovalRequested(requested) => {
                open.push(Pending { agent, since, ask: PendingAsk::Approval(requested) });
            }
            Event::QuestionAsked(asked) => {
                open.push(Pending { agent, since, ask: PendingAsk::Question(asked) });
            }
            Event::ApprovalSettled(settled) => open.retain(|it| it.id() != settled.approval),
            Event::QuestionAnswered(answered) => open.retain(|it| it.id() != answered.question),
            Event::QuestionWithdrawn { question } => open.retain(|it| it.id() != question),
            Event::SubagentFinished(finished) => open.retain(|it| it.agent != finished.subagent),
            Event::RunFinished(_) => open.clear(),
            Event::RunStarted(_)
            | Event::RunResumed(_)
            | Event::RunInterrupted(_)
            | Event::Message(_)
            | Event::ModelRequest(_)
            | Event::ModelFailed(_)
            | Event::ToolStarted(_)
            | Event::ToolFinished(_)
            | Event::CallAudited(_)
            | Event::CallDeferred(_)
            | Event::ToolsActivated(_)
            | Event::CompactionAsked
            | Event::InterruptAsked { .. }
            | Event::CompactionStarted(_)
            | Event::CompactionFinished(_)
            | Event::LimitWarning(_)
            | Event::LimitReached(_)
            | Event::SubagentStarted(_)
            | Event::Ending(_) => {}
        }
    }
    open
}
