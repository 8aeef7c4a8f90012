//! Times that agents wait for.

use std::sync::Arc;
use std::time::Duration;

use kinfolk_actors::agent::{Key, Outcome, Timer};
use kinfolk_actors::id::AgentId;
use kinfolk_actors::time::Timestamp;

use super::activation::{Activation, Living};
use crate::supervise::unit::Generation;

/// The longest sleep before the clock is read again: it may be set, and a machine that sleeps
/// stops the timers of its processes.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);

/// What a wait lasts at least after the family has begun to work again: its ledger has to see the
/// work first.
const SHORTEST_SLEEP: Duration = Duration::from_secs(1);

/// Waits for a time. `at` is by the clock; without it the ledger knows, which is asked again
/// whenever the time seems to have come, since a person may have raised the limit.
pub(crate) fn start(living: &Living, agent: AgentId, timer: Timer, at: Option<Timestamp>) {
    let Living { family, generation, scope: _ } = living.clone();
    let key = Key::Timer(timer);
    let own = Arc::clone(&family);
    let work = move |_stop| async move { wait(&own, generation, timer, at).await };
    let reports = Arc::clone(&family);
    let report = move |outcome| reports.report(generation, agent, key, outcome);
    family.effects.start((agent, key), Duration::ZERO, work, report);
}

async fn wait(
    family: &Activation,
    generation: Generation,
    timer: Timer,
    at: Option<Timestamp>,
) -> Outcome {
    let mut before = None;
    loop {
        let stirs = family.roster.stirs();
        let Some(left) = left(family, generation, timer, at) else { return Outcome::Fired };
        if at.is_none() && before == Some(left) {
            // Nobody works, so that no time is charged: there is nothing to wait for.
            stirs.await;
            before = None;
            tokio::time::sleep(left.clamp(SHORTEST_SLEEP, LONGEST_SLEEP)).await;
        } else {
            before = Some(left);
            tokio::time::sleep(left.min(LONGEST_SLEEP)).await;
        }
    }
}

/// How long it is until a time; none if it has come. A limit that is not there any more never
/// comes, but may come back.
fn left(
    family: &Activation,
    generation: Generation,
    timer: Timer,
    at: Option<Timestamp>,
) -> Option<Duration> {
    let now = family.services.clock.now();
    let left = match at {
        Some(at) => at.since(now),
        None => {
            // If the generation is over, the wait is dropped with it.
            let facts = family.sequencer.facts(generation, now).ok();
            let Some(left) = facts.and_then(|facts| facts.ledger.time_left(now)) else {
                return Some(LONGEST_SLEEP);
            };
            match timer {
                Timer::Closing => left.to_closing,
                Timer::Deadline | Timer::Call(_) | Timer::Ask(_) => left.to_deadline,
            }
        }
    };
    (left.0 > 0).then(|| left.into())
}
