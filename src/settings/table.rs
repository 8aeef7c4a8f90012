//! Reads the tables of a TOML file by key and type, with the line of everything that is wrong.

use std::sync::Arc;

use kinfolk_actors::money::Money;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{Place, SettingsError, Told};
use crate::output::plain;

/// The text that is read, and what it is called.
#[derive(Clone, Copy)]
pub(crate) struct Document<'t> {
    pub(crate) file: &'t str,
    /// Where each line but the last ends, see [`line_ends`].
    pub(crate) line_ends: &'t [usize],
}

/// The offsets of the line breaks of a text, in order.
pub(crate) fn line_ends(text: &str) -> Vec<usize> {
    text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect()
}

impl Document<'_> {
    /// The place of a byte of the text. Every value of a file has one, so it is looked up.
    pub(crate) fn place(&self, offset: usize) -> Place {
        let line = 1 + self.line_ends.partition_point(|end| *end < offset);
        Place::Line { file: Arc::from(self.file), line }
    }
}

/// The keys that a table may have.
#[derive(Clone, Copy)]
pub(crate) struct Keys {
    /// Those of this version.
    pub(crate) known: &'static [&'static str],
    /// Those that are documented and do not work yet.
    pub(crate) later: &'static [&'static str],
}

/// A table with its name and the lines of its keys.
pub(crate) struct Section<'t> {
    document: Document<'t>,
    name: String,
    table: &'t DeTable<'t>,
    start: usize,
}

/// A value with its place.
pub(crate) type Value<'t> = &'t Spanned<DeValue<'t>>;

impl<'t> Section<'t> {
    /// The whole document as a table.
    pub(crate) fn root(document: Document<'t>, table: &'t Spanned<DeTable<'t>>) -> Self {
        Self { document, name: "the file".to_owned(), table: table.get_ref(), start: 0 }
    }

    /// Where the table begins.
    pub(crate) fn place(&self) -> Place {
        self.document.place(self.start)
    }

    /// The name of the table for people, for example `[lead]`.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Refuses keys that the table must not have.
    pub(crate) fn expect_only(&self, keys: Keys) -> Result<(), SettingsError> {
        let mut in_order: Vec<_> = self.table.keys().collect();
        in_order.sort_by_key(|key| key.span().start);
        in_order.into_iter().try_for_each(|key| {
            let name = key.get_ref().as_ref();
            if keys.known.contains(&name) {
                return Ok(());
            }
            let problem = if keys.later.contains(&name) {
                format!("`{name}` in {} is not supported by this version", self.name)
            } else {
                self.unknown(name, keys.known)
            };
            Err(self.document.place(key.span().start).error(problem))
        })
    }

    fn unknown(&self, key: &str, known: &[&str]) -> String {
        let distance = |name: &&&str| strsim::damerau_levenshtein(key, name);
        let nearest = known.iter().min_by_key(distance).copied().unwrap_or_default();
        let key = plain::line(key, 60);
        let known = known.join(", ");
        format!(
            "unknown key `{key}` in {}; the nearest known key is `{nearest}` (known: {known})",
            self.name
        )
    }

    /// Every key with its value, in the order of the text.
    pub(crate) fn entries(&self) -> Vec<(Told<String>, Value<'t>)> {
        let mut entries: Vec<_> = self.table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        entries.into_iter().map(|(key, value)| (self.told(key, key.to_string()), value)).collect()
    }

    fn told<S, T>(&self, at: &Spanned<S>, value: T) -> Told<T> {
        Told { value, place: self.document.place(at.span().start) }
    }

    /// The value of a key.
    pub(crate) fn value(&self, key: &str) -> Option<Value<'t>> {
        self.table.get(key)
    }

    /// The error of a value of the wrong type.
    pub(crate) fn wrong_type(&self, key: &str, value: Value<'t>, expected: &str) -> SettingsError {
        let found = kind(value.get_ref());
        let problem = format!("`{key}` in {} must be {expected}, not {found}", self.name);
        self.document.place(value.span().start).error(problem)
    }

    /// A text.
    pub(crate) fn text(&self, key: &str) -> Result<Option<Told<String>>, SettingsError> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let text =
            value.get_ref().as_str().ok_or_else(|| self.wrong_type(key, value, "a string"))?;
        Ok(Some(self.told(value, text.to_owned())))
    }

    /// A text that must be there and hold more than white space.
    pub(crate) fn required_text(&self, key: &str) -> Result<Told<String>, SettingsError> {
        let missing = || self.place().error(format!("{} needs `{key}`", self.name));
        let text = self.text(key)?.ok_or_else(missing)?;
        if text.value.trim().is_empty() {
            return Err(text.error(format!("`{key}` in {} must not be empty", self.name)));
        }
        Ok(text)
    }

    /// A text that a function understands.
    pub(crate) fn parsed<T>(
        &self,
        key: &str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<Told<T>>, SettingsError> {
        let Some(text) = self.text(key)? else { return Ok(None) };
        let wrong = |problem| text.place.error(format!("`{key}` in {}: {problem}", self.name));
        let value = parse(&text.value).map_err(wrong)?;
        Ok(Some(Told { value, place: text.place }))
    }

    /// A list of texts.
    pub(crate) fn texts(
        &self,
        key: &str,
    ) -> Result<Option<Told<Vec<Told<String>>>>, SettingsError> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let expected = "a list of strings";
        let wrong = |value| self.wrong_type(key, value, expected);
        let list = value.get_ref().as_array().ok_or_else(|| wrong(value))?;
        let text = |item: Value<'t>| {
            let text = item.get_ref().as_str().ok_or_else(|| wrong(item))?;
            Ok(self.told(item, text.to_owned()))
        };
        let texts = list.iter().map(text).collect::<Result<_, SettingsError>>()?;
        Ok(Some(self.told(value, texts)))
    }

    /// A whole number that is at least `least`.
    pub(crate) fn count(&self, key: &str, least: u32) -> Result<Option<u32>, SettingsError> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let wrong = || {
            let expected = format!("a whole number from {least} to {}", u32::MAX);
            self.wrong_type(key, value, &expected)
        };
        let number = value.get_ref().as_integer().ok_or_else(wrong)?;
        let parsed = u32::from_str_radix(number.as_str(), number.radix());
        parsed.ok().filter(|count| *count >= least).map(Some).ok_or_else(wrong)
    }

    /// A whole number from `least` on, as large as TOML has.
    pub(crate) fn amount(&self, key: &str, least: u64) -> Result<Option<u64>, SettingsError> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let wrong = || {
            let expected = format!("a whole number from {least} to {}", super::value::MAX_AMOUNT);
            self.wrong_type(key, value, &expected)
        };
        let number = value.get_ref().as_integer().ok_or_else(wrong)?;
        let parsed = i64::from_str_radix(number.as_str(), number.radix());
        let parsed = parsed.ok().and_then(|number| u64::try_from(number).ok());
        parsed.filter(|amount| *amount >= least).map(Some).ok_or_else(wrong)
    }

    /// Money in dollars: a number as it is written, never as a float, or a string.
    pub(crate) fn money(
        &self,
        key: &str,
        parse: impl FnOnce(&str) -> Result<Money, String>,
    ) -> Result<Option<Money>, SettingsError> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let text = match value.get_ref() {
            DeValue::String(text) => text.as_ref(),
            DeValue::Float(number) => number.as_str(),
            DeValue::Integer(number) if number.radix() == 10 => number.as_str(),
            DeValue::Integer(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_)
            | DeValue::Table(_) => {
                return Err(self.wrong_type(key, value, "an amount of dollars, for example 0.50"));
            }
        };
        let place = self.document.place(value.span().start);
        let wrong = |problem| place.error(format!("`{key}` in {}: {problem}", self.name));
        parse(text).map(Some).map_err(wrong)
    }

    /// `true` or `false`.
    pub(crate) fn flag(&self, key: &str) -> Result<Option<bool>, SettingsError> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let flag = value.get_ref().as_bool();
        flag.map(Some).ok_or_else(|| self.wrong_type(key, value, "`true` or `false`"))
    }

    /// The items of a list, each with its place.
    pub(crate) fn list(&self, key: &str) -> Result<Vec<Value<'t>>, SettingsError> {
        let Some(value) = self.value(key) else { return Ok(Vec::new()) };
        let list =
            value.get_ref().as_array().ok_or_else(|| self.wrong_type(key, value, "a list"))?;
        Ok(list.iter().collect())
    }

    /// The place of a value.
    pub(crate) fn place_of(&self, value: Value<'t>) -> Place {
        self.document.place(value.span().start)
    }

    /// The table under a key, named after the table that it stands in.
    pub(crate) fn inner(&self, key: &str) -> Result<Option<Self>, SettingsError> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let name = format!("`{key}` in {}", self.name);
        self.as_section(value, name, (key, "a table")).map(Some)
    }

    /// The table under a key.
    pub(crate) fn section(&self, key: &str) -> Result<Option<Self>, SettingsError> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let expected = format!("a table, `[{key}]`");
        self.as_section(value, format!("[{key}]"), (key, &expected)).map(Some)
    }

    /// The tables of a list of tables.
    pub(crate) fn sections(&self, key: &str) -> Result<Vec<Self>, SettingsError> {
        let Some(value) = self.value(key) else { return Ok(Vec::new()) };
        let expected = format!("a list of tables, each headed `[[{key}]]`");
        let list =
            value.get_ref().as_array().ok_or_else(|| self.wrong_type(key, value, &expected))?;
        let section = |item| self.as_section(item, format!("[[{key}]]"), (key, &expected));
        list.iter().map(section).collect()
    }

    /// A value as a table. `expected` is the key and what its value must be, for the error.
    pub(crate) fn as_section(
        &self,
        value: Value<'t>,
        name: String,
        expected: (&str, &str),
    ) -> Result<Self, SettingsError> {
        let (key, expected) = expected;
        let table =
            value.get_ref().as_table().ok_or_else(|| self.wrong_type(key, value, expected))?;
        Ok(Self { document: self.document, name, table, start: value.span().start })
    }
}

/// What a value is, for people.
fn kind(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(_) => "a string".to_owned(),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(value) => value.to_string(),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}
