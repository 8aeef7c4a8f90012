//! What waits for a person, as a fold of a session's events.

use std::collections::BTreeMap;
use std::sync::Arc;

use kinfolk_actors::event::{ApprovalRequested, Event, QuestionAsked, QuestionKind, Recorded};
use kinfolk_actors::id::{AgentId, AskId, Offset, RunId, SessionId};
use kinfolk_actors::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::ports::store::{Store, StoreError};

/// An approval or a question that nobody has answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenAsk {
    /// The session.
    pub session: SessionId,
    /// The run.
    pub run: RunId,
    /// The agent that asks.
    pub agent: AgentId,
    /// `lead`, or the subagent's name.
    pub name: Arc<str>,
    /// When it was asked.
    pub at: Timestamp,
    /// What is asked.
    pub asked: Asked,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asked {
    /// Whether something may happen.
    Approval(ApprovalRequested),
    /// Words.
    Question(QuestionAsked),
}

impl OpenAsk {
    /// The id that an answer names.
    #[must_use]
    pub fn id(&self) -> AskId {
        match &self.asked {
            Asked::Approval(requested) => requested.approval,
            Asked::Question(asked) => asked.question,
        }
    }
}

/// The open asks of a session, while its events are read.
#[derive(Clone, Debug, Default)]
pub struct OpenAsks {
    open: BTreeMap<AskId, OpenAsk>,
    names: BTreeMap<AgentId, Arc<str>>,
}

impl OpenAsks {
    /// Takes the next event.
    pub fn take(&mut self, recorded: &Recorded) {
        match &recorded.event {
            Event::RunStarted(_) => *self = Self::default(),
            Event::SubagentStarted(started) => {
                self.names.insert(started.subagent, Arc::clone(&started.name));
            }
            Event::ApprovalRequested(requested) => {
                self.enter(recorded, requested.approval, Asked::Approval(requested.clone()));
            }
            Event::QuestionAsked(asked) => match asked.kind {
                QuestionKind::Text | QuestionKind::Choice => {
                    self.enter(recorded, asked.question, Asked::Question(asked.clone()));
                }
                // The parent agent answers it.
                QuestionKind::Parent => {}
            },
            Event::ApprovalSettled(settled) => drop(self.open.remove(&settled.approval)),
            Event::QuestionAnswered(answered) => drop(self.open.remove(&answered.question)),
            Event::QuestionWithdrawn { question } => drop(self.open.remove(question)),
            Event::SubagentFinished(finished) => {
                self.open.retain(|_, ask| ask.agent != finished.subagent);
            }
            Event::RunFinished(_) => self.open.clear(),
            Event::Ending(_) => self.open.retain(|_, ask| ask.agent != recorded.agent),
            Event::RunResumed(_)
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
            | Event::LimitReached(_) => {}
        }
    }

    fn enter(&mut self, recorded: &Recorded, id: AskId, asked: Asked) {
        let name = self.names.get(&recorded.agent).cloned();
        let ask = OpenAsk {
            session: recorded.session.clone(),
            run: recorded.run,
            agent: recorded.agent,
            name: name.unwrap_or_else(|| "lead".into()),
            at: recorded.at,
            asked,
        };
        self.open.insert(id, ask);
    }

    /// What is open, by id.
    pub fn open(&self) -> impl Iterator<Item = &OpenAsk> {
        self.open.values()
    }
}

/// Everything that waits for a person in the unfinished runs of a store, oldest first.
///
/// # Errors
/// What the store says.
pub async fn of_store(store: &dyn Store) -> Result<Vec<OpenAsk>, StoreError> {
    /// Records that are read at a time.
    const PAGE: usize = 1024;
    let mut found = Vec::new();
    for summary in store.sessions().await? {
        let Some(run) = summary.newest.filter(|run| run.finished.is_none()) else { continue };
        let mut asks = OpenAsks::default();
        let mut from: Offset = run.first;
        loop {
            let records = store.read(&summary.session, from, PAGE).await?;
            let Some(last) = records.last() else { break };
            from = last.end();
            records.iter().flat_map(|record| record.recorded()).for_each(|one| asks.take(&one));
        }
        found.extend(asks.open().cloned());
    }
    found.sort_by_key(|ask| (ask.at, ask.id()));
    Ok(found)
}
