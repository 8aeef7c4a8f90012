//! What of an open turn may begin now.

use std::sync::Arc;

use super::draft::Draft;
use super::{arguments, children};
use crate::call::{CallKind, CallResult, CallStatus, ProposedCall};
use crate::event::{Event, FinishReason, Outcome, QuestionKind, ToolStarted};
use crate::id::CallId;
use crate::instruction::FinishInstruction;
use crate::time::{Millis, Timestamp};

impl Draft<'_> {
    /// Begins what may begin now. If that settled the last call, the brain is asked.
    pub(super) fn advance(&mut self) {
        while let Some(call) = self.next_ready() {
            self.begin(&call);
            if self.is_blocked() {
                return;
            }
        }
        match self.state.turn() {
            None => self.after_turn(),
            Some(_) if self.is_idle() => self.stuck(),
            Some(_) => {}
        }
    }

    /// Whether nothing of the turn goes on, so that nothing would ever settle it.
    fn is_idle(&self) -> bool {
        let Some(turn) = self.state.turn() else { return false };
        turn.dispatched().next().is_none()
            && turn.deferred().next().is_none()
            && turn.next_change().is_none()
            && turn.unbegun().all(|call| turn.proposed().any(|other| other.call == call.call))
            && !self.waits_for_room()
    }

    /// Whether a subagent call waits for the end of another subagent.
    fn waits_for_room(&self) -> bool {
        let waits = |call: &ProposedCall| call.kind == CallKind::Subagent;
        self.state.has_live_children()
            && self.state.turn().is_some_and(|turn| turn.proposed().any(waits))
    }

    /// The next call that may begin without a lease.
    fn next_ready(&self) -> Option<ProposedCall> {
        if self.state.run.is_out_of_time() {
            return None;
        }
        let turn = self.state.turn()?;
        let read = turn.ready_reads().first().and_then(|call| turn.call(*call));
        let read = read.map(|entry| &entry.proposed);
        read.or_else(|| turn.next_other(self.has_room())).cloned()
    }

    fn has_room(&self) -> bool {
        let live = self.state.children.values().filter(|child| child.is_live()).count();
        live < usize::try_from(self.machine.family.caps.max_parallel.max(1)).unwrap_or(usize::MAX)
    }

    fn begin(&mut self, call: &ProposedCall) {
        match call.kind {
            CallKind::Tool(_) | CallKind::Client(_) => self.begin_counted(call),
            CallKind::Subagent | CallKind::ClientSubagent => self.start_subagent(call),
            CallKind::Spawn if self.has_room() => self.start_subagent(call),
            CallKind::Spawn => {
                let result = children::no_room(self.machine.family.caps.max_parallel);
                self.finish_call(call.call, result, Millis::default());
            }
            CallKind::Wait | CallKind::Tell | CallKind::Stop => self.begin_about_child(call),
            CallKind::AskUser => self.ask_for(call, QuestionKind::Text),
            CallKind::AskParent => self.ask_for(call, QuestionKind::Parent),
            CallKind::Return => self.do_return(call),
            CallKind::Invalid => {}
        }
    }

    /// Begins a call that counts against the limit of tool calls.
    fn begin_counted(&mut self, call: &ProposedCall) {
        if let Some(result) = self.calls_used_up() {
            return self.finish_call(call.call, result, Millis::default());
        }
        self.dispatch(call, None);
    }

    /// Begins a call about a subagent that was started before; it counts like any other.
    fn begin_about_child(&mut self, call: &ProposedCall) {
        if let Some(result) = self.calls_used_up() {
            return self.finish_call(call.call, result, Millis::default());
        }
        match call.kind {
            CallKind::Wait => self.begin_wait(call),
            CallKind::Tell => self.begin_tell(call),
            CallKind::Stop => self.begin_stop(call),
            CallKind::Tool(_)
            | CallKind::Client(_)
            | CallKind::Subagent
            | CallKind::ClientSubagent
            | CallKind::Spawn
            | CallKind::AskUser
            | CallKind::AskParent
            | CallKind::Return
            | CallKind::Invalid => {}
        }
    }

    /// The result of a call for which the limit has no room left.
    pub(super) fn calls_used_up(&mut self) -> Option<CallResult> {
        let bound = self.ledger.may_call(self.machine.id()).err()?;
        self.reach_limit(bound);
        let text = format!("the limit of {} is used up; the call was not run", bound.kind.words());
        Some(CallResult::new(CallStatus::Limit, text))
    }

    pub(super) fn dispatch(&mut self, call: &ProposedCall, deadline: Option<Timestamp>) {
        self.push(Event::ToolStarted(ToolStarted {
            call: call.call,
            name: Arc::clone(&call.name),
            arguments: Arc::clone(&call.arguments),
            deadline,
        }));
    }

    /// Dispatches the call that got the workspace's lease.
    pub(super) fn dispatch_leased(&mut self, call: CallId) {
        let entry = self.state.turn().and_then(|turn| turn.call(call));
        let Some(proposed) = entry.map(|entry| entry.proposed.clone()) else { return };
        self.begin_counted(&proposed);
        if self.state.turn().is_none_or(|turn| turn.next_change() != Some(call)) {
            self.advance_unless_running();
        }
    }

    /// Goes on if the call was refused instead of begun.
    fn advance_unless_running(&mut self) {
        let running = self.state.turn().is_some_and(|turn| turn.dispatched().next().is_some());
        if !running {
            self.advance();
        }
    }

    /// A subagent in return mode hands over its result, which ends it.
    fn do_return(&mut self, call: &ProposedCall) {
        let result = arguments::read::<arguments::Return>(&call.name, &call.arguments);
        let text = match result {
            Ok(arguments) => arguments.result,
            Err(result) => return self.finish_call(call.call, result, Millis::default()),
        };
        let taken = CallResult::new(CallStatus::Ok, "returned");
        self.finish_call(call.call, taken, Millis::default());
        self.finish(&FinishInstruction {
            outcome: Outcome::Completed,
            reason: FinishReason::AgentDecision,
            text,
            error: None,
            detail: None,
        });
    }
}
