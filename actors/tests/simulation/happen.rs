//! What happens to a family: outcomes, words of people, crashes, all by lot.

use std::sync::Arc;

use kinfolk_actors::agent::{
    About, AgentState, Answer, Approve, Cause, Command, Deliver, Key, Outcome, Phase, Recovered,
    Start, Steer, Timer, Verdict, Work, failed,
};
use kinfolk_actors::call::CallStatus;
use kinfolk_actors::event::{Event, RunKind};
use kinfolk_actors::failure::{ErrorCode, Failure};
use kinfolk_actors::id::{AgentId, AskId, CallId, RunId};
use kinfolk_actors::limits::Limits;
use kinfolk_actors::machine::Demand;
use kinfolk_actors::time::{Millis, Timestamp};
use uuid::Uuid;

use crate::invariant::Fault;
use crate::outcome;
use crate::world::{Known, Line, Ready, World};

impl World {
    /// One thing happens.
    pub fn happen(&mut self) {
        if !self.lead().is_active() && self.dice.one_in(2) {
            return self.start();
        }
        if self.sealed().is_some() && self.dice.one_in(8) {
            return self.steer_one();
        }
        match self.dice.below(100) {
            0..60 => self.settle_one(),
            60..69 => self.answer_one(),
            69..74 => self.deliver_one(),
            74..79 => self.steer_one(),
            79..81 => self.queue(),
            81..83 => {
                let agent = self.any_agent();
                self.command(agent, &Command::Compact, false);
            }
            83..84 => self.activate(),
            84..85 => {
                let reason = self.word("rest");
                let agent = self.any_agent();
                self.command(agent, &Command::Interrupt { reason }, false);
            }
            85..87 => self.resume(),
            87..88 => self.cancel_one(),
            88..91 => self.crash(),
            91..94 => self.repeat(),
            _ => self.start(),
        }
    }

    fn any_agent(&mut self) -> AgentId {
        if self.dice.one_in(2) {
            return AgentId::LEAD;
        }
        let agents: Vec<AgentId> = self.loaded.keys().copied().collect();
        self.dice.one_of(&agents)
    }

    /// Begins a run if none is under way; otherwise that is refused.
    pub fn start(&mut self) {
        let resting = !self.lead().is_active();
        if !resting && !self.dice.one_in(8) {
            return self.settle_one();
        }
        if resting && !self.journal.is_empty() {
            self.run = RunId(Uuid::from_u128(self.run.0.as_u128() + 1));
            self.attempt = Default::default();
            self.attempt.0 = 1;
            self.loaded.clear();
            self.lost.clear();
            (self.previous, self.last) = (None, None);
            self.load_lead();
        }
        let kind = match (self.lead().queued.is_empty(), self.dice.below(12)) {
            (false, 0..10) | (true, 0) => RunKind::Queued,
            (_, 1) => RunKind::Compact,
            (_, _) => RunKind::Request,
        };
        let input = self.word("input");
        let agent = if self.dice.one_in(40) { self.any_agent() } else { AgentId::LEAD };
        self.command(
            agent,
            &Command::Start(Start { input, kind, parent_run: None, prepared_at: None }),
            false,
        );
    }

    /// Something comes out as it cannot.
    fn misfit(&mut self) {
        let ready: Vec<Ready> = self.in_flight();
        let Some(ready) = self.dice.pick(&ready).cloned() else { return };
        let outcome = match ready.key {
            Key::Lease(_) => Outcome::Fired,
            _ => Outcome::Leased,
        };
        self.command(ready.agent, &Command::Settle { key: ready.key, outcome }, false);
    }

    fn settle_one(&mut self) {
        if self.dice.one_in(200) {
            return self.misfit();
        }
        let ready: Vec<Ready> = self.in_flight();
        let ready: Vec<Ready> = ready.into_iter().filter(|ready| self.is_ready(ready)).collect();
        let Some(ready) = self.dice.pick(&ready).cloned() else { return };
        self.settle(&ready, outcome::any);
    }

    /// Whether something in flight can end now.
    pub fn is_ready(&mut self, ready: &Ready) -> bool {
        let (Demand::Run(work) | Demand::Stop(work)) = &ready.demand;
        match work {
            Work::Child { started } => {
                let asked = self.asked_by(ready);
                let told = self.told_by(started.subagent, asked).is_some();
                told || self.lost.contains(&started.subagent) || self.dice.one_in(60)
            }
            Work::Timer { timer: Timer::Closing | Timer::Deadline, .. } => self.dice.one_in(20),
            // No story waits for the end of time.
            Work::Timer { timer: Timer::Call(_), at } => *at != Some(Timestamp(u64::MAX)),
            Work::Timer { timer: Timer::Ask(_), .. } => self.dice.one_in(8),
            Work::Model { .. }
            | Work::Tool { .. }
            | Work::Lease { .. }
            | Work::Audit { .. }
            | Work::Tell { .. }
            | Work::Summary { .. } => true,
        }
    }

    fn asked_by(&self, ready: &Ready) -> Option<AskId> {
        let Key::Child(call) = ready.key else { return None };
        self.state(ready.agent)?.children.get(&call)?.asked
    }

    /// Ends something in flight as `how` says.
    pub fn settle(&mut self, ready: &Ready, how: fn(&mut World, &Ready) -> Outcome) {
        let (Demand::Run(work) | Demand::Stop(work)) = ready.demand.clone();
        let outcome = match &work {
            Work::Child { started } => match self.told_by(started.subagent, self.asked_by(ready)) {
                Some(told) => told,
                None => {
                    self.lose(started.subagent);
                    outcome::lost(self)
                }
            },
            Work::Tell { call, subagent, message } => self.carry(*call, *subagent, message),
            Work::Timer { at: Some(at), .. } => {
                self.now = self.now.max(*at);
                Outcome::Fired
            }
            Work::Timer { timer, at: None } => {
                let left = self.ledger.time_left(self.now);
                let wait = left.map_or(0, |left| match timer {
                    Timer::Closing => left.to_closing.0,
                    Timer::Deadline | Timer::Call(_) | Timer::Ask(_) => left.to_deadline.0,
                });
                self.now.0 += wait;
                Outcome::Fired
            }
            Work::Model { .. }
            | Work::Tool { .. }
            | Work::Lease { .. }
            | Work::Audit { .. }
            | Work::Summary { .. } => how(self, ready),
        };
        let known = self.ledger.facts(self.now, self.head());
        let lines = self.journal.len();
        let command = Command::Settle { key: ready.key, outcome };
        // A subagent's outcome is known before it is told, so nothing can be between.
        let alone = matches!(ready.key, Key::Child(_) | Key::Tell(_));
        let raced = !alone && self.dice.one_in(2);
        if self.command(ready.agent, &command, raced) {
            self.last = Some((ready.agent, command));
        }
        let takes =
            |line: &Line| matches!(line.event, Event::SubagentStarted(_) | Event::ToolStarted(_));
        if self.journal[lines..].iter().any(takes) {
            self.previous = Some(Known { facts: known, lines });
        }
    }

    /// Carries a message to a subagent, as a runtime does.
    fn carry(&mut self, call: CallId, subagent: AgentId, message: &Arc<str>) -> Outcome {
        let steer = Steer { text: Arc::clone(message), from: Some(call) };
        let known = self.loaded.contains_key(&subagent);
        let taken = known && self.command(subagent, &Command::Steer(steer), false);
        match self.dice.below(20) {
            0 => Outcome::Gone,
            _ if taken => Outcome::Told { refused: None },
            _ => Outcome::Told { refused: Some("it hears nothing more".into()) },
        }
    }

    fn answer_one(&mut self) {
        let mut asks: Vec<(AskId, bool)> = vec![];
        for loaded in self.loaded.values() {
            for (id, ask) in loaded.state.open_asks() {
                asks.push((id, matches!(ask.about, About::Words { .. })));
            }
            // Those that wait no more are answered again now and then.
            for n in 0..loaded.state.run.asked {
                let id = AskId { run: loaded.machine.run, agent: loaded.machine.id(), n };
                if !loaded.state.asks.contains_key(&id) && self.dice.one_in(6) {
                    asks.push((id, self.dice.one_in(2)));
                }
            }
        }
        let Some((id, words)) = self.dice.pick(&asks).copied() else { return };
        let other = AskId { n: id.n + 50, ..id };
        let of_another_run = AskId { run: RunId(Uuid::from_u128(99)), ..id };
        let id = match self.dice.below(30) {
            0 => other,
            1 => of_another_run,
            _ => id,
        };
        let verdict = self.dice.one_of(&[
            Verdict::Approve,
            Verdict::Approve,
            Verdict::Approve,
            Verdict::Deny,
            Verdict::Deny,
            Verdict::DenyAndStop,
        ]);
        if words != self.dice.one_in(20) {
            self.answer(id);
        } else {
            self.approve(id, verdict);
        }
    }

    pub fn answer(&mut self, question: AskId) {
        let text = self.word("answer");
        let answer = Answer { question, text, by: None };
        self.command(question.agent, &Command::Answer(answer), false);
    }

    pub fn approve(&mut self, approval: AskId, verdict: Verdict) {
        let raised = self.dice.one_in(4).then(|| self.more());
        let reason = self.dice.one_in(2).then(|| "not like this".into());
        let approve = Approve { approval, verdict, by: Some("ada".into()), reason, raised };
        self.command(approval.agent, &Command::Approve(approve), false);
    }

    /// Limits with more room than before.
    fn more(&mut self) -> Limits {
        let mut limits = self.ledger.limits();
        limits.max_steps = limits.max_steps.map(|steps| steps + 5);
        limits.max_tool_calls = limits.max_tool_calls.map(|calls| calls + 5);
        limits.max_tokens = limits.max_tokens.map(|tokens| tokens + 50_000);
        limits.max_cost = limits.max_cost.map(|cost| cost.times(4));
        limits.max_time = limits.max_time.map(|time| Millis(time.0 + 100_000));
        limits
    }

    /// The calls that are answered from outside.
    pub fn deferred(&self) -> Vec<CallId> {
        let turns = self.loaded.values().filter_map(|loaded| loaded.state.turn());
        turns.flat_map(|turn| turn.deferred().map(|call| call.call)).collect()
    }

    fn deliver_one(&mut self) {
        let deferred = self.deferred();
        match self.dice.pick(&deferred).copied() {
            Some(call) if self.dice.one_in(10) => self.deliver(CallId { n: call.n + 70, ..call }),
            Some(call) => {
                self.deliver(call);
                if self.dice.one_in(4) {
                    self.deliver(call);
                }
            }
            None => self.settle_one(),
        }
    }

    pub fn deliver(&mut self, call: CallId) {
        let text = self.word("delivered");
        let status = self.dice.one_of(&[CallStatus::Ok, CallStatus::Error, CallStatus::Timeout]);
        self.command(call.agent, &Command::Deliver(Deliver { call, status, text }), false);
    }

    /// An agent whose last answer is being written.
    fn sealed(&self) -> Option<AgentId> {
        let sealed = |state: &AgentState| state.is_active() && state.is_sealed();
        let mut agents = self.loaded.iter().filter(|(_, loaded)| sealed(&loaded.state));
        agents.next().map(|(agent, _)| *agent)
    }

    fn steer_one(&mut self) {
        let agent = self.sealed().unwrap_or_else(|| self.any_agent());
        let times = if self.dice.one_in(60) { 70 } else { 1 };
        for _ in 0..times {
            let text = self.word("steer");
            self.command(agent, &Command::Steer(Steer { text, from: None }), false);
        }
    }

    fn queue(&mut self) {
        let text = self.word("queued");
        let agent = self.any_agent();
        self.command(agent, &Command::Queue { text }, false);
    }

    fn activate(&mut self) {
        let name = if self.dice.one_in(4) { "look" } else { "hidden" };
        let agent = self.any_agent();
        self.command(agent, &Command::Activate { tools: vec![name.into()] }, false);
    }

    pub fn resume(&mut self) {
        let resting = self.lead().phase == Phase::Interrupted;
        if !resting && !self.dice.one_in(4) {
            return self.settle_one();
        }
        let raised = self.dice.one_in(2).then(|| self.more());
        let agent = if self.dice.one_in(6) { self.any_agent() } else { AgentId::LEAD };
        self.command(agent, &Command::Resume { raised }, false);
    }

    fn cancel_one(&mut self) {
        let agent = self.any_agent();
        self.cancel(agent);
    }

    pub fn cancel(&mut self, agent: AgentId) {
        let cause = self.dice.one_of(&[Cause::Requested, Cause::Aborted, Cause::Shutdown]);
        let cancel = Command::Cancel { cause, reason: "enough".into() };
        self.command(agent, &cancel, false);
    }

    /// Everything but the journal is lost; the family is loaded again, perhaps only to end.
    fn crash(&mut self) {
        self.loaded.clear();
        self.lost.clear();
        self.ledger = self.refold();
        (self.previous, self.last) = (None, None);
        self.attempt.0 += 1;
        // While the family is down, the clock goes on.
        self.now.0 += self.dice.below(100_000);
        self.load_lead();
        let crashed = Failure::new(ErrorCode::AgentCrashed, "too often");
        let end = self.dice.one_in(10).then(|| failed(crashed));
        let recovered = Recovered { attempt: self.attempt, end };
        self.command(AgentId::LEAD, &Command::Recovered(recovered), false);
    }

    pub fn refold(&self) -> kinfolk_actors::budget::Ledger {
        let family = Arc::clone(&self.setting.family);
        let mut ledger = kinfolk_actors::budget::Ledger::new(family);
        for line in &self.journal {
            ledger.record(line.run, line.agent, line.at, &line.event);
        }
        ledger
    }

    /// The newest outcome comes a second time.
    fn repeat(&mut self) {
        let Some((agent, command)) = self.last.clone() else { return };
        let Command::Settle { key, .. } = command else { return };
        let again = self.in_flight().iter().any(|ready| ready.agent == agent && ready.key == key);
        if self.command(agent, &command, false) && !again {
            let why = format!("{agent} took it twice: {command:?}");
            self.faults.push(Fault { law: "once", why });
        }
    }
}
