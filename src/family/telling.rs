//! Words of a parent on their way to its subagent.

use std::sync::Arc;
use std::time::Duration;

use kinfolk_actors::agent::{Command, Key, Outcome, Refusal, Steer};
use kinfolk_actors::id::{AgentId, CallId};

use super::activation::Living;

/// Tells a subagent something. Whatever comes of it is the result of the call that says it.
pub(crate) fn start(
    living: &Living,
    agent: AgentId,
    (call, subagent): (CallId, AgentId),
    message: Arc<str>,
) {
    let Living { family, generation, scope: _ } = living.clone();
    let key = Key::Tell(call);
    let own = Arc::clone(&family);
    let work = move |_stop| async move {
        let command = Command::Steer(Steer { text: message, from: Some(call) });
        let refused = match own.send(subagent, Some(generation), command) {
            Ok(answer) => match answer.await {
                Ok(Ok(())) => None,
                Ok(Err(refusal)) => Some(words(subagent, &refusal)),
                // It ended before it read the letter; otherwise this would be over too.
                Err(_) => Some(ended(subagent)),
            },
            Err(not_sent) => Some(match not_sent {
                super::activation::NotSent::Full => format!(
                    "{subagent} has more to read than it can take; wait until it has caught up"
                ),
                super::activation::NotSent::Gone => ended(subagent),
            }),
        };
        Outcome::Told { refused: refused.map(Into::into) }
    };
    let reports = Arc::clone(&family);
    let report = move |outcome| reports.report(generation, agent, key, outcome);
    family.effects.start((agent, key), Duration::ZERO, work, report);
}

fn ended(subagent: AgentId) -> String {
    format!("{subagent} has ended and hears nothing more; its report says how")
}

/// Why a subagent does not take words, for the model that sends them.
fn words(subagent: AgentId, refusal: &Refusal) -> String {
    match refusal {
        Refusal::AtRest => ended(subagent),
        Refusal::AlreadyEnding => format!("{subagent} is ending and hears nothing more"),
        Refusal::Sealed => {
            format!("{subagent} is writing its report and hears nothing more; wait for the report")
        }
        Refusal::TooMuchWaiting(count) => {
            format!("{count} messages wait for {subagent} already; wait until it has read them")
        }
        Refusal::RunActive
        | Refusal::NotALead
        | Refusal::Stale(_)
        | Refusal::Misfit(_)
        | Refusal::AlreadyAnswered(_)
        | Refusal::StaleAnswer(_)
        | Refusal::UnknownAsk(_)
        | Refusal::NotAwaited(_)
        | Refusal::NothingToCompact
        | Refusal::NoSuchTool(_)
        | Refusal::NotInterrupted
        | Refusal::NothingQueued
        | Refusal::HistoryChanged { .. } => format!("{subagent} does not take it: {refusal}"),
    }
}
