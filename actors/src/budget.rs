//! The family's ledger: what one run has used and how many agents it has started.
//!
//! It is the fold of every agent's events, held by the family's sequencer. Limits that bind the
//! whole tree are checked here, in the step that appends, so that agents that decide at the same
//! moment cannot both take the last place.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::event::{AgentUsage, Event, Message};
use crate::family::Caps;
use crate::id::{AgentId, Attempt, Offset, RunId};
use crate::time::Timestamp;
use crate::usage::Usage;

/// The sums of the session's latest run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    run: Option<RunId>,
    attempt: Attempt,
    started: Timestamp,
    caps: Caps,
    agents: UsageByAgent,
}

/// What an agent may know of its family when it decides.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// The shell's one reading of the clock for this step.
    pub now: Timestamp,
    /// The offset that the next event will get.
    pub head: Offset,
    /// When the run started.
    pub run_started: Timestamp,
    /// The id that the next subagent will get.
    pub next_agent: AgentId,
    /// How many subagents the run may still start.
    pub subagents_left: u32,
    /// The sums by agent.
    pub usage: UsageByAgent,
}

/// The ledger refuses events because another agent was faster. Decide again with new facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("another agent of the family took the place; decide again")]
pub struct Contended;

impl Ledger {
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

    /// What an agent may know now.
    #[must_use]
    pub fn facts(&self, now: Timestamp, head: Offset) -> Facts {
        Facts {
            now,
            head,
            run_started: self.started,
            next_agent: self.next_agent(),
            subagents_left: self.caps.max_subagents.saturating_sub(self.subagents()),
            usage: Arc::clone(&self.agents),
        }
    }

    /// Whether the family has room for what these events start.
    ///
    /// # Errors
    /// [`Contended`], if a subagent that they start is not the next one, or one too many.
    pub fn admit(&self, events: &[Event]) -> Result<(), Contended> {
        let started = events.iter().filter_map(Event::subagent_started).map(|start| start.subagent);
        let mut expected = self.next_agent();
        for subagent in started {
            if subagent != expected || subagent.0 > self.caps.max_subagents {
                return Err(Contended);
            }
            expected = AgentId(expected.0 + 1);
        }
        Ok(())
    }

    /// Folds one event of one agent.
    pub fn record(&mut self, run: RunId, agent: AgentId, at: Timestamp, event: &Event) {
        match event {
            Event::RunStarted(start) => {
                *self = Self {
                    run: Some(run),
                    attempt: Attempt(1),
                    started: at,
                    caps: start.limits,
                    agents: lead_alone(),
                };
            }
            Event::RunResumed(resumed) => self.attempt = resumed.attempt,
            Event::SubagentStarted(start) => self.enter(start.subagent, Arc::clone(&start.name)),
            Event::Message(_)
            | Event::ModelRequest(_)
            | Event::ModelFailed(_)
            | Event::ToolStarted(_)
            | Event::ToolFinished(_)
            | Event::SubagentFinished(_)
            | Event::Ending(_)
            | Event::RunFinished(_) => charge(&mut self.agents, agent, event),
        }
    }

    /// The lead has the first number; it is no subagent.
    fn subagents(&self) -> u32 {
        self.agents.last_key_value().map_or(0, |(last, _)| last.0)
    }

    fn next_agent(&self) -> AgentId {
        AgentId(self.subagents() + 1)
    }

    fn enter(&mut self, agent: AgentId, name: Arc<str>) {
        let entry = AgentUsage { agent, name, usage: Usage::default() };
        Arc::make_mut(&mut self.agents).insert(agent, entry);
    }
}

type UsageByAgent = Arc<BTreeMap<AgentId, AgentUsage>>;

/// The sums of a run that has just begun.
fn lead_alone() -> UsageByAgent {
    let lead = AgentUsage { agent: AgentId::LEAD, name: "lead".into(), usage: Usage::default() };
    Arc::new(BTreeMap::from([(AgentId::LEAD, lead)]))
}

/// Adds what an event used to its agent's sums.
fn charge(sums: &mut UsageByAgent, agent: AgentId, event: &Event) {
    let used = match event {
        Event::Message(Message::Assistant(reply)) => {
            let calls = u64::try_from(reply.calls.len()).unwrap_or(u64::MAX);
            let mut used = Usage { turns: 1, tool_calls: calls, ..Usage::default() };
            used.add(&reply.usage);
            used
        }
        Event::ModelFailed(failed) => failed.usage,
        Event::RunStarted(_)
        | Event::RunResumed(_)
        | Event::Message(Message::User(_))
        | Event::ModelRequest(_)
        | Event::ToolStarted(_)
        | Event::ToolFinished(_)
        | Event::SubagentStarted(_)
        | Event::SubagentFinished(_)
        | Event::Ending(_)
        | Event::RunFinished(_) => return,
    };
    if let Some(entry) = Arc::make_mut(sums).get_mut(&agent) {
        entry.usage.add(&used);
    }
}

impl Facts {
    /// The facts once these events of an agent are counted too.
    #[must_use]
    pub fn charged(&self, agent: AgentId, events: &[Event]) -> Self {
        let mut facts = self.clone();
        for event in events {
            if matches!(event, Event::RunStarted(_)) {
                // The sums so far are those of the run before.
                facts.run_started = facts.now;
                facts.usage = lead_alone();
            }
            charge(&mut facts.usage, agent, event);
        }
        facts
    }

    /// The sums of one agent.
    #[must_use]
    pub fn usage_of(&self, agent: AgentId) -> Usage {
        self.usage.get(&agent).map(|entry| entry.usage).unwrap_or_default()
    }

    /// The sums of the whole family.
    #[must_use]
    pub fn total_usage(&self) -> Usage {
        self.usage.values().fold(Usage::default(), |mut sum, entry| {
            sum.add(&entry.usage);
            sum
        })
    }
}
