//! Work that an executor of the host's does, and the host's own checks.

use std::sync::Arc;
use std::time::Duration;

use kinfolk_actors::agent::{Audited, Key, Outcome};
use kinfolk_actors::id::{AgentId, CallId};

use super::activation::{Activation, Living};
use super::effects::StopSignal;
use crate::ports::executor::{Executor, ExecutorKind, Order, Stop, Task};

/// How long a stopped piece of work of a host's executor may take to come to an outcome.
pub(crate) const HOST_GRACE: Duration = Duration::from_secs(1);

/// Has a host's executor do it. An outcome that the work cannot have is the executor's failure:
/// the agent would refuse it and have the same work done again, without end.
pub(crate) async fn run(
    family: &Activation,
    executor: &dyn Executor,
    (agent, name): (AgentId, Arc<str>),
    task: Task,
    stop: StopSignal,
) -> Outcome {
    let (session, run, kind) = (family.session.clone(), family.run, task.kind());
    let order = Order { session, run, agent, name, task };
    let outcome = executor.run(order, Stop(stop.0)).await;
    if kind.allows(&outcome) {
        return outcome;
    }
    tracing::error!(?kind, ?outcome, "an executor gave an outcome that its work cannot have");
    let message = format!("the executor of {kind:?} gave an outcome that its work cannot have");
    Outcome::Panicked { message: message.into() }
}

/// A check of a call that the policy asks for.
pub(crate) struct Check {
    pub call: CallId,
    pub audit: Arc<str>,
    pub tool: Arc<str>,
    pub arguments: Arc<str>,
}

/// Asks the host's check whether a person has to see a call. That nobody registered one is an
/// answer of its own, which the family's policy judges.
pub(crate) fn check(living: &Living, agent: AgentId, agent_name: Arc<str>, check: Check) {
    let Living { family, generation, scope: _ } = living.clone();
    let key = Key::Audit(check.call);
    let own = Arc::clone(&family);
    let work = move |stop| async move {
        let Check { call, audit, tool, arguments } = check;
        if let Some(executor) = own.executor(&agent_name, ExecutorKind::Audit) {
            let task = Task::Audit { call, audit, tool, arguments };
            return run(&own, &*executor, (agent, agent_name), task, stop).await;
        }
        Outcome::Audited(match own.services.audits.get(&audit) {
            Some(audit) if audit.intervenes(tool, arguments).await => Audited::Intervene,
            Some(_) => Audited::Fine,
            None => Audited::Unregistered,
        })
    };
    let reports = Arc::clone(&family);
    let report = move |outcome| reports.report(generation, agent, key, outcome);
    family.effects.start((agent, key), Duration::ZERO, work, report);
}
