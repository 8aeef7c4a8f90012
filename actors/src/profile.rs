//! What a model can take and what it costs: its window, the room set aside in it, its prices.
//!
//! A profile is frozen into the family when a run starts, so that a newer table changes nothing in
//! the middle of a run. What a family file says stands over what the [`table`] says, field by
//! field. A model that nobody knows has a small window and no prices: its cost is unknown, not 0.

use serde::{Deserialize, Serialize};

use crate::cost;
use crate::money::Money;
use crate::usage::Usage;

mod overrides;
mod prices;
pub mod table;

pub use overrides::{PriceOverrides, ProfileOverrides};
pub use prices::{LongContext, Prices};

/// What Kinfolk knows of one model. Sizes are in tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelProfile {
    /// The most tokens of one request and its reply. Where a provider limits the input by itself,
    /// this is that smaller limit.
    pub window: u64,
    /// The cap on a reply's output unless an invocation says otherwise.
    pub response: u64,
    /// What is set aside for a summary beside the reply.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub summary_reserve: u64,
    /// What is set aside because counts are guesses.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub safety_buffer: u64,
    /// What one image counts for.
    #[serde(default = "image_tokens", skip_serializing_if = "is_usual_image")]
    pub image_tokens: u64,
    /// The prices, if they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<Prices>,
    /// Whether the model wants its readable reasoning back with its tool calls. Providers changed
    /// their minds about it, so the table never says so; a family file may.
    #[serde(default, skip_serializing_if = "is_off")]
    pub return_reasoning: bool,
    /// Whether the model needs a user's message after the results of several subagents: some
    /// answer with nothing otherwise.
    #[serde(default, skip_serializing_if = "is_off")]
    pub user_after_subagents: bool,
    /// Whether the model takes sampling parameters.
    #[serde(default, skip_serializing_if = "Sampling::is_supported")]
    pub sampling: Sampling,
}

/// Whether a model takes temperature and the like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sampling {
    /// It takes them.
    #[default]
    Supported,
    /// It answers them with an error; they are not sent.
    Refused,
}

/// A profile that no request could fit, or whose prices have gaps.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidProfile {
    /// What is set aside takes the whole window.
    #[error(
        "a window of {window} tokens has no room beside the {reserved} that are set aside for the \
         reply, the summary and safety; raise `window` or lower `response`, `summary_reserve` or \
         `safety_buffer`"
    )]
    NoRoom {
        /// The window.
        window: u64,
        /// What is set aside.
        reserved: u64,
    },
    /// A model without known prices was given only some.
    #[error("the prices of input and of output are both needed; `{missing}` is not set")]
    PricesIncomplete {
        /// The price that is missing.
        missing: &'static str,
    },
}

impl ModelProfile {
    /// The window of a model that nobody knows. Small, so that a local model is not overrun; a
    /// family file can say more.
    pub const UNKNOWN_WINDOW: u64 = 32_000;

    /// The output cap of a model that nobody knows: the smallest of the table.
    pub const UNKNOWN_RESPONSE: u64 = 4_096;

    /// What one image counts for unless a profile says otherwise. A large image costs 1,100 to
    /// 1,600 tokens at the providers that say so.
    pub const IMAGE_TOKENS: u64 = 1_400;

    /// The profile of a model by its name: the table's, or that of an unknown model.
    #[must_use]
    pub fn of(model: &str) -> Self {
        table::lookup(model).cloned().unwrap_or_else(Self::unknown)
    }

    /// The profile of a model that nobody knows.
    #[must_use]
    pub fn unknown() -> Self {
        Self {
            window: Self::UNKNOWN_WINDOW,
            response: Self::UNKNOWN_RESPONSE,
            summary_reserve: 0,
            safety_buffer: 0,
            image_tokens: Self::IMAGE_TOKENS,
            prices: None,
            return_reasoning: false,
            user_after_subagents: false,
            sampling: Sampling::Supported,
        }
    }

    /// The prices as the accounts reckon with them: the higher ones, where a long context has its
    /// own. None if they are not known.
    #[must_use]
    pub fn rates(&self) -> Option<cost::Rates> {
        let prices = self.prices.as_ref()?;
        Some(*prices.rates_for(u64::MAX))
    }

    /// What a usage costs; nothing if the prices are not known.
    #[must_use]
    pub fn cost(&self, usage: &Usage) -> Option<Money> {
        self.prices.as_ref().map(|prices| prices.cost(usage))
    }

    /// What is set aside in the window.
    #[must_use]
    pub fn reserved(&self) -> u64 {
        self.response.saturating_add(self.summary_reserve).saturating_add(self.safety_buffer)
    }

    /// What is left of the window for a request; nothing if more is set aside than there is.
    #[must_use]
    pub fn usable(&self) -> u64 {
        self.window.saturating_sub(self.reserved())
    }

    /// The most tokens of a summary: its own reserve if there is one, else the usual output cap.
    #[must_use]
    pub fn summary_cap(&self) -> u64 {
        if self.summary_reserve > 0 { self.summary_reserve } else { self.response }
    }
}

// Serde passes the field by reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(tokens: &u64) -> bool {
    *tokens == 0
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_usual_image(tokens: &u64) -> bool {
    *tokens == ModelProfile::IMAGE_TOKENS
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_off(set: &bool) -> bool {
    !*set
}

fn image_tokens() -> u64 {
    ModelProfile::IMAGE_TOKENS
}

impl Sampling {
    #[allow(clippy::trivially_copy_pass_by_ref)]
    fn is_supported(&self) -> bool {
        *self == Self::Supported
    }
}
