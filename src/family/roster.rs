//! Who of a family is at work: what tells a family that rests from one that only waits.
//!
//! A family rests when none of its agents has anything in flight, none has anything to read, and
//! one of them is parked or interrupted. Each agent says so of itself; nobody else can.

use std::collections::BTreeMap;

use kinfolk_actors::agent::RunStanding;
use kinfolk_actors::id::AgentId;
use parking_lot::Mutex;
use tokio::sync::futures::Notified;
use tokio::sync::{Notify, watch};

/// The living agents of a family.
#[derive(Debug)]
pub(crate) struct Roster {
    agents: Mutex<BTreeMap<AgentId, Doing>>,
    /// Whether the agents of the session are known: once it was loaded.
    known: watch::Sender<bool>,
    /// Rings whenever an agent begins to work.
    stirs: Notify,
}

/// What an agent does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    /// It was loaded and has not been put to work yet.
    Loaded,
    /// It decides, or has something in flight.
    Works,
    /// It has nothing in flight beside its subagents; how it stands, if that is at rest.
    Waits(Option<RunStanding>),
}

impl Default for Roster {
    fn default() -> Self {
        let known = watch::Sender::new(false);
        Self { agents: Mutex::default(), known, stirs: Notify::new() }
    }
}

impl Roster {
    /// Enters the agents that the journal knows.
    pub fn loaded(&self, agents: impl IntoIterator<Item = AgentId>) {
        *self.agents.lock() = agents.into_iter().map(|agent| (agent, Doing::Loaded)).collect();
        self.known.send_replace(true);
    }

    /// Waits until the agents are known.
    pub async fn is_known(&self) {
        // The sender is here, so it is never closed.
        drop(self.known.subscribe().wait_for(|known| *known).await);
    }

    /// An agent begins to work.
    pub fn works(&self, agent: AgentId) {
        self.agents.lock().insert(agent, Doing::Works);
        self.stirs.notify_waiters();
    }

    /// Done when the next agent begins to work after this call.
    pub fn stirs(&self) -> Notified<'_> {
        self.stirs.notified()
    }

    /// An agent is over.
    pub fn leaves(&self, agent: AgentId) {
        self.agents.lock().remove(&agent);
    }

    /// Whether an agent lives, so that what is sent to it is read.
    pub fn lives(&self, agent: AgentId) -> bool {
        self.agents.lock().contains_key(&agent)
    }

    /// Notes what an agent does after a step. `rests` is told how the family rests, if it does now.
    ///
    /// `has_mail` says of an agent whether something waits for it. Both are called under the lock
    /// that an agent needs before it takes its mail, so that no letter is missed between two agents
    /// and nobody is told of a rest after it is over.
    pub fn stepped(
        &self,
        agent: AgentId,
        doing: Doing,
        has_mail: impl Fn(AgentId) -> bool,
        rests: impl FnOnce(RunStanding),
    ) {
        let mut agents = self.agents.lock();
        agents.insert(agent, doing);
        if let Some(standing) = rest_of(&agents, has_mail) {
            rests(standing);
        }
    }
}

fn rest_of(
    agents: &BTreeMap<AgentId, Doing>,
    has_mail: impl Fn(AgentId) -> bool,
) -> Option<RunStanding> {
    let mut rest = None;
    for (agent, doing) in agents {
        match doing {
            Doing::Loaded => {}
            Doing::Works => return None,
            Doing::Waits(_) if has_mail(*agent) => return None,
            Doing::Waits(standing) => rest = stronger(rest, *standing),
        }
    }
    rest
}

/// Of two standings the one that says more of the whole: an interrupt is the lead's, and a person
/// comes before a tool.
fn stronger(one: Option<RunStanding>, other: Option<RunStanding>) -> Option<RunStanding> {
    let rank = |standing: &Option<RunStanding>| match standing {
        Some(RunStanding::Interrupted) => 4,
        Some(RunStanding::AwaitingUser) => 3,
        Some(RunStanding::AwaitingTool) => 2,
        Some(RunStanding::AwaitingParent) => 1,
        Some(
            RunStanding::Preparing
            | RunStanding::Planning
            | RunStanding::Acting
            | RunStanding::Observing
            | RunStanding::Verifying
            | RunStanding::Cancelling
            | RunStanding::Completed
            | RunStanding::PartialSuccess
            | RunStanding::Cancelled
            | RunStanding::Failed,
        )
        | None => 0,
    };
    if rank(&other) > rank(&one) { other } else { one }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHILD: AgentId = AgentId(1);

    fn step(
        roster: &Roster,
        agent: AgentId,
        doing: Doing,
        has_mail: impl Fn(AgentId) -> bool,
    ) -> Option<RunStanding> {
        let mut rest = None;
        roster.stepped(agent, doing, has_mail, |standing| rest = Some(standing));
        rest
    }

    fn roster() -> Roster {
        let roster = Roster::default();
        roster.works(AgentId::LEAD);
        roster.works(CHILD);
        roster
    }

    #[test]
    fn a_family_rests_when_nobody_works_and_somebody_is_parked() {
        let roster = roster();
        let (parked, waits) = (Doing::Waits(Some(RunStanding::AwaitingUser)), Doing::Waits(None));
        assert_eq!(step(&roster, CHILD, parked, |_| false), None, "the lead works");
        let rest = step(&roster, AgentId::LEAD, waits, |_| false);
        assert_eq!(rest, Some(RunStanding::AwaitingUser));
        let unread = step(&roster, AgentId::LEAD, waits, |agent| agent == CHILD);
        assert_eq!(unread, None, "the subagent has mail");
        assert_eq!(step(&roster, CHILD, waits, |_| false), None, "nobody is parked");
    }

    #[test]
    fn an_agent_that_has_left_or_never_came_holds_nobody_up() {
        let roster = roster();
        let parked = Doing::Waits(Some(RunStanding::AwaitingTool));
        roster.leaves(CHILD);
        let rest = step(&roster, AgentId::LEAD, parked, |_| false);
        assert_eq!(rest, Some(RunStanding::AwaitingTool));
        roster.loaded([AgentId::LEAD, CHILD]);
        let rest = step(&roster, AgentId::LEAD, parked, |_| false);
        assert_eq!(rest, Some(RunStanding::AwaitingTool));
        assert!(roster.lives(CHILD));
    }
}
