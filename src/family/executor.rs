//! The tool executor of a family: an actor that starts when there is a call to run and stops when
//! the last one is done. It decides nothing and appends nothing.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kinfolk_actors::agent::{Key, Outcome};
use kinfolk_actors::id::{AgentId, CallId};
use kinfolk_actors::time::Millis;
use parking_lot::Mutex;
use ractor::{Actor, ActorProcessingErr, ActorRef, SupervisionEvent};

use super::activation::Living;
use super::effects::StopSignal;
use crate::tools::toolbox::{Dispatch, Ran};

/// How long a stopped tool call may take to come to an outcome of its own: the toolbox's grace and
/// the kill of a command's processes, with room to spare. After it the call is dropped.
const TOOL_GRACE: Duration = Duration::from_secs(5);

/// One call to run.
pub(crate) struct Job {
    pub agent: AgentId,
    pub call: CallId,
    pub name: Arc<str>,
    pub arguments: Arc<str>,
}

/// The calls that wait for the executor. The queue is the family's, so that none is lost between an
/// executor that stops and the next one. It is bounded by the calls that agents have in flight.
#[derive(Default)]
pub(crate) struct Jobs {
    inner: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    queue: VecDeque<Job>,
    executor: Executor,
}

#[derive(Default)]
enum Executor {
    #[default]
    None,
    Starting,
    Alive(ActorRef<ExecutorMessage>),
}

/// What the caller of [`Jobs::push`] has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needed {
    /// Start an executor.
    Executor,
    /// Nothing: one is there or on its way.
    Nothing,
}

pub(crate) enum ExecutorMessage {
    /// Calls are waiting.
    Look,
    /// One of its calls is done.
    Done,
    #[cfg(test)]
    Panic,
}

impl Jobs {
    pub fn push(&self, job: Job) -> Needed {
        let mut inner = self.inner.lock();
        inner.queue.push_back(job);
        match &inner.executor {
            Executor::Alive(actor) => {
                // A dead executor is no loss: the family restarts and loads the call again.
                let _ = actor.cast(ExecutorMessage::Look);
                Needed::Nothing
            }
            Executor::Starting => Needed::Nothing,
            Executor::None => {
                inner.executor = Executor::Starting;
                Needed::Executor
            }
        }
    }

    /// Forgets what an ended generation left.
    pub fn clear(&self) {
        *self.inner.lock() = Waiting::default();
    }

    fn arrived(&self, actor: ActorRef<ExecutorMessage>) {
        self.inner.lock().executor = Executor::Alive(actor);
    }

    fn take(&self) -> VecDeque<Job> {
        std::mem::take(&mut self.inner.lock().queue)
    }

    /// Whether an idle executor may leave: only if nothing came in meanwhile.
    fn leave(&self) -> bool {
        let mut inner = self.inner.lock();
        let empty = inner.queue.is_empty();
        if empty {
            inner.executor = Executor::None;
        }
        empty
    }

    #[cfg(test)]
    pub fn panic_executor(&self) -> bool {
        match &self.inner.lock().executor {
            Executor::Alive(actor) => actor.cast(ExecutorMessage::Panic).is_ok(),
            Executor::Starting | Executor::None => false,
        }
    }
}

/// The actor.
pub(crate) struct ToolExecutor;

/// What the executor knows.
pub(crate) struct Running {
    living: Living,
    running: usize,
}

impl Running {
    fn begin(&mut self, job: Job, myself: &ActorRef<ExecutorMessage>) {
        self.running += 1;
        let Living { family, generation, scope: _ } = self.living.clone();
        let Job { agent, call, name, arguments } = job;
        let (owner, myself) = ((agent, Key::Tool(call)), myself.clone());
        let toolbox = Arc::clone(&family.frozen.toolbox);
        let workspace = family.frozen.family.workspace.as_deref().map(Path::new).map(Arc::from);
        let own = Arc::clone(&family);
        let work = move |stop: StopSignal| async move {
            if own.changes(&name) {
                // A call that runs again after a restart has lost its lease with the generation.
                let leases = &own.services.leases;
                let leased = own.held.acquire(call, leases, workspace.as_deref());
                if stop.0.run_until_cancelled(leased).await.is_none() {
                    return Outcome::Gone;
                }
            }
            let dispatch =
                Dispatch { name: &name, call, arguments: &arguments, workspace, cancelled: stop.0 };
            let Ran { output, duration } = toolbox.run(dispatch).await;
            Outcome::Tool {
                status: output.status,
                text: output.text,
                duration: Millis::from(duration),
            }
        };
        let effects = Arc::clone(&family.effects);
        effects.start(owner, TOOL_GRACE, work, move |outcome| {
            family.report(generation, agent, Key::Tool(call), outcome);
            // The executor may be gone with its generation; then nobody counts.
            let _ = myself.cast(ExecutorMessage::Done);
        });
    }
}

impl Actor for ToolExecutor {
    type Msg = ExecutorMessage;
    type State = Running;
    type Arguments = Living;

    async fn pre_start(
        &self,
        myself: ActorRef<ExecutorMessage>,
        living: Living,
    ) -> Result<Running, ActorProcessingErr> {
        living.family.jobs.arrived(myself.clone());
        myself.cast(ExecutorMessage::Look)?;
        Ok(Running { living, running: 0 })
    }

    async fn handle(
        &self,
        myself: ActorRef<ExecutorMessage>,
        message: ExecutorMessage,
        state: &mut Running,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            ExecutorMessage::Look => {}
            ExecutorMessage::Done => state.running -= 1,
            #[cfg(test)]
            ExecutorMessage::Panic => panic!("the executor panics on request"),
        }
        for job in state.living.family.jobs.take() {
            state.begin(job, &myself);
        }
        if state.running == 0 && state.living.family.jobs.leave() {
            myself.stop(None);
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        _myself: ActorRef<ExecutorMessage>,
        _event: SupervisionEvent,
        _state: &mut Running,
    ) -> Result<(), ActorProcessingErr> {
        // It starts no actors; nothing that ends can take it along.
        Ok(())
    }
}
