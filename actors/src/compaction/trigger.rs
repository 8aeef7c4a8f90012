//! From which size on a history is compacted. It is checked after every reply and before every
//! request, within a turn too: a turn may have many rounds of tools.

use super::CompactionSettings;
use crate::profile::ModelProfile;

/// The size in tokens from which on a context is compacted: the one that is set, or nine tenths of
/// what the model's window leaves for a request, rounded down.
#[must_use]
pub fn threshold(profile: &ModelProfile, settings: &CompactionSettings) -> u64 {
    settings.threshold.unwrap_or_else(|| nine_tenths(profile.usable()))
}

/// Whether a context of that size is compacted.
#[must_use]
pub fn is_due(tokens: u64, threshold: u64) -> bool {
    tokens >= threshold
}

/// ⌊0.9 × n⌋ without overflow.
fn nine_tenths(n: u64) -> u64 {
    n / 10 * 9 + n % 10 * 9 / 10
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_follows_the_window_or_is_set() {
        let profile = |window, response, summary_reserve, safety_buffer| ModelProfile {
            window,
            response,
            summary_reserve,
            safety_buffer,
            ..ModelProfile::unknown()
        };
        for (profile, expected) in [
            (profile(32_000, 4_096, 0, 0), 25_113),
            (profile(200_000, 32_000, 0, 0), 151_200),
            (profile(200_000, 32_000, 8_000, 1_001), 143_099),
            (profile(1_000, 2_000, 0, 0), 0),
            (profile(u64::MAX, 0, 0, 0), 16_602_069_666_338_596_453),
        ] {
            assert_eq!(threshold(&profile, &CompactionSettings::default()), expected);
            let set = CompactionSettings { threshold: Some(7), ..CompactionSettings::default() };
            assert_eq!(threshold(&profile, &set), 7);
        }
    }

    #[test]
    fn it_is_due_from_the_threshold_on() {
        assert_eq!([99, 100, 101].map(|tokens| is_due(tokens, 100)), [false, true, true]);
    }

    #[test]
    fn settings_are_read_with_defaults_and_unknown_keys_are_errors() {
        let read = |json: &str| serde_json::from_str::<CompactionSettings>(json).ok();
        assert_eq!(read("{}"), Some(CompactionSettings::default()));
        let expected = CompactionSettings {
            threshold: Some(60_000),
            keep: Some(5_000),
            model: Some("openai:small".into()),
            fallback: super::super::Fallback::Digest,
        };
        let json = r#"{"threshold": 60000, "keep": 5000, "model": "openai:small",
            "fallback": "digest"}"#;
        assert_eq!(read(json), Some(expected));
        assert_eq!(read(r#"{"treshold": 60000}"#), None);
    }
}
