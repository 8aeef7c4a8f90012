//! One family while a run of it is alive: its slot, its sequencer, its agents and their effects.

pub(crate) mod activation;
pub(crate) mod agent_actor;
pub(crate) mod compactor;
pub(crate) mod effects;
pub(crate) mod executor;
pub(crate) mod leases;
pub(crate) mod load;
pub(crate) mod model_effect;
pub(crate) mod on_demand;
pub(crate) mod ordering;
mod paying;
pub(crate) mod roster;
pub(crate) mod sequencer;
pub(crate) mod telling;
pub(crate) mod timers;
pub(crate) mod unit;
pub(crate) mod world;
