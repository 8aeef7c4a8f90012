//! The port to what a host knows of prices: what a model's tokens cost, where the built-in table of
//! prices does not know it or knows it wrongly.

use kinfolk_actors::money::Money;
use kinfolk_actors::usage::Usage;

/// Says what a request cost. See [`RuntimeBuilder::cost`](crate::RuntimeBuilder::cost).
pub trait CostFunction: Send + Sync + 'static {
    /// What so much usage of a model (`provider:name`) costs, all tries together; none leaves it to
    /// the prices in the family. Asked once a request, when its reply or its failure arrives: what
    /// it says is journaled, and a replay does not ask again. It must neither block nor panic.
    fn cost(&self, model: &str, usage: &Usage) -> Option<Money>;
}

/// Any function of a model's name and a usage is one.
impl<F> CostFunction for F
where
    F: Fn(&str, &Usage) -> Option<Money> + Send + Sync + 'static,
{
    fn cost(&self, model: &str, usage: &Usage) -> Option<Money> {
        self(model, usage)
    }
}
