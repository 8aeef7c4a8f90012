//! The events of one decision while they are being gathered.

use std::sync::Arc;

use super::propose::{propose, read_subagent};
use super::{AgentMachine, AgentState, Phase, RawReply, Turn};
use crate::brain::StepContext;
use crate::budget::Facts;
use crate::call::{CallResult, CallStatus, ProposedCall, read_arguments};
use crate::event::{
    Event, FinishReason, Message, ModelRequested, Outcome, Reply, SubagentStarted, ToolFinished,
    ToolStarted,
};
use crate::failure::{ErrorCode, Failure};
use crate::id::{AgentId, CallId, RequestNo};
use crate::instruction::{FinishInstruction, Instruction};
use crate::time::Millis;
use crate::{lead, subagent};

/// A decision in the making. It reads the state of before and keeps what the events so far would
/// change about it, so that the transcript need not be copied.
pub(crate) struct Draft<'a> {
    pub machine: &'a AgentMachine,
    pub state: &'a AgentState,
    pub facts: &'a Facts,
    events: Vec<Event>,
    requests: u32,
    fresh_bytes: u64,
    next_agent: AgentId,
    subagents_left: u32,
}

impl<'a> Draft<'a> {
    pub fn new(machine: &'a AgentMachine, state: &'a AgentState, facts: &'a Facts) -> Self {
        Self {
            machine,
            state,
            facts,
            events: Vec::new(),
            requests: state.requests,
            fresh_bytes: 0,
            next_agent: facts.next_agent,
            subagents_left: facts.subagents_left,
        }
    }

    pub fn into_events(self) -> Vec<Event> {
        self.events
    }

    pub fn push(&mut self, event: Event) {
        self.events.push(event);
    }

    /// A new run numbers its requests afresh.
    pub fn restart_numbers(&mut self) {
        self.requests = 0;
    }

    /// Takes input into the transcript.
    pub fn take_input(&mut self, message: crate::event::UserMessage) {
        self.fresh_bytes += bytes(message.text.len());
        self.push(Event::Message(Message::User(message)));
    }

    /// Takes a model's reply: proposes its calls, settles those that can't run, and goes on.
    pub fn take_reply(&mut self, request: RequestNo, raw: &RawReply) {
        let proposals = propose(self.machine, self.state, &raw.calls, &raw.finish);
        let reply = Reply {
            request,
            text: Arc::clone(&raw.text),
            calls: proposals.iter().map(|proposal| proposal.call.clone()).collect(),
            finish: raw.finish.clone(),
            usage: raw.usage,
            model: Arc::clone(&raw.model),
            duration_ms: raw.duration,
            opaque: raw.opaque.clone(),
        };
        self.push(Event::Message(Message::Assistant(reply.clone())));
        let mut turn = Turn::new(&reply);
        for proposal in proposals {
            if let Some(result) = proposal.refused {
                self.finish_call(&mut turn, proposal.call.call, result, Millis::default());
            }
        }
        let turn = (!turn.calls.is_empty()).then_some(turn);
        if turn.is_none() {
            self.fresh_bytes += bytes(reply.text.len());
        }
        self.ask_brain(&StepContext::ModelResult(reply), turn);
    }

    /// Gives a call its one result.
    pub fn finish_call(
        &mut self,
        turn: &mut Turn,
        call: CallId,
        result: CallResult,
        duration_ms: Millis,
    ) {
        let Some(entry) = turn.call(call) else { return };
        let name = Arc::clone(&entry.proposed.name);
        turn.settle(call, result.clone());
        self.push(Event::ToolFinished(ToolFinished { call, name, result, duration_ms }));
    }

    /// Asks the brain what comes next and turns its answer into events.
    ///
    /// A brain may be wrong, so its answer is read strictly: a finish wins over all else, calls win
    /// over a request, and calls can be named only while they are open. So one decision holds at
    /// most one request or one end, and asks the brain at most twice.
    pub fn ask_brain(&mut self, context: &StepContext, mut turn: Option<Turn>) {
        let instructions = self.machine.brain.next(context, self.state);
        match Plan::of(&instructions, calls_are_open(context, turn.as_ref())) {
            Plan::Finish(finish) => {
                self.leave_out(turn.as_mut(), &[]);
                self.finish(finish);
            }
            Plan::Calls(named) => {
                self.leave_out(turn.as_mut(), &named);
                self.go_on(turn);
            }
            Plan::Model => {
                self.leave_out(turn.as_mut(), &[]);
                self.request(turn.as_ref());
            }
            Plan::Nothing => self.finish_stuck(turn),
        }
    }

    /// Begins what may begin now. If that settled the last call (a limit), the brain is asked.
    pub fn go_on(&mut self, turn: Option<Turn>) {
        let Some(mut turn) = turn else { return self.finish_stuck(None) };
        for call in turn.ready_reads() {
            self.dispatch(&mut turn, call);
        }
        let cap = self.machine.family.caps.max_parallel.max(1);
        while let Some(call) = turn.ready_subagents(cap).first().map(|call| (*call).clone()) {
            self.start_subagent(&mut turn, &call);
        }
        if turn.is_settled() {
            self.ask_brain(&StepContext::ToolsBatchResult, Some(turn));
        } else if turn.dispatched().next().is_none() && turn.next_change().is_none() {
            self.finish_stuck(Some(turn));
        }
    }

    /// Settles the calls that the brain did not name, so that none is left without a result.
    fn leave_out(&mut self, turn: Option<&mut Turn>, named: &[CallId]) {
        let Some(turn) = turn else { return };
        let left_out: Vec<CallId> =
            turn.waiting().map(|call| call.call).filter(|call| !named.contains(call)).collect();
        for call in left_out {
            let result = CallResult::new(CallStatus::Blocked, "the agent left this call out");
            self.finish_call(turn, call, result, Millis::default());
        }
    }

    fn dispatch(&mut self, turn: &mut Turn, call: CallId) {
        let Some(entry) = turn.call(call) else { return };
        let started = ToolStarted {
            call,
            name: Arc::clone(&entry.proposed.name),
            arguments: Arc::clone(&entry.proposed.arguments),
        };
        turn.dispatch(call);
        self.push(Event::ToolStarted(started));
    }

    fn start_subagent(&mut self, turn: &mut Turn, call: &ProposedCall) {
        let started = match self.subagent_start(call) {
            Ok(started) => started,
            Err(result) => {
                return self.finish_call(turn, call.call, result, Millis::default());
            }
        };
        self.dispatch(turn, call.call);
        self.push(Event::SubagentStarted(started));
        self.next_agent = AgentId(self.next_agent.0 + 1);
        self.subagents_left -= 1;
    }

    fn subagent_start(&self, call: &ProposedCall) -> Result<SubagentStarted, CallResult> {
        if self.subagents_left == 0 {
            let max = self.machine.family.caps.max_subagents;
            let text = format!("the run may start at most {max} subagents and has; do it yourself");
            return Err(CallResult::new(CallStatus::Limit, text));
        }
        let arguments = read_arguments(&call.arguments)
            .map_err(|error| CallResult::new(CallStatus::Malformed, error))?;
        let arguments = read_subagent(arguments)?;
        let spec = self.machine.family.subagent(&arguments.agent).ok_or_else(|| {
            CallResult::new(CallStatus::Error, format!("no subagent `{}`", arguments.agent))
        })?;
        Ok(SubagentStarted {
            subagent: self.next_agent,
            name: arguments.agent,
            role: spec.role,
            task: arguments.task,
            label: arguments.label,
            write_scope: arguments.write_scope,
            for_call: call.call,
            depth: self.machine.depth() + 1,
        })
    }

    /// Asks the model again.
    pub fn request(&mut self, turn: Option<&Turn>) {
        self.requests += 1;
        let invocation = self.machine.invocation();
        let tools: usize =
            invocation.tools.iter().map(|tool| tool.schema.len() + tool.description.len()).sum();
        let head = bytes(invocation.prompt.len() + tools);
        let tail = turn.map_or(0, turn_bytes) + self.fresh_bytes;
        let total = head + self.state.transcript.bytes() + tail;
        self.push(Event::ModelRequest(ModelRequested {
            request: RequestNo(self.requests),
            model: Arc::clone(&invocation.model),
            attempt_no: 1,
            estimated_tokens: total / 4,
        }));
    }

    /// Ends the agent now: nothing of it is in flight.
    pub fn finish(&mut self, finish: &FinishInstruction) {
        let id = self.machine.id();
        let facts = self.facts.charged(id, &self.events);
        let event = if id.is_lead() {
            Event::RunFinished(lead::finished(finish, &facts))
        } else {
            Event::SubagentFinished(subagent::finished(id, finish, &facts))
        };
        self.push(event);
    }

    /// Ends an agent whose ending waited for the last thing in flight.
    pub fn finish_ending(&mut self) {
        if let Phase::Ending(closing) = &self.state.phase {
            let ending = &closing.ending;
            self.finish(&FinishInstruction {
                outcome: ending.outcome,
                reason: ending.finish_reason,
                text: "".into(),
                error: ending.error.clone(),
            });
        }
    }

    fn finish_stuck(&mut self, mut turn: Option<Turn>) {
        self.leave_out(turn.as_mut(), &[]);
        let message = "the agent's brain gave nothing to do and no end; mend the brain";
        self.finish(&FinishInstruction {
            outcome: Outcome::Failed,
            reason: FinishReason::ErrorRecovery,
            text: "".into(),
            error: Some(Failure::new(ErrorCode::BrainStuck, message)),
        });
    }
}

/// What a brain's answer comes to.
enum Plan<'a> {
    Finish(&'a FinishInstruction),
    Calls(Vec<CallId>),
    Model,
    Nothing,
}

impl<'a> Plan<'a> {
    fn of(instructions: &'a [Instruction], calls_are_open: bool) -> Self {
        let (mut named, mut asks) = (None, false);
        for instruction in instructions {
            match instruction {
                Instruction::Finish(finish) => return Self::Finish(finish),
                Instruction::CallModel => asks = true,
                Instruction::CallTools { calls } | Instruction::StartSubagents { calls } => {
                    named.get_or_insert_with(Vec::new).extend(calls);
                }
            }
        }
        match (named, asks) {
            (Some(named), _) if calls_are_open => Self::Calls(named),
            (_, true) => Self::Model,
            (_, false) => Self::Nothing,
        }
    }
}

/// Only the answer to a reply with calls can name them; after that they are settled or under way.
fn calls_are_open(context: &StepContext, turn: Option<&Turn>) -> bool {
    match context {
        StepContext::ModelResult(_) => turn.is_some(),
        StepContext::UserInput | StepContext::ToolsBatchResult | StepContext::Error(_) => false,
    }
}

fn turn_bytes(turn: &Turn) -> u64 {
    let result = |entry: &super::TurnCall| match &entry.state {
        super::CallState::Settled(result) => result.text.len(),
        super::CallState::Proposed | super::CallState::Dispatched => 0,
    };
    let call = |entry: &super::TurnCall| {
        entry.proposed.name.len() + entry.proposed.arguments.len() + result(entry)
    };
    bytes(turn.said.text.len() + turn.calls.iter().map(call).sum::<usize>())
}

fn bytes(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}
