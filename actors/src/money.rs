//! Money as an exact count, so that sums of millions of small prices never drift.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::id::InvalidId;

/// An amount in US dollars, counted in picodollars (10⁻¹² USD). Published prices a token are
/// multiples of that (the cheapest are about 10⁻⁹ USD); the greatest amount is 18 million USD.
/// Shown and parsed as a decimal number of dollars. Sums saturate; they never wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Money(u64);

impl Money {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    const PER_DOLLAR: u64 = 1_000_000_000_000;

    /// An amount in picodollars.
    #[must_use]
    pub const fn from_pico(pico: u64) -> Self {
        Self(pico)
    }

    /// An amount in whole dollars.
    #[must_use]
    pub const fn from_dollars(dollars: u64) -> Self {
        Self(dollars.saturating_mul(Self::PER_DOLLAR))
    }

    /// The amount in picodollars.
    #[must_use]
    pub const fn pico(self) -> u64 {
        self.0
    }

    /// The sum of two amounts.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// What is left of this amount after another; nothing if the other is greater.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// This amount as often as said, for example a price a token times its tokens.
    #[must_use]
    pub const fn times(self, count: u64) -> Self {
        Self(self.0.saturating_mul(count))
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / Self::PER_DOLLAR, self.0 % Self::PER_DOLLAR);
        if rest == 0 {
            return write!(f, "{whole}");
        }
        let fraction = format!("{rest:012}");
        write!(f, "{whole}.{}", fraction.trim_end_matches('0'))
    }
}

impl FromStr for Money {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let parse = || {
            let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
            let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
            if whole.is_empty() || !digits(whole) || !digits(fraction) || fraction.len() > 12 {
                return None;
            }
            let whole: u64 = whole.parse().ok()?;
            let fraction: u64 = format!("{fraction:0<12}").parse().ok()?;
            whole.checked_mul(Self::PER_DOLLAR)?.checked_add(fraction).map(Self)
        };
        let expected = "use dollars with at most 12 decimals, for example 0.50";
        parse().ok_or_else(|| InvalidId::new("amount of money", text, expected))
    }
}

impl Serialize for Money {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Money {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_read_back_what_they_show() {
        for (text, pico) in
            [("0.5", 500_000_000_000), ("3", 3_000_000_000_000), ("0.000000075", 75_000)]
        {
            let money: Money = text.parse().unwrap();
            assert_eq!((money.pico(), money.to_string().as_str()), (pico, text));
        }
        assert_eq!("0.50".parse::<Money>().unwrap().to_string(), "0.5");
        for bad in ["", ".5", "-1", "1e3", "1,5", "0.0000000000001", "99999999999"] {
            assert!(bad.parse::<Money>().is_err(), "{bad}");
        }
    }

    #[test]
    fn sums_end_at_their_bounds() {
        let most = Money::from_pico(u64::MAX);
        assert_eq!((most.plus(most), Money::ZERO.minus(most)), (most, Money::ZERO));
    }
}
