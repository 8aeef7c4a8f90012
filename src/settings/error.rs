//! What is wrong with the settings, and where it was written.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// A setting cannot be used. The launcher prints it after `kinfolk: ` and exits with 2.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct SettingsError {
    /// Where it was written.
    pub place: Place,
    /// What is wrong and what would be right, for people.
    pub problem: String,
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::CommandLine => f.write_str(&self.problem),
            Place::Prompt => write!(f, "the prompt {}", self.problem),
            place
            @ (Place::Option(_) | Place::Line { .. } | Place::Path(_) | Place::Default(_)) => {
                write!(f, "{place}: {}", self.problem)
            }
        }
    }
}

/// Where a setting was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The command line as a whole; the problem names the argument.
    CommandLine,
    /// An option or a variable, for example `--model` or `KINFOLK_MODEL`.
    Option(Cow<'static, str>),
    /// A line of a family file.
    Line {
        /// The file as it was named.
        file: Arc<str>,
        /// The line, from 1.
        line: usize,
    },
    /// A file or directory.
    Path(Arc<str>),
    /// The prompt of a run.
    Prompt,
    /// Nobody wrote it: the default of an option.
    Default(&'static str),
}

impl Place {
    /// The error of a setting that was written here.
    #[must_use]
    pub fn error(&self, problem: impl Into<String>) -> SettingsError {
        SettingsError { place: self.clone(), problem: problem.into() }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CommandLine => f.write_str("the command line"),
            Self::Option(name) => f.write_str(name),
            Self::Line { file, line } => write!(f, "{file}:{line}"),
            Self::Path(path) => f.write_str(path),
            Self::Prompt => f.write_str("the prompt"),
            Self::Default(name) => write!(f, "the default of {name}"),
        }
    }
}

/// A value and where it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told<T> {
    /// The value.
    pub value: T,
    /// Where it was written.
    pub place: Place,
}

impl<T> Told<T> {
    /// The error of this value.
    pub(crate) fn error(&self, problem: impl Into<String>) -> SettingsError {
        self.place.error(problem)
    }
}
