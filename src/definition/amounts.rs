//! Amounts of money and time as a host writes them down.

use kinfolk_actors::money::Money;
use kinfolk_actors::time::Millis;

/// An amount of US dollars, exact and checked when it is compiled: `usd!(0.50)`, `usd!(3)`. At most
/// 12 decimals.
///
/// ```
/// assert_eq!(kinfolk::usd!(0.50).to_string(), "0.5");
/// ```
///
/// ```compile_fail
/// kinfolk::usd!(0.0000000000001);
/// ```
#[macro_export]
macro_rules! usd {
    ($amount:literal) => {{
        const AMOUNT: $crate::Money = $crate::definition::amounts::dollars(stringify!($amount));
        AMOUNT
    }};
}

/// Reads dollars as a Rust number is written; see [`usd!`](crate::usd).
///
/// # Panics
/// The text is no such number, has more than 12 decimals or is over 18 million. In a constant that
/// is an error of the compiler.
#[must_use]
pub const fn dollars(text: &str) -> Money {
    let bytes = text.as_bytes();
    let (mut pico, mut digits, mut decimals, mut fraction) = (0u64, 0, 0, false);
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'_' => {}
            b'.' if !fraction && digits > 0 => fraction = true,
            digit @ b'0'..=b'9' => {
                assert!(decimals < 12, "an amount of dollars has at most 12 decimals");
                pico = grown(pico, (digit - b'0') as u64);
                digits += 1;
                decimals += fraction as u32;
            }
            _ => panic!("write dollars as a plain number, for example 0.50"),
        }
        at += 1;
    }
    assert!(digits > 0, "write dollars as a plain number, for example 0.50");
    while decimals < 12 {
        pico = grown(pico, 0);
        decimals += 1;
    }
    Money::from_pico(pico)
}

/// One more decimal digit at the end.
const fn grown(amount: u64, digit: u64) -> u64 {
    match amount.checked_mul(10) {
        Some(more) => match more.checked_add(digit) {
            Some(more) => more,
            None => panic!("an amount of dollars is at most 18 million"),
        },
        None => panic!("an amount of dollars is at most 18 million"),
    }
}

/// So many seconds.
#[must_use]
pub const fn seconds(count: u64) -> Millis {
    Millis(count.saturating_mul(1_000))
}

/// So many minutes.
#[must_use]
pub const fn minutes(count: u64) -> Millis {
    seconds(count.saturating_mul(60))
}

/// So many hours.
#[must_use]
pub const fn hours(count: u64) -> Millis {
    minutes(count.saturating_mul(60))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_are_what_they_read_as() {
        for text in ["0.50", "3", "0.000000075", "12.000000000001", "1_000.25"] {
            let plain: Money = text.replace('_', "").parse().unwrap();
            assert_eq!(dollars(text), plain, "{text}");
        }
        for bad in ["", ".5", "1e3", "0.0000000000001", "99999999999", "-1", "1.2.3", "1f64"] {
            assert!(std::panic::catch_unwind(|| dollars(bad)).is_err(), "{bad}");
        }
        assert_eq!((minutes(10), hours(1)), (Millis(600_000), Millis(3_600_000)));
    }
}
