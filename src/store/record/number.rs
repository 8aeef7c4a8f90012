//! The numbers that stand for enums of the domain in stored bytes. A number never changes its
//! meaning and is never used again.

use kinfolk_actors::call::{AuditDefault, CallKind, CallStatus, EffectClass};
use kinfolk_actors::compaction::Trigger;
use kinfolk_actors::event::{
    ChildMode, Decision, FinishReason, Outcome, QuestionKind, RunKind, Source,
};
use kinfolk_actors::failure::Attribution;
use kinfolk_actors::family::{Delivery, Placement, Role};
use kinfolk_actors::limits::{ChildBudget, LimitKind, OnLimit};

use super::Unreadable;

/// A domain enum with a number for each value.
pub(super) trait Numbered: Sized {
    /// The stored number.
    fn number(self) -> u32;
    /// Every value, in the order of the numbers.
    #[cfg(test)]
    fn all() -> Vec<Self>;
    /// The value of a stored number.
    fn of(number: u32) -> Result<Self, Unreadable>;
}

macro_rules! numbered {
    ($($name:ident, $what:literal { $($number:literal = ($($value:tt)+),)+ })+) => {$(
        impl Numbered for $name {
            fn number(self) -> u32 {
                match self {
                    $($($value)+ => $number,)+
                }
            }

            #[cfg(test)]
            fn all() -> Vec<Self> {
                vec![$($($value)+,)+]
            }

            fn of(number: u32) -> Result<Self, Unreadable> {
                match number {
                    $($number => Ok($($value)+),)+
                    number => Err(Unreadable::Number { what: $what, number }),
                }
            }
        }
    )+};
}

numbered! {
    Outcome, "outcome" {
        0 = (Self::Completed),
        1 = (Self::PartialSuccess),
        2 = (Self::Cancelled),
        3 = (Self::Failed),
    }
    FinishReason, "finish reason" {
        0 = (Self::Completed),
        1 = (Self::UserRequested),
        2 = (Self::UserAborted),
        3 = (Self::MaxStepsExceeded),
        4 = (Self::MaxStepsCompleted),
        5 = (Self::CostLimitExceeded),
        6 = (Self::Timeout),
        7 = (Self::AgentDecision),
        8 = (Self::QueuedMessageInterrupt),
        9 = (Self::ErrorRecovery),
        10 = (Self::SystemShutdown),
        11 = (Self::BudgetCompleted),
        12 = (Self::LoopDetected),
    }
    CallStatus, "call status" {
        0 = (Self::Ok),
        1 = (Self::Error),
        2 = (Self::Timeout),
        3 = (Self::Cancelled),
        4 = (Self::Denied),
        5 = (Self::Blocked),
        6 = (Self::Malformed),
        7 = (Self::UnknownTool),
        8 = (Self::UnknownOutcome),
        9 = (Self::Limit),
    }
    CallKind, "call kind" {
        0 = (Self::Tool(EffectClass::ReadOnly)),
        1 = (Self::Tool(EffectClass::Idempotent)),
        2 = (Self::Tool(EffectClass::Reconcilable)),
        3 = (Self::Tool(EffectClass::Changing)),
        4 = (Self::Subagent),
        5 = (Self::Invalid),
        6 = (Self::Client(EffectClass::ReadOnly)),
        7 = (Self::Client(EffectClass::Idempotent)),
        8 = (Self::Client(EffectClass::Reconcilable)),
        9 = (Self::Client(EffectClass::Changing)),
        10 = (Self::ClientSubagent),
        11 = (Self::Spawn),
        12 = (Self::Wait),
        13 = (Self::Tell),
        14 = (Self::Stop),
        15 = (Self::AskUser),
        16 = (Self::AskParent),
        17 = (Self::Return),
    }
    Role, "role" {
        0 = (Self::Explore),
        1 = (Self::Task),
    }
    Attribution, "attribution" {
        0 = (Self::User),
        1 = (Self::Provider),
        2 = (Self::Harness),
        3 = (Self::System),
    }
    AuditDefault, "audit default" {
        0 = (Self::Never),
        1 = (Self::Ask),
    }
    RunKind, "kind of run" {
        0 = (Self::Request),
        1 = (Self::Queued),
        2 = (Self::Compact),
    }
    Source, "source of a message" {
        0 = (Self::Input),
        1 = (Self::Guidance),
        2 = (Self::Queued),
        3 = (Self::Notice),
        4 = (Self::Question),
        5 = (Self::Hint),
        6 = (Self::Virtual),
    }
    Decision, "decision" {
        0 = (Self::Approved),
        1 = (Self::Denied),
        2 = (Self::DeniedAndStop),
        3 = (Self::Expired),
        4 = (Self::Withdrawn),
    }
    QuestionKind, "kind of question" {
        0 = (Self::Text),
        1 = (Self::Choice),
        2 = (Self::Parent),
    }
    ChildMode, "mode of a subagent" {
        0 = (Self::Foreground),
        1 = (Self::Background),
    }
    Delivery, "delivery" {
        0 = (Self::Answer),
        1 = (Self::Return),
    }
    Placement, "placement" {
        0 = (Self::Runtime),
        1 = (Self::Client),
    }
    Trigger, "trigger of a compaction" {
        0 = (Self::Threshold),
        1 = (Self::Overflow),
        2 = (Self::Manual),
    }
    LimitKind, "limit" {
        0 = (Self::Steps),
        1 = (Self::ToolCalls),
        2 = (Self::Tokens),
        3 = (Self::Cost),
        4 = (Self::Time),
    }
    OnLimit, "policy at a limit" {
        0 = (Self::Finish),
        1 = (Self::Stop),
        2 = (Self::Interrupt),
        3 = (Self::Ask),
        4 = (Self::Warn),
    }
    ChildBudget, "budget of subagents" {
        0 = (Self::Share),
        1 = (Self::Grant),
        2 = (Self::Mirror),
    }
}
