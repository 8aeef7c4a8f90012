//! Why the launcher ends without an outcome of a run, and with which exit code.

use std::path::{Path, PathBuf};

use kinfolk::control::look::LookError;
use kinfolk::control::{ControlCode, SocketError};
use kinfolk::output::asks::quoted;
use kinfolk::output::exit;
use kinfolk::ports::store::StoreError;
use kinfolk::runtime::{OpenError, OutcomeError, RuntimeError, StartError, WishError};
use kinfolk::settings::error::SettingsError;
use kinfolk::tools::workspace::WorkspaceError;
use kinfolk_actors::id::RunId;

/// The launcher cannot do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// A setting is wrong.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The current directory cannot be used.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// The store cannot be opened.
    #[error(transparent)]
    Unopened(StoreError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The session cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The run was not started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The runtime did not come up.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// The run has no outcome.
    #[error(transparent)]
    Outcome(#[from] OutcomeError),
    /// There is no store to look at.
    #[error("there is no store in {}; name the directory of a run with --data", .0.display())]
    NoStore(PathBuf),
    /// Nothing is unfinished.
    #[error("no run in {} is unfinished; start one with `kinfolk run`", .0.display())]
    NothingToResume(PathBuf),
    /// The owner of the data directory cannot be asked, or refuses.
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// No process holds the run that something is wanted of.
    #[error("no process owns {}, so no run in it can be reached{}", data.display(), way_out(run.as_ref(), data))]
    NoOwner {
        /// The store's directory.
        data: PathBuf,
        /// The run that was meant.
        run: Option<RunId>,
    },
    /// The run that something is wanted of has ended.
    #[error(
        "run {0} is over: nothing reaches it any more; go on in its session with `kinfolk run`"
    )]
    Over(RunId),
    /// A run does not take what it was told.
    #[error(transparent)]
    Wish(#[from] WishError),
    /// The family of a session cannot be read.
    #[error("the family of the session's newest run cannot be read: {0}")]
    Family(serde_json::Error),
    /// There is nothing to look at, or it cannot be shown.
    #[error("{error} (in {})", data.display())]
    Look {
        /// Why.
        error: LookError,
        /// The store's directory.
        data: PathBuf,
    },
    /// Nothing has that name.
    #[error("there is no session or run `{name}` in {}; `kinfolk inspect` lists them", data.display())]
    NothingToShow {
        /// What was asked for.
        name: String,
        /// The store's directory.
        data: PathBuf,
    },
    /// The output could not be written.
    #[error("the output could not be written: {0}")]
    Output(std::io::Error),
    /// The system refused something basic.
    #[error("{0}")]
    System(std::io::Error),
}

impl LaunchError {
    /// The exit code: 2 if other settings would help, 1 otherwise.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Settings(_)
            | Self::Unopened(_)
            | Self::Workspace(_)
            | Self::Open(OpenError::Name(_) | OpenError::Family(_))
            | Self::NoStore(_)
            | Self::NothingToResume(_)
            | Self::NoOwner { .. }
            | Self::Over(_)
            | Self::NothingToShow { .. } => exit::USAGE,
            Self::Socket(error) => socket_code(error),
            Self::Look { error, data: _ } => match error {
                LookError::NoSession | LookError::NotFound(_) => exit::USAGE,
                LookError::Store { text: _, error } => store_code(error),
                LookError::Output(_) => exit::FAILED,
            },
            Self::Store(error) | Self::Open(OpenError::Store(error)) => store_code(error),
            Self::Start(error) => start_code(error),
            Self::Runtime(_)
            | Self::Outcome(_)
            | Self::Wish(_)
            | Self::Family(_)
            | Self::Output(_)
            | Self::System(_) => exit::FAILED,
        }
    }
}

/// What a person can do who meets a run that nobody holds.
fn way_out(run: Option<&RunId>, data: &Path) -> String {
    run.map_or_else(String::new, |run| {
        let data = quoted(data);
        format!("; hold it with `kinfolk resume --wait --data {data} {run}`, then say it again")
    })
}

fn socket_code(error: &SocketError) -> u8 {
    match error {
        SocketError::Refused(refused) => match refused.code {
            ControlCode::NotFound | ControlCode::TooLong => exit::USAGE,
            ControlCode::BadRequest
            | ControlCode::Refused
            | ControlCode::Unavailable
            | ControlCode::Failed
            | ControlCode::Other => exit::FAILED,
        },
        SocketError::NoOwner(_)
        | SocketError::InUse(_)
        | SocketError::NotASocket(_)
        | SocketError::NotPrivate { .. }
        | SocketError::PathTooLong { .. } => exit::USAGE,
        SocketError::Io { .. } | SocketError::Broken { .. } => exit::FAILED,
    }
}

fn store_code(error: &StoreError) -> u8 {
    match error {
        StoreError::InUse { .. } | StoreError::NewerFormat { .. } | StoreError::Open { .. } => {
            exit::USAGE
        }
        StoreError::Fenced { .. }
        | StoreError::Damaged { .. }
        | StoreError::Write { .. }
        | StoreError::Broken { .. }
        | StoreError::Read { .. }
        | StoreError::Overloaded
        | StoreError::Closed => exit::FAILED,
    }
}

fn start_code(error: &StartError) -> u8 {
    match error {
        StartError::RunActive { .. }
        | StartError::NoFamily(_)
        | StartError::NothingToResume(_)
        | StartError::NoSuchRun(_)
        | StartError::Refused(_)
        | StartError::Open(OpenError::Name(_) | OpenError::Family(_)) => exit::USAGE,
        StartError::Store(error) | StartError::Open(OpenError::Store(error)) => store_code(error),
        StartError::FamilyLost(_) | StartError::Failed(_) | StartError::ShuttingDown => {
            exit::FAILED
        }
    }
}
