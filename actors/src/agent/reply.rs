//! How a model's reply is taken.

use std::sync::Arc;

use super::draft::Draft;
use super::propose::{Proposal, propose};
use super::repeats::Repeated;
use super::{Member, RawReply};
use crate::brain::StepContext;
use crate::call::{CallKind, CallResult, CallStatus, Gate};
use crate::event::{Event, FinishReason, Message, Reply};
use crate::failure::{ErrorCode, Failure};
use crate::family::{Delivery, ToolChoice};
use crate::id::RequestNo;
use crate::time::Millis;

/// How often an agent that has to call a tool is reminded in one invocation. A model that
/// can do it does so after a few; the bound only ends those that never will.
pub const MAX_REMINDERS: u32 = 20;

impl Draft<'_> {
    /// Takes a reply: proposes its calls, settles those that can't run, and goes on.
    pub(super) fn take_reply(&mut self, request: RequestNo, raw: &RawReply) {
        let mut proposals = propose(self.machine, &self.state, &raw.calls, &raw.finish);
        let repeated = self.judge_repeats(&mut proposals);
        let choice = crate::context::tool_choice(self.machine, &self.state);
        let reply = Reply {
            request,
            text: Arc::clone(&raw.text),
            calls: proposals.iter().map(|proposal| proposal.call.clone()).collect(),
            finish: raw.finish.clone(),
            usage: raw.usage,
            cost: raw.cost,
            model: Arc::clone(&raw.model),
            duration_ms: raw.duration,
            opaque: raw.opaque.clone(),
        };
        self.push(Event::Message(Message::Assistant(reply.clone())));
        for Proposal { call, refused } in proposals {
            if let Some(result) = refused {
                self.finish_call(call.call, result, Millis::default());
            }
        }
        match repeated {
            Repeated::Loop => return self.end_loop(),
            Repeated::Hint => self.hint(
                "You make the same calls again and again, and their results are the same. Once more \
                 ends the work; do something else.",
            ),
            Repeated::Excess | Repeated::No => {}
        }
        if reply.calls.is_empty() && self.has_to_call(choice) {
            return self.remind();
        }
        self.ask_brain(&StepContext::ModelResult { reply });
    }

    /// A call that was made too often never runs, and no other call of its reply does.
    fn judge_repeats(&self, proposals: &mut [Proposal]) -> Repeated {
        let calls: Vec<_> = proposals.iter().map(|proposal| proposal.call.clone()).collect();
        let judged = self.state.run.repeats.judge(&calls);
        let ends = judged.contains(&Repeated::Loop);
        let hints = judged.contains(&Repeated::Hint);
        for (proposal, repeated) in proposals.iter_mut().zip(judged) {
            let (status, text) = match repeated {
                Repeated::Loop => (
                    CallStatus::Blocked,
                    "made again and again with the same result; not run, and the work ends",
                ),
                Repeated::Hint | Repeated::No | Repeated::Excess if ends => {
                    (CallStatus::Blocked, "not run: the work ends because a call was repeated")
                }
                Repeated::Excess => {
                    (CallStatus::Limit, "not run: the same call stands too often in one reply")
                }
                Repeated::Hint | Repeated::No => continue,
            };
            proposal.call.kind = CallKind::Invalid;
            proposal.call.gate = Gate::Pass;
            proposal.refused.get_or_insert_with(|| CallResult::new(status, text));
        }
        match (ends, hints) {
            (true, _) => Repeated::Loop,
            (false, true) => Repeated::Hint,
            (false, false) => Repeated::No,
        }
    }

    fn end_loop(&mut self) {
        let message = "the model made the same calls with the same results again and again; change \
                       the prompt or the tool";
        self.fail(FinishReason::LoopDetected, Failure::new(ErrorCode::LoopDetected, message));
    }

    /// Whether the agent may not end by talk alone.
    fn has_to_call(&self, choice: ToolChoice) -> bool {
        let returns = match &self.machine.member {
            Member::Lead => false,
            Member::Subagent(started) => started.delivery == Delivery::Return,
        };
        (returns || choice == ToolChoice::Required) && !self.state.is_sealed()
    }

    /// Says again that a call is wanted, a bounded number of times.
    fn remind(&mut self) {
        if self.state.run.reminders > MAX_REMINDERS {
            let message = format!(
                "the model had to call a tool and answered in words {} times; \
                 use a model that calls tools",
                self.state.run.reminders
            );
            let error = Failure::new(ErrorCode::ModelToolCallRequired, message);
            return self.fail(FinishReason::ErrorRecovery, error);
        }
        self.hint("Words alone do not count here: go on by calling a tool.");
        self.request();
    }

    /// What a finish does not say: calls that named no tool of the agent.
    pub(super) fn unresolved(&self) -> Option<Arc<str>> {
        let turn = match self.state.transcript.last_turn() {
            Some(turn) if !turn.calls.is_empty() => turn,
            Some(_) | None => return None,
        };
        let names: Vec<&str> = turn
            .calls
            .iter()
            .filter(|(_, result)| result.status == CallStatus::UnknownTool)
            .map(|(call, _)| call.name.as_ref())
            .collect();
        let all = names.len() == turn.calls.len();
        let calls = |names: Vec<&str>| {
            format!(
                "the last {} calls named no tool of the agent: {}",
                names.len(),
                names.join(", ")
            )
        };
        all.then(|| calls(names).into())
    }
}
