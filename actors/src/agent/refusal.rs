//! The stable codes of refusals, as programs on the other side of a wire read them.

use serde::{Deserialize, Serialize};

use super::Refusal;
use crate::failure::Attribution;

macro_rules! codes {
    ($(#[doc = $doc:literal] $name:ident = $text:literal, $who:ident, $retryable:literal;)*) => {
        /// What kind of refusal it is. Programs branch on it, never on the words.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum RefusalCode {
            $(#[doc = $doc] #[serde(rename = $text)] $name,)*
        }

        impl RefusalCode {
            /// Every code.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The code as text, for example `ask.already_answered`.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }

            /// What the code means, in one sentence.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Self::$name => $doc.trim_ascii(),)*
                }
            }

            /// Who has to act.
            #[must_use]
            pub fn attribution(self) -> Attribution {
                match self {
                    $(Self::$name => Attribution::$who,)*
                }
            }

            /// Whether the same command may be taken later.
            #[must_use]
            pub fn retryable(self) -> bool {
                match self {
                    $(Self::$name => $retryable,)*
                }
            }
        }
    };
}

codes! {
    /// A run is active on the session.
    RunActive = "run.active", User, true;
    /// Nothing is at work that the command could reach.
    AtRest = "run.at_rest", User, false;
    /// The run is ending already.
    AlreadyEnding = "run.ending", User, false;
    /// The run writes its last answer and takes no more input.
    Sealed = "run.sealed", User, false;
    /// Only a lead can be told this.
    NotALead = "run.not_a_lead", User, false;
    /// The run is not interrupted.
    NotInterrupted = "run.not_interrupted", User, false;
    /// Nothing is queued to start from.
    NothingQueued = "run.nothing_queued", User, false;
    /// More messages wait for the run than it may hold.
    TooMuchWaiting = "run.too_much_waiting", User, true;
    /// The session went on while the run was prepared.
    HistoryChanged = "run.history_changed", User, true;
    /// The outcome of a piece of work came late, or twice.
    Stale = "work.stale", Harness, false;
    /// The outcome is not one that the work can have.
    Misfit = "work.misfit", Harness, false;
    /// The question was answered before.
    AlreadyAnswered = "ask.already_answered", User, false;
    /// The question is not asked any more.
    StaleAnswer = "ask.stale", User, false;
    /// There is no such open question.
    UnknownAsk = "ask.unknown", User, false;
    /// The call waits for no result from outside.
    NotAwaited = "call.not_awaited", User, false;
    /// There is nothing that a summary could replace.
    NothingToCompact = "compaction.nothing", User, true;
    /// There is no such tool to activate.
    NoSuchTool = "tool.not_held_back", User, false;
}

impl Refusal {
    /// Its stable code.
    #[must_use]
    pub fn code(&self) -> RefusalCode {
        match self {
            Self::RunActive => RefusalCode::RunActive,
            Self::AtRest => RefusalCode::AtRest,
            Self::AlreadyEnding => RefusalCode::AlreadyEnding,
            Self::Sealed => RefusalCode::Sealed,
            Self::NotALead => RefusalCode::NotALead,
            Self::NotInterrupted => RefusalCode::NotInterrupted,
            Self::NothingQueued => RefusalCode::NothingQueued,
            Self::TooMuchWaiting(_) => RefusalCode::TooMuchWaiting,
            Self::HistoryChanged { .. } => RefusalCode::HistoryChanged,
            Self::Stale(_) => RefusalCode::Stale,
            Self::Misfit(_) => RefusalCode::Misfit,
            Self::AlreadyAnswered(_) => RefusalCode::AlreadyAnswered,
            Self::StaleAnswer(_) => RefusalCode::StaleAnswer,
            Self::UnknownAsk(_) => RefusalCode::UnknownAsk,
            Self::NotAwaited(_) => RefusalCode::NotAwaited,
            Self::NothingToCompact => RefusalCode::NothingToCompact,
            Self::NoSuchTool(_) => RefusalCode::NoSuchTool,
        }
    }
}
