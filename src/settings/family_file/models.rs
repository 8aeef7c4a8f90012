//! `[models."PROVIDER:NAME"]`: how to reach a model, and what is known of it beside the table that
//! is part of the program.

use kinfolk_actors::cost::Rates;
use kinfolk_actors::profile::{LongContext, PriceOverrides, ProfileOverrides};

use crate::settings::error::{SettingsError, Told};
use crate::settings::table::{Keys, Section};
use crate::settings::value;

/// One model of the file.
#[derive(Clone, Debug)]
pub(in crate::settings) struct ModelTable {
    pub(in crate::settings) name: Told<String>,
    pub(in crate::settings) base_url: Option<String>,
    pub(in crate::settings) api_key_env: Option<String>,
    pub(in crate::settings) profile: ProfileOverrides,
}

const MODEL: Keys = Keys {
    known: &[
        "base_url",
        "api_key_env",
        "window",
        "response",
        "summary_reserve",
        "safety_buffer",
        "image_tokens",
        "prices",
        "return_reasoning",
        "user_after_subagents",
        "sampling",
    ],
    later: &["retries", "timeouts"],
};
const PRICES: Keys = Keys {
    known: &[
        "input",
        "cached_input",
        "cache_write_5m",
        "cache_write_1h",
        "output",
        "reasoning",
        "long_context",
    ],
    later: &[],
};
const LONG_CONTEXT: Keys = Keys {
    known: &[
        "over",
        "input",
        "cached_input",
        "cache_write_5m",
        "cache_write_1h",
        "output",
        "reasoning",
    ],
    later: &[],
};

/// Reads `[models]`.
pub(super) fn models(root: &Section<'_>) -> Result<Vec<ModelTable>, SettingsError> {
    let Some(table) = root.section("models")? else { return Ok(Vec::new()) };
    let model = |(name, found): (Told<String>, _)| {
        let wrong = |problem| name.error(format!("a key of [models] is wrong: {problem}"));
        let model = value::model(&name.value).map_err(wrong)?;
        let expected = (name.value.as_str(), "a table, for example `[models.\"openai:NAME\"]`");
        let title = format!("[models.\"{model}\"]");
        let section = table.as_section(found, title, expected)?;
        section.expect_only(MODEL)?;
        Ok(ModelTable {
            base_url: section.parsed("base_url", value::base_url)?.map(|told| told.value),
            api_key_env: section.parsed("api_key_env", value::api_key_env)?.map(|told| told.value),
            profile: profile(&section)?,
            name,
        })
    };
    table.entries().into_iter().map(model).collect()
}

fn profile(table: &Section<'_>) -> Result<ProfileOverrides, SettingsError> {
    Ok(ProfileOverrides {
        window: table.amount("window", 1)?,
        response: table.amount("response", 1)?,
        summary_reserve: table.amount("summary_reserve", 0)?,
        safety_buffer: table.amount("safety_buffer", 0)?,
        image_tokens: table.amount("image_tokens", 0)?,
        prices: prices(table)?,
        return_reasoning: table.flag("return_reasoning")?,
        user_after_subagents: table.flag("user_after_subagents")?,
        sampling: table.parsed("sampling", value::sampling)?.map(|told| told.value),
    })
}

fn prices(model: &Section<'_>) -> Result<Option<PriceOverrides>, SettingsError> {
    let Some(table) = model.inner("prices")? else { return Ok(None) };
    table.expect_only(PRICES)?;
    let price = |key| table.money(key, value::price);
    Ok(Some(PriceOverrides {
        input: price("input")?,
        cached_input: price("cached_input")?,
        cache_write_5m: price("cache_write_5m")?,
        cache_write_1h: price("cache_write_1h")?,
        output: price("output")?,
        reasoning: price("reasoning")?,
        long_context: long_context(&table)?,
    }))
}

fn long_context(prices: &Section<'_>) -> Result<Option<LongContext>, SettingsError> {
    let Some(table) = prices.inner("long_context")? else { return Ok(None) };
    table.expect_only(LONG_CONTEXT)?;
    let price = |key| table.money(key, value::price);
    let needed = |key: &'static str| {
        let missing = || table.place().error(format!("{} needs `{key}`", table.name()));
        price(key)?.ok_or_else(missing)
    };
    let over = table.amount("over", 1)?;
    let missing = || table.place().error(format!("{} needs `over`", table.name()));
    Ok(Some(LongContext {
        over: over.ok_or_else(missing)?,
        rates: Rates {
            input: needed("input")?,
            cached_input: price("cached_input")?,
            cache_write_5m: price("cache_write_5m")?,
            cache_write_1h: price("cache_write_1h")?,
            output: needed("output")?,
            reasoning: price("reasoning")?,
        },
    }))
}
