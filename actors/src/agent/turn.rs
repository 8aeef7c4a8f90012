//! The calls of one reply, each on its way to one result, and the order in which they may run.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::call::{CallKind, CallResult, EffectClass, Gate, ProposedCall};
use crate::event::Reply;
use crate::id::{AskId, CallId};
use crate::time::Timestamp;
use crate::transcript::{Said, SettledTurn};

/// How many read-only calls of one turn run at once: enough to hide the latency of most of them,
/// and few enough that a family does not take all of a machine.
pub const MAX_PARALLEL_READS: usize = 8;

/// The longest tool name that every provider takes back, in bytes.
const MAX_NAME: usize = 64;

/// A reply with calls that are not all settled yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// What was said with the calls.
    pub said: Said,
    /// The calls, in the model's order.
    pub calls: Vec<TurnCall>,
}

/// One call of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnCall {
    /// The call as proposed.
    pub proposed: ProposedCall,
    /// Where it stands.
    pub state: CallState,
    /// When it gives up by itself, for a call that only waits.
    pub deadline: Option<Timestamp>,
}

/// Where a call stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum CallState {
    /// Not begun: its turn has not come.
    Proposed,
    /// Not begun: somebody has to say something first.
    Waiting(Wait),
    /// Begun: its effect may have happened.
    Dispatched,
    /// Begun, and answered from outside.
    Deferred,
    /// Ended.
    Settled(CallResult),
}

/// What a call waits for before it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Wait {
    /// The host's check.
    Audit,
    /// A person's answer, or the parent's.
    Person(AskId),
}

impl Turn {
    /// The turn of a reply, nothing begun.
    #[must_use]
    pub fn new(reply: &Reply) -> Self {
        let proposed = |call: &ProposedCall| {
            let state = match call.gate {
                Gate::Audit { .. } => CallState::Waiting(Wait::Audit),
                Gate::Pass | Gate::Ask(_) | Gate::Block(_) => CallState::Proposed,
            };
            TurnCall { proposed: call.clone(), state, deadline: None }
        };
        Self { said: Said::from(reply), calls: reply.calls.iter().map(proposed).collect() }
    }

    /// The call of that id.
    #[must_use]
    pub fn call(&self, call: CallId) -> Option<&TurnCall> {
        self.calls.iter().find(|entry| entry.proposed.call == call)
    }

    /// Marks a call as begun. One that the host runs is answered from outside.
    pub fn dispatch(&mut self, call: CallId, deadline: Option<Timestamp>) {
        if let Some(entry) = self.entry(call) {
            entry.deadline = deadline;
            entry.state = match entry.proposed.kind {
                CallKind::Client(_) | CallKind::ClientSubagent => CallState::Deferred,
                CallKind::Tool(_)
                | CallKind::Subagent
                | CallKind::Spawn
                | CallKind::Wait
                | CallKind::Tell
                | CallKind::Stop
                | CallKind::AskUser
                | CallKind::AskParent
                | CallKind::Return
                | CallKind::Invalid => CallState::Dispatched,
            };
        }
    }

    /// Has a call wait, or wait no more. A settled one stays settled.
    pub fn set_state(&mut self, call: CallId, state: CallState) {
        if let Some(entry) = self.entry(call).filter(|entry| !entry.is_settled()) {
            entry.state = state;
        }
    }

    /// Gives a call its result. The first one stands.
    pub fn settle(&mut self, call: CallId, result: CallResult) {
        self.set_state(call, CallState::Settled(result));
    }

    fn entry(&mut self, call: CallId) -> Option<&mut TurnCall> {
        self.calls.iter_mut().find(|entry| entry.proposed.call == call)
    }

    /// Whether every call has its result.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.calls.iter().all(TurnCall::is_settled)
    }

    /// The settled turn, or the turn back if a call has no result yet.
    ///
    /// # Errors
    /// The turn itself, unchanged.
    pub fn into_settled(self) -> Result<SettledTurn, Self> {
        if !self.is_settled() {
            return Err(self);
        }
        let pair = |entry: TurnCall| match entry.state {
            CallState::Settled(result) => Some((entry.proposed, result)),
            CallState::Proposed
            | CallState::Waiting(_)
            | CallState::Dispatched
            | CallState::Deferred => None,
        };
        Ok(SettledTurn {
            said: self.said,
            calls: self.calls.into_iter().filter_map(pair).collect(),
        })
    }

    /// Calls that are begun, here, and not ended.
    pub fn dispatched(&self) -> impl Iterator<Item = &ProposedCall> {
        self.in_state(|state| *state == CallState::Dispatched)
    }

    /// Calls whose turn has not come.
    pub fn proposed(&self) -> impl Iterator<Item = &ProposedCall> {
        self.in_state(|state| *state == CallState::Proposed)
    }

    /// Calls that have not begun: nothing of them can have happened.
    pub fn unbegun(&self) -> impl Iterator<Item = &ProposedCall> {
        self.in_state(|state| match state {
            CallState::Proposed | CallState::Waiting(_) => true,
            CallState::Dispatched | CallState::Deferred | CallState::Settled(_) => false,
        })
    }

    /// Calls that are answered from outside.
    pub fn deferred(&self) -> impl Iterator<Item = &ProposedCall> {
        self.in_state(|state| *state == CallState::Deferred)
    }

    fn in_state(&self, wanted: fn(&CallState) -> bool) -> impl Iterator<Item = &ProposedCall> {
        self.calls.iter().filter(move |entry| wanted(&entry.state)).map(|entry| &entry.proposed)
    }

    /// The read-only calls that may begin now: nothing that changes anything stands before them
    /// with its turn to come, and there is room. A call that waits for a person, or is answered
    /// from outside, holds nobody back.
    #[must_use]
    pub fn ready_reads(&self) -> Vec<CallId> {
        if self.changes() {
            return Vec::new();
        }
        let running = self.dispatched().filter(|call| call.is_tool()).count();
        let passes = |entry: &&TurnCall| {
            !entry.is_coming() || entry.proposed.kind == CallKind::Tool(EffectClass::ReadOnly)
        };
        self.tools()
            .take_while(passes)
            .filter(|entry| entry.state == CallState::Proposed)
            .map(|entry| entry.proposed.call)
            .take(MAX_PARALLEL_READS.saturating_sub(running))
            .collect()
    }

    /// The changing call whose turn has come: everything before it is settled or holds nobody
    /// back, no tool runs, and it waits only for the workspace's lease.
    #[must_use]
    pub fn next_change(&self) -> Option<CallId> {
        if self.dispatched().any(ProposedCall::is_tool) {
            return None;
        }
        let next = self.tools().find(|entry| entry.is_coming())?;
        let changes = next.proposed.kind != CallKind::Tool(EffectClass::ReadOnly);
        (changes && next.state == CallState::Proposed).then_some(next.proposed.call)
    }

    /// The next call beside the tools that may begin now. Subagents come after the tools; a
    /// subagent's own return, after everything.
    #[must_use]
    pub fn next_other(&self, has_room: bool) -> Option<&ProposedCall> {
        let tools_done = !self.tools().any(TurnCall::is_coming);
        let alone = |call: &ProposedCall| {
            self.calls.iter().all(|entry| entry.proposed.call == call.call || entry.is_settled())
        };
        self.proposed().find(|call| match call.kind {
            CallKind::Client(_) | CallKind::AskUser | CallKind::AskParent => true,
            CallKind::Subagent => tools_done && has_room,
            CallKind::ClientSubagent
            | CallKind::Spawn
            | CallKind::Wait
            | CallKind::Tell
            | CallKind::Stop => tools_done,
            CallKind::Return => alone(call),
            CallKind::Tool(_) | CallKind::Invalid => false,
        })
    }

    /// Whether a tool that changes things runs.
    fn changes(&self) -> bool {
        self.dispatched()
            .any(|call| call.is_tool() && call.kind != CallKind::Tool(EffectClass::ReadOnly))
    }

    fn tools(&self) -> impl Iterator<Item = &TurnCall> {
        self.calls.iter().filter(|entry| entry.proposed.is_tool())
    }
}

impl TurnCall {
    /// Whether the call has its result.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        matches!(self.state, CallState::Settled(_))
    }

    /// Whether its turn is still to come, or it runs here: what stands behind it may have to wait.
    #[must_use]
    pub fn is_coming(&self) -> bool {
        match self.state {
            CallState::Proposed | CallState::Dispatched => true,
            CallState::Waiting(_) | CallState::Deferred | CallState::Settled(_) => false,
        }
    }
}

impl ProposedCall {
    /// Whether it runs a tool of the agent, here.
    #[must_use]
    pub fn is_tool(&self) -> bool {
        matches!(self.kind, CallKind::Tool(_))
    }

    /// Its effect class, if it runs a tool.
    #[must_use]
    pub fn effect(&self) -> Option<EffectClass> {
        match self.kind {
            CallKind::Tool(effect) | CallKind::Client(effect) => Some(effect),
            CallKind::Subagent
            | CallKind::ClientSubagent
            | CallKind::Spawn
            | CallKind::Wait
            | CallKind::Tell
            | CallKind::Stop
            | CallKind::AskUser
            | CallKind::AskParent
            | CallKind::Return
            | CallKind::Invalid => None,
        }
    }

    /// The arguments as they go back to a model: always valid JSON. Text that is not is wrapped,
    /// never repaired.
    #[must_use]
    pub fn arguments_for_wire(&self) -> Arc<str> {
        // What can run was read when it was proposed; reading it again for every request would cost
        // the whole history each time.
        let readable = match self.kind {
            CallKind::Tool(_)
            | CallKind::Client(_)
            | CallKind::Subagent
            | CallKind::ClientSubagent
            | CallKind::Spawn
            | CallKind::Wait
            | CallKind::Tell
            | CallKind::Stop
            | CallKind::AskUser
            | CallKind::AskParent
            | CallKind::Return => true,
            CallKind::Invalid => crate::call::read_arguments(&self.arguments).is_ok(),
        };
        if readable {
            return Arc::clone(&self.arguments);
        }
        serde_json::json!({ "unreadable_arguments": *self.arguments }).to_string().into()
    }

    /// The name as it goes back to a model: what providers accept, whatever the model wrote. A
    /// name that they refuse would spoil every later request of the session.
    #[must_use]
    pub fn name_for_wire(&self) -> Arc<str> {
        let accepted = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if (1..=MAX_NAME).contains(&self.name.len()) && self.name.chars().all(accepted) {
            return Arc::clone(&self.name);
        }
        let mend = |c: char| if accepted(c) { c } else { '_' };
        let mended: String = self.name.chars().take(MAX_NAME).map(mend).collect();
        if mended.is_empty() { "unnamed".into() } else { mended.into() }
    }
}
