//! The events of one decision while they are being gathered.

use std::sync::Arc;

use super::{AgentMachine, AgentState, Phase, evolve};
use crate::brain::StepContext;
use crate::budget::{Facts, Ledger};
use crate::call::{CallKind, CallResult};
use crate::event::{
    Ending, Event, FinishReason, Message, Outcome, Source, ToolFinished, UserMessage,
};
use crate::failure::{ErrorCode, Failure};
use crate::id::{AskId, CallId};
use crate::instruction::FinishInstruction;
use crate::time::Millis;
use crate::transcript::{Entry, SettledTurn};
use crate::{lead, subagent};

/// How often one decision may ask the brain. Each answer settles something, so an honest brain
/// needs three at most; one that needs more goes round in circles.
const MAX_QUESTIONS: u32 = 8;

/// A decision in the making: the events so far and the state and ledger that they lead to. Cloning
/// both copies pointers, never the history.
pub(crate) struct Draft<'a> {
    pub machine: &'a AgentMachine,
    pub facts: &'a Facts,
    pub state: AgentState,
    pub ledger: Arc<Ledger>,
    events: Vec<Event>,
    questions: u32,
}

impl<'a> Draft<'a> {
    pub fn new(machine: &'a AgentMachine, state: &AgentState, facts: &'a Facts) -> Self {
        let mut ledger = Arc::clone(&facts.ledger);
        if state.run.timed {
            Arc::make_mut(&mut ledger).see(facts.now);
        }
        Self { machine, facts, state: state.clone(), ledger, events: Vec::new(), questions: 0 }
    }

    pub fn into_events(self) -> Vec<Event> {
        self.events
    }

    /// Adds an event; the state and the ledger follow it at once.
    pub fn push(&mut self, event: Event) {
        let (run, agent) = (self.machine.run, self.machine.id());
        evolve::evolve(&mut self.state, &event);
        Arc::make_mut(&mut self.ledger).record(run, agent, self.facts.now, &event);
        self.events.push(event);
    }

    /// Says something to the model before its next request.
    pub fn hint(&mut self, text: impl Into<Arc<str>>) {
        self.push(Event::Message(Message::User(UserMessage::new(Source::Hint, text))));
    }

    /// Gives a call of the open turn its one result.
    pub fn finish_call(&mut self, call: CallId, result: CallResult, duration_ms: Millis) {
        let Some(entry) = self.state.turn().and_then(|turn| turn.call(call)) else { return };
        if !entry.is_settled() {
            let name = Arc::clone(&entry.proposed.name);
            self.push(Event::ToolFinished(ToolFinished { call, name, result, duration_ms }));
        }
    }

    /// Gives calls that never ran the same result.
    pub fn refuse_calls(&mut self, calls: &[CallId], result: &CallResult) {
        for call in calls {
            self.finish_call(*call, result.clone(), Millis::default());
        }
    }

    /// The id of the next question to a person.
    pub fn next_ask(&self) -> AskId {
        AskId { run: self.machine.run, agent: self.machine.id(), n: self.state.run.asked }
    }

    /// Asks the brain what comes next and does it.
    pub fn ask_brain(&mut self, context: &StepContext) {
        self.questions += 1;
        if self.questions > MAX_QUESTIONS {
            return self.stuck();
        }
        let instructions = self.machine.brain.next(context, &self.state);
        self.perform(context, &instructions);
    }

    /// Goes on after the last call of a turn was settled.
    pub fn after_turn(&mut self) {
        let Some(Entry::Turn(turn)) = self.state.transcript.last() else { return self.stuck() };
        let context = settled_context(turn);
        let batch = context == StepContext::SubagentsBatchResult;
        if batch && self.machine.profile().user_after_subagents {
            let text = "The subagents have reported. Go on.";
            self.push(Event::Message(Message::User(UserMessage::new(Source::Virtual, text))));
        }
        self.ask_brain(&context);
    }

    /// Ends the agent, unless something still has to be heard first.
    pub fn finish(&mut self, finish: &FinishInstruction) {
        let plain = finish.reason == FinishReason::Completed && !self.state.is_sealed();
        if plain && !self.state.pending.is_empty() {
            return self.request();
        }
        if plain && self.state.has_live_children() {
            // It rests until they have reported; each report starts a turn.
            return;
        }
        if self.state.has_live_children() {
            let ending = Ending {
                outcome: finish.outcome,
                finish_reason: finish.reason,
                reason: "its agent has ended".into(),
                text: Arc::clone(&finish.text),
                error: finish.error.clone(),
            };
            return self.push(Event::Ending(ending));
        }
        self.finish_now(finish);
    }

    /// Ends an agent that has nothing in flight.
    pub fn finish_now(&mut self, finish: &FinishInstruction) {
        self.withdraw_asks();
        let id = self.machine.id();
        let mut finish = finish.clone();
        if finish.reason == FinishReason::Completed {
            // A closing turn says by which limit it came.
            finish.reason = self.closed_reason().unwrap_or(finish.reason);
            finish.detail = finish.detail.or_else(|| self.unresolved());
        }
        let finish = &finish;
        let event = if id.is_lead() {
            Event::RunFinished(lead::finished(finish, &self.ledger, self.facts.now))
        } else {
            Event::SubagentFinished(subagent::finished(id, finish, &self.ledger))
        };
        self.push(event);
    }

    /// Ends the agent as failed.
    pub fn fail(&mut self, reason: FinishReason, error: Failure) {
        let (text, error) = ("".into(), Some(error));
        let outcome = Outcome::Failed;
        self.finish(&FinishInstruction { outcome, reason, text, error, detail: None });
    }

    /// Ends an agent whose ending waited for the last thing in flight.
    pub fn finish_ending(&mut self) {
        let Phase::Ending(closing) = &self.state.phase else { return };
        let nothing = closing.left == super::Left::Nothing;
        if !nothing || self.state.has_live_children() {
            return;
        }
        let ending = closing.ending.clone();
        self.finish_now(&FinishInstruction {
            outcome: ending.outcome,
            reason: ending.finish_reason,
            text: ending.text,
            error: ending.error,
            detail: None,
        });
    }

    /// Ends an agent whose brain left it with nothing to do.
    pub fn stuck(&mut self) {
        let unbegun = self.unbegun();
        let result = left_out();
        self.refuse_calls(&unbegun, &result);
        let message = "the agent's brain gave nothing to do and no end; mend the brain";
        self.fail(FinishReason::ErrorRecovery, Failure::new(ErrorCode::BrainStuck, message));
    }

    /// The calls of the open turn that have not begun.
    pub fn unbegun(&self) -> Vec<CallId> {
        let turn = self.state.turn().into_iter();
        turn.flat_map(|turn| turn.unbegun().map(|call| call.call)).collect()
    }
}

/// The result of a call that the brain did not name.
pub(super) fn left_out() -> CallResult {
    CallResult::new(crate::call::CallStatus::Blocked, "the agent left this call out")
}

/// What the brain is told of a turn whose calls are all settled.
fn settled_context(turn: &SettledTurn) -> StepContext {
    let delegated = |kind: CallKind| match kind {
        CallKind::Subagent | CallKind::ClientSubagent | CallKind::Wait => true,
        CallKind::Tool(_)
        | CallKind::Client(_)
        | CallKind::Spawn
        | CallKind::Tell
        | CallKind::Stop
        | CallKind::AskUser
        | CallKind::AskParent
        | CallKind::Return
        | CallKind::Invalid => false,
    };
    let subagents = turn.calls.iter().filter(|(call, _)| delegated(call.kind)).count();
    match (turn.calls.as_slice(), subagents) {
        ([(call, _)], 0) => StepContext::ToolResult { call: call.call },
        (_, 0) => StepContext::ToolsBatchResult,
        ([(call, _)], _) => StepContext::SubagentResult { call: call.call },
        (_, _) => StepContext::SubagentsBatchResult,
    }
}
