//! The port to what carries out an agent's work, for hosts that do it another way than the
//! built-in executors: a model behind a queue, tools in a sandbox, a summary by other means.
//!
//! There are three levels, each over the one before: the built-in executors, those of the runtime
//! ([`RuntimeBuilder::executor`](crate::RuntimeBuilder::executor)), and those of a family's agent
//! ([`Family::executor`](crate::Family::executor)). Every call of a batch is work of its own, so
//! that who replaces the tool executor has replaced it for batches too. Work that a client does
//! has no executor: its result is delivered ([`RunControl::deliver`](crate::RunControl::deliver)).

use std::path::Path;
use std::sync::Arc;

use futures::future::BoxFuture;
use kinfolk_actors::agent::Outcome;
use kinfolk_actors::context::ModelRequest;
use kinfolk_actors::id::{AgentId, CallId, RequestNo, RunId, SessionId};
use tokio_util::sync::CancellationToken;

/// Carries out work of one kind or several.
pub trait Executor: Send + Sync + 'static {
    /// Does one piece of work to its one outcome. The outcome has to be one of the work's kind;
    /// another one counts as a failure of the executor, as does a panic.
    ///
    /// When `stop` fires the future has a short grace to come to an outcome; then it is dropped.
    /// It may be dropped at any await without `stop`, when the process or the family goes down: the
    /// work is ordered again by the next activation, if it may run twice.
    fn run(&self, order: Order, stop: Stop) -> BoxFuture<'static, Outcome>;
}

/// The kinds of work that have an executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ExecutorKind {
    /// Model requests.
    Model,
    /// Runs of tools.
    Tool,
    /// Checks of the host whether a person has to see a call.
    Audit,
    /// Summaries of histories.
    Summary,
}

/// One piece of work.
#[derive(Clone, Debug)]
pub struct Order {
    /// The session.
    pub session: SessionId,
    /// The run.
    pub run: RunId,
    /// Whose work it is.
    pub agent: AgentId,
    /// `lead`, or the subagent's name.
    pub name: Arc<str>,
    /// What has to be done.
    pub task: Task,
}

/// What has to be done.
#[derive(Clone, Debug)]
pub enum Task {
    /// Ask the model: [`Outcome::Replied`] or [`Outcome::ModelFailed`].
    Model {
        /// Which of the agent's requests of the run it is.
        number: RequestNo,
        /// What to ask.
        request: Box<ModelRequest>,
    },
    /// Run a tool: [`Outcome::Tool`] or [`Outcome::Deferred`].
    Tool {
        /// The call. It is the same when an idempotent call runs again after a crash.
        call: CallId,
        /// The tool.
        tool: Arc<str>,
        /// Its arguments as the model wrote them.
        arguments: Arc<str>,
        /// The run's workspace directory, if it has one. Its lease is held for a changing tool.
        workspace: Option<Arc<Path>>,
    },
    /// Say whether a person has to see a call: [`Outcome::Audited`].
    Audit {
        /// The call.
        call: CallId,
        /// The check's name.
        audit: Arc<str>,
        /// The tool.
        tool: Arc<str>,
        /// Its arguments as the model wrote them.
        arguments: Arc<str>,
    },
    /// Write the summary of a history: [`Outcome::Summarised`].
    Summary {
        /// Which of the agent's compactions of the run it is.
        n: u32,
        /// The model that should write it, `provider:name`.
        model: Arc<str>,
        /// The agent's next request, whose history is to be summarised.
        request: Box<ModelRequest>,
        /// The most output tokens that it may take: what the agent's limits have set aside for it.
        max_output: u64,
    },
}

impl Task {
    /// The kind of the executor that does it.
    #[must_use]
    pub fn kind(&self) -> ExecutorKind {
        match self {
            Self::Model { .. } => ExecutorKind::Model,
            Self::Tool { .. } => ExecutorKind::Tool,
            Self::Audit { .. } => ExecutorKind::Audit,
            Self::Summary { .. } => ExecutorKind::Summary,
        }
    }
}

impl ExecutorKind {
    /// Whether an outcome is one that work of this kind can have.
    pub(crate) fn allows(self, outcome: &Outcome) -> bool {
        match outcome {
            Outcome::Replied(_) | Outcome::ModelFailed { .. } => self == Self::Model,
            Outcome::Tool { .. } | Outcome::Deferred => self == Self::Tool,
            Outcome::Audited(_) => self == Self::Audit,
            Outcome::Summarised(_) => self == Self::Summary,
            Outcome::Panicked { .. } | Outcome::Gone => true,
            Outcome::Leased
            | Outcome::Child { .. }
            | Outcome::ChildAsks { .. }
            | Outcome::Told { .. }
            | Outcome::Fired => false,
        }
    }
}

/// Tells an executor that its work has to end.
#[derive(Clone, Debug)]
pub struct Stop(pub(crate) CancellationToken);

impl Stop {
    /// Waits until the work has to end. Cancel-safe.
    pub async fn stopped(&self) {
        self.0.cancelled().await;
    }

    /// Whether the work has to end.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.0.is_cancelled()
    }
}
