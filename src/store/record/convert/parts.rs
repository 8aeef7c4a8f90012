//! The parts that many events have.

use std::sync::Arc;

use kinfolk_actors::budget::account::Scope;
use kinfolk_actors::failure::{Attribution, ErrorCode, Failure};
use kinfolk_actors::id::{AgentId, AskId, CallId, RunId};
use kinfolk_actors::limits::{Amount, LimitKind, Limits};
use kinfolk_actors::money::Money;
use kinfolk_actors::time::Millis;
use kinfolk_actors::usage::Usage;
use uuid::Uuid;

use super::super::Unreadable;
use super::super::number::Numbered;
use super::super::parts::{AmountV1, AskIdV1, CallIdV1, FailureV1, LimitsV1, ScopeV1, UsageV1};

impl From<CallId> for CallIdV1 {
    fn from(call: CallId) -> Self {
        Self { run: run_bytes(call.run), agent: call.agent.0, n: call.n }
    }
}

impl From<CallIdV1> for CallId {
    fn from(stored: CallIdV1) -> Self {
        Self { run: run_id(stored.run), agent: AgentId(stored.agent), n: stored.n }
    }
}

impl From<AskId> for AskIdV1 {
    fn from(ask: AskId) -> Self {
        Self { run: run_bytes(ask.run), agent: ask.agent.0, n: ask.n }
    }
}

impl From<AskIdV1> for AskId {
    fn from(stored: AskIdV1) -> Self {
        Self { run: run_id(stored.run), agent: AgentId(stored.agent), n: stored.n }
    }
}

impl From<&Failure> for FailureV1 {
    fn from(failure: &Failure) -> Self {
        Self {
            code: failure.code.as_str().into(),
            attribution: failure.attribution.number(),
            retryable: failure.retryable,
            message: Arc::clone(&failure.message),
        }
    }
}

impl TryFrom<FailureV1> for Failure {
    type Error = Unreadable;

    fn try_from(stored: FailureV1) -> Result<Self, Unreadable> {
        Ok(Self {
            code: ErrorCode::from(stored.code.as_ref()),
            attribution: Attribution::of(stored.attribution)?,
            retryable: stored.retryable,
            message: stored.message,
        })
    }
}

impl From<&Limits> for LimitsV1 {
    fn from(limits: &Limits) -> Self {
        // Taken apart, so that a new limit cannot be forgotten here.
        let Limits { max_steps, max_tool_calls, max_tokens, max_cost, max_time } = *limits;
        let amounts = [
            (LimitKind::Steps, max_steps),
            (LimitKind::ToolCalls, max_tool_calls),
            (LimitKind::Tokens, max_tokens),
            (LimitKind::Cost, max_cost.map(Money::pico)),
            (LimitKind::Time, max_time.map(|time| time.0)),
        ];
        let set = |(kind, amount): (LimitKind, Option<u64>)| Some((kind.number(), amount?));
        Self(amounts.into_iter().filter_map(set).collect())
    }
}

impl TryFrom<LimitsV1> for Limits {
    type Error = Unreadable;

    fn try_from(stored: LimitsV1) -> Result<Self, Unreadable> {
        let mut limits = Self::default();
        for (kind, amount) in stored.0 {
            match LimitKind::of(kind)? {
                LimitKind::Steps => limits.max_steps = Some(amount),
                LimitKind::ToolCalls => limits.max_tool_calls = Some(amount),
                LimitKind::Tokens => limits.max_tokens = Some(amount),
                LimitKind::Cost => limits.max_cost = Some(Money::from_pico(amount)),
                LimitKind::Time => limits.max_time = Some(Millis(amount)),
            }
        }
        Ok(limits)
    }
}

impl From<Scope> for ScopeV1 {
    fn from(scope: Scope) -> Self {
        match scope {
            Scope::Family => Self::Family,
            Scope::Agent(agent) => Self::Agent(agent.0),
        }
    }
}

impl From<ScopeV1> for Scope {
    fn from(stored: ScopeV1) -> Self {
        match stored {
            ScopeV1::Family => Self::Family,
            ScopeV1::Agent(agent) => Self::Agent(AgentId(agent)),
        }
    }
}

impl From<Amount> for AmountV1 {
    fn from(amount: Amount) -> Self {
        match amount {
            Amount::Count(count) => Self::Count(count),
            Amount::Money(money) => Self::Money(money.pico()),
        }
    }
}

impl From<AmountV1> for Amount {
    fn from(stored: AmountV1) -> Self {
        match stored {
            AmountV1::Count(count) => Self::Count(count),
            AmountV1::Money(pico) => Self::Money(Money::from_pico(pico)),
        }
    }
}

/// The numbers of the kinds of usage. One that is missing here does not compile: the counts are
/// taken apart.
macro_rules! usage {
    ($($number:literal = $name:ident,)+) => {
        impl From<&Usage> for UsageV1 {
            fn from(usage: &Usage) -> Self {
                let Usage { $($name,)+ } = *usage;
                let counts = [$(($number, $name),)+];
                Self(counts.into_iter().filter(|(_, count)| *count != 0).collect())
            }
        }

        impl From<UsageV1> for Usage {
            fn from(stored: UsageV1) -> Self {
                let mut usage = Self::default();
                for (kind, count) in stored.0 {
                    match kind {
                        $($number => usage.$name = count,)+
                        _ => {}
                    }
                }
                usage
            }
        }
    };
}

usage! {
    0 = model_requests,
    1 = turns,
    2 = tool_calls,
    3 = input_tokens,
    4 = output_tokens,
    5 = cached_input_tokens,
    6 = reasoning_tokens,
    7 = cache_write_5m_tokens,
    8 = cache_write_1h_tokens,
    9 = cache_miss_input_tokens,
    10 = provider_tool_input_tokens,
    11 = text_input_tokens,
    12 = image_input_tokens,
    13 = audio_input_tokens,
    14 = video_input_tokens,
    15 = text_output_tokens,
    16 = image_output_tokens,
    17 = audio_output_tokens,
    18 = video_output_tokens,
    19 = accepted_prediction_tokens,
    20 = rejected_prediction_tokens,
}

pub(super) fn failure(stored: Option<FailureV1>) -> Result<Option<Failure>, Unreadable> {
    stored.map(Failure::try_from).transpose()
}

pub(super) fn run_bytes(run: RunId) -> [u8; 16] {
    run.0.into_bytes()
}

pub(super) fn run_id(bytes: [u8; 16]) -> RunId {
    RunId(Uuid::from_bytes(bytes))
}
