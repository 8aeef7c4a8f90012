//! The shape of every durable actor: three pure functions and nothing else.
//!
//! A shell (in the crate `kinfolk`) owns the loop: it reads the clock, asks [`Machine::decide`],
//! makes the events durable, and reconciles the effects in flight with [`Machine::outstanding`].
//! Recovery is the same loop, begun from a folded journal.

use std::collections::BTreeMap;
use std::fmt::Debug;

/// A durable actor. `self` is what is frozen for one generation (settings, brain); everything that
/// changes is in [`Machine::State`], and the state is the fold of the events, nothing else.
pub trait Machine {
    /// The fold of the actor's events. Serialise it after any step, load it elsewhere, go on.
    type State;
    /// A wish. It may be refused; a refusal changes nothing.
    type Command: Debug;
    /// A past fact. It is journaled and never refused.
    type Event: Debug;
    /// Why a command was not taken.
    type Refusal: std::error::Error;
    /// What the actor may know besides its own state: the time, the family's ledger.
    type Facts;
    /// The stable name of one piece of work.
    type Key: Ord + Clone + Debug;
    /// What has to be going on under a key, as data.
    type Work: Clone + Debug + PartialEq;

    /// Decides what a command leads to. Reads only its arguments.
    ///
    /// # Errors
    /// A refusal, when the state does not allow the command; then nothing happened.
    fn decide(
        &self,
        state: &Self::State,
        command: &Self::Command,
        facts: &Self::Facts,
    ) -> Result<Vec<Self::Event>, Self::Refusal>;

    /// Folds one event into the state. The only place where state changes; it cannot fail.
    fn evolve(state: &mut Self::State, event: &Self::Event);

    /// The work whose one outcome this command is, if it is one.
    fn settles(command: &Self::Command) -> Option<Self::Key>;

    /// Everything that must be going on while the state is what it is, one key per thing.
    fn outstanding(state: &Self::State) -> BTreeMap<Self::Key, Demand<Self::Work>>;
}

/// What the state asks for under one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Demand<W> {
    /// The work has to be in flight; start it if it is not.
    Run(W),
    /// The work has to end: ask it to stop, kill it after the grace, and report its one outcome
    /// either way. Work that is not in flight reports [`gone`](crate::agent::Outcome::Gone) at once.
    Stop(W),
}
