//! Bounded text: what is too long is cut with a mark that says so and how long it was.

use std::sync::Arc;

use serde::Serialize;

/// A text that fits its cap, and its full size if it did not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounded {
    /// At most the cap plus the mark, in bytes.
    pub text: Arc<str>,
    /// The full size in bytes, if something was cut.
    pub full_size: Option<u64>,
}

/// Cuts `text` to at most `cap` bytes at a character boundary and appends a visible mark.
#[must_use]
pub fn bounded(text: &Arc<str>, cap: usize) -> Bounded {
    if text.len() <= cap {
        return Bounded { text: Arc::clone(text), full_size: None };
    }
    let kept = head(text, cap);
    let full = text.len();
    let cut = format!("{kept}\n[cut: the first {} of {full} bytes are shown]", kept.len());
    Bounded { text: cut.into(), full_size: u64::try_from(full).ok() }
}

/// The longest prefix of at most `cap` bytes that ends at a character boundary.
#[must_use]
pub fn head(text: &str, cap: usize) -> &str {
    let mut end = cap.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// A value as JSON text. What cannot be written is told, so that it does not pass as nothing.
#[must_use]
pub fn json(value: &impl Serialize) -> String {
    let told = |error: serde_json::Error| {
        serde_json::json!({ "error": format!("this could not be written: {error}") }).to_string()
    };
    serde_json::to_string(value).unwrap_or_else(told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_written_as_json_is_told() {
        assert_eq!(json(&[1, 2]), "[1,2]");
        let keys = std::collections::BTreeMap::from([((1, 2), 3)]);
        assert_eq!(json(&keys), r#"{"error":"this could not be written: key must be a string"}"#);
    }

    #[test]
    fn a_text_within_its_cap_is_shared_untouched() {
        let text: Arc<str> = "short".into();
        let kept = bounded(&text, 5);
        assert!(Arc::ptr_eq(&kept.text, &text));
        assert_eq!(kept.full_size, None);
    }

    #[test]
    fn a_cut_falls_between_characters_and_says_the_full_size() {
        let text: Arc<str> = "aé€".into();
        let kept = bounded(&text, 2);
        assert_eq!(kept.text.as_ref(), "a\n[cut: the first 1 of 6 bytes are shown]");
        assert_eq!(kept.full_size, Some(6));
    }
}
