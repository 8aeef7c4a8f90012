//! What an agent reads of its frozen family: who it is, what it is called with, what it may do.

use std::borrow::Cow;
use std::sync::Arc;

use super::{AgentMachine, Member};
use crate::family::{Invocation, Role};
use crate::id::AgentId;
use crate::profile::ModelProfile;

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

    /// What is known of the agent's model. One that the frozen family does not describe has the
    /// window and the prices of an unknown one.
    #[must_use]
    pub fn profile(&self) -> Cow<'_, ModelProfile> {
        self.profile_of(&self.invocation().model)
    }

    /// What is known of a model.
    #[must_use]
    pub fn profile_of(&self, model: &str) -> Cow<'_, ModelProfile> {
        let endpoint = self.family.models.get(model);
        endpoint.map_or_else(
            || Cow::Owned(ModelProfile::unknown()),
            |endpoint| Cow::Borrowed(&endpoint.profile),
        )
    }

    /// The model that writes the agent's summaries.
    #[must_use]
    pub fn summary_model(&self) -> &Arc<str> {
        self.family.compaction.model.as_ref().unwrap_or(&self.invocation().model)
    }

    /// What the agent is called with. A subagent is started only by a name that the frozen family
    /// knows; for any other this is the lead's.
    #[must_use]
    pub fn invocation(&self) -> &Invocation {
        let spec = self.subagent_name().and_then(|name| self.family.subagent(name));
        spec.map_or(&self.family.lead, |spec| &spec.invocation)
    }
}
