//! The numbers that stand for enums of the domain in stored bytes. A number never changes its
//! meaning and is never used again.

use kinfolk_actors::call::{CallKind, CallStatus, EffectClass};
use kinfolk_actors::event::{FinishReason, Outcome};
use kinfolk_actors::failure::Attribution;
use kinfolk_actors::family::Role;

use super::Unreadable;
use super::event::UsageV1;
use kinfolk_actors::usage::Usage;

/// A domain enum with a number for each value.
pub(super) trait Numbered: Sized {
    /// The stored number.
    fn number(self) -> u32;
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
}

impl From<&Usage> for UsageV1 {
    fn from(usage: &Usage) -> Self {
        // Taken apart, so that a new kind cannot be forgotten here.
        let Usage {
            model_requests,
            turns,
            tool_calls,
            input_tokens,
            output_tokens,
            cached_input_tokens,
            reasoning_tokens,
        } = *usage;
        let counts = [
            (0, model_requests),
            (1, turns),
            (2, tool_calls),
            (3, input_tokens),
            (4, output_tokens),
            (5, cached_input_tokens),
            (6, reasoning_tokens),
        ];
        Self(counts.into_iter().filter(|(_, count)| *count != 0).collect())
    }
}

impl From<UsageV1> for Usage {
    fn from(stored: UsageV1) -> Self {
        let mut usage = Self::default();
        for (kind, count) in stored.0 {
            match kind {
                0 => usage.model_requests = count,
                1 => usage.turns = count,
                2 => usage.tool_calls = count,
                3 => usage.input_tokens = count,
                4 => usage.output_tokens = count,
                5 => usage.cached_input_tokens = count,
                6 => usage.reasoning_tokens = count,
                _ => {}
            }
        }
        usage
    }
}
