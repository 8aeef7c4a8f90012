//! The embedded table of models: windows and prices, taken from LiteLLM's published table.
//!
//! `scripts/model_table.py` writes `models.json`, which holds the source's version, the date and
//! the licence (MIT, Berri AI). A name is looked up like this, the first that is found stands:
//!
//! 1. the full name, `provider:name`; `openai-responses` is `openai` by another door;
//! 2. the name alone, if no provider is given or the provider is an OpenAI-compatible door to
//!    anyone's models, and just one provider has it;
//! 3. both again without a version at the end: `-2025-01-31`, `-20250131` or `-latest`. The table
//!    leaves such versions out where they equal the undated name.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::ModelProfile;

/// Where the table comes from.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Source {
    /// The package.
    pub source: String,
    /// Its version.
    pub version: String,
    /// When it was taken, `YYYY-MM-DD`. Retired models are left out by this date.
    pub taken: String,
    /// The licence of the source.
    pub notice: String,
}

#[derive(Deserialize)]
struct Table {
    #[serde(flatten)]
    source: Source,
    models: BTreeMap<String, ModelProfile>,
}

// A table that can't be read would be empty; a test holds that it can be.
static TABLE: LazyLock<Option<Table>> =
    LazyLock::new(|| serde_json::from_str(include_str!("models.json")).ok());

/// The profile of a model, by `provider:name` or by name.
#[must_use]
pub fn lookup(model: &str) -> Option<&'static ModelProfile> {
    find(model).or_else(|| find(undated(model)?))
}

/// Every model of the table by its full name, sorted.
pub fn models() -> impl Iterator<Item = (&'static str, &'static ModelProfile)> {
    let all = TABLE.iter().flat_map(|table| &table.models);
    all.map(|(name, profile)| (name.as_str(), profile))
}

/// Where the table comes from.
#[must_use]
pub fn source() -> Option<&'static Source> {
    TABLE.as_ref().map(|table| &table.source)
}

fn find(model: &str) -> Option<&'static ModelProfile> {
    let models = &TABLE.as_ref()?.models;
    if let Some(profile) = models.get(model) {
        return Some(profile);
    }
    match model.split_once(':') {
        Some(("openai-responses", name)) => {
            models.get(&format!("openai:{name}")).or_else(|| by_name(models, name))
        }
        Some(("openai", name)) => by_name(models, name),
        Some(_) => None,
        None => by_name(models, model),
    }
}

/// The model of that name, if just one provider has it.
fn by_name<'a>(models: &'a BTreeMap<String, ModelProfile>, name: &str) -> Option<&'a ModelProfile> {
    let of_name = |full: &str| full.split_once(':').is_some_and(|(_, own)| own == name);
    let mut found = models.iter().filter(|(full, _)| of_name(full)).map(|(_, profile)| profile);
    match (found.next(), found.next()) {
        (Some(profile), None) => Some(profile),
        (Some(_), Some(_)) | (None, _) => None,
    }
}

/// The name without its version, if it has one at its end.
fn undated(model: &str) -> Option<&str> {
    if let Some(name) = model.strip_suffix("-latest") {
        return Some(name);
    }
    let digits = |text: &str, lengths: &[usize]| {
        let parts: Vec<&str> = text.split('-').collect();
        let fits = |(part, length): (&&str, &usize)| {
            part.len() == *length && part.bytes().all(|byte| byte.is_ascii_digit())
        };
        parts.len() == lengths.len() && parts.iter().zip(lengths).all(fits)
    };
    [("YYYY-MM-DD".len(), &[4, 2, 2][..]), ("YYYYMMDD".len(), &[8])].iter().find_map(
        |(length, lengths)| {
            let at = model.len().checked_sub(*length)?;
            let (name, version) = (model.get(..at)?, model.get(at..)?);
            digits(version, lengths).then(|| name.strip_suffix('-')).flatten()
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::Rates;
    use crate::money::Money;
    use crate::profile::{Prices, Sampling};

    #[test]
    fn the_table_is_read_whole_and_says_where_it_is_from() {
        let source = source().unwrap();
        assert_eq!((source.source.as_str(), source.version.as_str()), ("litellm", "1.110.2"));
        assert!(source.notice.contains("MIT License\n\nCopyright (c) 2023 Berri AI"));
        let lines = include_str!("models.json").lines().filter(|line| line.contains("\"window\""));
        assert_eq!(lines.count(), models().count());
        assert!(models().count() > 100, "{}", models().count());
    }

    #[test]
    fn every_model_has_room_for_a_request_and_no_price_is_zero() {
        for (name, profile) in models() {
            assert!(profile.response <= profile.window / 4, "{name}");
            assert!(profile.response > 0, "{name}");
            let Some(prices) = &profile.prices else { continue };
            let long = prices.long_context.iter().map(|long| &long.rates);
            for rates in std::iter::once(&prices.rates).chain(long) {
                let some = [rates.cached_input, rates.cache_write_5m, rates.reasoning];
                let all = some.into_iter().flatten().chain([rates.input, rates.output]);
                // A dollar a thousand tokens is far above any price of a token.
                let plausible = |price: Money| Money::ZERO < price && price.pico() < 1_000_000_000;
                assert!({ all }.all(plausible), "{name}");
            }
        }
    }

    #[test]
    fn prices_are_exact() {
        let price = |text: &str| text.parse().unwrap();
        let rates = Rates {
            input: price("0.00000125"),
            cached_input: Some(price("0.000000125")),
            cache_write_5m: None,
            cache_write_1h: None,
            output: price("0.00001"),
            reasoning: None,
        };
        let expected = ModelProfile {
            window: 272_000,
            response: 32_000,
            prices: Some(Prices { rates, long_context: None }),
            sampling: Sampling::Refused,
            ..ModelProfile::unknown()
        };
        assert_eq!(ModelProfile::of("openai:gpt-5"), expected);
    }

    #[test]
    fn a_name_is_found_by_its_documented_aliases_only() {
        let known = |name: &str| lookup(name).unwrap();
        let (gpt, claude) = (known("openai:gpt-4o"), known("anthropic:claude-haiku-4-5"));
        let other = known("deepseek:deepseek-v3.2");
        for (name, expected) in [
            ("openai-responses:gpt-4o", Some(gpt)),
            ("gpt-4o", Some(gpt)),
            ("openai:gpt-4o-2024-08-06", Some(gpt)),
            ("openai-responses:gpt-4o-2024-08-06", Some(gpt)),
            ("anthropic:claude-haiku-4-5-20251001", Some(claude)),
            ("anthropic:claude-haiku-4-5-latest", Some(claude)),
            ("openai:deepseek-v3.2", Some(other)),
            ("anthropic:gpt-4o", None),
            ("scripted:gpt-4o", None),
            ("openai:gpt-4o-20240806x", None),
            ("openai:gpt-4o-2024-08", None),
            ("openai:ünbekannt-é024-08-06", None),
            ("", None),
        ] {
            assert_eq!(lookup(name), expected, "{name}");
        }
        // A version whose price differs from the undated name has a row of its own.
        assert_ne!(lookup("openai:gpt-4o-2024-05-13"), Some(gpt));
    }

    #[test]
    fn a_name_that_two_providers_have_says_nothing() {
        let unknown = ModelProfile::unknown;
        let other = ModelProfile { window: 7, ..unknown() };
        let names = [("a:x", unknown()), ("b:x", other.clone()), ("b:y", other.clone())];
        let models = names.into_iter().map(|(name, profile)| (name.to_owned(), profile)).collect();
        assert_eq!(by_name(&models, "x"), None);
        assert_eq!(by_name(&models, "y"), Some(&other));
    }

    #[test]
    fn an_unknown_model_has_a_small_window_and_an_unknown_cost() {
        let profile = ModelProfile::of("openai:made-up");
        assert_eq!(profile, ModelProfile::unknown());
        assert_eq!((profile.window, profile.prices), (32_000, None));
    }
}
