//! The calls of one reply, each on its way to one result, and the order in which they may run.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::call::{CallKind, CallResult, EffectClass, ProposedCall};
use crate::event::Reply;
use crate::id::CallId;
use crate::transcript::{Said, SettledTurn};

/// How many read-only calls of one turn run at once (design: cap 8).
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
}

/// Where a call stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum CallState {
    /// Not begun: its turn has not come.
    Proposed,
    /// Begun: its effect may have happened.
    Dispatched,
    /// Ended.
    Settled(CallResult),
}

impl Turn {
    /// The turn of a reply, nothing begun.
    #[must_use]
    pub fn new(reply: &Reply) -> Self {
        let proposed =
            |call: &ProposedCall| TurnCall { proposed: call.clone(), state: CallState::Proposed };
        Self { said: Said::from(reply), calls: reply.calls.iter().map(proposed).collect() }
    }

    /// The call of that id.
    #[must_use]
    pub fn call(&self, call: CallId) -> Option<&TurnCall> {
        self.calls.iter().find(|entry| entry.proposed.call == call)
    }

    /// Marks a call as begun.
    pub fn dispatch(&mut self, call: CallId) {
        self.set(call, CallState::Dispatched);
    }

    /// Gives a call its result. The first one stands.
    pub fn settle(&mut self, call: CallId, result: CallResult) {
        if self.call(call).is_some_and(|entry| !entry.is_settled()) {
            self.set(call, CallState::Settled(result));
        }
    }

    fn set(&mut self, call: CallId, state: CallState) {
        if let Some(entry) = self.calls.iter_mut().find(|entry| entry.proposed.call == call) {
            entry.state = state;
        }
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
            CallState::Proposed | CallState::Dispatched => None,
        };
        Ok(SettledTurn {
            said: self.said,
            calls: self.calls.into_iter().filter_map(pair).collect(),
        })
    }

    /// Calls that are begun and not ended.
    pub fn dispatched(&self) -> impl Iterator<Item = &ProposedCall> {
        self.in_state(|state| *state == CallState::Dispatched)
    }

    /// Calls that are not begun.
    pub fn waiting(&self) -> impl Iterator<Item = &ProposedCall> {
        self.in_state(|state| *state == CallState::Proposed)
    }

    fn in_state(&self, wanted: fn(&CallState) -> bool) -> impl Iterator<Item = &ProposedCall> {
        self.calls.iter().filter(move |entry| wanted(&entry.state)).map(|entry| &entry.proposed)
    }

    /// The read-only calls that may begin now: nothing that changes anything stands unsettled
    /// before them, and there is room.
    #[must_use]
    pub fn ready_reads(&self) -> Vec<CallId> {
        let running = self.dispatched().filter(|call| call.is_tool()).count();
        let readable = |entry: &&TurnCall| {
            entry.is_settled() || entry.proposed.kind == CallKind::Tool(EffectClass::ReadOnly)
        };
        self.tools()
            .take_while(readable)
            .filter(|entry| entry.state == CallState::Proposed)
            .map(|entry| entry.proposed.call)
            .take(MAX_PARALLEL_READS.saturating_sub(running))
            .collect()
    }

    /// The changing call whose turn has come: everything before it is settled, and it waits only
    /// for the workspace's lease.
    #[must_use]
    pub fn next_change(&self) -> Option<CallId> {
        let next = self.tools().find(|entry| !entry.is_settled())?;
        let changes = next.proposed.kind != CallKind::Tool(EffectClass::ReadOnly);
        (changes && next.state == CallState::Proposed).then_some(next.proposed.call)
    }

    /// The subagent calls that may begin now: all tools are settled, and fewer than `cap` live.
    #[must_use]
    pub fn ready_subagents(&self, cap: u32) -> Vec<&ProposedCall> {
        if self.tools().any(|entry| !entry.is_settled()) {
            return Vec::new();
        }
        let living = self.dispatched().filter(|call| call.kind == CallKind::Subagent).count();
        let room = usize::try_from(cap).unwrap_or(usize::MAX).saturating_sub(living);
        self.waiting().filter(|call| call.kind == CallKind::Subagent).take(room).collect()
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
}

impl ProposedCall {
    /// Whether it runs a tool of the agent.
    #[must_use]
    pub fn is_tool(&self) -> bool {
        match self.kind {
            CallKind::Tool(_) => true,
            CallKind::Subagent | CallKind::Invalid => false,
        }
    }

    /// Its effect class, if it runs a tool.
    #[must_use]
    pub fn effect(&self) -> Option<EffectClass> {
        match self.kind {
            CallKind::Tool(effect) => Some(effect),
            CallKind::Subagent | CallKind::Invalid => None,
        }
    }

    /// The arguments as they go back to a model: always valid JSON. Text that is not is wrapped,
    /// never repaired.
    #[must_use]
    pub fn arguments_for_wire(&self) -> Arc<str> {
        // What can run was read when it was proposed; reading it again for every request would cost
        // the whole history each time.
        let readable = match self.kind {
            CallKind::Tool(_) | CallKind::Subagent => true,
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
