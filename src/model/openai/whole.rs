//! Whether a text that grows piece by piece is a whole JSON value yet.
//!
//! Each piece is looked at once: brackets and strings are counted, and the text is parsed only
//! when the outermost one closes. What follows can no longer change the answer for the better.

/// The longest number or word (`true`) that counts as whole. These have no closing mark, so they
/// are parsed anew with each piece.
const MAX_PLAIN: usize = 64;

/// How far a text has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Whole {
    /// Nothing but white space so far.
    #[default]
    Blank,
    /// Inside of an object, an array or a string.
    Inside {
        /// The brackets that are open.
        depth: usize,
        /// Where it is in a string, if it is in one.
        string: Option<InString>,
    },
    /// A number or a word, which nothing closes.
    Plain {
        /// Whether it is a value as it stands.
        whole: bool,
    },
    /// The outermost bracket or string was closed, and what was inside was valid.
    Closed,
    /// Nothing that follows makes it a value.
    Broken,
}

/// A place in a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InString {
    /// The next character stands for itself.
    Plain,
    /// A backslash came before.
    Escaped,
}

impl Whole {
    /// Takes the part of `text` from the byte `from` on; the rest was taken before.
    pub fn take(&mut self, text: &str, from: usize) {
        for (at, byte) in text.bytes().enumerate().skip(from) {
            self.step(text, at, byte);
        }
        if let Self::Plain { whole } = self {
            *whole = text.len() <= MAX_PLAIN && is_value(text);
        }
    }

    /// Whether the text is a whole value, so that nothing more is expected.
    pub fn is_whole(self) -> bool {
        match self {
            Self::Closed => true,
            Self::Plain { whole } => whole,
            Self::Blank | Self::Inside { .. } | Self::Broken => false,
        }
    }

    fn step(&mut self, text: &str, at: usize, byte: u8) {
        let space = matches!(byte, b' ' | b'\n' | b'\t' | b'\r');
        match self {
            Self::Blank if space => {}
            Self::Blank => {
                *self = match byte {
                    b'{' | b'[' => Self::Inside { depth: 1, string: None },
                    b'"' => Self::Inside { depth: 0, string: Some(InString::Plain) },
                    _ => Self::Plain { whole: false },
                };
            }
            Self::Inside { depth, string } => {
                inside(depth, string, byte);
                if *depth == 0 && string.is_none() {
                    *self = if is_value(&text[..=at]) { Self::Closed } else { Self::Broken };
                }
            }
            Self::Closed if !space => *self = Self::Broken,
            Self::Plain { .. } | Self::Closed | Self::Broken => {}
        }
    }
}

/// Counts one byte of an object, an array or a string.
fn inside(depth: &mut usize, string: &mut Option<InString>, byte: u8) {
    *string = match (*string, byte) {
        (Some(InString::Escaped), _) => Some(InString::Plain),
        (Some(InString::Plain), b'\\') => Some(InString::Escaped),
        (Some(InString::Plain), b'"') => None,
        (Some(InString::Plain), _) => Some(InString::Plain),
        (None, b'"') => Some(InString::Plain),
        (None, b'{' | b'[') => {
            *depth += 1;
            None
        }
        (None, b'}' | b']') => {
            *depth = depth.saturating_sub(1);
            None
        }
        (None, _) => None,
    };
}

fn is_value(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_beginning_of_a_text_has_the_answer_of_a_parser() {
        let texts = [
            r#"{"a":[1,{"b":"}]\"\\"}],"é":"\u00e9"} "#,
            r#" [ "x" , null ] "#,
            r#""a \" \\" "#,
            r#"{"a":1}{"b":2}"#,
            r#"{"a"} "#,
            r#"{]"#,
            r#"[1,2,]"#,
            "  true ",
            "-12.5e3",
            "nul",
            "]",
            "{}x",
            "\u{a0}{}",
            "",
        ];
        for text in texts {
            for size in [1, 2, 3, 5] {
                let (mut state, mut taken) = (Whole::default(), 0);
                let cuts = (1..=text.len()).filter(|at| text.is_char_boundary(*at));
                for at in cuts.step_by(size) {
                    state.take(&text[..at], taken);
                    taken = at;
                    assert_eq!(state.is_whole(), is_value(&text[..at]), "{:?}", &text[..at]);
                }
            }
        }
    }
}
