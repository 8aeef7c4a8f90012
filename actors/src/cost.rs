//! What tokens cost: exact sums of prices a token, and sums that know what they leave out.

use serde::{Deserialize, Serialize};

use crate::money::Money;
use crate::usage::Usage;

/// The prices of one model, each in money a token. A price that is not named is that of the tokens
/// around it: `input` for what enters, `output` for what is generated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]

pub struct Rates {
    /// An input token that no cache served.
    pub input: Money,
    /// An input token that was read from the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<Money>,
    /// An input token that was written to a cache of five minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_5m: Option<Money>,
    /// An input token that was written to a cache of one hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_1h: Option<Money>,
    /// An output token.
    pub output: Money,
    /// An output token of hidden reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Money>,
}

/// A sum of money that knows whether it is whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// What was used at a known price.
    pub priced: Money,
    /// How many tokens were used of models without a price.
    #[serde(default, skip_serializing_if = "crate::usage::is_zero")]
    pub unpriced_tokens: u64,
}

/// What this usage costs. The parts of input and output that have a price of their own are charged
/// at it, the rest at the common one. A provider that reports more parts than it reports tokens is
/// charged for the parts.
#[must_use]
pub fn cost(rates: &Rates, usage: &Usage) -> Money {
    let inputs = [
        (usage.cached_input_tokens, rates.cached_input),
        (usage.cache_write_5m_tokens, rates.cache_write_5m),
        (usage.cache_write_1h_tokens, rates.cache_write_1h),
    ];
    let outputs = [(usage.reasoning_tokens, rates.reasoning)];
    side(usage.input_tokens, rates.input, &inputs).plus(side(
        usage.output_tokens,
        rates.output,
        &outputs,
    ))
}

impl Rates {
    /// The highest price that an input token can have.
    #[must_use]
    pub fn highest_input(&self) -> Money {
        let parts = [self.cached_input, self.cache_write_5m, self.cache_write_1h];
        parts.into_iter().flatten().fold(self.input, Money::max)
    }

    /// The highest price that an output token can have.
    #[must_use]
    pub fn highest_output(&self) -> Money {
        self.output.max(self.reasoning.unwrap_or_default())
    }
}

impl Cost {
    /// What so many tokens cost, at a price if there is one.
    #[must_use]
    pub fn of(tokens: u64, priced: Option<Money>) -> Self {
        match priced {
            Some(priced) => Self { priced, unpriced_tokens: 0 },
            None => Self { priced: Money::ZERO, unpriced_tokens: tokens },
        }
    }

    /// The whole sum. Unknown as soon as a token in it has no price: never zero instead.
    #[must_use]
    pub fn known(&self) -> Option<Money> {
        (self.unpriced_tokens == 0).then_some(self.priced)
    }

    /// Adds another sum to this one.
    pub fn add(&mut self, other: &Self) {
        self.priced = self.priced.plus(other.priced);
        self.unpriced_tokens = self.unpriced_tokens.saturating_add(other.unpriced_tokens);
    }
}

fn side(total: u64, common: Money, parts: &[(u64, Option<Money>)]) -> Money {
    let counted = parts.iter().fold(0u64, |sum, (tokens, _)| sum.saturating_add(*tokens));
    let charge = |sum: Money, (tokens, rate): &(u64, Option<Money>)| {
        sum.plus(rate.unwrap_or(common).times(*tokens))
    };
    parts.iter().fold(common.times(total.saturating_sub(counted)), charge)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn pico(pico: u64) -> Money {
        Money::from_pico(pico)
    }

    const PLAIN: Rates = Rates {
        input: pico(100),
        cached_input: None,
        cache_write_5m: None,
        cache_write_1h: None,
        output: pico(1_000),
        reasoning: None,
    };
    const FULL: Rates = Rates {
        cached_input: Some(pico(10)),
        cache_write_5m: Some(pico(125)),
        cache_write_1h: Some(pico(200)),
        reasoning: Some(pico(2_000)),
        ..PLAIN
    };

    #[test]
    fn each_part_is_charged_once_at_its_own_price() {
        let (input_tokens, output_tokens) = (1_000, 100);
        let bare = Usage { input_tokens, output_tokens, ..Usage::NONE };
        let parts = Usage {
            cached_input_tokens: 500,
            cache_write_5m_tokens: 100,
            cache_write_1h_tokens: 50,
            reasoning_tokens: 40,
            ..bare
        };
        // These say of what kind the tokens are; they are in the others already.
        let described = Usage {
            cache_miss_input_tokens: 350,
            text_input_tokens: 1_000,
            accepted_prediction_tokens: 7,
            rejected_prediction_tokens: 3,
            ..parts
        };
        let full = 350 * 100 + 500 * 10 + 100 * 125 + 50 * 200 + 60 * 1_000 + 40 * 2_000;
        let too_many = Usage { cached_input_tokens: 1_500, ..bare };
        let table = [
            (PLAIN, Usage::NONE, 0),
            (PLAIN, bare, 200_000),
            (PLAIN, parts, 200_000),
            (FULL, bare, 200_000),
            (FULL, parts, full),
            (FULL, described, full),
            (FULL, too_many, 1_500 * 10 + 100_000),
        ];
        for (rates, usage, expected) in table {
            assert_eq!(cost(&rates, &usage), pico(expected), "{rates:?} {usage:?}");
        }
    }

    #[test]
    fn no_token_costs_more_than_the_highest_price() {
        assert_eq!((FULL.highest_input(), FULL.highest_output()), (pico(200), pico(2_000)));
        assert_eq!((PLAIN.highest_input(), PLAIN.highest_output()), (pico(100), pico(1_000)));
    }

    #[test]
    fn a_sum_with_an_unknown_part_is_unknown_and_keeps_what_is_known() {
        let mut sum = Cost::of(5, Some(pico(7)));
        assert_eq!(sum.known(), Some(pico(7)));
        sum.add(&Cost::of(0, None));
        assert_eq!(sum.known(), Some(pico(7)), "no token, nothing to pay");
        sum.add(&Cost::of(3, None));
        sum.add(&Cost::of(1, Some(pico(1))));
        assert_eq!(sum, Cost { priced: pico(8), unpriced_tokens: 3 });
        assert_eq!(sum.known(), None);
    }
}
