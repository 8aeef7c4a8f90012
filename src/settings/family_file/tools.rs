//! `[[tools]]`: commands as tools.

use std::time::Duration;

use kinfolk_actors::call::EffectClass;
use kinfolk_actors::family::Offer;
use kinfolk_actors::money::Money;
use toml::de::DeValue;

use super::name;
use crate::settings::error::{SettingsError, Told};
use crate::settings::table::{Keys, Section};
use crate::settings::value;

/// How long a command tool may take if its table says nothing.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// The schema of a command tool whose table has none: an object of any content.
const ANY_OBJECT: &str = r#"{"type":"object"}"#;

const TOOL: Keys = Keys {
    known: &["name", "description", "command", "effect", "timeout", "schema", "offer", "cost"],
    later: &["check"],
};

#[derive(Clone, Debug)]
pub(in crate::settings) struct ToolTable {
    pub(in crate::settings) name: Told<String>,
    pub(in crate::settings) description: String,
    pub(in crate::settings) command: Vec<String>,
    pub(in crate::settings) effect: EffectClass,
    pub(in crate::settings) timeout: Duration,
    pub(in crate::settings) schema: String,
    pub(in crate::settings) offer: Offer,
    pub(in crate::settings) cost: Option<Money>,
}

pub(super) fn tool(table: &Section<'_>) -> Result<ToolTable, SettingsError> {
    table.expect_only(TOOL)?;
    Ok(ToolTable {
        name: name(table)?,
        description: table.required_text("description")?.value,
        command: command(table)?,
        effect: table
            .parsed("effect", value::effect)?
            .map_or(EffectClass::Changing, |told| told.value),
        timeout: table
            .parsed("timeout", value::timeout)?
            .map_or(DEFAULT_TIMEOUT, |told| told.value),
        schema: schema(table)?,
        offer: table.parsed("offer", value::offer)?.map(|told| told.value).unwrap_or_default(),
        cost: table.money("cost", value::price)?,
    })
}

fn command(table: &Section<'_>) -> Result<Vec<String>, SettingsError> {
    let needed = || {
        table.place().error(format!(
            "{} needs `command`, a list: the program and its arguments",
            table.name()
        ))
    };
    let list = table.texts("command")?.ok_or_else(needed)?;
    if list.value.first().is_none_or(|program| program.value.trim().is_empty()) {
        return Err(list.error("`command` must begin with the name of a program"));
    }
    if let Some(argument) = list.value.iter().find(|argument| argument.value.contains('\0')) {
        return Err(argument.error("`command` must not hold the character NUL"));
    }
    Ok(list.value.into_iter().map(|argument| argument.value).collect())
}

/// The schema as JSON text. It is compiled once here so that a mistake shows before a run.
fn schema(table: &Section<'_>) -> Result<String, SettingsError> {
    let Some(found) = table.value("schema") else { return Ok(ANY_OBJECT.to_owned()) };
    let expected = "a table, for example `{ type = \"object\", properties = {} }`";
    let section = table.as_section(found, "`schema`".to_owned(), ("schema", expected))?;
    let wrong = |problem: String| section.place().error(problem);
    let schema = json(found.get_ref()).map_err(|problem| wrong(format!("`schema`: {problem}")))?;
    if schema.get("type").and_then(serde_json::Value::as_str) != Some("object") {
        return Err(wrong(
            "`schema` must have `type = \"object\"`: arguments are an object".into(),
        ));
    }
    jsonschema::validator_for(&schema).map_err(|error| {
        wrong(format!(
            "`schema` is no valid JSON schema: {}",
            crate::output::plain::line(&error.to_string(), 200)
        ))
    })?;
    Ok(schema.to_string())
}

/// A TOML value as JSON.
///
/// # Errors
/// What has no form in JSON.
pub(super) fn json(value: &DeValue<'_>) -> Result<serde_json::Value, String> {
    let no_number = |text: &str| format!("the number {text} has no form in JSON");
    Ok(match value {
        DeValue::String(text) => text.as_ref().into(),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_err(|_| no_number(number.as_str()))?
            .into(),
        DeValue::Float(number) => number
            .as_str()
            .parse()
            .ok()
            .and_then(serde_json::Number::from_f64)
            .ok_or_else(|| no_number(number.as_str()))?
            .into(),
        DeValue::Boolean(value) => (*value).into(),
        DeValue::Datetime(date) => {
            return Err(format!("the date {date} has no form in JSON; quote it"));
        }
        DeValue::Array(list) => {
            list.iter().map(|item| json(item.get_ref())).collect::<Result<_, _>>()?
        }
        DeValue::Table(table) => {
            let pair = |(key, value): (
                &toml::Spanned<toml::de::DeString<'_>>,
                &toml::Spanned<DeValue<'_>>,
            )| { Ok((key.to_string(), json(value.get_ref())?)) };
            serde_json::Value::Object(table.iter().map(pair).collect::<Result<_, String>>()?)
        }
    })
}
