//! Recorded events as JSON lines, from an offset on and of one agent if asked.

use std::io::{self, Write};
use std::sync::Arc;

use kinfolk_actors::event::Recorded;
use kinfolk_actors::id::RunId;

use super::plain;
use crate::events::RunEvent;
use crate::settings::run::EventFilter;

/// Writes the events that pass the filter, and of `run` only if it is given, in the order given.
///
/// # Errors
/// The writer's.
pub fn events(
    records: impl IntoIterator<Item = Recorded>,
    filter: EventFilter,
    run: Option<RunId>,
    to: &mut dyn Write,
) -> io::Result<()> {
    let shown = |recorded: &Recorded| {
        recorded.offset >= filter.from
            && filter.agent.is_none_or(|agent| agent == recorded.agent)
            && run.is_none_or(|run| run == recorded.run)
    };
    records.into_iter().filter(shown).try_for_each(|recorded| {
        let line = RunEvent::Journaled(Arc::new(recorded)).to_string();
        writeln!(to, "{}", plain::json(&line))
    })
}
