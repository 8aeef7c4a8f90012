//! Records and entries of the index.

use kinfolk_actors::event::Event;
use kinfolk_actors::id::{AgentId, Attempt, Offset, SessionId};
use kinfolk_actors::time::Timestamp;

use super::super::event::{EntryV2, EventV2};
use super::super::parts::MoreV1;
use super::super::stored::{HeadV1, RecordV2, RunV1};
use super::super::{Head, Unreadable};
use super::parts::{run_bytes, run_id};
use crate::ports::store::{Epoch, Record, RunSummary};
use crate::store::index::Fence;

impl RecordV2 {
    /// The stored form of a record that stands after `prev`.
    pub fn new(record: &Record, prev: Option<u64>) -> Self {
        Self {
            prev,
            first: record.first.0,
            session: record.session.as_str().into(),
            run: run_bytes(record.run),
            attempt: record.attempt.0,
            agent: record.agent.0,
            at: record.at.0,
            events: record.events.iter().map(EntryV2::from).collect(),
            more: MoreV1::default(),
        }
    }
}

impl TryFrom<RecordV2> for Record {
    type Error = Unreadable;

    fn try_from(stored: RecordV2) -> Result<Self, Unreadable> {
        let event = |entry: EntryV2| Event::try_from(entry.event);
        Ok(Self {
            session: session(&stored.session)?,
            run: run_id(stored.run),
            attempt: Attempt(stored.attempt),
            agent: AgentId(stored.agent),
            at: Timestamp(stored.at),
            first: Offset(stored.first),
            events: stored.events.into_iter().map(event).collect::<Result<_, _>>()?,
        })
    }
}

impl From<&Event> for EntryV2 {
    fn from(event: &Event) -> Self {
        Self { event: EventV2::from(event), more: MoreV1::default() }
    }
}

impl From<&Head> for HeadV1 {
    fn from(head: &Head) -> Self {
        Self {
            epoch: head.fence.epoch.0,
            next: head.fence.next.0,
            last: head.last,
            newest: head.newest.as_ref().map(RunV1::from),
        }
    }
}

impl TryFrom<HeadV1> for Head {
    type Error = Unreadable;

    fn try_from(stored: HeadV1) -> Result<Self, Unreadable> {
        Ok(Self {
            fence: Fence { epoch: Epoch(stored.epoch), next: Offset(stored.next) },
            last: stored.last,
            newest: stored.newest.map(RunSummary::try_from).transpose()?,
        })
    }
}

impl From<&RunSummary> for RunV1 {
    fn from(run: &RunSummary) -> Self {
        Self {
            run: run_bytes(run.run),
            session: run.session.as_str().into(),
            first: run.first.0,
            started: run.started.0,
            finished: run.finished.map(|offset| offset.0),
        }
    }
}

impl TryFrom<RunV1> for RunSummary {
    type Error = Unreadable;

    fn try_from(stored: RunV1) -> Result<Self, Unreadable> {
        Ok(Self {
            run: run_id(stored.run),
            session: session(&stored.session)?,
            first: Offset(stored.first),
            started: Timestamp(stored.started),
            finished: stored.finished.map(Offset),
        })
    }
}

fn session(text: &str) -> Result<SessionId, Unreadable> {
    text.parse().map_err(|_| Unreadable::Text { what: "session id" })
}
