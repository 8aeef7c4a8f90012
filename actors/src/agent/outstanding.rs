//! What must be going on, read from the state alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{AgentState, Child, Key, Left, Phase, Turn, Work};
use crate::call::{CallKind, ProposedCall};
use crate::id::{CallId, RequestNo};
use crate::machine::Demand;

type Demands = BTreeMap<Key, Demand<Work>>;

pub(super) fn outstanding(state: &AgentState) -> Demands {
    match &state.phase {
        Phase::Resting | Phase::Deciding | Phase::Done(_) => Demands::new(),
        Phase::Thinking { request } => request_demand(*request, Demand::Run),
        Phase::Acting(turn) => {
            let mut demands = call_demands(turn, &state.children, Demand::Run);
            if let Some(call) = turn.next_change() {
                demands.insert(Key::Lease(call), Demand::Run(Work::Lease { call }));
            }
            demands
        }
        Phase::Ending(closing) => match &closing.left {
            Left::Nothing => Demands::new(),
            Left::Request(request) => request_demand(*request, Demand::Stop),
            Left::Turn(turn) => call_demands(turn, &state.children, Demand::Stop),
        },
    }
}

fn request_demand(request: RequestNo, demand: fn(Work) -> Demand<Work>) -> Demands {
    Demands::from([(Key::Model(request), demand(Work::Model { request }))])
}

fn call_demands(
    turn: &Turn,
    children: &BTreeMap<CallId, Child>,
    demand: fn(Work) -> Demand<Work>,
) -> Demands {
    let work = |call: &ProposedCall| match call.kind {
        CallKind::Tool(_) => Some((
            Key::Tool(call.call),
            Work::Tool {
                call: call.call,
                name: Arc::clone(&call.name),
                arguments: Arc::clone(&call.arguments),
            },
        )),
        CallKind::Subagent => children.get(&call.call).map(|child| {
            (Key::Child(call.call), Work::Child { started: Box::new(child.started.clone()) })
        }),
        CallKind::Invalid => None,
    };
    turn.dispatched().filter_map(work).map(|(key, work)| (key, demand(work))).collect()
}
