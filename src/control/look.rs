//! Looks into a store: sessions, the trees of a session's runs, or events, as text.

use std::io;
use std::sync::Arc;

use kinfolk_actors::event::{Event, Recorded};
use kinfolk_actors::id::{Offset, RunId, SessionId};
use serde::{Deserialize, Serialize};

use super::asks::OpenAsks;
use super::{ControlCode, ControlError};
use crate::output::events::events;
use crate::output::family_view::FamilyView;
use crate::output::inspect::{Listed, Standing, families, sessions};
use crate::ports::store::{RunSummary, SessionSummary, Store, StoreError};
use crate::settings::run::{EventFilter, InspectTarget};
use crate::settings::value::OutputFormat;

/// What to look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Look {
    /// A session or a run; without it, all sessions, or the newest one if events are asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<InspectTarget>,
    /// Shows events instead of the tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<EventFilter>,
    /// How it is shown.
    #[serde(default)]
    pub output: OutputFormat,
}

/// Nothing, or not all, could be shown.
#[derive(Debug, thiserror::Error)]
pub enum LookError {
    /// The store is empty.
    #[error("there is no session yet; start a run with `kinfolk run`")]
    NoSession,
    /// Nothing has that name.
    #[error("there is no session or run `{0}`; `kinfolk inspect` lists them")]
    NotFound(Arc<str>),
    /// The store failed. What could be read before is shown.
    #[error("{error}")]
    Store {
        /// What could be read.
        text: String,
        /// What the store said.
        error: StoreError,
    },
    /// The text could not be made.
    #[error("the output could not be made: {0}")]
    Output(io::Error),
}

impl From<StoreError> for LookError {
    fn from(error: StoreError) -> Self {
        Self::Store { text: String::new(), error }
    }
}

impl From<LookError> for ControlError {
    fn from(error: LookError) -> Self {
        match error {
            LookError::NoSession | LookError::NotFound(_) => {
                Self::new(ControlCode::NotFound, error.to_string())
            }
            LookError::Store { text: _, error } => error.into(),
            LookError::Output(_) => Self::new(ControlCode::Failed, error.to_string()),
        }
    }
}

/// The text of what is asked for. It changes nothing.
///
/// # Errors
/// Nothing has that name, or the store fails.
pub async fn look(store: &dyn Store, query: &Look) -> Result<String, LookError> {
    let mut text = Vec::new();
    let mut damage = None;
    let written = if let (None, None) = (&query.target, &query.events) {
        let mut listed = Vec::new();
        for summary in store.sessions().await? {
            listed.push(listing(store, summary).await);
        }
        sessions(&listed, query.output, &mut text)
    } else {
        let (session, run) = find(store, query.target.as_ref()).await?;
        // Damage in the middle of a session must not hide what stands before it.
        let (recorded, error) = read_session(store, &session).await;
        damage = error;
        match query.events {
            Some(filter) => events(recorded, filter, run, &mut text),
            None => {
                let mut views = FamilyView::of_session(&recorded);
                views.retain(|view| run.is_none_or(|run| run == view.run));
                families(&views, query.output, &mut text)
            }
        }
    };
    written.map_err(LookError::Output)?;
    let text = String::from_utf8(text);
    let text = text.map_err(|error| LookError::Output(io::Error::other(error)))?;
    match damage {
        Some(error) => Err(LookError::Store { text, error }),
        None => Ok(text),
    }
}

/// A session with what its newest run has come to. Damage keeps no session from being listed.
async fn listing(store: &dyn Store, summary: SessionSummary) -> Listed {
    let standing = match &summary.newest {
        Some(run) => standing(store, run).await.unwrap_or_default(),
        None => None,
    };
    Listed { summary, standing }
}

/// What a run has come to: the end of a finished one, else what its events tell. None if there is
/// no event of it.
async fn standing(store: &dyn Store, run: &RunSummary) -> Result<Option<Standing>, StoreError> {
    /// Records that are read at a time.
    const PAGE: usize = 1024;
    let (mut asks, mut standing) = (OpenAsks::default(), None);
    let mut from = run.finished.unwrap_or(run.first);
    loop {
        let records = store.read(&run.session, from, PAGE).await?;
        let Some(last) = records.last() else { break };
        from = last.end();
        for one in records.iter().flat_map(|record| record.recorded()) {
            asks.take(&one);
            standing = match &one.event {
                _ if one.run != run.run => standing,
                Event::RunFinished(end) => Some(Standing::Ended(end.outcome, end.finish_reason)),
                Event::RunInterrupted(why) => Some(Standing::Interrupted(why.limit)),
                Event::RunStarted(_) | Event::RunResumed(_) => Some(Standing::Unfinished),
                _ => standing,
            };
        }
    }
    Ok(match standing {
        Some(Standing::Unfinished) if asks.open().next().is_some() => Some(Standing::Waits),
        other => other,
    })
}

/// The session that is meant, and the run if one is.
async fn find(
    store: &dyn Store,
    target: Option<&InspectTarget>,
) -> Result<(SessionId, Option<RunId>), LookError> {
    let (run, session) = match target {
        None => {
            let newest = store.sessions().await?.into_iter().next();
            let found = newest.map(|summary| (summary.session, None));
            return found.ok_or(LookError::NoSession);
        }
        Some(InspectTarget::Session(session)) => (None, session),
        Some(InspectTarget::RunOrSession(run, session)) => (store.run(*run).await?, session),
    };
    if let Some(run) = run {
        return Ok((run.session, Some(run.run)));
    }
    match store.session(session).await? {
        Some(_) => Ok((session.clone(), None)),
        None => Err(LookError::NotFound(session.as_str().into())),
    }
}

/// All events that can be read, and what keeps the rest from being read.
async fn read_session(
    store: &dyn Store,
    session: &SessionId,
) -> (Vec<Recorded>, Option<StoreError>) {
    /// Records that are read at a time.
    const PAGE: usize = 64 * 1024;
    let (mut recorded, mut from) = (Vec::new(), Offset(0));
    loop {
        match store.read(session, from, PAGE).await {
            Ok(records) => {
                let Some(last) = records.last() else { return (recorded, None) };
                from = last.end();
                recorded.extend(records.iter().flat_map(|record| record.recorded()));
            }
            Err(error) => return (recorded, Some(error)),
        }
    }
}
