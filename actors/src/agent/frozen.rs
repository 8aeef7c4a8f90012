//! What an agent reads of its frozen family: who it is, what it is called with, what it may do.

use super::{AgentMachine, Member};
use crate::family::{Invocation, Role};
use crate::id::AgentId;

impl AgentMachine {
    /// The agent's own id.
    #[must_use]
    pub fn id(&self) -> AgentId {
        match &self.member {
            Member::Lead => AgentId::LEAD,
            Member::Subagent(started) => started.subagent,
        }
    }

    /// How deep the agent is below the lead.
    #[must_use]
    pub fn depth(&self) -> u32 {
        match &self.member {
            Member::Lead => 0,
            Member::Subagent(started) => started.depth,
        }
    }

    /// Whether the agent's role forbids changes, whatever tools it has.
    #[must_use]
    pub fn only_looks(&self) -> bool {
        match &self.member {
            Member::Lead => false,
            Member::Subagent(started) => started.role == Role::Explore,
        }
    }

    /// Which of the family's subagents this is, if it is one.
    #[must_use]
    pub fn subagent_name(&self) -> Option<&str> {
        match &self.member {
            Member::Lead => None,
            Member::Subagent(started) => Some(&started.name),
        }
    }

    /// What the agent is called with. A subagent is started only by a name that the frozen family
    /// knows; for any other this is the lead's.
    #[must_use]
    pub fn invocation(&self) -> &Invocation {
        let spec = self.subagent_name().and_then(|name| self.family.subagent(name));
        spec.map_or(&self.family.lead, |spec| &spec.invocation)
    }
}
