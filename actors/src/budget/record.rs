//! The fold of events into the ledger.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::account::{
    Accounts, Ask, Bound, Closing, LEAST_OUTPUT, Opening, Purpose, Refusal, Spend, Terms,
};
use super::{AgentSums, AtWork, Contended, Facts, Ledger};
use crate::call::{CallKind, Gate, ProposedCall};
use crate::event::{
    ApprovalRequested, ApprovalSubject, CompactionFinished, CompactionStarted, Decision, Event,
    Message, ModelRequested, RunStarted, SubagentStarted, ToolFinished,
};
use crate::family::Family;
use crate::id::{AgentId, AskId, Attempt, CallId, Offset, RunId};
use crate::limits::{Amount, Limits};
use crate::money::Money;
use crate::profile::ModelProfile;
use crate::time::{Millis, Timestamp};
use crate::usage::Usage;
use crate::usage::{Tally, Wait};

/// The tokens that are set aside for an agent's closing turn before it has sent anything.
const FIRST_CLOSING_TOKENS: u64 = 512;

/// The longest time that is set aside for a closing turn; a tenth of the limit if that is less.
const CLOSING_TIME: Millis = Millis(30_000);

/// What an agent's account begins with.
pub(super) fn opening(family: &Family, own: &Limits) -> Opening {
    let limited = |limits: &Limits| limits.max_tokens.is_some();
    let tokens = if limited(&family.limits) || limited(own) { FIRST_CLOSING_TOKENS } else { 0 };
    let longest = family.limits.max_time.into_iter().chain(own.max_time).min();
    let time = longest.map_or(Millis(0), |longest| Millis(longest.0 / 10).min(CLOSING_TIME));
    let closing = Closing { tokens, cost: Money::ZERO, time };
    Opening { limits: *own, mode: family.child_budget, closing }
}

impl Ledger {
    /// What an agent may know now.
    #[must_use]
    pub fn facts(&self, now: Timestamp, head: Offset) -> Facts {
        Facts { now, head, ledger: Arc::new(self.clone()) }
    }

    /// Whether the family has room for what these events of an agent start and use.
    ///
    /// # Errors
    /// [`Contended`], if another agent took a place that they count on.
    pub fn admit(
        &self,
        run: RunId,
        agent: AgentId,
        at: Timestamp,
        events: &[Event],
    ) -> Result<(), Contended> {
        let mut after = self.clone();
        events.iter().try_for_each(|event| after.apply(run, agent, at, event))
    }

    /// Folds one event of one agent.
    pub fn record(&mut self, run: RunId, agent: AgentId, at: Timestamp, event: &Event) {
        // What is journaled has happened, whatever the accounts think of it.
        self.apply(run, agent, at, event).ok();
    }

    /// Lets the clock be seen: time passes while something is at work.
    pub(crate) fn see(&mut self, now: Timestamp) {
        let idle = self.at_work.is_idle();
        if let Some(accounts) = &mut self.accounts {
            if idle { accounts.resume_at(now) } else { accounts.seen_at(now) }
        }
    }

    fn apply(
        &mut self,
        run: RunId,
        agent: AgentId,
        at: Timestamp,
        event: &Event,
    ) -> Result<(), Contended> {
        self.see(at);
        match event {
            Event::RunStarted(started) => self.start(run, at, started),
            Event::RunResumed(resumed) => {
                self.attempt = resumed.attempt;
                self.resume(at);
                if let Some(raised) = &resumed.raised {
                    self.raise_all(raised);
                }
            }
            Event::SubagentStarted(started) => return self.enter(agent, started),
            Event::Message(Message::Assistant(reply)) => {
                let calls = u64::try_from(reply.calls.len()).unwrap_or(u64::MAX);
                let counted = Usage { turns: 1, tool_calls: calls, ..Usage::default() };
                self.charge(agent, &counted);
                self.at_work.propose(&reply.calls);
                self.land(agent, (&reply.usage, reply.cost), Accounts::settle_request);
            }
            Event::ModelRequest(requested) => return self.request(agent, requested),
            Event::ModelFailed(failed) => {
                self.land(agent, (&failed.usage, failed.cost), Accounts::fail_request);
            }
            Event::ToolStarted(started) => return self.start_call(agent, started.call),
            Event::ToolFinished(finished) => self.finish_call(agent, finished),
            Event::CallDeferred(deferred) => self.at_work.defer(deferred.call),
            Event::ApprovalRequested(asked) => self.ask_approval(asked, at),
            Event::ApprovalSettled(settled) => {
                self.waited(agent, settled.approval, at);
                self.at_work.settle(settled.approval, settled.decision);
                self.raise_asked(settled);
            }
            Event::QuestionAsked(asked) => {
                self.waits.insert(asked.question, (Wait::Question, at));
            }
            Event::QuestionAnswered(answered) => self.waited(agent, answered.question, at),
            Event::QuestionWithdrawn { question } => self.waited(agent, *question, at),
            Event::CompactionStarted(started) => return self.summarise(agent, started),
            Event::CompactionFinished(finished) => self.summarised(agent, finished),
            Event::LimitWarning(warning) => {
                let amount = |amount: Amount| match amount {
                    Amount::Count(count) => count,
                    Amount::Money(money) => money.pico(),
                };
                let bound = Bound {
                    kind: warning.limit,
                    scope: warning.scope,
                    used: amount(warning.used),
                    of: amount(warning.of),
                };
                if let Some(accounts) = &mut self.accounts {
                    accounts.told(&bound);
                }
            }
            Event::SubagentFinished(finished) => self.leave(finished.subagent),
            Event::RunInterrupted(_)
            | Event::Message(Message::User(_))
            | Event::CallAudited(_)
            | Event::ToolsActivated(_)
            | Event::CompactionAsked
            | Event::InterruptAsked { .. }
            | Event::LimitReached(_)
            | Event::Ending(_)
            | Event::RunFinished(_) => {}
        }
        Ok(())
    }

    fn start(&mut self, run: RunId, at: Timestamp, started: &RunStarted) {
        let terms = Terms {
            ceiling: started.limits.limits,
            on_limit: started.limits.on_limit,
            caps: started.limits.caps,
        };
        let lead = opening(&self.family, &self.family.lead.limits);
        *self = Self {
            family: Arc::clone(&self.family),
            run: Some(run),
            attempt: Attempt(1),
            started: at,
            limits: started.limits.limits,
            accounts: Some(Accounts::new(&terms, &lead, at)),
            agents: BTreeMap::new(),
            at_work: AtWork::default(),
            waits: BTreeMap::new(),
            asked_limits: BTreeMap::new(),
        };
        self.add_agent(AgentId::LEAD, "lead".into());
    }

    /// What was at work when the run was left has to be begun again; the time between is free.
    fn resume(&mut self, at: Timestamp) {
        if let Some(accounts) = &mut self.accounts {
            accounts.resume_at(at);
        }
    }

    fn add_agent(&mut self, agent: AgentId, name: Arc<str>) {
        let sums = AgentSums { name, usage: Usage::default(), tally: Tally::default() };
        self.agents.insert(agent, sums);
    }

    fn enter(&mut self, parent: AgentId, started: &SubagentStarted) -> Result<(), Contended> {
        let agent = started.subagent;
        let expected = agent == self.next_agent() && self.subagents_left() > 0;
        self.add_agent(agent, Arc::clone(&started.name));
        let spec = self.family.subagent(&started.name);
        let own = spec.map(|spec| spec.invocation.limits).unwrap_or_default();
        let opening = opening(&self.family, &own);
        let opened = match &mut self.accounts {
            Some(accounts) => accounts.open(agent, parent, &opening).is_ok(),
            None => true,
        };
        if expected && opened { Ok(()) } else { Err(Contended) }
    }

    fn leave(&mut self, agent: AgentId) {
        self.at_work.leave(agent);
        if let Some(accounts) = &mut self.accounts {
            // A subagent that was lost may have left something in flight: it was used, for all that
            // is known.
            accounts.void_request(agent).ok();
            accounts.close(agent).ok();
        }
    }

    fn request(&mut self, agent: AgentId, requested: &ModelRequested) -> Result<(), Contended> {
        self.at_work.requests.insert(agent);
        let profile = self.profile_of_agent(agent);
        let ask = Ask {
            purpose: Purpose::Turn,
            input_estimate: requested.estimated_tokens,
            response_cap: requested.max_output.unwrap_or(profile.response),
            least_output: LEAST_OUTPUT,
            rates: profile.rates(),
        };
        let closing = requested.closing.is_some();
        let Some(accounts) = &mut self.accounts else { return Ok(()) };
        match accounts.reserve_request(agent, &ask) {
            Ok(granted) if granted.closing.is_none() || closing => Ok(()),
            Ok(_) | Err(_) => Err(Contended),
        }
    }

    fn profile_of_agent(&self, agent: AgentId) -> ModelProfile {
        self.profile_of(self.model_of(agent))
    }

    fn model_of(&self, agent: AgentId) -> &Arc<str> {
        let name = self.agents.get(&agent).map(|sums| &sums.name);
        let spec = name.filter(|_| !agent.is_lead()).and_then(|name| self.family.subagent(name));
        &spec.map_or(&self.family.lead, |spec| &spec.invocation).model
    }

    pub(super) fn profile_of(&self, model: &str) -> ModelProfile {
        let endpoint = self.family.models.get(model);
        endpoint.map_or_else(ModelProfile::unknown, |endpoint| endpoint.profile.clone())
    }

    /// A request is over.
    fn land(
        &mut self,
        agent: AgentId,
        used: (&Usage, Option<Money>),
        settle: fn(&mut Accounts, AgentId, &Spend) -> Result<(), Refusal>,
    ) {
        let model = Arc::clone(self.model_of(agent));
        self.pay(agent, &model, used, settle);
    }

    /// Counts a request: at what the host said that it cost, else at the frozen prices.
    fn pay(
        &mut self,
        agent: AgentId,
        model: &Arc<str>,
        (usage, cost): (&Usage, Option<Money>),
        settle: fn(&mut Accounts, AgentId, &Spend) -> Result<(), Refusal>,
    ) {
        self.at_work.requests.remove(&agent);
        let price = cost.or_else(|| self.profile_of(model).cost(usage));
        if let Some(sums) = self.agents.get_mut(&agent) {
            sums.usage.add(usage);
            sums.tally.count_request(model, usage, price);
        }
        let spend = Spend { tokens: usage.total_tokens(), cost: price.unwrap_or_default() };
        if let Some(accounts) = &mut self.accounts
            && settle(accounts, agent, &spend).is_err()
        {
            accounts.charge(agent, &spend).ok();
        }
    }

    fn charge(&mut self, agent: AgentId, used: &Usage) {
        if let Some(sums) = self.agents.get_mut(&agent) {
            sums.usage.add(used);
        }
    }

    fn start_call(&mut self, agent: AgentId, call: CallId) -> Result<(), Contended> {
        self.at_work.begin(call);
        let Some(accounts) = &mut self.accounts else { return Ok(()) };
        let room = accounts.reserve_calls(agent, 1).is_ok_and(|calls| calls.allowed == 1);
        if !room {
            return Err(Contended);
        }
        // A call that has begun counts, however it ends.
        accounts.settle_calls(agent, 1).ok();
        Ok(())
    }

    fn finish_call(&mut self, agent: AgentId, finished: &ToolFinished) {
        let ran = self.at_work.running.contains(&finished.call);
        self.at_work.end(finished.call);
        let cost = if ran { self.cost_of(&finished.name) } else { Money::ZERO };
        if let Some(sums) = self.agents.get_mut(&agent) {
            let (status, took) = (finished.result.status, finished.duration_ms);
            sums.tally.count_call(&finished.name, status, took, cost);
        }
        if let Some(accounts) = &mut self.accounts {
            accounts.charge(agent, &Spend { tokens: 0, cost }).ok();
        }
    }

    fn cost_of(&self, tool: &str) -> Money {
        let known = self.family.invocations().find_map(|invocation| invocation.tool(tool));
        known.and_then(|tool| tool.cost).unwrap_or_default()
    }

    fn ask_approval(&mut self, asked: &ApprovalRequested, at: Timestamp) {
        match asked.subject {
            ApprovalSubject::Limit { limit: _, scope } => {
                self.asked_limits.insert(asked.approval, scope);
            }
            ApprovalSubject::Tool { call, .. } => self.at_work.ask(asked.approval, call),
        }
        self.waits.insert(asked.approval, (Wait::Approval, at));
    }

    fn waited(&mut self, agent: AgentId, ask: AskId, at: Timestamp) {
        let Some((wait, since)) = self.waits.remove(&ask) else { return };
        if let Some(sums) = self.agents.get_mut(&agent) {
            sums.tally.count_wait(wait, at.since(since));
        }
    }

    fn summarise(&mut self, agent: AgentId, started: &CompactionStarted) -> Result<(), Contended> {
        if started.max_output == 0 {
            // A digest, for which no model is asked.
            return Ok(());
        }
        self.at_work.requests.insert(agent);
        let ask = Ask {
            purpose: Purpose::Summary,
            input_estimate: started.tokens,
            response_cap: started.max_output,
            least_output: LEAST_OUTPUT,
            rates: self.profile_of(&started.model).rates(),
        };
        let Some(accounts) = &mut self.accounts else { return Ok(()) };
        accounts.reserve_request(agent, &ask).map(drop).map_err(|_| Contended)
    }

    fn summarised(&mut self, agent: AgentId, finished: &CompactionFinished) {
        if self.at_work.requests.contains(&agent) {
            let used = (&finished.usage, finished.cost);
            self.pay(agent, &finished.model, used, Accounts::settle_request);
        }
    }
}

impl AtWork {
    fn propose(&mut self, calls: &[ProposedCall]) {
        for call in calls.iter().filter(|call| matches!(call.kind, CallKind::Tool(_))) {
            self.tools.insert(call.call);
            match call.gate {
                Gate::Pass | Gate::Audit { .. } => self.coming.insert(call.call),
                Gate::Ask(_) | Gate::Block(_) => false,
            };
        }
    }

    fn ask(&mut self, approval: AskId, call: CallId) {
        self.coming.remove(&call);
        self.asked.insert(approval, call);
    }

    fn settle(&mut self, approval: AskId, decision: Decision) {
        let call = self.asked.remove(&approval).filter(|call| self.tools.contains(call));
        if decision == Decision::Approved {
            self.coming.extend(call);
        }
    }

    fn begin(&mut self, call: CallId) {
        self.coming.remove(&call);
        if self.tools.contains(&call) {
            self.running.insert(call);
        }
    }

    fn defer(&mut self, call: CallId) {
        self.running.remove(&call);
    }

    fn end(&mut self, call: CallId) {
        self.tools.remove(&call);
        self.coming.remove(&call);
        self.running.remove(&call);
    }

    fn leave(&mut self, agent: AgentId) {
        self.requests.remove(&agent);
        for calls in [&mut self.tools, &mut self.coming, &mut self.running] {
            calls.retain(|call| call.agent != agent);
        }
        self.asked.retain(|ask, _| ask.agent != agent);
    }
}
