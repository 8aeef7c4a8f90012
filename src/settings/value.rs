//! Values of single settings, each read from text the same way wherever the text stands. The
//! errors say what is wrong and what would be right; who calls names the place.

use std::time::Duration;

use jiff::SignedDuration;
use kinfolk_actors::call::EffectClass;
use kinfolk_actors::family::{ApprovalMode, Role, ToolChoice};
use kinfolk_actors::id::SessionId;

use crate::output::plain;

/// When a write counts as done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Once it is on the disk.
    #[default]
    Always,
}

/// How a run is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutputFormat {
    /// Lines for people on stderr, the final answer on stdout.
    #[default]
    Text,
    /// One event a line on stdout.
    Json,
}

/// The longest time that a command tool may be given.
pub const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

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
/// What is wrong and which modes this version knows.
pub fn approval(text: &str) -> Result<ApprovalMode, String> {
    let known = [("manual", ApprovalMode::Manual), ("auto-run", ApprovalMode::AutoRun)];
    word(text, &known, &["allow-list", "headless"])
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
    let shown = plain::line(text, 60);
    let parsed: SignedDuration = text
        .parse()
        .map_err(|_| format!("`{shown}` is no length of time; write for example `10s` or `2m`"))?;
    Duration::try_from(parsed)
        .ok()
        .filter(|time| (Duration::from_millis(1)..=MAX_TIMEOUT).contains(time))
        .ok_or_else(|| format!("`{shown}` must be at least `1ms` and at most `24h`"))
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
