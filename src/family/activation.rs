//! A family while a run of it is alive: what must outlive an agent's shell. It holds the bounded
//! queues of all agents, the effects in flight, the sequencer and the count of crashes; a
//! generation of shells comes and goes inside of it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kinfolk_actors::agent::{self, AgentMachine, AgentState, Cause, Command, Key, Member, Outcome};
use kinfolk_actors::brain::Brain;
use kinfolk_actors::call::EffectClass;
use kinfolk_actors::event::{Ending, RunInterrupted, SubagentStarted};
use kinfolk_actors::failure::{ErrorCode, Failure};
use kinfolk_actors::family::{Family, FamilyHash};
use kinfolk_actors::id::{AgentId, RunId, SessionId};
use kinfolk_actors::supervision::{FailureHistory, RestartPolicy, Verdict};
use kinfolk_actors::time::{Millis, Timestamp};
use parking_lot::Mutex;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::Instant;

use super::compactor::SummaryJob;
use super::effects::Effects;
use super::executor::ToolJob;
use super::leases::{HeldLeases, Leases};
use super::load::Loaded;
use super::on_demand::Desk;
use super::roster::Roster;
use super::sequencer::Sequencer;
use crate::gateway::Gateway;
use crate::hub::Hub;
use crate::journal::Journal;
use crate::model::retry::RetryPolicy;
use crate::ports::audit::Audit;
use crate::ports::clock::Clock;
use crate::ports::cost::CostFunction;
use crate::ports::executor::{Executor, ExecutorKind};
use crate::ports::model::ModelProvider;
use crate::shell::Letter;
use crate::supervise::queue::{BoundedQueue, PushRefused};
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
    /// The host's checks, by name.
    pub audits: BTreeMap<Arc<str>, Arc<dyn Audit>>,
    /// What is done another way than the built-in one, in every family.
    pub executors: BTreeMap<ExecutorKind, Arc<dyn Executor>>,
    /// What requests cost, as the host knows it.
    pub cost: Option<Arc<dyn CostFunction>>,
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
    /// What an agent has done another way, by its name.
    pub executors: AgentExecutors,
}

/// The executors of single agents, by their names.
pub(crate) type AgentExecutors = BTreeMap<(Arc<str>, ExecutorKind), Arc<dyn Executor>>;

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
    pub jobs: Desk<ToolJob>,
    pub summaries: Desk<SummaryJob>,
    /// Model requests of subagents that may be in flight at once.
    pub requests: Arc<Semaphore>,
    pub roster: Roster,
    /// Why the run rests, if it is interrupted.
    interrupted: Mutex<Option<Arc<RunInterrupted>>>,
    /// Each agent's queue outlives its shells.
    agents: Mutex<BTreeMap<AgentId, Seat>>,
    /// The states of the generation that is being started, until their shells take them.
    loaded: Mutex<HashMap<AgentId, AgentState>>,
    crashes: Mutex<Crashes>,
    at_rest: AtomicBool,
    /// Whether the run has left input for the next one.
    gave_way: AtomicBool,
    begun: Instant,
    #[cfg(test)]
    pub actors: Mutex<BTreeMap<AgentId, ractor::ActorRef<super::agent_actor::AgentMessage>>>,
}

/// An agent's queue of commands.
pub(crate) type Seat = Arc<BoundedQueue<Letter<AgentMachine>>>;

/// The answer to a command, once it is durable.
pub(crate) type Answered = oneshot::Receiver<Result<(), agent::Refusal>>;

/// A command did not get to its agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotSent {
    /// More waits for the agent than it may hold.
    Full,
    /// The agent is over, or never was.
    Gone,
}

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
            jobs: Desk::default(),
            summaries: Desk::default(),
            requests: Arc::new(Semaphore::new(at_once.min(Semaphore::MAX_PERMITS))),
            roster: Roster::default(),
            interrupted: Mutex::default(),
            agents: Mutex::default(),
            loaded: Mutex::default(),
            crashes: Mutex::default(),
            at_rest: AtomicBool::new(false),
            gave_way: AtomicBool::new(false),
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
    pub fn wish(&self, agent: AgentId, command: Command) -> Answered {
        // A letter that was not sent is dropped with its reply, which tells the sender.
        self.send(agent, None, command).unwrap_or_else(|_| oneshot::channel().1)
    }

    /// Sends a command to an agent that lives. The answer comes once it is durable; it is dropped
    /// if the agent ends or its generation does before.
    ///
    /// # Errors
    /// It was not sent.
    pub fn send(
        &self,
        agent: AgentId,
        generation: Option<Generation>,
        command: Command,
    ) -> Result<Answered, NotSent> {
        if !agent.is_lead() && !self.roster.lives(agent) {
            return Err(NotSent::Gone);
        }
        let (reply, answer) = oneshot::channel();
        let letter = Letter { generation, command, reply: Some(reply) };
        match self.seat(agent).try_push(letter) {
            Ok(()) => Ok(answer),
            Err(PushRefused::Full(_)) => Err(NotSent::Full),
            Err(PushRefused::Closed(_)) => Err(NotSent::Gone),
        }
    }

    /// An agent is over: nobody reads what is sent to it any more.
    pub fn leaves(&self, agent: AgentId) {
        self.roster.leaves(agent);
        // Whoever waits for an answer is told by the drop.
        drop(self.seat(agent).close());
    }

    /// Whether something waits to be read by an agent.
    pub fn has_mail(&self, agent: AgentId) -> bool {
        self.seat(agent).len() > 0
    }

    /// What does the work of a kind for an agent, if not the built-in executor: what the family
    /// has for the agent goes before what the runtime has for all.
    pub fn executor(&self, agent: &Arc<str>, kind: ExecutorKind) -> Option<Arc<dyn Executor>> {
        let own = self.frozen.executors.get(&(Arc::clone(agent), kind));
        own.or_else(|| self.services.executors.get(&kind)).cloned()
    }

    /// Tells a child to end because its parent does. Never refused for want of room: a parent says
    /// it once, and waits for the child.
    pub fn end_child(&self, generation: Generation, child: AgentId) {
        let command = Command::Cancel { cause: Cause::Parent, reason: "its parent ends".into() };
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
        let active = |state: &AgentState| state.is_active();
        let agents = loaded.states.iter().filter(|(_, state)| active(state));
        self.roster.loaded(agents.map(|(agent, _)| *agent));
        *self.interrupted.lock() = loaded.interrupted;
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

    /// Notes that the run has left input for the next one.
    pub fn give_way(&self) {
        self.gave_way.store(true, Ordering::Release);
    }

    /// Whether the run has left input for the next one.
    pub fn gave_way(&self) -> bool {
        self.gave_way.load(Ordering::Acquire)
    }

    /// Notes why the run rests.
    pub fn interrupt(&self, interrupted: &RunInterrupted) {
        *self.interrupted.lock() = Some(Arc::new(interrupted.clone()));
    }

    /// Why the run rests, if it is interrupted.
    pub fn interrupted(&self) -> Option<Arc<RunInterrupted>> {
        self.interrupted.lock().clone()
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
        self.summaries.clear();
    }
}

/// What the shells of one generation share.
#[derive(Clone)]
pub(crate) struct Living {
    pub family: Arc<Activation>,
    pub generation: Generation,
    pub scope: Scope,
}
