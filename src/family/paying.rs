//! What requests cost, and whether there is budget to send one again.

use std::sync::Arc;

use kinfolk_actors::agent::Outcome;
use kinfolk_actors::id::AgentId;
use kinfolk_actors::money::Money;
use kinfolk_actors::usage::Usage;

use super::activation::Activation;

impl Activation {
    /// What the host says that so much of a model costs.
    fn cost(&self, model: &str, usage: &Usage) -> Option<Money> {
        self.services.cost.as_ref()?.cost(model, usage)
    }

    /// An outcome with what the host says that it cost, if nothing says so yet.
    pub fn priced(&self, model: &str, mut outcome: Outcome) -> Outcome {
        let (usage, cost) = match &mut outcome {
            Outcome::Replied(reply) => (reply.usage, &mut reply.cost),
            Outcome::ModelFailed { error: _, usage, cost } => (*usage, cost),
            Outcome::Summarised(summarised) => (summarised.usage, &mut summarised.cost),
            Outcome::Tool { .. }
            | Outcome::Deferred
            | Outcome::Leased
            | Outcome::Audited { .. }
            | Outcome::Child { .. }
            | Outcome::ChildAsks { .. }
            | Outcome::Told { .. }
            | Outcome::Fired
            | Outcome::Panicked { .. }
            | Outcome::Gone => return outcome,
        };
        *cost = cost.or_else(|| self.cost(model, &usage));
        outcome
    }

    /// Whether an agent's request may be sent once more after tries that used so much, and with
    /// which output cap at most.
    ///
    /// # Errors
    /// Why not, for people.
    pub fn room_for_retry(
        &self,
        agent: AgentId,
        model: &str,
        used: &Usage,
    ) -> Result<Option<u64>, Arc<str>> {
        let Some(ledger) = self.sequencer.ledger() else { return Ok(None) };
        let planned = ledger.plan_retry(agent, model, used, self.cost(model, used));
        planned.map_err(|bound| format!("no budget for another try: {bound}").into())
    }
}
