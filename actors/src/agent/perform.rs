//! What a brain's instructions lead to.
//!
//! A brain may be wrong, so its answer is read strictly: a finish wins over all else, calls can be
//! named only while they are open, and what is named against the policy is not run.

use std::slice;

use super::draft::{Draft, left_out};
use super::{CallState, Phase};
use crate::brain::StepContext;
use crate::call::{CallResult, CallStatus, Gate};
use crate::compaction::Trigger;
use crate::event::QuestionKind;
use crate::id::CallId;
use crate::instruction::Instruction;

impl Draft<'_> {
    /// Carries out instructions in order until one of them blocks the agent.
    pub(super) fn perform(&mut self, context: &StepContext, instructions: &[Instruction]) {
        let was_open = self.state.turn().is_some();
        let finish = instructions.iter().find_map(|instruction| match instruction {
            Instruction::Finish(finish) => Some(finish),
            Instruction::CallModel
            | Instruction::CallTool { .. }
            | Instruction::CallTools { .. }
            | Instruction::ResolveBlocked { .. }
            | Instruction::ResolveAborted { .. }
            | Instruction::StartSubagent { .. }
            | Instruction::StartSubagents { .. }
            | Instruction::StartClientSubagent { .. }
            | Instruction::StartClientSubagents { .. }
            | Instruction::AskText { .. }
            | Instruction::AskChoice { .. }
            | Instruction::AskApproval { .. }
            | Instruction::Compact => None,
        });
        if let Some(finish) = finish {
            let unbegun = self.unbegun();
            self.refuse_calls(&unbegun, &left_out());
            return self.finish(finish);
        }
        let mut named = Vec::new();
        let mut asks_model = false;
        for instruction in instructions {
            if self.goes_on() {
                break;
            }
            if needs_no_turn(instruction) {
                self.leave_out(&named);
            }
            asks_model |= self.perform_one(instruction, &mut named);
        }
        if matches!(context, StepContext::ModelResult { .. }) {
            self.leave_out(&named);
        }
        if instructions.is_empty() && self.state.turn().is_none() {
            return self.stuck();
        }
        self.go_on(was_open, asks_model);
    }

    /// Does what can be done at once; whether the model is to be asked.
    fn perform_one(&mut self, instruction: &Instruction, named: &mut Vec<CallId>) -> bool {
        match instruction {
            Instruction::CallModel => return true,
            Instruction::CallTool { .. }
            | Instruction::CallTools { .. }
            | Instruction::StartSubagent { .. }
            | Instruction::StartSubagents { .. }
            | Instruction::StartClientSubagent { .. }
            | Instruction::StartClientSubagents { .. } => {
                self.hold_back(instruction.calls());
                named.extend(instruction.calls());
            }
            Instruction::ResolveBlocked { calls } => {
                for call in calls {
                    self.resolve_blocked(*call);
                }
            }
            Instruction::ResolveAborted { .. } => {
                self.resolve_aborted(slice::from_ref(instruction))
            }
            Instruction::AskApproval { calls } => {
                for call in calls {
                    match self.gate_of(*call) {
                        // No word of a person opens what the policy closes.
                        Some(Gate::Block(_)) => self.resolve_blocked(*call),
                        Some(Gate::Pass | Gate::Ask(_) | Gate::Audit { .. }) | None => {
                            self.ask_approval(*call);
                        }
                    }
                }
            }
            // While calls are being settled nothing else can begin; the brain is asked again
            // after them. After the last answer nothing begins at all.
            Instruction::AskText { .. } | Instruction::AskChoice { .. } | Instruction::Compact
                if self.state.turn().is_some() || self.state.is_sealed() => {}
            Instruction::AskText { text } => self.ask_words(QuestionKind::Text, text, &[], None),
            Instruction::AskChoice { text, options } => {
                self.ask_words(QuestionKind::Choice, text, options, None);
            }
            Instruction::Compact => {
                let overflow = self.state.run.overflowed;
                let trigger = if overflow { Trigger::Overflow } else { Trigger::Manual };
                self.compact(trigger);
            }
            Instruction::Finish(_) => {}
        }
        false
    }

    /// Settles the calls that a brain gives up, as far as they have not begun.
    pub(super) fn resolve_aborted(&mut self, instructions: &[Instruction]) {
        let result = CallResult::new(CallStatus::Cancelled, "cancelled before it began");
        let unbegun = self.unbegun();
        for instruction in instructions {
            if let Instruction::ResolveAborted { calls } = instruction {
                let calls: Vec<CallId> =
                    calls.iter().copied().filter(|call| unbegun.contains(call)).collect();
                self.refuse_calls(&calls, &result);
            }
        }
    }

    /// Begins what may begin, or asks the model, or finds that there is nothing to do.
    fn go_on(&mut self, was_open: bool, asks_model: bool) {
        if self.goes_on() {
            return;
        }
        match (self.state.turn().is_some(), was_open) {
            (true, _) => self.advance(),
            (false, true) => self.after_turn(),
            (false, false) if asks_model || self.state.is_sealed() => self.request(),
            (false, false) => self.stuck(),
        }
    }

    /// Whether this decision has come to its end: the agent is blocked, or asks a model.
    fn goes_on(&self) -> bool {
        let asks = matches!(self.state.phase, Phase::Thinking { .. } | Phase::Compacting(_));
        asks || self.is_blocked()
    }

    /// Whether nothing more may be done in this decision.
    pub(super) fn is_blocked(&self) -> bool {
        match self.state.phase {
            Phase::Resting
            | Phase::Asking(_)
            | Phase::Interrupted
            | Phase::Ending(_)
            | Phase::Done(_) => true,
            Phase::Deciding | Phase::Thinking { .. } | Phase::Acting(_) | Phase::Compacting(_) => {
                false
            }
        }
    }

    /// Calls that the policy does not let run are not run because a brain names them.
    fn hold_back(&mut self, calls: &[CallId]) {
        for call in calls {
            match self.gate_of(*call) {
                Some(Gate::Ask(_)) => self.ask_approval(*call),
                Some(Gate::Block(_)) => self.resolve_blocked(*call),
                Some(Gate::Pass | Gate::Audit { .. }) | None => {}
            }
        }
    }

    fn resolve_blocked(&mut self, call: CallId) {
        let why = match self.gate_of(call) {
            Some(Gate::Block(why) | Gate::Ask(why)) => why,
            Some(Gate::Pass | Gate::Audit { .. }) => "the agent does not run it".into(),
            None => return,
        };
        let text = format!("blocked, not run: {why}");
        let result = CallResult::new(CallStatus::Blocked, text);
        self.finish_call(call, result, crate::time::Millis::default());
    }

    /// The gate of a call whose turn has not come.
    fn gate_of(&self, call: CallId) -> Option<Gate> {
        let entry = self.state.turn()?.call(call)?;
        (entry.state == CallState::Proposed).then(|| entry.proposed.gate.clone())
    }

    /// Settles the calls that the brain did not name, so that none is left without a result.
    fn leave_out(&mut self, named: &[CallId]) {
        let Some(turn) = self.state.turn() else { return };
        let left: Vec<CallId> =
            turn.proposed().map(|call| call.call).filter(|call| !named.contains(call)).collect();
        self.refuse_calls(&left, &left_out());
    }
}

/// Whether an instruction is about the agent as a whole and not about the calls of a reply.
fn needs_no_turn(instruction: &Instruction) -> bool {
    match instruction {
        Instruction::AskText { .. } | Instruction::AskChoice { .. } | Instruction::Compact => true,
        Instruction::CallModel
        | Instruction::CallTool { .. }
        | Instruction::CallTools { .. }
        | Instruction::ResolveBlocked { .. }
        | Instruction::ResolveAborted { .. }
        | Instruction::StartSubagent { .. }
        | Instruction::StartSubagents { .. }
        | Instruction::StartClientSubagent { .. }
        | Instruction::StartClientSubagents { .. }
        | Instruction::AskApproval { .. }
        | Instruction::Finish(_) => false,
    }
}
