//! The environment behind the flags.

use std::path::PathBuf;

use super::Environment;
use crate::settings::error::{Place, SettingsError, Told};

/// The name of an option's variable.
pub(super) fn variable(long: &str) -> String {
    format!("KINFOLK_{}", long.replace('-', "_").to_uppercase())
}

/// The environment behind the flags.
pub(super) struct Variables<'a>(pub(super) Environment<'a>);

impl Variables<'_> {
    fn place(long: &str) -> Place {
        Place::Option(variable(long).into())
    }

    fn flag_place(long: &str) -> Place {
        Place::Option(format!("--{long}").into())
    }

    /// The flag's value, else the variable's.
    pub(super) fn or<T>(
        &self,
        flag: Option<T>,
        long: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<T>, SettingsError> {
        if flag.is_some() {
            return Ok(flag);
        }
        let Some(text) = (self.0)(&variable(long)) else { return Ok(None) };
        let place = Self::place(long);
        let text = text.into_string().map_err(|_| place.error("this is not UTF-8 text"))?;
        parse(&text).map(Some).map_err(|problem| place.error(problem))
    }

    /// The same for a text that is checked here in either case and keeps its place.
    pub(super) fn text(
        &self,
        flag: Option<String>,
        long: &str,
        check: impl Fn(&str) -> Result<String, String>,
    ) -> Result<Option<Told<String>>, SettingsError> {
        let place = if flag.is_some() { Self::flag_place(long) } else { Self::place(long) };
        let text = match flag {
            Some(text) => Some(check(&text).map_err(|problem| place.error(problem))?),
            None => self.or(None, long, check)?,
        };
        Ok(text.map(|value| Told { value, place }))
    }

    /// The same for a path, which need not be UTF-8.
    pub(super) fn path(
        &self,
        flag: Option<PathBuf>,
        long: &str,
    ) -> Result<Option<Told<PathBuf>>, SettingsError> {
        let told = match flag {
            Some(value) => Told { value, place: Self::flag_place(long) },
            None => match (self.0)(&variable(long)) {
                Some(text) => Told { value: text.into(), place: Self::place(long) },
                None => return Ok(None),
            },
        };
        if told.value.as_os_str().is_empty() {
            return Err(told.error("this must not be empty"));
        }
        Ok(Some(told))
    }
}
