//! What a family file says of a model. It stands over the table, field by field.

use serde::{Deserialize, Serialize};

use super::{InvalidProfile, LongContext, ModelProfile, Prices, Sampling};
use crate::cost::Rates;
use crate::money::Money;

/// The fields of a profile that are set by hand. Sizes are in tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProfileOverrides {
    /// See [`ModelProfile::window`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// See [`ModelProfile::response`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<u64>,
    /// See [`ModelProfile::summary_reserve`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary_reserve: Option<u64>,
    /// See [`ModelProfile::safety_buffer`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub safety_buffer: Option<u64>,
    /// See [`ModelProfile::image_tokens`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_tokens: Option<u64>,
    /// See [`ModelProfile::prices`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prices: Option<PriceOverrides>,
    /// See [`ModelProfile::return_reasoning`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub return_reasoning: Option<bool>,
    /// See [`ModelProfile::user_after_subagents`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_after_subagents: Option<bool>,
    /// See [`ModelProfile::sampling`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<Sampling>,
}

/// The prices that are set by hand, in dollars a token.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PriceOverrides {
    /// See [`Rates::input`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Money>,
    /// See [`Rates::cached_input`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<Money>,
    /// See [`Rates::cache_write_5m`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_5m: Option<Money>,
    /// See [`Rates::cache_write_1h`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_1h: Option<Money>,
    /// See [`Rates::output`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Money>,
    /// See [`Rates::reasoning`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Money>,
    /// See [`Prices::long_context`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub long_context: Option<LongContext>,
}

impl ProfileOverrides {
    /// The profile with the fields that are set here. A smaller window without its own `response`
    /// lowers that to a quarter of the window, the rule of the table.
    ///
    /// # Errors
    /// The result has no room for a request, or prices with gaps.
    pub fn over(&self, profile: ModelProfile) -> Result<ModelProfile, InvalidProfile> {
        let window = self.window.unwrap_or(profile.window);
        let response = match (self.response, self.window) {
            (Some(response), _) => response,
            (None, Some(window)) => profile.response.min(window / 4),
            (None, None) => profile.response,
        };
        let prices = match &self.prices {
            Some(set) => Some(set.over(profile.prices)?),
            None => profile.prices,
        };
        let merged = ModelProfile {
            window,
            response,
            summary_reserve: self.summary_reserve.unwrap_or(profile.summary_reserve),
            safety_buffer: self.safety_buffer.unwrap_or(profile.safety_buffer),
            image_tokens: self.image_tokens.unwrap_or(profile.image_tokens),
            prices,
            return_reasoning: self.return_reasoning.unwrap_or(profile.return_reasoning),
            user_after_subagents: self.user_after_subagents.unwrap_or(profile.user_after_subagents),
            sampling: self.sampling.unwrap_or(profile.sampling),
        };
        if merged.usable() == 0 {
            return Err(InvalidProfile::NoRoom { window, reserved: merged.reserved() });
        }
        Ok(merged)
    }
}

impl PriceOverrides {
    fn over(&self, known: Option<Prices>) -> Result<Prices, InvalidProfile> {
        let (rates, long_context) = match known {
            Some(prices) => (Some(prices.rates), prices.long_context),
            None => (None, None),
        };
        let needed = |set: Option<Money>, known: Option<Money>, missing| {
            set.or(known).ok_or(InvalidProfile::PricesIncomplete { missing })
        };
        let rates = Rates {
            input: needed(self.input, rates.map(|rates| rates.input), "input")?,
            output: needed(self.output, rates.map(|rates| rates.output), "output")?,
            cached_input: self.cached_input.or(rates.and_then(|rates| rates.cached_input)),
            cache_write_5m: self.cache_write_5m.or(rates.and_then(|rates| rates.cache_write_5m)),
            cache_write_1h: self.cache_write_1h.or(rates.and_then(|rates| rates.cache_write_1h)),
            reasoning: self.reasoning.or(rates.and_then(|rates| rates.reasoning)),
        };
        Ok(Prices { rates, long_context: self.long_context.clone().or(long_context) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<ModelProfile, InvalidProfile> {
        let set: ProfileOverrides = serde_json::from_str(json).unwrap();
        set.over(ModelProfile::of("openai:gpt-4o"))
    }

    #[test]
    fn what_is_set_stands_and_the_rest_is_the_tables() {
        let known = ModelProfile::of("openai:gpt-4o");
        assert_eq!(read("{}"), Ok(known.clone()));
        let mut expected = ModelProfile {
            window: 64_000,
            response: 16_000,
            safety_buffer: 7,
            return_reasoning: true,
            user_after_subagents: true,
            sampling: Sampling::Refused,
            ..known
        };
        expected.prices.as_mut().unwrap().rates.output = "0.5".parse().unwrap();
        let json = r#"{"window": 64000, "safety_buffer": 7, "prices": {"output": "0.5"},
            "return_reasoning": true, "user_after_subagents": true, "sampling": "refused"}"#;
        assert_eq!(read(json), Ok(expected));
    }

    #[test]
    fn a_profile_without_room_or_with_half_its_prices_is_refused() {
        let no_room = InvalidProfile::NoRoom { window: 1_000, reserved: 1_000 };
        assert_eq!(read(r#"{"window": 1000, "response": 1000}"#), Err(no_room));
        let set: ProfileOverrides =
            serde_json::from_str(r#"{"prices": {"input": "0.000001"}}"#).unwrap();
        let missing = InvalidProfile::PricesIncomplete { missing: "output" };
        assert_eq!(set.over(ModelProfile::unknown()), Err(missing));
    }

    #[test]
    fn an_unknown_field_is_an_error() {
        for json in [r#"{"windows": 1}"#, r#"{"prices": {"inputs": "1"}}"#] {
            assert!(serde_json::from_str::<ProfileOverrides>(json).is_err(), "{json}");
        }
    }
}
