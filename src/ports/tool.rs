//! The port to a tool: validated arguments in, one output out.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::BoxFuture;
use kinfolk_actors::call::CallStatus;
use kinfolk_actors::id::CallId;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

/// The working part of a tool. What it is called and what it may do is in its
/// [`ToolSpec`](kinfolk_actors::family::ToolSpec).
pub trait RunTool: Send + Sync + 'static {
    /// Runs one call. The future may be dropped at any await once `call.cancelled()` has fired and
    /// a grace has passed; what must not be cut in half belongs into a blocking task that watches
    /// the token itself. A panic becomes an error result.
    ///
    /// It must not block its thread: a blocked thread cannot be ended. The call is answered when its
    /// time is up or it is cancelled, but the thread is lost until the future gives it back.
    fn run(&self, call: Call) -> BoxFuture<'static, ToolAnswer>;
}

/// One call of a tool.
#[derive(Clone, Debug)]
pub struct Call {
    id: CallId,
    arguments: Map<String, Value>,
    workspace: Option<Arc<Path>>,
    cancelled: CancellationToken,
}

impl Call {
    /// A call with arguments that fit the tool's schema.
    #[must_use]
    pub fn new(
        id: CallId,
        arguments: Map<String, Value>,
        workspace: Option<Arc<Path>>,
        cancelled: CancellationToken,
    ) -> Self {
        Self { id, arguments, workspace, cancelled }
    }

    /// The call's id. It is the same when an idempotent call runs again after a crash.
    #[must_use]
    pub fn id(&self) -> CallId {
        self.id
    }

    /// The arguments. They fit the tool's schema.
    #[must_use]
    pub fn arguments(&self) -> &Map<String, Value> {
        &self.arguments
    }

    /// The run's workspace directory, if it has one.
    #[must_use]
    pub fn workspace(&self) -> Option<PathBuf> {
        self.workspace.as_deref().map(Path::to_path_buf)
    }

    /// Fires when the call has to end: its run was cancelled or its agent ends.
    #[must_use]
    pub fn cancelled(&self) -> CancellationToken {
        self.cancelled.clone()
    }
}

/// What a run of a tool comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolAnswer {
    /// The call is done.
    Done(ToolOutput),
    /// The result comes later, minutes or days, also after a restart: the host delivers it under
    /// the call's id ([`RunControl::deliver`](crate::RunControl::deliver)). Meanwhile nothing of the run is held
    /// for it.
    Later,
}

impl ToolAnswer {
    /// The result comes later; see [`ToolAnswer::Later`].
    #[must_use]
    pub fn later() -> Self {
        Self::Later
    }
}

impl From<ToolOutput> for ToolAnswer {
    fn from(output: ToolOutput) -> Self {
        Self::Done(output)
    }
}

/// What a tool says. Text over the cap of a result is cut later, with a mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOutput {
    /// How the call ended.
    pub status: CallStatus,
    /// What the model reads.
    pub text: Arc<str>,
}

impl ToolOutput {
    /// A success.
    #[must_use]
    pub fn ok(text: impl Into<Arc<str>>) -> Self {
        Self { status: CallStatus::Ok, text: text.into() }
    }

    /// A failure that the model can read and act on.
    #[must_use]
    pub fn error(text: impl Into<Arc<str>>) -> Self {
        Self { status: CallStatus::Error, text: text.into() }
    }
}
