//! Random records and summaries, every kind of event as likely as the others.

mod asking;
mod event;
mod parts;

use kinfolk_actors::id::{AgentId, Attempt, Offset, SessionId};
use kinfolk_actors::time::Timestamp;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use self::parts::a_run;
use crate::ports::store::{Record, RunSummary};

pub(super) use self::event::an_event;

fn a_session() -> impl Strategy<Value = SessionId> {
    "[A-Za-z0-9][A-Za-z0-9._-]{0,127}".prop_map(|text| text.parse().unwrap())
}

/// Any record.
pub(super) fn record() -> impl Strategy<Value = Record> {
    let who = (a_session(), a_run(), any::<u32>(), any::<u32>());
    (who, any::<u64>(), any::<u64>(), vec(an_event(), 0..6)).prop_map(
        |((session, run, attempt, agent), at, first, events)| Record {
            session,
            run,
            attempt: Attempt(attempt),
            agent: AgentId(agent),
            at: Timestamp(at),
            first: Offset(first),
            events,
        },
    )
}

/// Any run's summary.
pub(super) fn run_summary() -> impl Strategy<Value = RunSummary> {
    (a_run(), a_session(), any::<u64>(), any::<u64>(), option::of(any::<u64>())).prop_map(
        |(run, session, first, started, finished)| RunSummary {
            run,
            session,
            first: Offset(first),
            started: Timestamp(started),
            finished: finished.map(Offset),
        },
    )
}
