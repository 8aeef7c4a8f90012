//! What the one outcome of each piece of work leads to.

mod time;
mod words;

use std::sync::Arc;

use super::draft::Draft;
use super::{
    Audited, CallState, ChildState, Key, Left, Outcome, Phase, Refusal, Timer, Wait, answers, gate,
};
use crate::brain::StepContext;
use crate::call::{CallKind, CallResult, CallStatus, Gate, ProposedCall};
use crate::event::{CallAudited, CallDeferred, Event, ModelFailed};
use crate::failure::{ErrorCode, Failure};
use crate::id::{CallId, RequestNo};
use crate::policy::gate::Audit;
use crate::subagent;
use crate::time::Millis;
use crate::usage::Usage;

use words::{
    call_panicked, call_stopped, lost_child, lost_request, no_time, panicked, stopped_request,
    tool_stopped,
};

type Decided = Result<Vec<Event>, Refusal>;

pub(super) fn settle(draft: Draft<'_>, key: Key, outcome: &Outcome) -> Decided {
    match key {
        Key::Model(request) => model(draft, request, outcome),
        Key::Tool(call) => tool(draft, call, outcome),
        Key::Lease(call) => lease(draft, call, outcome),
        Key::Audit(call) => audit(draft, call, outcome),
        Key::Child(call) => child(draft, call, outcome),
        Key::Tell(call) => tell(draft, call, outcome),
        Key::Summary(n) => summary(draft, n, outcome),
        Key::Timer(timer) => fired(draft, timer, outcome),
    }
}

fn model(mut draft: Draft<'_>, request: RequestNo, outcome: &Outcome) -> Decided {
    let key = Key::Model(request);
    let ending = match &draft.state.phase {
        Phase::Thinking { request: current } if *current == request => false,
        Phase::Ending(closing) if closing.left == Left::Request(request) => true,
        Phase::Resting
        | Phase::Deciding
        | Phase::Thinking { .. }
        | Phase::Acting(_)
        | Phase::Compacting(_)
        | Phase::Asking(_)
        | Phase::Interrupted
        | Phase::Ending(_)
        | Phase::Done(_) => return Err(Refusal::Stale(key)),
    };
    let in_doubt = Usage { model_requests: 1, ..Usage::default() };
    let timed_out = draft.state.run.is_out_of_time();
    let (error, usage, cost) = match outcome {
        Outcome::Replied(reply) if !ending => {
            draft.take_reply(request, reply);
            return Ok(draft.into_events());
        }
        Outcome::Replied(reply) => (stopped_request(), reply.usage, reply.cost),
        Outcome::Gone if ending => (stopped_request(), in_doubt, None),
        Outcome::Gone if timed_out => (no_time(), in_doubt, None),
        Outcome::Gone => (lost_request(), in_doubt, None),
        Outcome::ModelFailed { error, usage, cost } => (error.clone(), *usage, *cost),
        Outcome::Panicked { message } => (panicked("the model request", message), in_doubt, None),
        Outcome::Tool { .. }
        | Outcome::Deferred
        | Outcome::Leased
        | Outcome::Audited(_)
        | Outcome::Child { .. }
        | Outcome::ChildAsks { .. }
        | Outcome::Told { .. }
        | Outcome::Summarised(_)
        | Outcome::Fired => return Err(Refusal::Misfit(key)),
    };
    let stopped_for_time = timed_out && error.code == ErrorCode::LimitTime;
    draft.push(Event::ModelFailed(ModelFailed { request, error: error.clone(), usage, cost }));
    if ending {
        draft.finish_ending();
    } else if stopped_for_time {
        draft.request();
    } else {
        draft.ask_brain(&StepContext::Error { failure: error });
    }
    Ok(draft.into_events())
}

fn tool(mut draft: Draft<'_>, call: CallId, outcome: &Outcome) -> Decided {
    let key = Key::Tool(call);
    let proposed = begun(&draft, call, ProposedCall::is_tool).ok_or(Refusal::Stale(key))?;
    let (result, duration) = match outcome {
        Outcome::Tool { status, text, duration } => {
            (CallResult::new(*status, Arc::clone(text)), *duration)
        }
        Outcome::Deferred if !is_ending(&draft) => {
            draft.push(Event::CallDeferred(CallDeferred { call }));
            draft.advance();
            return Ok(draft.into_events());
        }
        Outcome::Deferred | Outcome::Gone => (tool_stopped(&draft, &proposed), Millis::default()),
        Outcome::Panicked { message } => (call_panicked(message), Millis::default()),
        Outcome::Replied(_)
        | Outcome::ModelFailed { .. }
        | Outcome::Leased
        | Outcome::Audited(_)
        | Outcome::Child { .. }
        | Outcome::ChildAsks { .. }
        | Outcome::Told { .. }
        | Outcome::Summarised(_)
        | Outcome::Fired => return Err(Refusal::Misfit(key)),
    };
    draft.finish_call(call, result, duration);
    draft.heard();
    Ok(draft.into_events())
}

fn lease(mut draft: Draft<'_>, call: CallId, outcome: &Outcome) -> Decided {
    let key = Key::Lease(call);
    let waits = match &draft.state.phase {
        Phase::Acting(turn) => turn.next_change() == Some(call),
        Phase::Resting
        | Phase::Deciding
        | Phase::Thinking { .. }
        | Phase::Compacting(_)
        | Phase::Asking(_)
        | Phase::Interrupted
        | Phase::Ending(_)
        | Phase::Done(_) => false,
    };
    if !waits {
        return Err(Refusal::Stale(key));
    }
    let result = match outcome {
        Outcome::Leased => {
            draft.dispatch_leased(call);
            return Ok(draft.into_events());
        }
        Outcome::Panicked { message } => call_panicked(message),
        Outcome::Gone => call_stopped(&draft),
        Outcome::Replied(_)
        | Outcome::ModelFailed { .. }
        | Outcome::Tool { .. }
        | Outcome::Deferred
        | Outcome::Audited(_)
        | Outcome::Child { .. }
        | Outcome::ChildAsks { .. }
        | Outcome::Told { .. }
        | Outcome::Summarised(_)
        | Outcome::Fired => return Err(Refusal::Misfit(key)),
    };
    draft.finish_call(call, result, Millis::default());
    draft.heard();
    Ok(draft.into_events())
}

fn audit(mut draft: Draft<'_>, call: CallId, outcome: &Outcome) -> Decided {
    let key = Key::Audit(call);
    let entry = draft.state.turn().and_then(|turn| turn.call(call));
    let entry = entry.filter(|entry| entry.state == CallState::Waiting(Wait::Audit));
    let Some(proposed) = entry.map(|entry| entry.proposed.clone()) else {
        return Err(Refusal::Stale(key));
    };
    let answer = match outcome {
        Outcome::Audited(Audited::Fine) => Audit::Answered { intervene: false },
        Outcome::Audited(Audited::Intervene) => Audit::Answered { intervene: true },
        Outcome::Audited(Audited::Unregistered) => Audit::Unregistered,
        // A check that cannot be had must not be a way around it.
        Outcome::Panicked { .. } | Outcome::Gone => Audit::Answered { intervene: true },
        Outcome::Replied(_)
        | Outcome::ModelFailed { .. }
        | Outcome::Tool { .. }
        | Outcome::Deferred
        | Outcome::Leased
        | Outcome::Child { .. }
        | Outcome::ChildAsks { .. }
        | Outcome::Told { .. }
        | Outcome::Summarised(_)
        | Outcome::Fired => return Err(Refusal::Misfit(key)),
    };
    let tool = draft.machine.invocation().tool(&proposed.name);
    let verdict = match tool {
        Some(tool) => gate::gate(draft.machine, tool, &proposed.arguments, answer),
        None => Gate::Ask("nothing is known of its tool any more".into()),
    };
    let intervene = matches!(verdict, Gate::Ask(_));
    draft.push(Event::CallAudited(CallAudited { call, intervene }));
    match verdict {
        Gate::Ask(_) => draft.ask_approval(call),
        Gate::Block(why) => {
            let result = CallResult::new(CallStatus::Blocked, format!("blocked, not run: {why}"));
            draft.finish_call(call, result, Millis::default());
        }
        Gate::Pass | Gate::Audit { .. } => {}
    }
    draft.heard();
    Ok(draft.into_events())
}

fn child(mut draft: Draft<'_>, call: CallId, outcome: &Outcome) -> Decided {
    let key = Key::Child(call);
    let child = draft.state.children.get(&call).filter(|child| child.is_live());
    let child = child.cloned().ok_or(Refusal::Stale(key))?;
    let foreground = draft.state.turn().is_some_and(|turn| {
        turn.dispatched().any(|open| open.call == call && open.kind == CallKind::Subagent)
    });
    let (report, duration) = match outcome {
        Outcome::Child { report, duration } => (report.as_ref().clone(), *duration),
        // Several may be open at once; they are told in the order in which they were asked.
        Outcome::ChildAsks { question, text } if child.asked < Some(*question) => {
            draft.child_asked(call, *question, text);
            return Ok(draft.into_events());
        }
        Outcome::ChildAsks { .. } => return Err(Refusal::Stale(key)),
        Outcome::Panicked { message } => {
            let error = panicked("the subagent", message);
            (subagent::lost(&child.started, error), Millis::default())
        }
        Outcome::Gone if is_ending(&draft) || child.state == ChildState::Stopping => {
            (subagent::stopped(&child.started), Millis::default())
        }
        Outcome::Gone => (subagent::lost(&child.started, lost_child()), Millis::default()),
        Outcome::Replied(_)
        | Outcome::ModelFailed { .. }
        | Outcome::Tool { .. }
        | Outcome::Deferred
        | Outcome::Leased
        | Outcome::Audited(_)
        | Outcome::Told { .. }
        | Outcome::Summarised(_)
        | Outcome::Fired => return Err(Refusal::Misfit(key)),
    };
    if foreground {
        let result = subagent::notice(Some(&child.started), &report);
        draft.finish_call(call, result, duration);
        draft.heard();
    } else {
        draft.child_reported(call, &report);
    }
    Ok(draft.into_events())
}

fn tell(mut draft: Draft<'_>, call: CallId, outcome: &Outcome) -> Decided {
    let key = Key::Tell(call);
    let tells = |proposed: &ProposedCall| proposed.kind == CallKind::Tell;
    begun(&draft, call, tells).ok_or(Refusal::Stale(key))?;
    let result = match outcome {
        Outcome::Told { refused: None } => CallResult::new(CallStatus::Ok, "told"),
        Outcome::Told { refused: Some(why) } => CallResult::new(CallStatus::Error, Arc::clone(why)),
        Outcome::Panicked { message } => call_panicked(message),
        Outcome::Gone => call_stopped(&draft),
        Outcome::Replied(_)
        | Outcome::ModelFailed { .. }
        | Outcome::Tool { .. }
        | Outcome::Deferred
        | Outcome::Leased
        | Outcome::Audited(_)
        | Outcome::Child { .. }
        | Outcome::ChildAsks { .. }
        | Outcome::Summarised(_)
        | Outcome::Fired => return Err(Refusal::Misfit(key)),
    };
    draft.finish_call(call, result, Millis::default());
    draft.heard();
    Ok(draft.into_events())
}

fn summary(mut draft: Draft<'_>, n: u32, outcome: &Outcome) -> Decided {
    let key = Key::Summary(n);
    let awaited = match &draft.state.phase {
        Phase::Compacting(compaction) => compaction.n == n,
        Phase::Ending(closing) => match &closing.left {
            Left::Summary(compaction) => compaction.n == n,
            Left::Nothing | Left::Request(_) | Left::Turn(_) => false,
        },
        Phase::Resting
        | Phase::Deciding
        | Phase::Thinking { .. }
        | Phase::Acting(_)
        | Phase::Asking(_)
        | Phase::Interrupted
        | Phase::Done(_) => false,
    };
    if !awaited {
        return Err(Refusal::Stale(key));
    }
    let failed = |error: Failure| super::Summarised {
        result: Err(error),
        fallback: None,
        cost: None,
        usage: Usage { model_requests: 1, ..Usage::default() },
        duration: Millis::default(),
    };
    let summarised = match outcome {
        Outcome::Summarised(summarised) => summarised.clone(),
        Outcome::Panicked { message } => failed(panicked("the compactor", message)),
        Outcome::Gone => failed(lost_request()),
        Outcome::Replied(_)
        | Outcome::ModelFailed { .. }
        | Outcome::Tool { .. }
        | Outcome::Deferred
        | Outcome::Leased
        | Outcome::Audited(_)
        | Outcome::Child { .. }
        | Outcome::ChildAsks { .. }
        | Outcome::Told { .. }
        | Outcome::Fired => return Err(Refusal::Misfit(key)),
    };
    draft.take_summary(n, &summarised);
    Ok(draft.into_events())
}

fn fired(mut draft: Draft<'_>, timer: Timer, outcome: &Outcome) -> Decided {
    let key = Key::Timer(timer);
    let known = super::outstanding::outstanding(&draft.state).contains_key(&key);
    if !known {
        return Err(Refusal::Stale(key));
    }
    match outcome {
        Outcome::Fired => {}
        // The time is still waited for: the timer is set again.
        Outcome::Gone | Outcome::Panicked { .. } => return Ok(Vec::new()),
        Outcome::Replied(_)
        | Outcome::ModelFailed { .. }
        | Outcome::Tool { .. }
        | Outcome::Deferred
        | Outcome::Leased
        | Outcome::Audited(_)
        | Outcome::Child { .. }
        | Outcome::ChildAsks { .. }
        | Outcome::Told { .. }
        | Outcome::Summarised(_) => return Err(Refusal::Misfit(key)),
    }
    match timer {
        // While everybody waits for people no time is charged, and a timer that was set before
        // comes too early. It is set again.
        Timer::Closing if !draft.is_due(|left| left.to_closing) => {}
        Timer::Deadline if !draft.is_due(|left| left.to_deadline) => {}
        Timer::Closing => draft.time_is_short(),
        Timer::Deadline => draft.time_is_up(),
        Timer::Ask(approval) => answers::expire(&mut draft, approval),
        Timer::Call(call) => {
            let waits = |proposed: &ProposedCall| proposed.kind == CallKind::Wait;
            if let Some(wait) = begun(&draft, call, waits) {
                draft.finish_wait(&wait, CallStatus::Timeout);
                draft.heard();
            }
        }
    }
    Ok(draft.into_events())
}

fn is_ending(draft: &Draft<'_>) -> bool {
    matches!(draft.state.phase, Phase::Ending(_))
}

/// The call, if it is begun, here, and unsettled.
fn begun(
    draft: &Draft<'_>,
    call: CallId,
    fits: impl Fn(&ProposedCall) -> bool,
) -> Option<ProposedCall> {
    let turn = draft.state.turn()?;
    turn.dispatched().find(|entry| entry.call == call && fits(entry)).cloned()
}
