//! Values of single settings, each read from text the same way wherever the text stands. The
//! errors say what is wrong and what would be right; who calls names the place.

use std::time::Duration;

use jiff::SignedDuration;
use kinfolk_actors::call::EffectClass;
use kinfolk_actors::compaction::Fallback;
use kinfolk_actors::family::{Delivery, Offer, Role, ToolChoice};
use kinfolk_actors::id::{InvalidId, SessionId};
use kinfolk_actors::limits::{ChildBudget, OnLimit};
use kinfolk_actors::money::Money;
use kinfolk_actors::policy::Mode;
use kinfolk_actors::profile::Sampling;
use kinfolk_actors::time::Millis;
use serde::{Deserialize, Serialize};

use crate::output::plain;

/// When a write counts as done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Once it is on the disk.
    #[default]
    Always,
}

/// How a run is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputFormat {
    /// Lines for people on stderr, the final answer on stdout.
    #[default]
    Text,
    /// One event a line on stdout.
    Json,
}

/// The longest time that a command tool may be given.
pub const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// The longest limit of time and the longest wait for a person.
pub const MAX_LONG_TIME: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The greatest limit of a count: what a TOML number can say.
pub const MAX_AMOUNT: u64 = i64::MAX.unsigned_abs();

/// Reads one of several words. Words of later versions get a message of their own.
fn word<T: Copy>(text: &str, known: &[(&str, T)], later: &[&str]) -> Result<T, String> {
    if let Some((_, value)) = known.iter().find(|(name, _)| *name == text) {
        return Ok(*value);
    }
    let names: Vec<String> = known.iter().map(|(name, _)| format!("`{name}`")).collect();
    let names = names.join(", ");
    let shown = plain::line(text, 60);
    Err(if later.contains(&text) {
        format!("`{shown}` is not supported by this version; it knows {names}")
    } else {
        format!("`{shown}` is not known; use one of {names}")
    })
}

/// Reads an approval mode.
///
/// # Errors
/// What is wrong and which modes there are.
pub fn approval(text: &str) -> Result<Mode, String> {
    let known = [
        ("manual", Mode::Manual),
        ("allow-list", Mode::AllowList),
        ("auto-run", Mode::AutoRun),
        ("headless", Mode::Headless),
    ];
    word(text, &known, &[])
}

/// Reads what happens at a limit.
///
/// # Errors
/// What is wrong and what there is.
pub fn on_limit(text: &str) -> Result<OnLimit, String> {
    let known = [
        ("finish", OnLimit::Finish),
        ("stop", OnLimit::Stop),
        ("interrupt", OnLimit::Interrupt),
        ("ask", OnLimit::Ask),
        ("warn", OnLimit::Warn),
    ];
    word(text, &known, &[])
}

/// Reads how a subagent's limits are made.
pub(crate) fn child_budget(text: &str) -> Result<ChildBudget, String> {
    let known = [
        ("share", ChildBudget::Share),
        ("grant", ChildBudget::Grant),
        ("mirror", ChildBudget::Mirror),
    ];
    word(text, &known, &[])
}

/// Reads how a subagent ends.
pub(crate) fn delivery(text: &str) -> Result<Delivery, String> {
    word(text, &[("answer", Delivery::Answer), ("return", Delivery::Return)], &[])
}

/// Reads when a tool is offered.
pub(crate) fn offer(text: &str) -> Result<Offer, String> {
    word(text, &[("always", Offer::Always), ("once_activated", Offer::OnceActivated)], &[])
}

/// Reads what stands for a summary that no model could write.
pub(crate) fn fallback(text: &str) -> Result<Fallback, String> {
    word(text, &[("none", Fallback::None), ("digest", Fallback::Digest)], &[])
}

/// Reads whether a model takes sampling parameters.
pub(crate) fn sampling(text: &str) -> Result<Sampling, String> {
    word(text, &[("supported", Sampling::Supported), ("refused", Sampling::Refused)], &[])
}

/// Reads a price in dollars; `0` is free.
///
/// # Errors
/// What an amount looks like.
pub fn price(text: &str) -> Result<Money, String> {
    text.parse().map_err(|error: InvalidId| plain::line(&error.to_string(), 200))
}

/// Reads a limit of money in dollars, more than nothing.
///
/// # Errors
/// What an amount looks like.
pub fn money(text: &str) -> Result<Money, String> {
    let amount = price(text)?;
    if amount == Money::ZERO {
        return Err("a limit of money must be more than 0 dollars".to_owned());
    }
    Ok(amount)
}

/// Reads a durability.
///
/// # Errors
/// What is wrong and which ones this version knows.
pub fn durability(text: &str) -> Result<Durability, String> {
    word(text, &[("always", Durability::Always)], &["interval", "off"])
}

/// Reads an output format.
///
/// # Errors
/// What is wrong and which formats there are.
pub fn output_format(text: &str) -> Result<OutputFormat, String> {
    word(text, &[("text", OutputFormat::Text), ("json", OutputFormat::Json)], &[])
}

/// Reads a subagent's role.
pub(crate) fn role(text: &str) -> Result<Role, String> {
    word(text, &[("explore", Role::Explore), ("task", Role::Task)], &[])
}

/// Reads a tool choice.
pub(crate) fn tool_choice(text: &str) -> Result<ToolChoice, String> {
    let known = [
        ("auto", ToolChoice::Auto),
        ("required", ToolChoice::Required),
        ("none", ToolChoice::None),
    ];
    word(text, &known, &[])
}

/// Reads an effect class.
pub(crate) fn effect(text: &str) -> Result<EffectClass, String> {
    let known = [
        ("read_only", EffectClass::ReadOnly),
        ("idempotent", EffectClass::Idempotent),
        ("changing", EffectClass::Changing),
    ];
    word(text, &known, &["reconcilable"])
}

/// Reads a length of time such as `10s` or `1m 30s`, more than nothing and at most a day.
pub(crate) fn timeout(text: &str) -> Result<Duration, String> {
    time_up_to(text, MAX_TIMEOUT, "24h")
}

/// Reads a length of time such as `10m` or `1h`, more than nothing and at most 365 days: work and
/// people may take long.
///
/// # Errors
/// What a length of time looks like.
pub fn long_time(text: &str) -> Result<Millis, String> {
    time_up_to(text, MAX_LONG_TIME, "8760h").map(Millis::from)
}

fn time_up_to(text: &str, most: Duration, most_shown: &str) -> Result<Duration, String> {
    let shown = plain::line(text, 60);
    let parsed: SignedDuration = text
        .parse()
        .map_err(|_| format!("`{shown}` is no length of time; write for example `10s` or `2m`"))?;
    Duration::try_from(parsed)
        .ok()
        .filter(|time| (Duration::from_millis(1)..=most).contains(time))
        .ok_or_else(|| format!("`{shown}` must be at least `1ms` and at most `{most_shown}`"))
}

/// Reads a session's name.
///
/// # Errors
/// What a name looks like.
pub fn session(text: &str) -> Result<SessionId, String> {
    text.parse()
        .map_err(|error: kinfolk_actors::id::InvalidId| plain::line(&error.to_string(), 400))
}

/// Checks the form of a model's full name.
///
/// # Errors
/// What a name looks like.
pub fn model(text: &str) -> Result<String, String> {
    let well_formed = text
        .split_once(':')
        .is_some_and(|(provider, name)| !provider.trim().is_empty() && !name.trim().is_empty());
    if well_formed && !text.chars().any(char::is_control) {
        return Ok(text.to_owned());
    }
    let shown = plain::line(text, 60);
    Err(format!("`{shown}` is no model; write `PROVIDER:NAME`, for example `openai:NAME`"))
}

/// Checks a base URL.
///
/// # Errors
/// What is wrong with it. A text that may hold credentials is not repeated.
pub fn base_url(text: &str) -> Result<String, String> {
    // A text with `@` may hold a password, so it is never repeated.
    if text.contains('@') {
        return Err(
            "a base URL must not hold credentials or `@`; put the key into a variable and \
                    name it with `api_key_env`"
                .to_owned(),
        );
    }
    let shown = plain::line(text, 120);
    let url = reqwest::Url::parse(text).map_err(|error| {
        format!("`{shown}` is no URL ({error}); write for example `https://host/v1`")
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("`{shown}` must begin with `http://` or `https://`"));
    }
    Ok(text.to_owned())
}

/// Checks the name of the variable that holds a key.
///
/// # Errors
/// What a name looks like. The text is not repeated: it may be the key itself.
pub fn api_key_env(text: &str) -> Result<String, String> {
    let letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    if text.starts_with(letter) && text.chars().all(|c| letter(c) || c.is_ascii_digit()) {
        return Ok(text.to_owned());
    }
    Err("this must be the name of an environment variable (A-Z a-z 0-9 _), not the key itself"
        .to_owned())
}

/// Checks the name of a tool or subagent: what every provider accepts as the name of a function.
pub(crate) fn function_name(text: &str) -> Result<String, String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if (1..=64).contains(&text.len()) && text.chars().all(allowed) {
        return Ok(text.to_owned());
    }
    let shown = plain::line(text, 80);
    Err(format!("`{shown}` is no usable name; use 1 to 64 of A-Z a-z 0-9 _ -"))
}

/// Reads a count that is at least `least`.
#[cfg(feature = "cli")]
pub(crate) fn count(text: &str, least: u32) -> Result<u32, String> {
    text.parse().ok().filter(|count| *count >= least).ok_or_else(|| {
        format!("`{}` is no whole number from {least} to {}", plain::line(text, 60), u32::MAX)
    })
}

/// Reads a limit of a count, from 1.
#[cfg(feature = "cli")]
pub(crate) fn amount(text: &str) -> Result<u64, String> {
    text.parse().ok().filter(|count| (1..=MAX_AMOUNT).contains(count)).ok_or_else(|| {
        format!("`{}` is no whole number from 1 to {}", plain::line(text, 60), MAX_AMOUNT)
    })
}
