//! One generation from inside: who is in it, how they ended, and its end.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared, join_all};
use parking_lot::Mutex;
use ractor::{ActorCell, ActorId};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::scope::SpawnRefused;
use super::unit::{Ending, Exit, ExitClass, Generation, Tag, UnitFailure, UnitId};
use crate::panic_text::panic_text;

/// How long a kill may take before it is reported. It is waited for in any case.
const REPORT_STUCK_AFTER: Duration = Duration::from_secs(1);

/// Resolves when the task is finished and all that it owned is dropped. ractor's own `wait`
/// resolves earlier, while the state may still be alive.
pub(super) type Joined = Shared<BoxFuture<'static, ()>>;

/// Whether the generation falls with an actor or task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bond {
    /// Its failure ends the generation.
    Together,
    /// Its failure is only reported.
    Alone,
}

/// What went wrong inside an actor or task, as its wrapper caught it.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) class: ExitClass,
    pub(super) text: Arc<str>,
}

impl Fault {
    pub(super) fn panicked(payload: &(dyn std::any::Any + Send)) -> Self {
        Self { class: ExitClass::Panic, text: panic_text(payload).into() }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum MemberId {
    Actor(ActorId),
    Task(u64),
}

/// An actor or a task of the generation that has not ended.
pub(super) struct Member {
    pub(super) tag: Tag,
    pub(super) bond: Bond,
    pub(super) fault: Arc<OnceLock<Fault>>,
    pub(super) hold: Hold,
    pub(super) joined: Joined,
    /// Reports the end of an actor that no supervisor is linked to.
    #[expect(dead_code, reason = "held for its drop")]
    pub(super) watch: Option<AbortOnDropHandle<()>>,
}

/// By what a member can be ended.
pub(super) enum Hold {
    Actor(ActorCell),
    Task(AbortHandle),
}

#[derive(Default)]
pub(super) struct Members {
    closed: bool,
    pub(super) living: HashMap<MemberId, Member>,
    /// Ended by their own account, but the task may not be finished yet.
    leaving: Vec<Joined>,
    exits: VecDeque<(Exit, Bond)>,
    tasks: u64,
}

/// One generation of one unit.
pub(super) struct Life {
    unit: UnitId,
    generation: Generation,
    over: CancellationToken,
    ending: OnceLock<Ending>,
    // Never held while code of a unit runs or across an await. Taken after the lock on the routes.
    pub(super) members: Mutex<Members>,
    wake: Notify,
}

impl Life {
    pub(super) fn new(unit: UnitId, generation: Generation) -> Arc<Self> {
        Arc::new(Self {
            unit,
            generation,
            over: CancellationToken::new(),
            ending: OnceLock::new(),
            members: Mutex::default(),
            wake: Notify::new(),
        })
    }

    pub(super) fn generation(&self) -> Generation {
        self.generation
    }

    pub(super) fn over(&self) -> &CancellationToken {
        &self.over
    }

    pub(super) fn ending(&self) -> Option<Ending> {
        self.ending.get().copied()
    }

    /// Ends the generation: nothing starts in it any more, and whoever asks is told. The first
    /// ending stays.
    pub(super) fn poison(&self, ending: Ending) {
        self.ending.get_or_init(|| ending);
        self.over.cancel();
    }

    /// Lets nothing new start; what runs goes on.
    pub(super) fn close(&self) {
        self.members.lock().closed = true;
    }

    /// Whether something may start. The caller holds the lock until it has recorded what it starts.
    pub(super) fn admits(&self, members: &Members) -> Result<(), SpawnRefused> {
        if members.closed || self.over.is_cancelled() {
            let (unit, generation) = (self.unit.clone(), self.generation);
            return Err(SpawnRefused::Over { unit, generation });
        }
        Ok(())
    }

    pub(super) fn spawn_task(
        self: &Arc<Self>,
        tag: Tag,
        work: impl Future<Output = Result<(), UnitFailure>> + Send + 'static,
    ) -> Result<(), SpawnRefused> {
        let mut members = self.members.lock();
        self.admits(&members)?;
        let id = MemberId::Task(members.tasks);
        members.tasks += 1;
        let fault = Arc::new(OnceLock::new());
        let (life, slot) = (Arc::clone(self), Arc::clone(&fault));
        let task = AbortOnDropHandle::new(tokio::spawn(async move {
            let fault = match AssertUnwindSafe(work).catch_unwind().await {
                Ok(Ok(())) => None,
                Ok(Err(failure)) => Some(Fault { class: ExitClass::Error, text: failure.text() }),
                Err(payload) => Some(Fault::panicked(payload.as_ref())),
            };
            if let Some(fault) = fault {
                slot.get_or_init(|| fault);
            }
            life.exited(id, ExitClass::Normal);
        }));
        let hold = Hold::Task(task.abort_handle());
        let joined = task.map(drop).boxed().shared();
        let bond = Bond::Together;
        members.living.insert(id, Member { tag, bond, fault, hold, joined, watch: None });
        Ok(())
    }

    /// A member ended, as far as its supervisor or its own task can tell.
    pub(super) fn exited(&self, id: MemberId, seen: ExitClass) {
        let mut members = self.members.lock();
        let Some(member) = members.living.remove(&id) else { return };
        let (class, text) = match member.fault.get() {
            Some(fault) => (fault.class, Arc::clone(&fault.text)),
            None => (seen, "".into()),
        };
        // Who is killed because the generation is over did not fail.
        let felled =
            self.over.is_cancelled() && matches!(class, ExitClass::Killed | ExitClass::Aborted);
        if !felled {
            let exit = Exit { generation: self.generation, who: member.tag, class, text };
            members.exits.push_back((exit, member.bond));
        }
        members.leave(member.joined);
        drop(members);
        if class.is_failure() && member.bond == Bond::Together {
            self.poison(Ending::Failed);
        }
        self.wake.notify_one();
    }

    /// Forgets an actor whose start failed; whoever asked for it was told.
    pub(super) fn never_started(&self, id: MemberId) {
        let mut members = self.members.lock();
        if let Some(member) = members.living.remove(&id) {
            members.leave(member.joined);
        }
    }

    /// The next exit, oldest first. Cancel-safe; for one caller at a time.
    pub(super) async fn next_exit(&self) -> (Exit, Bond) {
        loop {
            if let Some(exit) = self.pop_exit() {
                return exit;
            }
            self.wake.notified().await;
        }
    }

    pub(super) fn pop_exit(&self) -> Option<(Exit, Bond)> {
        self.members.lock().exits.pop_front()
    }

    /// Tells every actor to stop when its handler is done, and waits until they have.
    pub(super) async fn stop_actors(&self) {
        let stopping: Vec<Joined> = {
            let members = self.members.lock();
            let actors = members.living.values().filter_map(|member| match &member.hold {
                Hold::Actor(cell) => {
                    cell.stop(None);
                    Some(member.joined.clone())
                }
                Hold::Task(_) => None,
            });
            actors.collect()
        };
        join_all(stopping).await;
    }

    /// Kills what lives. An actor in a section that blocks its thread ends after that section.
    pub(super) fn kill(&self) {
        for member in self.members.lock().living.values() {
            match &member.hold {
                Hold::Actor(cell) => cell.kill(),
                Hold::Task(task) => task.abort(),
            }
        }
    }

    /// Kills what lives and waits until everything is gone, however long it takes.
    pub(super) async fn halt(&self) {
        self.close();
        self.kill();
        let mut gone = {
            let members = self.members.lock();
            let living = members.living.values().map(|member| &member.joined);
            join_all(living.chain(&members.leaving).cloned().collect::<Vec<_>>())
        };
        while tokio::time::timeout(REPORT_STUCK_AFTER, &mut gone).await.is_err() {
            tracing::error!(
                unit = %self.unit,
                generation = %self.generation,
                stuck = ?self.stuck(),
                "killed, but still running: something blocks its thread; nothing restarts before it ends"
            );
        }
    }

    /// The actors that were never reported as ended: those whose link to the supervisor failed.
    pub(super) fn unreported(&self) -> Vec<ActorId> {
        let members = self.members.lock();
        let actor = |id: &MemberId| match id {
            MemberId::Actor(id) => Some(*id),
            MemberId::Task(_) => None,
        };
        members.living.keys().filter_map(actor).collect()
    }

    fn stuck(&self) -> Vec<Tag> {
        let members = self.members.lock();
        let running = |member: &&Member| member.joined.clone().now_or_never().is_none();
        members.living.values().filter(running).map(|member| member.tag.clone()).collect()
    }
}

impl Members {
    /// Keeps the handle until its task is finished, and lets go of those that are.
    fn leave(&mut self, joined: Joined) {
        self.leaving.retain(|joined| joined.clone().now_or_never().is_none());
        self.leaving.push(joined);
    }
}
