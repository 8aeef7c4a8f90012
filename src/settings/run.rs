//! The commands with everything that they were told, parsed.

use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

use kinfolk_actors::family::Family;
use kinfolk_actors::id::{AgentId, Offset, RunId, SessionId};
use kinfolk_actors::limits::Limits;
use serde::{Deserialize, Serialize};

use super::error::{Place, SettingsError, Told};
use super::family_file::FamilyFile;
use super::freeze::{Host, Overrides, default_path, workspace};
use super::value::{Durability, OutputFormat};
use crate::control::Request;

/// The longest prompt in bytes.
pub const MAX_PROMPT: u64 = 2 * 1024 * 1024;

/// What the built-in family is asked if nobody asks anything.
pub const DEFAULT_PROMPT: &str = "Look at this directory and tell me what is in it.";

/// What `run` was told by flags and environment; the family file is not read yet.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// The prompt, or `-` for standard input.
    pub prompt: Option<String>,
    /// The family file.
    pub family: Option<PathBuf>,
    /// The workspace.
    pub workspace: Option<Told<PathBuf>>,
    /// The data directory.
    pub data: Option<Told<PathBuf>>,
    /// The session.
    pub session: Option<SessionId>,
    /// When a write counts as done.
    pub durability: Option<Durability>,
    /// How the run is shown.
    pub output: Option<OutputFormat>,
    /// What happens while a person is asked.
    pub wait: Wait,
    /// What wins over the family file.
    pub overrides: Overrides,
}

/// A run, ready to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSettings {
    /// Where the input comes from.
    pub prompt: PromptSource,
    /// The frozen family.
    pub family: Family,
    /// The data directory, an absolute path. It need not exist.
    pub data: PathBuf,
    /// The session to go on with or to make; without a name, a new one.
    pub session: Option<SessionId>,
    /// When a write counts as done.
    pub durability: Durability,
    /// How the run is shown.
    pub output: OutputFormat,
    /// What happens while a person is asked.
    pub wait: Wait,
}

/// What the launcher does while its run rests on a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wait {
    /// It ends; the run is resumed later.
    #[default]
    Leave,
    /// It stays, so that the answer reaches the run through the control socket.
    Stay,
}

/// What `resume` was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResumeSettings {
    /// The run; without one, the newest that is not finished.
    pub run: Option<RunId>,
    /// The data directory, relative to the current directory or absolute.
    pub data: PathBuf,
    /// Another base URL for the lead's model.
    pub base_url: Option<Told<String>>,
    /// Another variable that holds the key of the lead's model.
    pub api_key_env: Option<Told<String>>,
    /// When a write counts as done.
    pub durability: Durability,
    /// The limits that are raised.
    pub raised: Limits,
    /// What happens while a person is asked.
    pub wait: Wait,
    /// How the run is shown.
    pub output: OutputFormat,
}

/// What a command was told that talks to the process that owns a data directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlSettings {
    /// What is asked of it.
    pub request: Request,
    /// The data directory, relative to the current directory or absolute.
    pub data: PathBuf,
    /// How the answer is shown.
    pub output: OutputFormat,
}

impl Wait {
    #[cfg(feature = "cli")]
    pub(super) fn if_asked(asked: bool) -> Self {
        if asked { Self::Stay } else { Self::Leave }
    }
}

/// What `inspect` was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InspectSettings {
    /// What to look at; without it, all sessions, or the newest one if events are asked for.
    pub target: Option<InspectTarget>,
    /// Shows events instead of the tree.
    pub events: Option<EventFilter>,
    /// The data directory, relative to the current directory or absolute.
    pub data: PathBuf,
    /// How it is shown.
    pub output: OutputFormat,
}

/// What to look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InspectTarget {
    /// A session.
    Session(SessionId),
    /// The text is the id of a run; a session can have such a name too.
    RunOrSession(RunId, SessionId),
}

/// Which events are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EventFilter {
    /// The first offset.
    pub from: Offset,
    /// Only this agent's.
    pub agent: Option<AgentId>,
}

impl RunOptions {
    /// Reads the family file, if one is named, and freezes the family.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn resolve(self, host: &Host<'_>) -> Result<RunSettings, SettingsError> {
        let prompt = PromptSource::of(self.prompt, self.family.is_some())?;
        let file = match &self.family {
            Some(path) => FamilyFile::read(path)?,
            None => FamilyFile::explorer()?,
        };
        let launch = file.launch.clone();
        let place = self.workspace.or(launch.workspace);
        let place = place.unwrap_or_else(|| default_path("--workspace", "."));
        let data = self.data.or(launch.data);
        let data = data.unwrap_or_else(|| default_path("--data", DEFAULT_DATA));
        let family = file.freeze(&self.overrides, Some(workspace(&place, host)?), host)?;
        Ok(RunSettings {
            prompt,
            family,
            data: host.current_dir.join(data.value),
            session: self.session.or(launch.session),
            durability: self.durability.or(launch.durability).unwrap_or_default(),
            output: self.output.or(launch.output).unwrap_or_default(),
            wait: self.wait,
        })
    }
}

/// The data directory that is used if none is named.
pub(super) const DEFAULT_DATA: &str = ".kinfolk";

/// Where a run's input comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PromptSource {
    /// It was given.
    Text(Arc<str>),
    /// It is read from standard input.
    Stdin,
}

impl PromptSource {
    fn of(prompt: Option<String>, own_family: bool) -> Result<Self, SettingsError> {
        match prompt.as_deref() {
            Some("-") => Ok(Self::Stdin),
            Some(text) => checked(text).map(Self::Text),
            None if own_family => {
                let problem = "is missing; a run with --family needs one, or `-` for stdin";
                Err(Place::Prompt.error(problem))
            }
            None => Ok(Self::Text(DEFAULT_PROMPT.into())),
        }
    }

    /// The prompt. Reads at most [`MAX_PROMPT`] bytes of `stdin`, and only if it has to; blocks
    /// until the other side closes it.
    ///
    /// # Errors
    /// It cannot be read, is too long, empty, or not UTF-8.
    pub fn read(&self, stdin: &mut dyn Read) -> Result<Arc<str>, SettingsError> {
        match self {
            Self::Text(text) => Ok(Arc::clone(text)),
            Self::Stdin => from_stdin(stdin),
        }
    }
}

fn from_stdin(stdin: &mut dyn Read) -> Result<Arc<str>, SettingsError> {
    let wrong = |problem: String| Place::Prompt.error(problem);
    let mut bytes = Vec::new();
    let read = stdin.take(MAX_PROMPT + 1).read_to_end(&mut bytes);
    read.map_err(|error| wrong(format!("cannot be read from stdin: {error}")))?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MAX_PROMPT {
        return Err(wrong(format!("on stdin is longer than {MAX_PROMPT} bytes; shorten it")));
    }
    let text = String::from_utf8(bytes).map_err(|_| wrong("on stdin is not UTF-8 text".into()))?;
    checked(&text)
}

fn checked(text: &str) -> Result<Arc<str>, SettingsError> {
    if text.trim().is_empty() {
        return Err(Place::Prompt.error("is empty; say what to do"));
    }
    Ok(text.into())
}
