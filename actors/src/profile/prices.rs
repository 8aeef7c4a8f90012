//! What a model's tokens cost, by the size of the request.

use serde::{Deserialize, Serialize};

use crate::cost::{self, Rates};
use crate::money::Money;
use crate::usage::Usage;

/// What a model's tokens cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prices {
    /// The usual prices.
    #[serde(flatten)]
    pub rates: Rates,
    /// The prices of long requests, if they differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long_context: Option<LongContext>,
}

/// The prices of requests over a size. They hold for all tokens of such a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LongContext {
    /// The input tokens up to which the usual prices hold.
    pub over: u64,
    /// The prices above.
    #[serde(flatten)]
    pub rates: Rates,
}

impl Prices {
    /// What one request and its reply cost. Sums of several requests must not be priced at once:
    /// the size of the single request decides which prices hold.
    #[must_use]
    pub fn cost(&self, usage: &Usage) -> Money {
        cost::cost(self.rates_for(usage.input_tokens), usage)
    }

    /// The prices of a request of so many input tokens.
    #[must_use]
    pub fn rates_for(&self, input: u64) -> &Rates {
        match &self.long_context {
            Some(long) if input > long.over => &long.rates,
            Some(_) | None => &self.rates,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(input: u64, output: u64) -> Rates {
        Rates {
            input: Money::from_pico(input),
            output: Money::from_pico(output),
            ..Rates::default()
        }
    }

    #[test]
    fn a_long_request_costs_the_long_price_for_all_its_tokens() {
        let long = LongContext { over: 100, rates: rates(20, 30) };
        let prices = Prices { rates: rates(2, 3), long_context: Some(long) };
        let cost = |input_tokens| prices.cost(&Usage { input_tokens, ..Usage::default() });
        assert_eq!((cost(100), cost(101)), (Money::from_pico(200), Money::from_pico(2_020)));
    }
}
