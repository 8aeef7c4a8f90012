//! What may be used at most, and what happens at the limit. Nothing is limited unless a host says
//! so: arbitrary turn caps kill good work.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::event::FinishReason;
use crate::failure::ErrorCode;
use crate::money::Money;
use crate::time::Millis;

/// The most that a family or one agent may use; what is not named is not limited. The names are
/// those of the flags and of `[limits]` in a family file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Model replies that are taken. Retries of a request are not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u64>,
    /// Tool calls that run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tool_calls: Option<u64>,
    /// Input and output tokens together, retries included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Money. It binds what has a price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<Money>,
    /// Time by the clock, without the time in which the run was down or parked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_time: Option<Millis>,
}

/// What happens when a limit is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnLimit {
    /// The last turn that the limit allows is announced, has no tools, and ends the work.
    #[default]
    Finish,
    /// The run fails.
    Stop,
    /// The run rests and can be resumed with a higher limit.
    Interrupt,
    /// The run parks until a person raises the limit or ends it.
    Ask,
    /// Watchers are told; the run goes on.
    Warn,
}

/// How a child's account hangs on its parent's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChildBudget {
    /// The child draws on its parent: what it uses, the parent has used too.
    #[default]
    Share,
    /// The child's limits are cut out of what the parent has left, and set aside for it.
    Grant,
    /// The child has its parent's limits with counters of its own. Only the family's ceiling binds
    /// both.
    Mirror,
}

/// What a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    /// Model replies.
    Steps,
    /// Tool calls.
    ToolCalls,
    /// Tokens.
    Tokens,
    /// Money, counted in picodollars.
    Cost,
    /// Time by the clock, counted in milliseconds.
    Time,
}

impl Limits {
    /// No limits.
    #[must_use]
    pub const fn none() -> Self {
        Self {
            max_steps: None,
            max_tool_calls: None,
            max_tokens: None,
            max_cost: None,
            max_time: None,
        }
    }

    /// With at most so many model replies.
    #[must_use]
    pub const fn steps(mut self, most: u64) -> Self {
        self.max_steps = Some(most);
        self
    }

    /// With at most so many tool calls.
    #[must_use]
    pub const fn tool_calls(mut self, most: u64) -> Self {
        self.max_tool_calls = Some(most);
        self
    }

    /// With at most so many tokens, input and output together.
    #[must_use]
    pub const fn tokens(mut self, most: u64) -> Self {
        self.max_tokens = Some(most);
        self
    }

    /// With at most so much money.
    #[must_use]
    pub const fn cost(mut self, most: Money) -> Self {
        self.max_cost = Some(most);
        self
    }

    /// With at most so much time.
    #[must_use]
    pub const fn time(mut self, most: Millis) -> Self {
        self.max_time = Some(most);
        self
    }

    /// The limit of one kind, in the kind's unit.
    #[must_use]
    pub fn get(&self, kind: LimitKind) -> Option<u64> {
        match kind {
            LimitKind::Steps => self.max_steps,
            LimitKind::ToolCalls => self.max_tool_calls,
            LimitKind::Tokens => self.max_tokens,
            LimitKind::Cost => self.max_cost.map(Money::pico),
            LimitKind::Time => self.max_time.map(|time| time.0),
        }
    }

    /// Sets the limit of one kind, in the kind's unit.
    pub fn set(&mut self, kind: LimitKind, most: Option<u64>) {
        match kind {
            LimitKind::Steps => self.max_steps = most,
            LimitKind::ToolCalls => self.max_tool_calls = most,
            LimitKind::Tokens => self.max_tokens = most,
            LimitKind::Cost => self.max_cost = most.map(Money::from_pico),
            LimitKind::Time => self.max_time = most.map(Millis),
        }
    }

    /// These limits, and those of `other` where nothing is said here.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        let mut both = self;
        for kind in LimitKind::ALL {
            both.set(kind, self.get(kind).or(other.get(kind)));
        }
        both
    }
}

impl OnLimit {
    /// Whether the last turn is a closing one, which has to be set aside in advance.
    #[must_use]
    pub fn closes(self) -> bool {
        match self {
            Self::Finish => true,
            Self::Stop | Self::Interrupt | Self::Ask | Self::Warn => false,
        }
    }

    /// Whether a limit holds anything back.
    #[must_use]
    pub fn binds(self) -> bool {
        match self {
            Self::Finish | Self::Stop | Self::Interrupt | Self::Ask => true,
            Self::Warn => false,
        }
    }
}

impl LimitKind {
    /// Every kind.
    pub const ALL: [Self; 5] = [Self::Steps, Self::ToolCalls, Self::Tokens, Self::Cost, Self::Time];

    /// The kinds that are added up. Time is not: it is read off the clock.
    pub const COUNTED: [Self; 4] = [Self::Steps, Self::ToolCalls, Self::Tokens, Self::Cost];

    /// The kind as text, for example `tool_calls`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Steps => "steps",
            Self::ToolCalls => "tool_calls",
            Self::Tokens => "tokens",
            Self::Cost => "cost",
            Self::Time => "time",
        }
    }

    /// The kind in words, for people: the limit of …
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Steps => "steps",
            Self::ToolCalls => "tool calls",
            Self::Tokens => "tokens",
            Self::Cost => "cost",
            Self::Time => "time",
        }
    }

    /// The code of the error with which the policy `stop` ends a run.
    #[must_use]
    pub fn code(self) -> ErrorCode {
        match self {
            Self::Steps => ErrorCode::LimitSteps,
            Self::ToolCalls => ErrorCode::LimitToolCalls,
            Self::Tokens => ErrorCode::LimitTokens,
            Self::Cost => ErrorCode::LimitCost,
            Self::Time => ErrorCode::LimitTime,
        }
    }

    /// The flag of the command line that sets it, without its dashes.
    #[must_use]
    pub fn flag(self) -> &'static str {
        match self {
            Self::Steps => "max-steps",
            Self::ToolCalls => "max-tool-calls",
            Self::Tokens => "max-tokens",
            Self::Cost => "max-cost",
            Self::Time => "max-time",
        }
    }

    /// Why a run ended whose last turn was a closing one (policy `finish`).
    #[must_use]
    pub fn reason_to_finish(self) -> FinishReason {
        match self {
            Self::Steps | Self::ToolCalls => FinishReason::MaxStepsCompleted,
            Self::Tokens | Self::Cost | Self::Time => FinishReason::BudgetCompleted,
        }
    }

    /// Why a run ended that was stopped hard (policy `stop`).
    #[must_use]
    pub fn reason_to_stop(self) -> FinishReason {
        match self {
            Self::Steps | Self::ToolCalls => FinishReason::MaxStepsExceeded,
            Self::Tokens | Self::Cost => FinishReason::CostLimitExceeded,
            Self::Time => FinishReason::Timeout,
        }
    }

    /// An amount in this kind's unit, for people.
    #[must_use]
    pub fn show(self, amount: u64) -> String {
        match self {
            Self::Steps => format!("{amount} steps"),
            Self::ToolCalls => format!("{amount} tool calls"),
            Self::Tokens => format!("{amount} tokens"),
            Self::Cost => format!("{} USD", Money::from_pico(amount)),
            Self::Time => format!("{amount} ms"),
        }
    }
}

/// An amount under a limit, as events show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Amount {
    /// Steps, calls, tokens, or milliseconds.
    Count(u64),
    /// Dollars.
    Money(Money),
}

impl Amount {
    /// An amount in the kind's unit.
    #[must_use]
    pub fn of(kind: LimitKind, amount: u64) -> Self {
        match kind {
            LimitKind::Cost => Self::Money(Money::from_pico(amount)),
            LimitKind::Steps | LimitKind::ToolCalls | LimitKind::Tokens | LimitKind::Time => {
                Self::Count(amount)
            }
        }
    }
}

impl fmt::Display for LimitKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_read_the_names_of_the_flags_and_no_others() {
        let all = Limits::none()
            .steps(1)
            .tool_calls(2)
            .tokens(3)
            .cost(Money::from_dollars(4))
            .time(Millis(5));
        let text =
            r#"{"max_steps":1,"max_tool_calls":2,"max_tokens":3,"max_cost":"4","max_time":5}"#;
        assert_eq!(serde_json::from_str::<Limits>(text).unwrap(), all);
        assert_eq!(serde_json::to_string(&all).unwrap(), text);
        assert_eq!(serde_json::from_str::<Limits>("{}").unwrap(), Limits::none());
        assert_eq!(serde_json::to_string(&Limits::none()).unwrap(), "{}");
        assert!(serde_json::from_str::<Limits>(r#"{"max_turns":1}"#).is_err());
    }

    #[test]
    fn a_kind_reads_back_what_it_sets() {
        for kind in LimitKind::ALL {
            let mut limits = Limits::none();
            limits.set(kind, Some(7));
            let set: Vec<LimitKind> =
                LimitKind::ALL.into_iter().filter(|kind| limits.get(*kind) == Some(7)).collect();
            assert_eq!(set, [kind]);
            assert_eq!(limits.or(Limits::none().steps(9)).get(kind), Some(7));
            assert_eq!(Limits::none().or(limits), limits);
        }
    }

    #[test]
    fn each_kind_has_its_names_and_reasons() {
        use FinishReason::{
            BudgetCompleted, CostLimitExceeded, MaxStepsCompleted, MaxStepsExceeded, Timeout,
        };
        let table = [
            ("steps", "limit.steps", MaxStepsCompleted, MaxStepsExceeded),
            ("tool_calls", "limit.tool_calls", MaxStepsCompleted, MaxStepsExceeded),
            ("tokens", "limit.tokens", BudgetCompleted, CostLimitExceeded),
            ("cost", "limit.cost", BudgetCompleted, CostLimitExceeded),
            ("time", "limit.time", BudgetCompleted, Timeout),
        ];
        let row = |kind: LimitKind| {
            (kind.as_str(), kind.code(), kind.reason_to_finish(), kind.reason_to_stop())
        };
        let table =
            table.map(|(name, code, finish, stop)| (name, ErrorCode::from(code), finish, stop));
        assert_eq!(LimitKind::ALL.map(row), table);
        for kind in LimitKind::ALL {
            assert_eq!(serde_json::to_string(&kind).unwrap(), format!("\"{kind}\""));
        }
    }

    #[test]
    fn policies_and_modes_have_the_names_of_the_settings() {
        let policies = [
            (OnLimit::Finish, "finish", true, true),
            (OnLimit::Stop, "stop", false, true),
            (OnLimit::Interrupt, "interrupt", false, true),
            (OnLimit::Ask, "ask", false, true),
            (OnLimit::Warn, "warn", false, false),
        ];
        for (policy, name, closes, binds) in policies {
            assert_eq!(serde_json::to_string(&policy).unwrap(), format!("\"{name}\""));
            assert_eq!((policy.closes(), policy.binds()), (closes, binds), "{name}");
        }
        let modes = [ChildBudget::Share, ChildBudget::Grant, ChildBudget::Mirror];
        let names = serde_json::to_string(&modes).unwrap();
        assert_eq!(names, r#"["share","grant","mirror"]"#);
        assert_eq!((OnLimit::default(), ChildBudget::default()), (OnLimit::Finish, modes[0]));
    }
}
