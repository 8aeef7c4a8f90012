//! Which command, in which phase, leads to what.

use std::sync::Arc;

use super::draft::Draft;
use super::{AgentMachine, AgentState, Command, Key, Left, Outcome, Phase, Refusal, Turn};
use super::{ending, recovery};
use crate::brain::StepContext;
use crate::budget::Facts;
use crate::call::{CallKind, CallResult, CallStatus, EffectClass, ProposedCall};
use crate::event::{Event, ModelFailed, ToolStarted};
use crate::failure::{ErrorCode, Failure};
use crate::id::{CallId, RequestNo};
use crate::time::Millis;
use crate::usage::Usage;
use crate::{lead, subagent};

pub(super) fn decide(
    machine: &AgentMachine,
    state: &AgentState,
    command: &Command,
    facts: &Facts,
) -> Result<Vec<Event>, Refusal> {
    let draft = Draft::new(machine, state, facts);
    match command {
        Command::Start(start) => lead::start(draft, start),
        Command::Recovered(recovered) => Ok(recovery::recover(draft, recovered)),
        Command::Cancel { reason } => ending::cancel(draft, &super::cancelled(reason)),
        Command::Settle { key, outcome } => match *key {
            Key::Model(request) => settle_model(draft, request, outcome),
            Key::Tool(call) => settle_tool(draft, call, outcome),
            Key::Lease(call) => settle_lease(draft, call, outcome),
            Key::Child(call) => settle_child(draft, call, outcome),
        },
    }
}

fn settle_model(
    mut draft: Draft<'_>,
    request: RequestNo,
    outcome: &Outcome,
) -> Result<Vec<Event>, Refusal> {
    let key = Key::Model(request);
    let ending = match &draft.state.phase {
        Phase::Thinking { request: current } if *current == request => false,
        Phase::Ending(closing) if closing.left == Left::Request(request) => true,
        Phase::Resting
        | Phase::Deciding
        | Phase::Thinking { .. }
        | Phase::Acting(_)
        | Phase::Ending(_)
        | Phase::Done(_) => return Err(Refusal::Stale(key)),
    };
    let (error, usage) = match outcome {
        Outcome::Replied(reply) if !ending => {
            draft.take_reply(request, reply);
            return Ok(draft.into_events());
        }
        Outcome::Replied(reply) => (stopped_request(), reply.usage),
        Outcome::Gone if ending => (stopped_request(), IN_DOUBT),
        Outcome::Gone => (lost_request(), IN_DOUBT),
        Outcome::ModelFailed { error, usage } => (error.clone(), *usage),
        Outcome::Panicked { message } => (panicked("the model request", message), IN_DOUBT),
        Outcome::Tool { .. } | Outcome::Leased | Outcome::Child { .. } => {
            return Err(Refusal::Misfit(key));
        }
    };
    draft.push(Event::ModelFailed(ModelFailed { request, error: error.clone(), usage }));
    if ending {
        draft.finish_ending();
    } else {
        draft.ask_brain(&StepContext::Error(error), None);
    }
    Ok(draft.into_events())
}

fn settle_tool(draft: Draft<'_>, call: CallId, outcome: &Outcome) -> Result<Vec<Event>, Refusal> {
    let key = Key::Tool(call);
    let open = open_turn(&draft, call, ProposedCall::is_tool).ok_or(Refusal::Stale(key))?;
    let (result, duration) = match outcome {
        Outcome::Tool { status, text, duration } => {
            (CallResult::new(*status, Arc::clone(text)), *duration)
        }
        Outcome::Panicked { message } => (call_panicked(message), Millis::default()),
        Outcome::Gone => (tool_stopped(&open, call), Millis::default()),
        Outcome::Replied(_)
        | Outcome::ModelFailed { .. }
        | Outcome::Leased
        | Outcome::Child { .. } => {
            return Err(Refusal::Misfit(key));
        }
    };
    Ok(settle_call(draft, open, call, result, duration))
}

fn settle_child(draft: Draft<'_>, call: CallId, outcome: &Outcome) -> Result<Vec<Event>, Refusal> {
    let key = Key::Child(call);
    let open = open_turn(&draft, call, is_subagent).ok_or(Refusal::Stale(key))?;
    let (result, took) = match outcome {
        Outcome::Child { report, duration } => {
            let started = draft.state.children.get(&call).map(|child| &child.started);
            (subagent::notice(started, report), *duration)
        }
        Outcome::Panicked { message } => (call_panicked(message), Millis::default()),
        Outcome::Gone => (call_stopped(open.ending), Millis::default()),
        Outcome::Replied(_)
        | Outcome::ModelFailed { .. }
        | Outcome::Tool { .. }
        | Outcome::Leased => return Err(Refusal::Misfit(key)),
    };
    Ok(settle_call(draft, open, call, result, took))
}

fn settle_lease(
    mut draft: Draft<'_>,
    call: CallId,
    outcome: &Outcome,
) -> Result<Vec<Event>, Refusal> {
    let key = Key::Lease(call);
    let Phase::Acting(turn) = &draft.state.phase else { return Err(Refusal::Stale(key)) };
    let next = turn.call(call).filter(|_| turn.next_change() == Some(call));
    let proposed = next.map(|entry| entry.proposed.clone()).ok_or(Refusal::Stale(key))?;
    match outcome {
        Outcome::Leased => {
            draft.push(Event::ToolStarted(ToolStarted {
                call,
                name: proposed.name,
                arguments: proposed.arguments,
            }));
            Ok(draft.into_events())
        }
        Outcome::Panicked { message } => {
            let (open, result) = (Open::acting(turn), call_panicked(message));
            Ok(settle_call(draft, open, call, result, Millis::default()))
        }
        Outcome::Gone => {
            let (open, result) = (Open::acting(turn), call_stopped(false));
            Ok(settle_call(draft, open, call, result, Millis::default()))
        }
        Outcome::Replied(_)
        | Outcome::ModelFailed { .. }
        | Outcome::Tool { .. }
        | Outcome::Child { .. } => Err(Refusal::Misfit(key)),
    }
}

fn is_subagent(call: &ProposedCall) -> bool {
    call.kind == CallKind::Subagent
}

/// A turn with calls in flight, and whether its agent is ending.
struct Open {
    turn: Turn,
    ending: bool,
}

impl Open {
    fn acting(turn: &Turn) -> Self {
        Self { turn: turn.clone(), ending: false }
    }
}

/// The turn in which a call of that kind is dispatched and unsettled.
fn open_turn(draft: &Draft<'_>, call: CallId, fits: fn(&ProposedCall) -> bool) -> Option<Open> {
    let (turn, ending) = match &draft.state.phase {
        Phase::Acting(turn) => (turn, false),
        Phase::Ending(closing) => match &closing.left {
            Left::Turn(turn) => (turn, true),
            Left::Nothing | Left::Request(_) => return None,
        },
        Phase::Resting | Phase::Deciding | Phase::Thinking { .. } | Phase::Done(_) => return None,
    };
    let running = turn.dispatched().any(|entry| entry.call == call && fits(entry));
    running.then(|| Open { turn: turn.clone(), ending })
}

/// Records a result; then goes on with what became possible, or ends if that was awaited.
fn settle_call(
    mut draft: Draft<'_>,
    open: Open,
    call: CallId,
    result: CallResult,
    duration: Millis,
) -> Vec<Event> {
    let Open { mut turn, ending } = open;
    draft.finish_call(&mut turn, call, result, duration);
    match (ending, turn.is_settled()) {
        (true, true) => draft.finish_ending(),
        (true, false) => {}
        (false, true) => draft.ask_brain(&StepContext::ToolsBatchResult, Some(turn)),
        (false, false) => draft.go_on(Some(turn)),
    }
    draft.into_events()
}

fn call_panicked(message: &str) -> CallResult {
    CallResult::new(CallStatus::Error, format!("the tool failed inside: {message}"))
}

/// A change that was stopped in the middle may have happened; the model has to be told.
fn tool_stopped(open: &Open, call: CallId) -> CallResult {
    let effect = open.turn.call(call).and_then(|entry| entry.proposed.effect());
    let CallResult { status, text, full_size } = call_stopped(open.ending);
    if effect.is_none_or(EffectClass::may_run_again) {
        return CallResult { status, text, full_size };
    }
    CallResult::new(status, format!("{text}; whether it happened is not known"))
}

fn call_stopped(ending: bool) -> CallResult {
    if ending {
        CallResult::new(CallStatus::Cancelled, "cancelled before it was done")
    } else {
        CallResult::new(CallStatus::Error, "the call was stopped before it was done")
    }
}

/// What a request without an answer has used: it may have reached the provider, so it counts; its
/// tokens are not known.
const IN_DOUBT: Usage = Usage {
    model_requests: 1,
    turns: 0,
    tool_calls: 0,
    input_tokens: 0,
    output_tokens: 0,
    cached_input_tokens: 0,
    reasoning_tokens: 0,
};

fn stopped_request() -> Failure {
    Failure::new(ErrorCode::ModelCancelled, "the request was stopped because its agent ends")
}

fn lost_request() -> Failure {
    Failure::new(ErrorCode::ServiceDown, "the model request was lost; start the run again")
}

fn panicked(what: &str, message: &str) -> Failure {
    Failure::new(ErrorCode::EffectPanicked, format!("{what} failed inside: {message}"))
}
