//! The one loop that runs every durable machine, always in the same order: take what is queued,
//! read the clock once, decide, make the events durable, and only then reply and reconcile.
//!
//! The state is folded while deciding, before the events are durable. That is safe because a
//! failed append ends the generation: the fold is thrown away with it and nobody was told.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use kinfolk_actors::machine::{Demand, Machine};
use kinfolk_actors::time::Timestamp;
use tokio::sync::oneshot;

use crate::supervise::queue::BoundedQueue;
use crate::supervise::unit::Generation;

/// The most commands that one step decides before it appends.
const COMMANDS_A_STEP: usize = 64;

/// How often a command is decided again because a sibling was faster at the ledger. Each repeat
/// means that somebody else made progress; this bound is far above the number of siblings.
const CONTENTION_LIMIT: usize = 64;

/// The generation was thrown away; whoever runs in it has to stop without a further word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this generation of the family is over")]
pub(crate) struct GenerationOver;

/// Why events were not reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotReserved {
    /// A sibling was faster; decide again with new facts.
    Contended,
    /// The generation is over.
    Over,
}

/// A command on its way to a machine.
pub(crate) struct Letter<M: Machine> {
    /// The generation that it belongs to, for outcomes of effects; wishes from outside have none.
    pub generation: Option<Generation>,
    /// The command.
    pub command: M::Command,
    /// Told once the command's events are durable, or why it was refused. Dropped if the generation
    /// ends before.
    pub reply: Option<oneshot::Sender<Result<(), M::Refusal>>>,
}

/// Whether a shell goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// It waits for the next command.
    Continue,
    /// Its work is done.
    Stop,
}

/// What a shell needs of the world around its machine.
pub(crate) trait World<M: Machine>: Send + 'static {
    /// A step begins: from here on letters are taken.
    fn begins(&mut self);

    /// Reads the clock.
    fn now(&self) -> Timestamp;

    /// What the machine may know besides its state.
    fn facts(&self, now: Timestamp) -> Result<M::Facts, GenerationOver>;

    /// Takes from the family's ledger what the events imply.
    fn reserve(&self, now: Timestamp, events: &[M::Event]) -> Result<(), NotReserved>;

    /// Appends the events as one record and waits until they are durable.
    fn append(
        &self,
        now: Timestamp,
        events: Vec<M::Event>,
    ) -> BoxFuture<'static, Result<(), GenerationOver>>;

    /// Puts work in flight. Its one outcome comes back as a letter.
    fn start(&mut self, key: &M::Key, work: M::Work, machine: &M, state: &M::State);

    /// Asks work in flight to stop. Its outcome still comes back.
    fn stop(&mut self, key: &M::Key);

    /// Work has to end that is not in flight in this generation; an outcome still has to come back.
    fn close(&mut self, key: &M::Key, work: M::Work, machine: &M, state: &M::State);

    /// The outcome of a piece of work was taken, or refused as late.
    fn settled(&mut self, key: &M::Key, taken: bool);

    /// A step is done.
    fn stepped(&mut self, state: &M::State) -> Flow;
}

/// A machine with its state and its effects.
pub(crate) struct Shell<M: Machine, W> {
    machine: M,
    state: M::State,
    world: W,
    generation: Generation,
    mailbox: Arc<BoundedQueue<Letter<M>>>,
    in_flight: BTreeMap<M::Key, InFlight>,
    /// Decided before any letter.
    first: Option<M::Command>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum InFlight {
    Running,
    ToldToStop,
}

/// What one step decided, before it is durable.
struct Decided<M: Machine> {
    events: Vec<M::Event>,
    replies: Vec<(Reply<M>, Verdict<M>)>,
}

/// Whether a command was taken.
type Verdict<M> = Result<(), <M as Machine>::Refusal>;

type Reply<M> = oneshot::Sender<Verdict<M>>;

impl<M, W> Shell<M, W>
where
    M: Machine + Send,
    M::State: Send,
    M::Command: Send,
    M::Event: Send,
    M::Refusal: Send,
    M::Facts: Send,
    M::Key: Send,
    W: World<M>,
{
    /// A shell around a loaded machine. `first` is decided before any letter.
    pub fn new(
        loaded: (M, M::State),
        world: W,
        generation: Generation,
        mailbox: Arc<BoundedQueue<Letter<M>>>,
        first: M::Command,
    ) -> Self {
        let (machine, state) = loaded;
        let (in_flight, first) = (BTreeMap::new(), Some(first));
        Self { machine, state, world, generation, mailbox, in_flight, first }
    }

    /// Decides what is queued and acts on it. Returns when everything that was decided is durable.
    ///
    /// A letter leaves the queue only to be decided: if deciding panics, the letters behind it are
    /// still there for the next generation.
    ///
    /// # Errors
    /// [`GenerationOver`]; the shell must not be used any more.
    pub async fn step(&mut self) -> Result<Flow, GenerationOver> {
        self.world.begins();
        let now = self.world.now();
        let Decided { events, replies } = self.decide_queued(now)?;
        if !events.is_empty() {
            self.world.append(now, events).await?;
        }
        for (reply, verdict) in replies {
            // Whoever asked may have gone away; that changes nothing.
            let _ = reply.send(verdict);
        }
        self.reconcile();
        Ok(self.world.stepped(&self.state))
    }

    fn decide_queued(&mut self, now: Timestamp) -> Result<Decided<M>, GenerationOver> {
        let mut decided = Decided { events: Vec::new(), replies: Vec::new() };
        if let Some(command) = self.first.take() {
            let generation = Some(self.generation);
            self.take(Letter { generation, command, reply: None }, now, &mut decided)?;
        }
        let mailbox = Arc::clone(&self.mailbox);
        for letter in mailbox.take(COMMANDS_A_STEP) {
            if letter.generation.is_none_or(|generation| generation == self.generation) {
                self.take(letter, now, &mut decided)?;
            }
        }
        Ok(decided)
    }

    /// Decides one letter and folds its events.
    fn take(
        &mut self,
        letter: Letter<M>,
        now: Timestamp,
        decided: &mut Decided<M>,
    ) -> Result<(), GenerationOver> {
        let verdict = self.decide(&letter.command, now)?;
        if let Some(key) = M::settles(&letter.command) {
            self.in_flight.remove(&key);
            self.world.settled(&key, verdict.is_ok());
        }
        let verdict = verdict.map(|events| {
            events.iter().for_each(|event| M::evolve(&mut self.state, event));
            decided.events.extend(events);
        });
        decided.replies.extend(letter.reply.map(|reply| (reply, verdict)));
        Ok(())
    }

    fn decide(
        &self,
        command: &M::Command,
        now: Timestamp,
    ) -> Result<Result<Vec<M::Event>, M::Refusal>, GenerationOver> {
        for _ in 0..CONTENTION_LIMIT {
            let facts = self.world.facts(now)?;
            let events = match self.machine.decide(&self.state, command, &facts) {
                Ok(events) => events,
                Err(refusal) => return Ok(Err(refusal)),
            };
            match self.world.reserve(now, &events) {
                Ok(()) => return Ok(Ok(events)),
                Err(NotReserved::Contended) => {}
                Err(NotReserved::Over) => return Err(GenerationOver),
            }
        }
        tracing::error!(?command, "a command was contended without end; the family restarts");
        Err(GenerationOver)
    }

    /// Starts what is missing and stops what has to end.
    fn reconcile(&mut self) {
        let wanted = M::outstanding(&self.state);
        for (key, status) in &mut self.in_flight {
            if !wanted.contains_key(key) && *status == InFlight::Running {
                *status = InFlight::ToldToStop;
                self.world.stop(key);
            }
        }
        for (key, demand) in wanted {
            match (demand, self.in_flight.get(&key)) {
                (Demand::Run(_), Some(_)) | (Demand::Stop(_), Some(InFlight::ToldToStop)) => {}
                (Demand::Run(work), None) => {
                    self.in_flight.insert(key.clone(), InFlight::Running);
                    self.world.start(&key, work, &self.machine, &self.state);
                }
                (Demand::Stop(_), Some(InFlight::Running)) => {
                    self.in_flight.insert(key.clone(), InFlight::ToldToStop);
                    self.world.stop(&key);
                }
                (Demand::Stop(work), None) => {
                    self.in_flight.insert(key.clone(), InFlight::ToldToStop);
                    self.world.close(&key, work, &self.machine, &self.state);
                }
            }
        }
    }
}
