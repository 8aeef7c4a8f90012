//! What must be going on, read from the state alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{
    About, AgentState, CallState, ChildState, Compaction, Key, Left, Phase, RunStanding, Timer,
    Turn, TurnCall, Wait, Work, arguments,
};
use crate::call::{CallKind, Gate};
use crate::id::RequestNo;
use crate::machine::Demand;

type Demands = BTreeMap<Key, Demand<Work>>;
type Wish = fn(Work) -> Demand<Work>;

pub(super) fn outstanding(state: &AgentState) -> Demands {
    let mut demands = Demands::new();
    let ending = matches!(state.phase, Phase::Ending(_));
    match &state.phase {
        Phase::Resting | Phase::Deciding | Phase::Asking(_) | Phase::Interrupted => {}
        // A report may have been made while subagents in the background are still being ended.
        Phase::Done(_) => return demands,
        Phase::Thinking { request } => request_demand(&mut demands, *request, in_time(state)),
        Phase::Acting(turn) => acting(&mut demands, state, turn),
        Phase::Compacting(compaction) => {
            summary_demand(&mut demands, *compaction, in_time(state));
        }
        Phase::Ending(closing) => match &closing.left {
            Left::Nothing => {}
            Left::Request(request) => request_demand(&mut demands, *request, Demand::Stop),
            Left::Turn(turn) => call_demands(&mut demands, turn, Demand::Stop),
            Left::Summary(compaction) => {
                summary_demand(&mut demands, *compaction, Demand::Stop);
            }
        },
    }
    child_demands(&mut demands, state, ending);
    timer_demands(&mut demands, state, ending);
    demands
}

/// Once the family's time is nearly used up, what is in flight makes room for the closing turn.
fn in_time(state: &AgentState) -> Wish {
    let is_over = state.run.is_out_of_time() && !state.run.closing;
    if is_over { Demand::Stop } else { Demand::Run }
}

fn acting(demands: &mut Demands, state: &AgentState, turn: &Turn) {
    let wish = in_time(state);
    call_demands(demands, turn, wish);
    if let Some(call) = turn.next_change() {
        demands.insert(Key::Lease(call), wish(Work::Lease { call }));
    }
    for entry in turn.calls.iter().filter(|entry| entry.state == CallState::Waiting(Wait::Audit)) {
        if let Some((key, work)) = audit(entry) {
            demands.insert(key, wish(work));
        }
    }
}

fn audit(entry: &TurnCall) -> Option<(Key, Work)> {
    let call = entry.proposed.call;
    let Gate::Audit { audit, default: _ } = &entry.proposed.gate else { return None };
    let work = Work::Audit {
        call,
        audit: Arc::clone(audit),
        name: Arc::clone(&entry.proposed.name),
        arguments: Arc::clone(&entry.proposed.arguments),
    };
    Some((Key::Audit(call), work))
}

fn request_demand(demands: &mut Demands, request: RequestNo, wish: Wish) {
    demands.insert(Key::Model(request), wish(Work::Model { request }));
}

fn summary_demand(demands: &mut Demands, compaction: Compaction, wish: Wish) {
    let n = compaction.n;
    demands.insert(Key::Summary(n), wish(Work::Summary { n }));
}

fn call_demands(demands: &mut Demands, turn: &Turn, wish: Wish) {
    for call in turn.dispatched() {
        let (name, arguments) = (Arc::clone(&call.name), Arc::clone(&call.arguments));
        let call_id = call.call;
        let work = match call.kind {
            CallKind::Tool(_) => {
                (Key::Tool(call_id), Work::Tool { call: call_id, name, arguments })
            }
            CallKind::Tell => {
                let Ok(tell) = arguments::read::<arguments::Tell>(&name, &arguments) else {
                    continue;
                };
                let (subagent, message) = (tell.subagent, tell.message);
                (Key::Tell(call_id), Work::Tell { call: call_id, subagent, message })
            }
            CallKind::Wait => {
                let entry = turn.call(call_id);
                let Some(at) = entry.and_then(|entry| entry.deadline) else { continue };
                let timer = Timer::Call(call_id);
                let work = wish(Work::Timer { timer, at: Some(at) });
                // A wait that is to end waits for the subagents that are being stopped.
                if let Demand::Run(_) = work {
                    demands.insert(Key::Timer(timer), work);
                }
                continue;
            }
            CallKind::Client(_)
            | CallKind::Subagent
            | CallKind::ClientSubagent
            | CallKind::Spawn
            | CallKind::Stop
            | CallKind::AskUser
            | CallKind::AskParent
            | CallKind::Return
            | CallKind::Invalid => continue,
        };
        demands.insert(work.0, wish(work.1));
    }
}

fn child_demands(demands: &mut Demands, state: &AgentState, ending: bool) {
    for (call, child) in &state.children {
        let wish: Wish = match child.state {
            ChildState::Live if !ending => in_time(state),
            ChildState::Live | ChildState::Stopping => Demand::Stop,
            ChildState::Reported { .. } => continue,
        };
        let started = Box::new(child.started.clone());
        demands.insert(Key::Child(*call), wish(Work::Child { started }));
    }
}

/// Timers run while an agent is at work; one that ends has no time left to wait for.
fn timer_demands(demands: &mut Demands, state: &AgentState, ending: bool) {
    if ending {
        return;
    }
    for (id, ask) in state.open_asks() {
        if let (Some(at), About::Call(_) | About::Limit(_)) = (ask.deadline, &ask.about) {
            let timer = Timer::Ask(id);
            let work = Work::Timer { timer, at: Some(at) };
            demands.insert(Key::Timer(timer), Demand::Run(work));
        }
    }
    // A run that is parked holds no timer of its own: it is charged no time.
    let rests = state.standing().is_none_or(RunStanding::is_blocked);
    for timer in state.run.timers() {
        if state.is_active() && !rests {
            demands.insert(Key::Timer(timer), Demand::Run(Work::Timer { timer, at: None }));
        }
    }
}
