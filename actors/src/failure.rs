//! Why something ended badly: a stable code, who has to act, and whether a retry can help.
//!
//! Code branches on [`ErrorCode`], never on the message.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Who has to act on a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Attribution {
    /// The person or host that asked: settings, input, credentials.
    User,
    /// The model's provider.
    Provider,
    /// Kinfolk itself.
    Harness,
    /// The machine under it: disk, processes, memory.
    System,
}

macro_rules! codes {
    ($(
        #[doc = $doc:literal] $name:ident = $text:literal, $who:ident, $retryable:literal,
        $advice:literal;
    )*) => {
        /// The stable codes of failures, as scripts and dashboards read them.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub enum ErrorCode {
            $(#[doc = $doc] $name,)*
            /// A code that this version does not know, kept as it was written.
            Other(Arc<str>),
        }

        impl ErrorCode {
            /// Every code of this version.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The code as text, for example `model.unreachable`.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$name => $text,)*
                    Self::Other(text) => text,
                }
            }

            /// Who has to act on a failure of this code.
            #[must_use]
            pub fn attribution(&self) -> Attribution {
                match self {
                    $(Self::$name => Attribution::$who,)*
                    Self::Other(_) => Attribution::Harness,
                }
            }

            /// What the code means, in one sentence.
            #[must_use]
            pub fn meaning(&self) -> &'static str {
                match self {
                    $(Self::$name => $doc.trim_ascii(),)*
                    Self::Other(_) => "A code of a newer version.",
                }
            }

            /// What whoever has to act can do.
            #[must_use]
            pub fn advice(&self) -> &'static str {
                match self {
                    $(Self::$name => $advice,)*
                    Self::Other(_) => "Read its message; a newer version knows it.",
                }
            }

            /// Whether the same request may succeed later without a change of settings.
            #[must_use]
            pub fn retryable(&self) -> bool {
                match self {
                    $(Self::$name => $retryable,)*
                    Self::Other(_) => false,
                }
            }
        }

        impl From<&str> for ErrorCode {
            fn from(text: &str) -> Self {
                match text {
                    $($text => Self::$name,)*
                    other => Self::Other(other.into()),
                }
            }
        }
    };
}

codes! {
    /// No connection to the model server could be made.
    ModelUnreachable = "model.unreachable", Provider, true,
        "Check the base URL and that the server runs; the run can be started again.";
    /// The model server did not answer, or stopped sending, within its deadline.
    ModelTimeout = "model.timeout", Provider, true,
        "Try again later, or raise the deadline of the model.";
    /// The provider asks to slow down.
    ModelRateLimited = "model.rate_limited", Provider, true,
        "Lower the concurrency or ask the provider for more; the request was tried again already.";
    /// The provider is overloaded or failed inside.
    ModelUnavailable = "model.unavailable", Provider, true,
        "Try again later, or name another model.";
    /// The key is missing, wrong or has no right to the model.
    ModelUnauthorized = "model.unauthorized", User, false,
        "Set the variable that holds the key, or use a key with a right to the model.";
    /// The account has no money or quota left.
    ModelQuota = "model.quota_exhausted", User, false,
        "Pay the account, or use another key.";
    /// The provider does not know the model.
    ModelNotFound = "model.not_found", User, false,
        "Correct the name of the model.";
    /// The provider refused the request as malformed.
    ModelBadRequest = "model.bad_request", Harness, false,
        "Report it with the recorded request; another provider may take it.";
    /// The request is larger than the model's window.
    ModelContextOverflow = "model.context_overflow", User, false,
        "Set the window of the model to what the provider allows, or shorten prompt, tools or input.";
    /// The stream ended before its end mark; nothing of it was used.
    ModelTruncated = "model.truncated", Provider, true,
        "Try again; if it stays, look at proxies between here and the provider.";
    /// The reply could not be understood.
    ModelProtocol = "model.protocol", Provider, true,
        "Check that the server speaks the protocol of the named provider.";
    /// A scripted model has no reply for this turn.
    ModelScriptExhausted = "model.script_exhausted", User, false,
        "Add a reply for this turn to the script.";
    /// The request was stopped because its run or agent ended.
    ModelCancelled = "model.cancelled", User, true,
        "Nothing: whoever ended the run wanted it.";
    /// The model was required to call a tool and did not.
    ModelToolCallRequired = "model.tool_call_required", Provider, false,
        "Use a model that calls tools, or do not require a call.";
    /// The model made the same call again and again.
    LoopDetected = "loop.detected", Provider, false,
        "Change the prompt or the tool: the model repeats a call that tells it nothing new.";
    /// The history leaves no room for a reply and cannot be made smaller.
    ContextFull = "context.full", User, false,
        "Shorten the prompt, the tools or the input, or use a model with a larger window.";
    /// The summary of a history could not be had.
    CompactionFailed = "context.compaction_failed", Provider, true,
        "Try again, set `compaction.model`, or opt in to the fallback.";
    /// The limit of steps is used up.
    LimitSteps = "limit.steps", User, false,
        "Raise `max_steps`, or give the work in smaller parts.";
    /// The limit of tool calls is used up.
    LimitToolCalls = "limit.tool_calls", User, false,
        "Raise `max_tool_calls`, or give the work in smaller parts.";
    /// The limit of tokens is used up.
    LimitTokens = "limit.tokens", User, false,
        "Raise `max_tokens`, or give the work in smaller parts.";
    /// The limit of money is used up.
    LimitCost = "limit.cost", User, false,
        "Raise `max_cost`, or use a cheaper model.";
    /// The limit of time is used up.
    LimitTime = "limit.time", User, false,
        "Raise `max_time`, or give the work in smaller parts.";
    /// An agent's actor failed more often than the restart policy allows.
    AgentCrashed = "harness.agent_crashed", Harness, true,
        "Look at the log for the panic and report it; the run can be resumed.";
    /// Work of an agent panicked.
    EffectPanicked = "harness.effect_panicked", Harness, false,
        "Report the panic; if a tool of yours panicked, mend it.";
    /// An agent's brain left it with nothing to do and no end.
    BrainStuck = "harness.brain_stuck", Harness, false,
        "Mend the brain: it gave nothing to do and no end.";
    /// A needed service of the runtime is gone.
    ServiceDown = "harness.service_down", Harness, true,
        "Restart the process; the run can be resumed.";
    /// A write to the store failed.
    StoreWriteFailed = "store.write_failed", System, true,
        "Free space or repair the disk; the run can be resumed.";
    /// A read from the store failed.
    StoreReadFailed = "store.read_failed", System, true,
        "Repair the disk; the run can be resumed.";
    /// A stored record is damaged.
    StoreDamaged = "store.damaged_record", System, false,
        "Look at the named record; nothing of it was changed.";
    /// Another owner holds the session.
    StoreFenced = "store.fenced", System, true,
        "Another process owns the session; talk to that one, or stop it first.";
    /// Too much work is queued.
    Overloaded = "harness.overloaded", System, true,
        "Send less at once, or try again later.";
}

impl Serialize for ErrorCode {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ErrorCode {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self::from(text.as_str()))
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One failure, as events, outcomes and exit messages carry it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{code}: {message}")]
pub struct Failure {
    /// What kind of failure it is.
    pub code: ErrorCode,
    /// Who has to act.
    pub attribution: Attribution,
    /// Whether the same request may succeed later without a change of settings.
    pub retryable: bool,
    /// What happened, to what, and what to do. For people; code never reads it.
    pub message: Arc<str>,
}

impl Failure {
    /// A failure with the attribution and retryability that its code implies.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<Arc<str>>) -> Self {
        let (attribution, retryable) = (code.attribution(), code.retryable());
        Self { code, attribution, retryable, message: message.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_reads_back_from_its_text() {
        for code in ErrorCode::ALL {
            assert_eq!(&ErrorCode::from(code.as_str()), code);
        }
        let newer = ErrorCode::from("model.from_the_future");
        assert_eq!(newer.as_str(), "model.from_the_future");
    }
}
