//! The family's tool executor: one call, from its lease to its outcome.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kinfolk_actors::agent::{Key, Outcome};
use kinfolk_actors::id::{AgentId, CallId};
use kinfolk_actors::time::Millis;

use super::activation::{Activation, Living};
use super::effects::StopSignal;
use super::on_demand::{Desk, Job};
use super::ordering;
use crate::ports::executor::{ExecutorKind, Task};
use crate::ports::tool::ToolAnswer;
use crate::tools::toolbox::{Dispatch, Ran};

/// How long a stopped tool call may take to come to an outcome of its own: the toolbox's grace and
/// the kill of a command's processes, with room to spare. After it the call is dropped.
const TOOL_GRACE: Duration = Duration::from_secs(5);

/// One call to run.
pub(crate) struct ToolJob {
    pub agent: AgentId,
    /// `lead`, or the subagent's name.
    pub agent_name: Arc<str>,
    pub call: CallId,
    pub name: Arc<str>,
    pub arguments: Arc<str>,
}

impl Job for ToolJob {
    const ACTOR: &'static str = "tools";

    fn desk(family: &Activation) -> &Desk<Self> {
        &family.jobs
    }

    fn begin(self, living: &Living, done: impl FnOnce() + Send + 'static) {
        let Living { family, generation, scope: _ } = living.clone();
        let (agent, call) = (self.agent, self.call);
        let own = Arc::clone(&family);
        let work = move |stop: StopSignal| self.run(own, stop);
        let effects = Arc::clone(&family.effects);
        effects.start((agent, Key::Tool(call)), TOOL_GRACE, work, move |outcome| {
            family.report(generation, agent, Key::Tool(call), outcome);
            done();
        });
    }
}

impl ToolJob {
    async fn run(self, family: Arc<Activation>, stop: StopSignal) -> Outcome {
        let workspace: Option<Arc<Path>> =
            family.frozen.family.workspace.as_deref().map(Path::new).map(Arc::from);
        if family.changes(&self.name) {
            // A call that runs again after a restart has lost its lease with the generation.
            let leases = &family.services.leases;
            let leased = family.held.acquire(self.call, leases, workspace.as_deref());
            if stop.0.run_until_cancelled(leased).await.is_none() {
                return Outcome::Gone;
            }
        }
        let Self { agent, agent_name, call, name, arguments } = self;
        if let Some(executor) = family.executor(&agent_name, ExecutorKind::Tool) {
            let task = Task::Tool { call, tool: name, arguments, workspace };
            return ordering::run(&family, &*executor, (agent, agent_name), task, stop).await;
        }
        let (name, arguments) = (&*name, &*arguments);
        let dispatch = Dispatch { name, call, arguments, workspace, cancelled: stop.0 };
        let Ran { answer, duration } = family.frozen.toolbox.run(dispatch).await;
        match answer {
            ToolAnswer::Done(output) => Outcome::Tool {
                status: output.status,
                text: output.text,
                duration: Millis::from(duration),
            },
            ToolAnswer::Later => Outcome::Deferred,
        }
    }
}
