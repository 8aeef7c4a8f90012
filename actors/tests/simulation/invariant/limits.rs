//! Budgets bind the tree: no run has more replies, calls, subagents or tokens than its limits, as
//! they were raised last, whatever its members do at the same moment.

use std::collections::BTreeMap;

use kinfolk_actors::budget::account::Scope;
use kinfolk_actors::event::{ApprovalSubject, Event, Message};
use kinfolk_actors::id::{AgentId, AskId, RunId};
use kinfolk_actors::limits::{LimitKind, Limits, OnLimit};
use kinfolk_actors::money::Money;
use kinfolk_actors::profile::ModelProfile;
use kinfolk_actors::usage::Usage;

use super::{Invariant, hold};
use crate::coverage::note;
use crate::world::{Step, World};

#[derive(Clone, Copy, Default)]
struct Used {
    steps: u64,
    calls: u64,
    tokens: u64,
    cost: Money,
    subagents: u64,
}

#[derive(Default)]
pub struct Bounded {
    family: BTreeMap<RunId, (Used, Limits)>,
    /// The lead's own limits, as they were raised last.
    leads: BTreeMap<RunId, Limits>,
    /// Whose limit a question is about.
    asked: BTreeMap<AskId, Scope>,
    agents: BTreeMap<(RunId, AgentId), Used>,
}

impl Invariant for Bounded {
    fn name(&self) -> &'static str {
        "limits"
    }

    fn step(&mut self, step: &Step, world: &World) -> Result<(), String> {
        let (run, agent) = (step.machine.run, step.agent());
        let family = &world.setting.family;
        let (used, limits) = self.family.entry(run).or_insert((Used::default(), family.limits));
        let lead = self.leads.entry(run).or_insert(family.lead.limits);
        let own = self.agents.entry((run, agent)).or_default();
        let profile = step.machine.profile();
        for event in step.events() {
            for used in [&mut *used, &mut *own] {
                used.count(event, &profile);
            }
            match event {
                Event::RunResumed(resumed) => {
                    let raised = resumed.raised.unwrap_or_default();
                    raise(limits, &raised, lead);
                    raise(lead, &raised, &raised);
                }
                Event::ApprovalRequested(asked) => {
                    if let ApprovalSubject::Limit { scope, .. } = asked.subject {
                        self.asked.insert(asked.approval, scope);
                    }
                }
                Event::ApprovalSettled(settled) => {
                    let raised = settled.raised.unwrap_or_default();
                    match self.asked.get(&settled.approval) {
                        Some(Scope::Family) => raise(limits, &raised, &Limits::none()),
                        Some(Scope::Agent(_)) => raise(lead, &raised, &Limits::none()),
                        None => {}
                    }
                }
                _ => {}
            }
        }
        let spawned = used.subagents <= u64::from(family.caps.max_subagents);
        hold!(spawned, "{} subagents", used.subagents);
        if family.on_limit == OnLimit::Warn || step.events().is_empty() {
            return Ok(());
        }
        used.within(limits, "the family")?;
        used.noted(limits);
        let own_limits = if agent.is_lead() { *lead } else { step.machine.invocation().limits };
        own.within(&own_limits, "the agent")
    }
}

/// Raises limits: none falls, and none is set that was not there where `instead` has one.
fn raise(limits: &mut Limits, raised: &Limits, instead: &Limits) {
    for kind in LimitKind::ALL {
        let most = match (limits.get(kind), raised.get(kind)) {
            (Some(before), Some(most)) => Some(before.max(most)),
            (None, most) if instead.get(kind).is_none() => most,
            (before, _) => before,
        };
        limits.set(kind, most);
    }
}

impl Used {
    fn count(&mut self, event: &Event, profile: &ModelProfile) {
        let usage = match event {
            Event::Message(Message::Assistant(reply)) => reply.usage,
            Event::ModelFailed(failed) => failed.usage,
            Event::CompactionFinished(finished) => finished.usage,
            _ => Usage::default(),
        };
        self.tokens += usage.total_tokens();
        self.cost = self.cost.plus(profile.cost(&usage).unwrap_or_default());
        match event {
            Event::Message(Message::Assistant(_)) => self.steps += 1,
            Event::ToolStarted(_) => self.calls += 1,
            Event::SubagentStarted(_) => self.subagents += 1,
            _ => {}
        }
    }

    fn within(&self, limits: &Limits, whose: &str) -> Result<(), String> {
        let fits = |used: u64, limit: Option<u64>| limit.is_none_or(|limit| used <= limit);
        let Self { steps, calls, tokens, .. } = *self;
        hold!(fits(steps, limits.max_steps), "{whose}: {steps} replies of {limits:?}");
        hold!(fits(calls, limits.max_tool_calls), "{whose}: {calls} calls of {limits:?}");
        hold!(fits(tokens, limits.max_tokens), "{whose}: {tokens} tokens of {limits:?}");
        let paid = limits.max_cost.is_none_or(|limit| self.cost <= limit);
        hold!(paid, "{whose}: {} dollars of {limits:?}", self.cost);
        Ok(())
    }

    fn noted(&self, limits: &Limits) {
        let full = [
            limits.max_steps == Some(self.steps),
            limits.max_tool_calls == Some(self.calls),
            limits.max_cost.is_some_and(|limit| limit < self.cost.times(2)),
            limits.max_tokens.is_some_and(|limit| limit < self.tokens + 500),
        ];
        if full.contains(&true) {
            note("case", "limits");
        }
    }
}
