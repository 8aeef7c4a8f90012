//! From a session's records to the states of its agents: the ordinary fold, nothing else.

use std::collections::HashMap;
use std::sync::Arc;

use kinfolk_actors::agent::{AgentMachine, AgentState};
use kinfolk_actors::budget::Ledger;
use kinfolk_actors::event::{Event, RunFinished, RunInterrupted};
use kinfolk_actors::family::Family;
use kinfolk_actors::id::{AgentId, Offset, RunId, SessionId};
use kinfolk_actors::machine::Machine as _;

use crate::journal::Journal;
use crate::ports::store::{Claim, Record, StoreError};

/// A session as its journal tells it.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// The claim under which it was read.
    pub claim: Claim,
    /// The sums of the latest run.
    pub ledger: Ledger,
    /// The lead over all runs, and the subagents of the one run that is asked for.
    pub states: HashMap<AgentId, AgentState>,
    /// The terminal event of the run that is asked for, if it has one.
    pub finished: Option<Arc<RunFinished>>,
    /// The last interrupt of that run, if it had one.
    pub interrupted: Option<Arc<RunInterrupted>>,
}

/// Claims a session and folds its records. What an older owner appends after this is refused.
///
/// # Errors
/// What the store says; a damaged record is never skipped.
pub(crate) async fn load(
    journal: &Journal,
    session: &SessionId,
    run: RunId,
    family: &Arc<Family>,
) -> Result<Loaded, StoreError> {
    let claim = journal.claim(session).await?;
    let records = match claim.head {
        Offset(0) => Vec::new(),
        Offset(_) => journal.read_all(session, Offset(0)).await?,
    };
    let (ledger, states) = (Ledger::new(Arc::clone(family)), HashMap::new());
    let (finished, interrupted) = (None, None);
    let mut loaded = Loaded { claim, ledger, states, finished, interrupted };
    records.iter().for_each(|record| loaded.fold(record, run));
    Ok(loaded)
}

impl Loaded {
    /// Whether a run is unfinished.
    pub fn lead_is_active(&self) -> bool {
        self.states.get(&AgentId::LEAD).is_some_and(AgentState::is_active)
    }

    fn fold(&mut self, record: &Record, run: RunId) {
        for event in &record.events {
            self.ledger.record(record.run, record.agent, record.at, event);
        }
        for event in record.events.iter().filter(|_| record.run == run) {
            if let Event::RunFinished(finished) = event {
                self.finished = Some(Arc::new(finished.clone()));
            } else if let Event::RunInterrupted(interrupted) = event {
                self.interrupted = Some(Arc::new(interrupted.clone()));
            }
        }
        if record.agent.is_lead() || record.run == run {
            let state = self.states.entry(record.agent).or_default();
            record.events.iter().for_each(|event| AgentMachine::evolve(state, event));
        }
    }
}
