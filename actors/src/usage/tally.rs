//! What was used, told apart by model, by tool and by what people were waited for.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Usage;
use crate::call::CallStatus;
use crate::cost::Cost;
use crate::money::Money;
use crate::time::Millis;

/// The sums of an agent, a run or a session. Merging them in any order gives the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// By model, `provider:name`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<Arc<str>, ModelTally>,
    /// By the tool's name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<Arc<str>, ToolTally>,
    /// What people were waited for.
    #[serde(default)]
    pub human: Human,
}

/// What one model was used for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelTally {
    /// Requests that were made of it. Retries are inside of one; the usage counts them.
    pub requests: u64,
    /// What they used.
    pub usage: Usage,
    /// What they cost.
    pub cost: Cost,
}

/// What one tool was used for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolTally {
    /// Calls that were settled.
    pub calls: u64,
    /// Of these, calls whose result is an error.
    pub errors: u64,
    /// How long they ran, one after the other.
    pub time_ms: Millis,
    /// What they cost; a tool that names no price is free.
    pub cost: Money,
}

/// How often and how long people were waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Human {
    /// Approvals.
    pub approvals: u64,
    /// Questions, choices included.
    pub questions: u64,
    /// All waits together.
    pub wait_ms: Millis,
}

/// What a person is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wait {
    /// That a call may run.
    Approval,
    /// An answer.
    Question,
}

impl Tally {
    /// Counts one request of a model, answered or not. Without a price the cost becomes unknown.
    pub fn count_request(&mut self, model: &Arc<str>, usage: &Usage, price: Option<Money>) {
        let cost = Cost::of(usage.total_tokens(), price);
        let one = ModelTally { requests: 1, usage: *usage, cost };
        self.models.entry(Arc::clone(model)).or_default().add(&one);
    }

    /// Counts one settled call.
    pub fn count_call(&mut self, tool: &Arc<str>, status: CallStatus, time: Millis, cost: Money) {
        let one = ToolTally { calls: 1, errors: u64::from(status.is_error()), time_ms: time, cost };
        self.tools.entry(Arc::clone(tool)).or_default().add(&one);
    }

    /// Counts one answered wait for a person.
    pub fn count_wait(&mut self, wait: Wait, time: Millis) {
        let one = match wait {
            Wait::Approval => Human { approvals: 1, questions: 0, wait_ms: time },
            Wait::Question => Human { approvals: 0, questions: 1, wait_ms: time },
        };
        self.human.add(&one);
    }

    /// Adds another tally to this one.
    pub fn add(&mut self, other: &Self) {
        for (model, sums) in &other.models {
            self.models.entry(Arc::clone(model)).or_default().add(sums);
        }
        for (tool, sums) in &other.tools {
            self.tools.entry(Arc::clone(tool)).or_default().add(sums);
        }
        self.human.add(&other.human);
    }

    /// What all models together used.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.models.values().fold(Usage::NONE, |mut sum, model| {
            sum.add(&model.usage);
            sum
        })
    }

    /// What all tools together were used for.
    #[must_use]
    pub fn tool_sums(&self) -> ToolTally {
        self.tools.values().fold(ToolTally::default(), |mut sum, tool| {
            sum.add(tool);
            sum
        })
    }

    /// What models and tools together cost.
    #[must_use]
    pub fn cost(&self) -> Cost {
        let tools = Cost { priced: self.tool_sums().cost, unpriced_tokens: 0 };
        self.models.values().fold(tools, |mut sum, model| {
            sum.add(&model.cost);
            sum
        })
    }
}

impl ModelTally {
    fn add(&mut self, other: &Self) {
        self.requests = self.requests.saturating_add(other.requests);
        self.usage.add(&other.usage);
        self.cost.add(&other.cost);
    }
}

impl ToolTally {
    fn add(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.errors = self.errors.saturating_add(other.errors);
        self.time_ms = sum(self.time_ms, other.time_ms);
        self.cost = self.cost.plus(other.cost);
    }
}

impl Human {
    fn add(&mut self, other: &Self) {
        self.approvals = self.approvals.saturating_add(other.approvals);
        self.questions = self.questions.saturating_add(other.questions);
        self.wait_ms = sum(self.wait_ms, other.wait_ms);
    }
}

fn sum(one: Millis, other: Millis) -> Millis {
    Millis(one.0.saturating_add(other.0))
}
