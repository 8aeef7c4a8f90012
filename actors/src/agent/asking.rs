//! How people are asked.

use std::sync::Arc;

use super::draft::Draft;
use super::{About, CallState, arguments, repeats};
use crate::budget::account::Scope;
use crate::call::{CallResult, CallStatus, Gate, ProposedCall};
use crate::event::{
    ApprovalRequested, ApprovalSettled, ApprovalSubject, Decision, Event, LimitReached,
    QuestionAsked, QuestionKind,
};
use crate::id::{AskId, CallId};
use crate::time::{Millis, Timestamp};

impl Draft<'_> {
    /// Asks a person whether a call may run. One that was refused in this run is refused again,
    /// without asking: the same question twice wears people down.
    pub(super) fn ask_approval(&mut self, call: CallId) {
        let Some(entry) = self.state.turn().and_then(|turn| turn.call(call)) else { return };
        if entry.state != CallState::Proposed {
            return;
        }
        let proposed = entry.proposed.clone();
        let digest = repeats::digest(&proposed);
        if self.state.run.denied.contains(&digest) {
            let text = "refused by the user before, and not run: it is not a failure, do without";
            let result = CallResult::new(CallStatus::Denied, text);
            return self.finish_call(call, result, Millis::default());
        }
        let reason = match &proposed.gate {
            Gate::Ask(reason) | Gate::Block(reason) => Arc::clone(reason),
            Gate::Audit { audit, .. } => {
                format!("the check `{audit}` wants a person to see it").into()
            }
            Gate::Pass => "the agent wants a person to see it".into(),
        };
        let subject = ApprovalSubject::Tool {
            call,
            name: proposed.name,
            arguments: proposed.arguments,
            digest,
        };
        self.push_approval(subject, reason);
    }

    /// Asks a person whether a limit may be raised; the agent does nothing else.
    pub(super) fn ask_limit(&mut self, LimitReached { limit, scope }: LimitReached) {
        let whose = match scope {
            Scope::Family => "the family's".to_owned(),
            Scope::Agent(agent) => format!("{agent}'s own"),
        };
        let reason = format!("{whose} limit of {} is used up; approving raises it", limit.words());
        self.push_approval(ApprovalSubject::Limit { limit, scope }, reason.into());
    }

    fn push_approval(&mut self, subject: ApprovalSubject, reason: Arc<str>) {
        let patience = self.machine.family.approval_timeout;
        let deadline = patience.map(|wait| Timestamp(self.facts.now.0.saturating_add(wait.0)));
        let approval = self.next_ask();
        self.push(Event::ApprovalRequested(ApprovalRequested {
            approval,
            subject,
            reason,
            deadline,
        }));
    }

    /// Asks a person, or the parent, for words.
    pub(super) fn ask_words(
        &mut self,
        kind: QuestionKind,
        text: &Arc<str>,
        options: &[Arc<str>],
        call: Option<CallId>,
    ) {
        let question = self.next_ask();
        let (text, options) = (Arc::clone(text), options.to_vec());
        self.push(Event::QuestionAsked(QuestionAsked { question, kind, text, options, call }));
    }

    /// Asks what a call wants to know.
    pub(super) fn ask_for(&mut self, call: &ProposedCall, kind: QuestionKind) {
        let asked = match arguments::read::<arguments::Ask>(&call.name, &call.arguments) {
            Ok(asked) => asked,
            Err(result) => return self.finish_call(call.call, result, Millis::default()),
        };
        let kind = match kind {
            QuestionKind::Text if !asked.options.is_empty() => QuestionKind::Choice,
            QuestionKind::Text | QuestionKind::Choice | QuestionKind::Parent => kind,
        };
        self.ask_words(kind, &asked.question, &asked.options, Some(call.call));
    }

    /// Closes what is still asked: the agent ends, and a later answer is stale.
    pub(super) fn withdraw_asks(&mut self) {
        self.withdraw_where(|_| true);
    }

    /// Closes what is asked about calls that end without an answer: a late yes must not act.
    pub(super) fn withdraw_asks_of(&mut self, calls: &[CallId]) {
        self.withdraw_where(|about| match about {
            About::Call(call) => calls.contains(call),
            About::Words { call, .. } => call.is_some_and(|call| calls.contains(&call)),
            About::Limit(_) => false,
        });
    }

    fn withdraw_where(&mut self, which: impl Fn(&About) -> bool) {
        let words = |about: &About| match about {
            About::Words { .. } => true,
            About::Call(_) | About::Limit(_) => false,
        };
        let open: Vec<(AskId, bool)> = self
            .state
            .open_asks()
            .filter(|(_, ask)| which(&ask.about))
            .map(|(id, ask)| (id, words(&ask.about)))
            .collect();
        for (id, is_question) in open {
            match is_question {
                true => self.push(Event::QuestionWithdrawn { question: id }),
                false => self.withdraw(id),
            }
        }
    }

    /// Closes an approval: a later answer is stale.
    pub(super) fn withdraw(&mut self, approval: AskId) {
        self.push(Event::ApprovalSettled(ApprovalSettled {
            approval,
            decision: Decision::Withdrawn,
            by: None,
            reason: None,
            raised: None,
        }));
    }
}
