//! What is supervised: the trait of a unit, and the words in which its life is reported.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use kinfolk_actors::id::AgentId;
use tokio::time::Instant;

use super::scope::{Scope, SpawnRefused};

/// The name of a unit, unique within its supervisor.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct UnitId(Arc<str>);

/// The name of one actor or task within its unit. It need not be
/// unique: it tells failures apart in reports.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Tag {
    /// An agent of a family.
    Agent(AgentId),
    /// Anything else.
    Named(Arc<str>),
}

/// One life of a unit, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Generation(pub(crate) u64);

impl Generation {
    /// The first life.
    pub(crate) const FIRST: Self = Self(1);

    pub(super) fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// One restartable thing: an actor, or a group of actors that restart as one.
///
/// A panic in a hook never takes the supervisor down: in `start` and `exited` it is a failure of
/// the unit, elsewhere it is logged.
pub(crate) trait Unit: Send + Sync + 'static {
    /// Starts a generation. It is called only when nothing of the one before is left. The future
    /// is dropped when the unit is stopped or one of its actors fails meanwhile.
    ///
    /// # Errors
    ///
    /// An error counts as a failure of the unit, like the death of one of its actors.
    fn start(&self, generation: Generation, scope: Scope)
    -> BoxFuture<'_, Result<(), UnitFailure>>;

    /// Asks the generation to end in order, by `deadline`. Nothing new starts any more. When this
    /// returns, actors that still live are told to stop; at the deadline what is left is killed.
    /// The future is dropped at the deadline and when an actor fails meanwhile.
    fn stop(&self, generation: Generation, deadline: Instant) -> BoxFuture<'_, ()> {
        let _ = (generation, deadline);
        Box::pin(async {})
    }

    /// Every actor and task of the generation is gone. The unit ends effects of its own here; the
    /// next generation starts after this has returned.
    fn halted(&self, generation: Generation) -> BoxFuture<'_, ()> {
        let _ = generation;
        Box::pin(async {})
    }

    /// The generation failed, with the first failure in it. It is over, but not halted yet. Decides
    /// what happens when it is.
    fn on_failure(&self, failure: &Exit) -> Disposition {
        let _ = failure;
        Disposition::UsePolicy
    }

    /// An actor or task ended by itself, or failed without ending the generation or after it was
    /// over. Those that are killed because the generation is over are not told.
    fn exited(&self, exit: &Exit) {
        let _ = exit;
    }

    /// The unit reached `Failed` or `Stopped` and will not start again.
    fn ended(&self, last: &UnitStatus) {
        let _ = last;
    }
}

/// What a unit wants after a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Disposition {
    /// The restart policy decides.
    UsePolicy,
    /// Start again after this wait, without counting this failure. The unit bounds such restarts
    /// itself.
    RestartAfter(Duration),
    /// End as failed, for this reason.
    GiveUp(Arc<str>),
}

/// How an actor or a task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitClass {
    /// It stopped itself, or was told to stop.
    Normal,
    /// It panicked.
    Panic,
    /// It returned an error.
    Error,
    /// It was killed, by someone other than its supervisor.
    Killed,
    /// Its tokio task was aborted.
    Aborted,
}

impl ExitClass {
    /// Whether this was a failure.
    pub(crate) fn is_failure(self) -> bool {
        match self {
            Self::Normal => false,
            Self::Panic | Self::Error | Self::Killed | Self::Aborted => true,
        }
    }
}

/// The end of one actor or task of a unit, or of a start that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Exit {
    /// The generation that it belonged to.
    pub(crate) generation: Generation,
    /// Who ended; [`Tag::unit`] for the unit's own hooks.
    pub(crate) who: Tag,
    /// How it ended.
    pub(crate) class: ExitClass,
    /// The text of the panic or error; empty otherwise.
    pub(crate) text: Arc<str>,
}

/// Where a unit is in its life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum UnitStatus {
    /// Its supervisor is not up.
    Waiting,
    /// The generation is starting.
    Starting { generation: Generation },
    /// The generation has started.
    Running { generation: Generation },
    /// The generation was asked to end.
    Stopping { generation: Generation },
    /// What is left of the generation is being killed and waited for.
    Halting { generation: Generation },
    /// Nothing runs; the next generation starts after the wait.
    BackingOff { next: Generation, wait: Duration },
    /// It failed too often or gave up. Final.
    Failed { reason: Arc<str> },
    /// It was stopped. Final.
    Stopped,
}

impl UnitStatus {
    /// Whether it will never start again.
    pub(crate) fn is_final(&self) -> bool {
        match self {
            Self::Failed { .. } | Self::Stopped => true,
            Self::Waiting
            | Self::Starting { .. }
            | Self::Running { .. }
            | Self::Stopping { .. }
            | Self::Halting { .. }
            | Self::BackingOff { .. } => false,
        }
    }

    /// Whether nothing of the unit is alive.
    pub(super) fn is_at_rest(&self) -> bool {
        self.is_final() || matches!(self, Self::Waiting | Self::BackingOff { .. })
    }
}

/// Why a generation is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// One of its actors or tasks, or its start, failed.
    Failed,
    /// The unit was stopped.
    Stopped,
    /// The supervisor above it died or was stopped.
    SupervisorDied,
}

/// A start or a task failed, with the text for reports.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub(crate) struct UnitFailure {
    text: Arc<str>,
}

impl UnitFailure {
    /// A failure that reads as `reason` shows itself.
    pub(crate) fn new(reason: impl fmt::Display) -> Self {
        Self { text: reason.to_string().into() }
    }

    pub(super) fn text(&self) -> Arc<str> {
        Arc::clone(&self.text)
    }
}

impl From<SpawnRefused> for UnitFailure {
    fn from(refused: SpawnRefused) -> Self {
        Self::new(refused)
    }
}

impl Tag {
    /// Stands for the unit itself in reports about its hooks.
    pub(crate) fn unit() -> Self {
        Self::from("unit")
    }
}

impl From<&str> for UnitId {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<&str> for Tag {
    fn from(text: &str) -> Self {
        Self::Named(text.into())
    }
}

impl From<AgentId> for Tag {
    fn from(agent: AgentId) -> Self {
        Self::Agent(agent)
    }
}

impl fmt::Display for UnitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent(agent) => agent.fmt(f),
            Self::Named(name) => f.write_str(name),
        }
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
