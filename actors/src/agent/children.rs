//! Subagents as their parent sees them: started, told, awaited, stopped, heard.

use std::sync::Arc;

use serde::Serialize;

use super::arguments::{self, Delegate};
use super::draft::Draft;
use super::{Child, ChildState, Phase};
use crate::brain::StepContext;
use crate::call::{CallKind, CallResult, CallStatus, ProposedCall};
use crate::event::{
    ChildMode, Event, Message, Outcome, Source, SubagentFinished, SubagentStarted, UserMessage,
};
use crate::id::{AgentId, AskId, CallId};
use crate::time::{Millis, Timestamp};
use crate::{subagent, text};

/// The result of a spawn for which there is no room.
pub(super) fn no_room(cap: u32) -> CallResult {
    let text = format!(
        "{cap} subagents are at work, which is as many as may be at once; wait for one to end"
    );
    CallResult::new(CallStatus::Limit, text)
}

impl Draft<'_> {
    pub(super) fn start_subagent(&mut self, call: &ProposedCall) {
        let started = match self.subagent_start(call) {
            Ok(started) => started,
            Err(result) => return self.finish_call(call.call, result, Millis::default()),
        };
        let (mode, subagent) = (started.mode, started.subagent);
        if let Some(result) = self.calls_used_up() {
            return self.finish_call(call.call, result, Millis::default());
        }
        self.dispatch(call, None);
        if call.kind == CallKind::ClientSubagent {
            return;
        }
        self.push(Event::SubagentStarted(started));
        if mode == ChildMode::Background {
            // Made of an id, which always serialises.
            let text = serde_json::json!({ "subagent": subagent }).to_string();
            self.finish_call(call.call, CallResult::new(CallStatus::Ok, text), Millis::default());
        }
    }

    fn subagent_start(&self, call: &ProposedCall) -> Result<SubagentStarted, CallResult> {
        if self.ledger.subagents_left() == 0 {
            let max = self.machine.family.caps.max_subagents;
            let text = format!("the run may start at most {max} subagents and has; do it yourself");
            return Err(CallResult::new(CallStatus::Limit, text));
        }
        let arguments: Delegate = arguments::read(&call.name, &call.arguments)?;
        let spec = self.machine.family.subagent(&arguments.agent).ok_or_else(|| {
            CallResult::new(CallStatus::Error, format!("no subagent `{}`", arguments.agent))
        })?;
        self.ledger.may_spawn(self.machine.id(), spec).map_err(|refusal| {
            let text = format!("{refusal}; do the task yourself");
            CallResult::new(CallStatus::Limit, text)
        })?;
        let background = call.kind == CallKind::Spawn;
        Ok(SubagentStarted {
            subagent: self.ledger.next_agent(),
            name: arguments.agent,
            role: spec.role,
            task: arguments.task,
            label: arguments.label,
            write_scope: arguments.write_scope,
            goal: self.state.run.goal.clone(),
            context: self.state.transcript.summary().map(Arc::from),
            mode: if background { ChildMode::Background } else { ChildMode::Foreground },
            delivery: spec.delivery,
            placement: spec.placement,
            for_call: call.call,
            depth: self.machine.depth() + 1,
        })
    }

    /// Begins to wait for subagents; done at once if all of them have reported.
    pub(super) fn begin_wait(&mut self, call: &ProposedCall) {
        let wait = match arguments::read::<arguments::Wait>(&call.name, &call.arguments) {
            Ok(wait) => wait,
            Err(result) => return self.finish_call(call.call, result, Millis::default()),
        };
        let unknown = wait.subagents.iter().find(|id| self.child_named(**id).is_none());
        if let Some(id) = unknown {
            let result = unknown_child(*id);
            return self.finish_call(call.call, result, Millis::default());
        }
        let deadline =
            wait.patience().map(|wait| Timestamp(self.facts.now.0.saturating_add(wait.0)));
        self.dispatch(call, deadline);
        self.settle_waits();
    }

    /// Settles the calls that wait for subagents all of which have reported.
    pub(super) fn settle_waits(&mut self) {
        let Some(turn) = self.state.turn() else { return };
        let waits: Vec<ProposedCall> =
            turn.dispatched().filter(|call| call.kind == CallKind::Wait).cloned().collect();
        for call in waits {
            let awaited = |child: &&Child| {
                arguments::waits_for(&call.arguments, child.started.subagent)
                    && child.started.mode == ChildMode::Background
            };
            if !self.state.children.values().filter(awaited).any(Child::is_live) {
                self.finish_wait(&call, CallStatus::Ok);
            }
        }
    }

    /// Ends a wait with what has been reported and who is still at work.
    pub(super) fn finish_wait(&mut self, call: &ProposedCall, status: CallStatus) {
        #[derive(Serialize)]
        struct Waited {
            reported: Vec<Box<serde_json::value::RawValue>>,
            at_work: Vec<AgentId>,
        }
        let mut waited = Waited { reported: Vec::new(), at_work: Vec::new() };
        for child in self.state.children.values() {
            if !arguments::waits_for(&call.arguments, child.started.subagent) {
                continue;
            }
            match &child.state {
                ChildState::Live | ChildState::Stopping => {
                    waited.at_work.push(child.started.subagent);
                }
                ChildState::Reported { held: Some(notice), .. } => {
                    // A notice is written as JSON where it is made; other words stand as text.
                    let told = serde_json::value::RawValue::from_string(notice.to_string());
                    let told = told.or_else(|_| serde_json::value::to_raw_value(notice.as_ref()));
                    waited.reported.extend(told);
                }
                ChildState::Reported { held: None, .. } => {}
            }
        }
        let text = text::json(&waited);
        self.finish_call(call.call, CallResult::new(status, text), Millis::default());
    }

    /// Begins to tell a subagent something, unless it cannot hear any more.
    pub(super) fn begin_tell(&mut self, call: &ProposedCall) {
        let told = arguments::read::<arguments::Tell>(&call.name, &call.arguments);
        match told.and_then(|tell| self.reachable(tell.subagent)) {
            Ok(()) => self.dispatch(call, None),
            Err(result) => self.finish_call(call.call, result, Millis::default()),
        }
    }

    /// Begins to stop a subagent; one that has ended already is answered as it ended.
    pub(super) fn begin_stop(&mut self, call: &ProposedCall) {
        let target = match arguments::read::<arguments::Stop>(&call.name, &call.arguments) {
            Ok(stop) => stop.subagent,
            Err(result) => return self.finish_call(call.call, result, Millis::default()),
        };
        let result = match self.child_named(target).map(|child| &child.state) {
            None => unknown_child(target),
            Some(ChildState::Live | ChildState::Stopping) => return self.dispatch(call, None),
            Some(ChildState::Reported { status, .. }) => stopped(target, *status),
        };
        self.finish_call(call.call, result, Millis::default());
    }

    fn reachable(&self, subagent: AgentId) -> Result<(), CallResult> {
        let error = |text: String| Err(CallResult::new(CallStatus::Error, text));
        match self.child_named(subagent).map(|child| &child.state) {
            None => Err(unknown_child(subagent)),
            Some(ChildState::Live) => Ok(()),
            Some(ChildState::Stopping) => {
                error(format!("{subagent} is being stopped and hears nothing more"))
            }
            Some(ChildState::Reported { status: Outcome::Cancelled, .. }) => {
                error(format!("{subagent} was stopped and hears nothing more; start another"))
            }
            Some(ChildState::Reported { .. }) => error(format!(
                "{subagent} has finished and hears nothing more; start another with what it reported"
            )),
        }
    }

    fn child_named(&self, subagent: AgentId) -> Option<&Child> {
        self.state.children.values().find(|child| child.started.subagent == subagent)
    }

    /// A subagent in the background has reported: its notice starts a turn if nothing else goes on.
    pub(super) fn child_reported(&mut self, call: CallId, report: &SubagentFinished) {
        let Some(child) = self.state.children.get(&call) else { return };
        let subagent = child.started.subagent;
        let notice = subagent::notice(Some(&child.started), report);
        self.push(Event::Message(Message::User(UserMessage {
            for_call: Some(call),
            ended: Some((report.status, report.finish_reason)),
            ..UserMessage::new(Source::Notice, notice.text)
        })));
        self.settle_stops(subagent, report.status);
        self.settle_waits();
        self.heard();
    }

    /// A subagent asks: a call that waited for it returns with the question, and it goes on in the
    /// background until it is told the answer.
    pub(super) fn child_asked(&mut self, call: CallId, question: AskId, text: &Arc<str>) {
        let Some(child) = self.state.children.get(&call) else { return };
        let started = child.started.clone();
        let words = subagent::question(&started, question, text);
        self.push(Event::Message(Message::User(UserMessage {
            for_call: Some(call),
            question: Some(question),
            ..UserMessage::new(Source::Question, words)
        })));
        if started.mode == ChildMode::Foreground {
            let text = format!(
                "{} asks something before it can go on; its question follows. Answer it with \
                 `message_subagent`; its report comes as a message.",
                started.subagent
            );
            self.finish_call(call, CallResult::new(CallStatus::Ok, text), Millis::default());
        }
        self.heard();
    }

    fn settle_stops(&mut self, subagent: AgentId, status: Outcome) {
        let Some(turn) = self.state.turn() else { return };
        let stops: Vec<CallId> = turn
            .dispatched()
            .filter(|call| call.kind == CallKind::Stop)
            .filter(|call| arguments::target(&call.arguments) == Some(subagent))
            .map(|call| call.call)
            .collect();
        self.refuse_calls(&stops, &stopped(subagent, status));
    }

    /// Goes on after something was heard, if nothing else goes on that will.
    pub(super) fn heard(&mut self) {
        match self.state.phase {
            Phase::Deciding if self.last_was_turn() => self.after_turn(),
            Phase::Deciding => self.ask_brain(&StepContext::UserInput),
            Phase::Acting(_) => self.advance(),
            Phase::Ending(_) => self.finish_ending(),
            Phase::Resting
            | Phase::Thinking { .. }
            | Phase::Compacting(_)
            | Phase::Asking(_)
            | Phase::Interrupted
            | Phase::Done(_) => {}
        }
    }

    /// Whether this decision has settled the last call of a turn.
    fn last_was_turn(&self) -> bool {
        matches!(self.state.transcript.last(), Some(crate::transcript::Entry::Turn(_)))
    }
}

fn unknown_child(subagent: AgentId) -> CallResult {
    CallResult::new(CallStatus::Error, format!("no subagent {subagent} was started in this run"))
}

/// The result of a stop: the same whoever asks, however often.
fn stopped(subagent: AgentId, status: Outcome) -> CallResult {
    // Made of an id and a word, which always serialise.
    let text = serde_json::json!({ "subagent": subagent, "status": status }).to_string();
    CallResult::new(CallStatus::Ok, text)
}
