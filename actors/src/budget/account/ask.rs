//! A request as the accounts see it: its amounts, and how large its output may be.

use serde::{Deserialize, Serialize};

use super::book::Sums;
use crate::cost::Rates;
use crate::limits::LimitKind;

/// The fewest output tokens with which a request makes sense: a short answer.
pub const LEAST_OUTPUT: u64 = 64;

/// A request that an agent wants to send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// What it is for.
    pub purpose: Purpose,
    /// The tokens that it sends, as well as they are known.
    pub input_estimate: u64,
    /// The most output tokens that the model's settings allow. A request in doubt is charged with
    /// its whole cap, so this is the model's real one, never a number that stands for none.
    pub response_cap: u64,
    /// The fewest output tokens with which it makes sense; more than the cap means the cap.
    pub least_output: u64,
    /// The model's prices. Without them its money is not bound.
    pub rates: Option<Rates>,
}

/// What a request is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// The agent's next turn.
    #[default]
    Turn,
    /// A summary of the agent's history. It is no step, and never the closing turn.
    Summary,
}

/// What stands beside a request in its scopes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// The closing turn after it has to fit too.
    Normal,
    /// Nothing follows from it.
    Plain,
    /// It is the closing turn and may take the agent's reserve.
    Closing,
}

/// The prices of a token at most, in a kind's unit.
pub(super) struct Price {
    input: u64,
    output: u64,
}

impl Ask {
    pub(super) fn least(&self) -> u64 {
        self.least_output.min(self.response_cap)
    }

    /// The places that a request of this shape needs among what is counted one by one, what is set
    /// aside for the agent included. A turn that could call nothing is worth no turn: with the last
    /// call used, the closing one follows.
    pub(super) fn places(&self, shape: Shape) -> [(LimitKind, u64); 2] {
        let (steps, calls) = match (self.purpose, shape) {
            (Purpose::Turn, Shape::Normal) => (2, 1),
            (Purpose::Turn, Shape::Plain | Shape::Closing) => (1, 0),
            (Purpose::Summary, _) => (0, 0),
        };
        [(LimitKind::Steps, steps), (LimitKind::ToolCalls, calls)]
    }

    /// The prices in the kinds that input and output add up in. Money is priced at the most that
    /// such a token can cost, so that what is held is never too little.
    pub(super) fn prices(&self) -> [(LimitKind, Price); 2] {
        let rates = self.rates.unwrap_or_default();
        let (input, output) = (rates.highest_input().pico(), rates.highest_output().pico());
        let money = Price { input, output };
        [(LimitKind::Tokens, Price { input: 1, output: 1 }), (LimitKind::Cost, money)]
    }

    /// What a request with so much input and output takes at most.
    pub(super) fn amounts(&self, input: u64, output: u64) -> Sums {
        let rates = self.rates.unwrap_or_default();
        let steps = match self.purpose {
            Purpose::Turn => 1,
            Purpose::Summary => 0,
        };
        let cost = rates.highest_input().times(input).plus(rates.highest_output().times(output));
        Sums { steps, tool_calls: 0, tokens: input.saturating_add(output), cost }
    }

    /// What the closing turn needs after this request with so much output.
    pub(super) fn closing_need(&self, output: u64) -> Sums {
        self.amounts(self.input_estimate.saturating_add(output), self.least())
    }
}

impl Price {
    /// The most output for which there is room in `free`: for the request, and for a normal one
    /// also for the closing turn that sends its input and output again. Nothing if the rest alone
    /// is too much.
    pub(super) fn most_output(&self, free: u64, ask: &Ask, shape: Shape) -> Option<u64> {
        let (in_price, out_price) = (u128::from(self.input), u128::from(self.output));
        let input = u128::from(ask.input_estimate).saturating_mul(in_price);
        let least = u128::from(ask.least()).saturating_mul(out_price);
        let (fixed, each) = match shape {
            Shape::Normal => (input.saturating_mul(2).saturating_add(least), in_price + out_price),
            Shape::Plain | Shape::Closing => (input, out_price),
        };
        let left = u128::from(free).checked_sub(fixed)?;
        let output = left.checked_div(each).unwrap_or(u128::MAX);
        Some(u64::try_from(output).unwrap_or(u64::MAX))
    }
}
