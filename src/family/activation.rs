//! A family while a run of it is alive: what must outlive an agent's shell. It holds the bounded
//! queues of all agents, the effects in flight, the sequencer and the count of crashes; a
//! generation of shells comes and goes inside of it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kinfolk_actors::agent::{self, AgentMachine, AgentState, Command, Key, Member, Outcome};
use kinfolk_actors::brain::Brain;
use kinfolk_actors::call::EffectClass;
use kinfolk_actors::event::{Ending, SubagentStarted};
use kinfolk_actors::failure::{ErrorCode, Failure};
use kinfolk_actors::family::{Family, FamilyHash};
use kinfolk_actors::id::{AgentId, RunId, SessionId};
use kinfolk_actors::supervision::{FailureHistory, RestartPolicy, Verdict};
use kinfolk_actors::time::{Millis, Timestamp};
use parking_lot::Mutex;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::Instant;

use super::effects::Effects;
use super::executor::Jobs;
use super::leases::{HeldLeases, Leases};
use super::load::Loaded;
use super::sequencer::Sequencer;
use crate::gateway::Gateway;
use crate::hub::Hub;
use crate::journal::Journal;
use crate::model::retry::RetryPolicy;
use crate::ports::clock::Clock;
use crate::ports::model::ModelProvider;
use crate::shell::Letter;
use crate::supervise::queue::BoundedQueue;
use crate::supervise::scope::Scope;
use crate::supervise::unit::Generation;
use crate::tools::toolbox::Toolbox;

/// Commands that may wait for one agent. Outcomes of its own effects are bounded by what it has in
/// flight and always fit.
const QUEUE_CAPACITY: usize = 256;

/// What all families of a runtime share.
pub(crate) struct Services {
    pub journal: Journal,
    pub gateway: Gateway,
    pub leases: Leases,
    pub clock: Arc<dyn Clock>,
    pub retries: RetryPolicy,
    pub agent_restarts: RestartPolicy,
}

/// A family as one run uses it, with everything that it names found.
pub(crate) struct Frozen {
    pub family: Arc<Family>,
    pub hash: FamilyHash,
    /// The JSON text under the hash.
    pub json: Arc<str>,
    pub toolbox: Arc<Toolbox>,
    pub models: HashMap<Arc<str>, Arc<dyn ModelProvider>>,
    pub brain: Arc<dyn Brain>,
}

/// One activation of a session for one run.
pub(crate) struct Activation {
    pub session: SessionId,
    pub run: RunId,
    pub frozen: Arc<Frozen>,
    pub services: Arc<Services>,
    pub hub: Arc<Hub>,
    pub sequencer: Sequencer,
    pub effects: Arc<Effects>,
    pub held: HeldLeases,
    pub jobs: Jobs,
    /// Model requests of subagents that may be in flight at once.
    pub requests: Arc<Semaphore>,
    /// Each agent's queue outlives its shells.
    agents: Mutex<BTreeMap<AgentId, Seat>>,
    /// The states of the generation that is being started, until their shells take them.
    loaded: Mutex<HashMap<AgentId, AgentState>>,
    crashes: Mutex<Crashes>,
    at_rest: AtomicBool,
    begun: Instant,
    #[cfg(test)]
    pub actors: Mutex<BTreeMap<AgentId, ractor::ActorRef<super::agent_actor::AgentMessage>>>,
}

/// An agent's queue of commands.
pub(crate) type Seat = Arc<BoundedQueue<Letter<AgentMachine>>>;

/// What became of an agent's crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Crashed {
    /// It counts against the agent, which bounds how often it can happen. The family starts again
    /// after this wait.
    Counted(Duration),
    /// The agent was given up before, and crashed while it was being ended.
    InItsEnd,
}

#[derive(Default)]
struct Crashes {
    history: BTreeMap<AgentId, FailureHistory>,
    /// Agents that crashed too often, with the end that they get on the next load.
    given_up: BTreeMap<AgentId, Ending>,
    /// Why the last generation that failed did so.
    last: Option<Failure>,
}

impl Activation {
    pub fn new(
        session: SessionId,
        run: RunId,
        frozen: Arc<Frozen>,
        services: Arc<Services>,
        hub: Arc<Hub>,
    ) -> Self {
        let journal = services.journal.clone();
        let sequencer = Sequencer::new(session.clone(), run, journal, Arc::clone(&hub));
        let at_once = usize::try_from(frozen.family.caps.max_parallel.max(1)).unwrap_or(usize::MAX);
        Self {
            session,
            run,
            frozen,
            services,
            hub,
            sequencer,
            effects: Arc::default(),
            held: HeldLeases::default(),
            jobs: Jobs::default(),
            requests: Arc::new(Semaphore::new(at_once.min(Semaphore::MAX_PERMITS))),
            agents: Mutex::default(),
            loaded: Mutex::default(),
            crashes: Mutex::default(),
            at_rest: AtomicBool::new(false),
            begun: Instant::now(),
            #[cfg(test)]
            actors: Mutex::default(),
        }
    }

    /// An agent's queue, made when it is first asked for.
    pub fn seat(&self, agent: AgentId) -> Seat {
        let mut agents = self.agents.lock();
        let seat =
            agents.entry(agent).or_insert_with(|| Arc::new(BoundedQueue::new(QUEUE_CAPACITY)));
        Arc::clone(seat)
    }

    /// Sends a wish to an agent. The answer comes once it is durable; it is dropped if the
    /// generation ends before, or if the queue is full.
    pub fn wish(
        &self,
        agent: AgentId,
        command: Command,
    ) -> oneshot::Receiver<Result<(), agent::Refusal>> {
        let (reply, answer) = oneshot::channel();
        let seat = self.seat(agent);
        let letter = Letter { generation: None, command, reply: Some(reply) };
        // A full queue drops the letter and with it the reply, which tells the sender.
        drop(seat.try_push(letter));
        answer
    }

    /// Tells a child to end because its parent does. Never refused for want of room: a parent says
    /// it once, and waits for the child.
    pub fn end_child(&self, generation: Generation, child: AgentId) {
        let command = Command::Cancel { reason: "its parent ends".into() };
        let letter = Letter { generation: Some(generation), command, reply: None };
        self.seat(child).push_reserved(letter);
    }

    /// Reports the one outcome of a piece of an agent's work.
    pub fn report(&self, generation: Generation, agent: AgentId, key: Key, outcome: Outcome) {
        if let Key::Tool(call) = key {
            self.held.release(call);
        }
        let command = Command::Settle { key, outcome };
        let letter = Letter { generation: Some(generation), command, reply: None };
        self.seat(agent).push_reserved(letter);
    }

    /// What a new generation was loaded with.
    pub fn set_loaded(&self, loaded: Loaded) {
        *self.loaded.lock() = loaded.states;
    }

    /// Takes an agent's loaded state; an agent without one has not begun.
    pub fn take_state(&self, agent: AgentId) -> AgentState {
        self.loaded.lock().remove(&agent).unwrap_or_default()
    }

    /// The machine of an agent of this run.
    pub fn machine(&self, member: Member) -> AgentMachine {
        AgentMachine {
            run: self.run,
            member,
            family: Arc::clone(&self.frozen.family),
            family_hash: self.frozen.hash,
            brain: Arc::clone(&self.frozen.brain),
        }
    }

    /// Whether a tool changes something, so that it runs only under a lease.
    pub fn changes(&self, tool: &str) -> bool {
        self.frozen
            .toolbox
            .get(tool)
            .is_some_and(|tool| tool.spec().effect != EffectClass::ReadOnly)
    }

    /// The name by which a scripted model and the logs know an agent.
    pub fn name_of(member: &Member) -> Arc<str> {
        match member {
            Member::Lead => "lead".into(),
            Member::Subagent(SubagentStarted { name, .. }) => Arc::clone(name),
        }
    }

    /// Counts a crash of an agent. Past its intensity the next load ends the agent: a subagent's
    /// call settles as an error, a lead's run as failed. An agent that crashes even then is not
    /// counted any more.
    pub fn crashed(&self, agent: AgentId, what: &str) -> Crashed {
        let mut crashes = self.crashes.lock();
        if crashes.given_up.contains_key(&agent) {
            return Crashed::InItsEnd;
        }
        let policy = &self.services.agent_restarts;
        // Not the clock of the wall, which may jump over the window.
        let now = Timestamp(Millis::from(self.begun.elapsed()).0);
        let history = crashes.history.entry(agent).or_default();
        let wait = match history.failed(policy, now) {
            Verdict::RestartAfter(wait) => wait,
            Verdict::GiveUp => {
                let message =
                    format!("{agent} failed too often and was given up; the last time: {what}");
                let ending = agent::failed(Failure::new(ErrorCode::AgentCrashed, message));
                crashes.given_up.insert(agent, ending);
                // It only starts again to be ended.
                policy.base_backoff
            }
        };
        Crashed::Counted(wait.into())
    }

    /// Notes that the lead has nothing to do: its run has ended, or was never begun.
    pub fn rest(&self) {
        self.at_rest.store(true, Ordering::Release);
    }

    /// Whether the lead came to rest. One that was only stopped did not.
    pub fn is_at_rest(&self) -> bool {
        self.at_rest.load(Ordering::Acquire)
    }

    /// Notes why a generation failed.
    pub fn failed(&self, failure: Failure) {
        self.crashes.lock().last = Some(failure);
    }

    /// Why the last generation that failed did so, if one did.
    pub fn last_failure(&self) -> Option<Failure> {
        self.crashes.lock().last.clone()
    }

    /// The end that an agent gets because it crashed too often.
    pub fn given_up(&self, agent: AgentId) -> Option<Ending> {
        self.crashes.lock().given_up.get(&agent).cloned()
    }

    /// Has an agent's actor panic; false if it is not there.
    #[cfg(test)]
    pub fn panic_agent(&self, agent: AgentId) -> bool {
        let actors = self.actors.lock();
        let message = super::agent_actor::AgentMessage::Panic;
        actors.get(&agent).is_some_and(|actor| actor.cast(message).is_ok())
    }

    /// Refuses every wish that waits or comes.
    pub fn close(&self) {
        let seats: Vec<Seat> = self.agents.lock().values().cloned().collect();
        seats.iter().for_each(|seat| drop(seat.close()));
    }

    /// Ends what a generation has in flight and waits until it is gone.
    pub async fn end_generation(&self) {
        self.sequencer.close();
        self.effects.end_generation().await;
        self.held.release_all();
        self.jobs.clear();
    }
}

/// What the shells of one generation share.
#[derive(Clone)]
pub(crate) struct Living {
    pub family: Arc<Activation>,
    pub generation: Generation,
    pub scope: Scope,
}
