//! The family's ledger: what one run has used, what it may still use, and how many agents it has
//! started.
//!
//! It is the fold of every agent's events, held by the family's sequencer. Limits that bind the
//! whole tree are checked here, in the step that appends, so that agents that decide at the same
//! moment cannot both take the last place: [`Ledger::admit`] tries the events on a copy.

pub mod account;
mod plan;
mod raise;
mod record;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use self::account::{Accounts, Bound, Scope};
use crate::cost::Cost;
use crate::event::AgentUsage;
use crate::family::Family;
use crate::id::{AgentId, AskId, Attempt, CallId, Offset, RunId};
use crate::limits::Limits;
use crate::time::{Millis, Timestamp};
use crate::usage::Usage;
use crate::usage::{Tally, Wait};

/// The sums of the session's latest run.
#[derive(Clone, Debug, PartialEq)]
pub struct Ledger {
    family: Arc<Family>,
    run: Option<RunId>,
    attempt: Attempt,
    started: Timestamp,
    limits: Limits,
    accounts: Option<Accounts>,
    agents: BTreeMap<AgentId, AgentSums>,
    /// What is at work here; while nothing is, no time is charged.
    at_work: AtWork,
    /// Questions that wait for people, and since when.
    waits: BTreeMap<AskId, (Wait, Timestamp)>,
    /// Whose limits may be raised by the answer to a question.
    asked_limits: BTreeMap<AskId, Scope>,
}

/// What one agent has used.
#[derive(Clone, Debug, PartialEq)]
struct AgentSums {
    name: Arc<str>,
    usage: Usage,
    tally: Tally,
}

/// What is in flight in the family, as far as it costs time.
#[derive(Clone, Debug, Default, PartialEq)]
struct AtWork {
    requests: BTreeSet<AgentId>,
    /// Calls of open turns that run here.
    tools: BTreeSet<CallId>,
    /// Of these, calls that wait for their turn, for a check or for the workspace: somebody is at
    /// work for them. A call that waits for a person is not among them.
    coming: BTreeSet<CallId>,
    running: BTreeSet<CallId>,
    /// The calls that people are asked about.
    asked: BTreeMap<AskId, CallId>,
}

/// What an agent may know of its family when it decides.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// The shell's one reading of the clock for this step.
    pub now: Timestamp,
    /// The offset that the next event will get.
    pub head: Offset,
    /// The family's ledger.
    pub ledger: Arc<Ledger>,
}

/// What the limits make of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestPlan {
    /// It may be sent.
    Normal {
        /// The output cap to send; none leaves it to the provider.
        max_output: Option<u64>,
    },
    /// It may be sent as the agent's last one.
    Closing {
        /// The limit that makes it so.
        bound: Bound,
        /// The output cap to send; none leaves it to the provider.
        max_output: Option<u64>,
    },
    /// It may not be sent.
    Refused(Bound),
}

/// How much of the family's time is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeLeft {
    /// Until the closing turn has to begin.
    pub to_closing: Millis,
    /// Until it is used up.
    pub to_deadline: Millis,
}

/// The ledger refuses events because another agent was faster. Decide again with new facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("another agent of the family took the place; decide again")]
pub struct Contended;

impl Ledger {
    /// The ledger of a family that has not run.
    #[must_use]
    pub fn new(family: Arc<Family>) -> Self {
        Self {
            family,
            run: None,
            attempt: Attempt::default(),
            started: Timestamp::default(),
            limits: Limits::none(),
            accounts: None,
            agents: BTreeMap::new(),
            at_work: AtWork::default(),
            waits: BTreeMap::new(),
            asked_limits: BTreeMap::new(),
        }
    }

    /// The run that the sums are of.
    #[must_use]
    pub fn run(&self) -> Option<RunId> {
        self.run
    }

    /// The current activation of the run.
    #[must_use]
    pub fn attempt(&self) -> Attempt {
        self.attempt
    }

    /// When the run started.
    #[must_use]
    pub fn started(&self) -> Timestamp {
        self.started
    }

    /// The family's limits, as they were raised last.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// The accounts of the run, if one was started.
    #[must_use]
    pub fn accounts(&self) -> Option<&Accounts> {
        self.accounts.as_ref()
    }

    /// The id that the next subagent will get.
    #[must_use]
    pub fn next_agent(&self) -> AgentId {
        AgentId(self.subagents() + 1)
    }

    /// How many subagents the run may still start.
    #[must_use]
    pub fn subagents_left(&self) -> u32 {
        self.family.caps.max_subagents.saturating_sub(self.subagents())
    }

    /// The sums by agent, the lead's first.
    #[must_use]
    pub fn agents(&self) -> Vec<AgentUsage> {
        let usage = |(agent, sums): (&AgentId, &AgentSums)| AgentUsage {
            agent: *agent,
            name: Arc::clone(&sums.name),
            usage: sums.usage,
            cost_usd: sums.tally.cost().known(),
        };
        self.agents.iter().map(usage).collect()
    }

    /// The sums of one agent.
    #[must_use]
    pub fn usage_of(&self, agent: AgentId) -> Usage {
        self.agents.get(&agent).map(|sums| sums.usage).unwrap_or_default()
    }

    /// The sums of the whole family.
    #[must_use]
    pub fn total_usage(&self) -> Usage {
        self.agents.values().fold(Usage::default(), |mut sum, agent| {
            sum.add(&agent.usage);
            sum
        })
    }

    /// The sums of the whole family by model, by tool, and of waits for people.
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.agents.values().fold(Tally::default(), |mut sum, agent| {
            sum.add(&agent.tally);
            sum
        })
    }

    /// What the family has cost so far.
    #[must_use]
    pub fn cost(&self) -> Cost {
        self.tally().cost()
    }

    /// The lead has the first number; it is no subagent.
    fn subagents(&self) -> u32 {
        self.agents.last_key_value().map_or(0, |(last, _)| last.0)
    }
}

impl AtWork {
    fn is_idle(&self) -> bool {
        self.requests.is_empty() && self.running.is_empty() && self.coming.is_empty()
    }
}
