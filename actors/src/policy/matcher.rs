//! What one argument of a call has to look like. Patterns are checked and compiled when they are
//! read, so a matcher that exists works.

use std::fmt;

use regex::{Regex, RegexBuilder};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::shell::{Command, Form, Word};

/// The longest pattern, in bytes. Real ones have less than 200.
pub const MAX_PATTERN: usize = 4 * 1024;

/// The most memory of a compiled regular expression, in bytes. It bounds `(a{1000}){1000}`.
const MAX_COMPILED: usize = 1024 * 1024;

/// A pattern as it is written: `{ prefix = "git push" }`, or a text alone (see [`Pattern::read`]).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// The whole text.
    Exact(String),
    /// The beginning of the text.
    Prefix(String),
    /// The whole text, where `*` stands for any characters.
    Wildcard(String),
    /// A part of the text; `^` and `$` bind it to the ends.
    Regex(String),
    /// A command and its first arguments, word by word: `git add` and `git add:*` are the same,
    /// and match `git add` and `git add x`, never `git added`.
    Command(String),
}

impl Pattern {
    /// A pattern that is written as a text alone: with `:*` at its end it is a command, with
    /// another `*` a wildcard, else exact.
    #[must_use]
    pub fn read(text: &str) -> Self {
        match text.strip_suffix(":*") {
            Some(command) if !command.contains('*') => Self::Command(text.to_owned()),
            Some(_) | None if text.contains('*') => Self::Wildcard(text.to_owned()),
            Some(_) | None => Self::Exact(text.to_owned()),
        }
    }

    fn text(&self) -> &str {
        match self {
            Self::Exact(text)
            | Self::Prefix(text)
            | Self::Wildcard(text)
            | Self::Regex(text)
            | Self::Command(text) => text,
        }
    }
}

/// A pattern that can be matched.
#[derive(Clone, Debug)]
pub struct Matcher {
    pattern: Pattern,
    compiled: Compiled,
}

#[derive(Clone, Debug)]
enum Compiled {
    Text,
    Regex(Regex),
    Words(Vec<String>),
}

/// How a command's program is compared with a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// As it is written. `/tmp/git` is not `git`: for rules that let pass.
    Written,
    /// Its name without the directory too, and its words without those that may come to nothing:
    /// for rules that hold up.
    AnyDirectory,
}

/// Why a pattern is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPattern {
    /// It would match everything or nothing.
    #[error("the pattern `{pattern}` is empty; write what it has to match")]
    Empty {
        /// The pattern as it is written.
        pattern: String,
    },
    /// It is longer than [`MAX_PATTERN`].
    #[error("a pattern has {bytes} bytes, at most {MAX_PATTERN} are allowed; split it")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// It is no regular expression, or too large when compiled.
    #[error("`{pattern}` is not a usable regular expression: {why}")]
    Regex {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        why: String,
    },
}

impl Matcher {
    /// A matcher of a pattern.
    ///
    /// # Errors
    /// The pattern is empty, too long, or no regular expression.
    pub fn new(pattern: Pattern) -> Result<Self, BadPattern> {
        let text = pattern.text();
        if text.len() > MAX_PATTERN {
            return Err(BadPattern::TooLong { bytes: text.len() });
        }
        let empty = || BadPattern::Empty { pattern: text.to_owned() };
        let compiled = match &pattern {
            Pattern::Exact(_) => Compiled::Text,
            Pattern::Prefix(text) | Pattern::Wildcard(text) => {
                if text.is_empty() {
                    return Err(empty());
                }
                Compiled::Text
            }
            Pattern::Regex(text) => {
                if text.is_empty() {
                    return Err(empty());
                }
                let regex = RegexBuilder::new(text).size_limit(MAX_COMPILED).build();
                let bad = |error: regex::Error| BadPattern::Regex {
                    pattern: text.clone(),
                    why: error.to_string(),
                };
                Compiled::Regex(regex.map_err(bad)?)
            }
            Pattern::Command(text) => {
                let command = text.strip_suffix(":*").unwrap_or(text);
                let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
                if words.is_empty() {
                    return Err(empty());
                }
                Compiled::Words(words)
            }
        };
        Ok(Self { pattern, compiled })
    }

    /// A matcher of a text alone, see [`Pattern::read`].
    ///
    /// # Errors
    /// As [`Matcher::new`].
    pub fn read(text: &str) -> Result<Self, BadPattern> {
        Self::new(Pattern::read(text))
    }

    /// The pattern.
    #[must_use]
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// Whether a text matches.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        match (&self.compiled, &self.pattern) {
            (Compiled::Regex(regex), _) => regex.is_match(text),
            (Compiled::Words(words), _) => {
                begins_with(text.split_whitespace(), words.iter().map(String::as_str))
            }
            (Compiled::Text, Pattern::Prefix(prefix)) => text.starts_with(prefix.as_str()),
            (Compiled::Text, Pattern::Wildcard(pattern)) => wildcard(pattern, text),
            (
                Compiled::Text,
                Pattern::Exact(whole) | Pattern::Regex(whole) | Pattern::Command(whole),
            ) => text == whole,
        }
    }

    /// Whether a command of a shell line matches.
    #[must_use]
    pub fn matches_command(&self, command: &Command, spelling: Spelling) -> bool {
        let wide = spelling == Spelling::AnyDirectory;
        if let Compiled::Words(words) = &self.compiled {
            let fits = |program: &str, keeps: fn(&Word) -> bool| {
                let arguments = command.arguments().iter().filter(|word| keeps(word));
                let given = std::iter::once(program).chain(arguments.map(|word| &*word.text));
                begins_with(given, words.iter().map(String::as_str))
            };
            let program = command.words.first().map_or("", |word| word.text.as_str());
            // An expansion may come to nothing: `git $x push`.
            let known = |word: &Word| word.form == Form::Literal;
            return fits(program, |_| true)
                || (wide && (fits(command.name(), |_| true) || fits(command.name(), known)));
        }
        self.matches(&command.text()) || (wide && self.matches(&command.short_text()))
    }

    /// Whether it matches texts of which only the beginning is known, so that `a/../b` could leave
    /// what is meant.
    #[must_use]
    pub fn is_open_ended(&self) -> bool {
        match self.pattern {
            Pattern::Exact(_) => false,
            Pattern::Prefix(_) | Pattern::Wildcard(_) | Pattern::Regex(_) | Pattern::Command(_) => {
                true
            }
        }
    }
}

impl PartialEq for Matcher {
    fn eq(&self, other: &Self) -> bool {
        self.pattern == other.pattern
    }
}

impl Eq for Matcher {}

impl Serialize for Matcher {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.pattern.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Matcher {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written;

        impl<'de> Visitor<'de> for Written {
            type Value = Pattern;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a pattern: a text, or one of exact, prefix, wildcard, regex, command")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Pattern, E> {
                Ok(Pattern::read(text))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Pattern, A::Error> {
                Pattern::deserialize(MapAccessDeserializer::new(map))
            }
        }

        let pattern = deserializer.deserialize_any(Written)?;
        Self::new(pattern).map_err(serde::de::Error::custom)
    }
}

fn begins_with<'a>(
    mut words: impl Iterator<Item = &'a str>,
    mut beginning: impl Iterator<Item = &'a str>,
) -> bool {
    beginning.all(|expected| words.next() == Some(expected))
}

/// Whether the whole text fits a pattern in which `*` stands for any characters. Goes back only
/// to the newest `*`, so it takes at most pattern × text steps.
pub(crate) fn wildcard(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut p, mut t) = (0, 0);
    let mut star = None;
    while t < text.len() {
        if pattern.get(p) == Some(&b'*') {
            star = Some((p, t));
            p += 1;
        } else if pattern.get(p) == Some(&text[t]) {
            (p, t) = (p + 1, t + 1);
        } else if let Some((after, from)) = star {
            star = Some((after, from + 1));
            (p, t) = (after + 1, from + 1);
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::super::shell::split;
    use super::*;

    fn matcher(json: &str) -> Matcher {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn texts_match_or_not() {
        let cases: &[(&str, &[&str], &[&str])] = &[
            (r#""ls""#, &["ls"], &["lsof", "ls -l", ""]),
            (r#"{"exact":"a*"}"#, &["a*"], &["ab"]),
            (r#"{"prefix":"git push"}"#, &["git push", "git pushy"], &["git pus"]),
            (r#"{"wildcard":"a*c"}"#, &["ac", "abc", "abcc"], &["abcd", "bac"]),
            (r#""*.rs""#, &[".rs", "a.rs"], &["a.rsx"]),
            (r#""a*b*c""#, &["abc", "a-bb-c", "abbcbc"], &["acb", "ab"]),
            (r#"{"regex":"^rm\\s"}"#, &["rm x", "rm\tx"], &["rmx", " rm x"]),
            (
                r#""git add:*""#,
                &["git add", "git add x", "git  add x"],
                &["git added", "git", "git add:x", "agit add"],
            ),
            (r#"{"command":"git add"}"#, &["git add", "git add x"], &["git added"]),
        ];
        for (json, yes, no) in cases {
            yes.iter().for_each(|text| assert!(matcher(json).matches(text), "{json} {text}"));
            no.iter().for_each(|text| assert!(!matcher(json).matches(text), "{json} {text}"));
        }
    }

    #[test]
    fn commands_match_word_by_word() {
        let check = |json: &str, line: &str| {
            let line = split(line).unwrap();
            let by = |spelling| matcher(json).matches_command(&line.commands[0], spelling);
            (by(Spelling::Written), by(Spelling::AnyDirectory))
        };
        assert_eq!(check(r#""git add:*""#, "git 'add' x"), (true, true));
        assert_eq!(check(r#""git add:*""#, "'git add' x"), (false, false));
        assert_eq!(check(r#""git add:*""#, "git $x add"), (false, true));
        assert_eq!(check(r#""git add:*""#, "/usr/bin/git add x"), (false, true));
        assert_eq!(check(r#"{"prefix":"git add"}"#, "./git add x"), (false, true));
        assert_eq!(check(r#""echo 'a b'""#, "echo \"a b\""), (true, true));
        assert_eq!(check(r#""echo a b""#, "echo \"a b\""), (false, false));
    }

    #[test]
    fn patterns_are_written_back_as_they_are() {
        for (json, back) in [
            (r#""ls""#, r#"{"exact":"ls"}"#),
            (r#""git add:*""#, r#"{"command":"git add:*"}"#),
            (r#"{"regex":"^a"}"#, r#"{"regex":"^a"}"#),
        ] {
            assert_eq!(serde_json::to_string(&matcher(json)).unwrap(), back);
            assert_eq!(matcher(back), matcher(json));
        }
    }

    #[test]
    fn bad_patterns_are_refused() {
        let bad = |pattern| Matcher::new(pattern).unwrap_err();
        assert_eq!(bad(Pattern::Prefix(String::new())), BadPattern::Empty { pattern: "".into() });
        assert_eq!(bad(Pattern::Command(":*".into())), BadPattern::Empty { pattern: ":*".into() });
        let long = Pattern::Exact("a".repeat(MAX_PATTERN + 1));
        assert_eq!(bad(long), BadPattern::TooLong { bytes: MAX_PATTERN + 1 });
        for regex in ["(", "(a{1000}){1000}"] {
            let error = bad(Pattern::Regex(regex.into()));
            assert!(matches!(error, BadPattern::Regex { .. }), "{error}");
        }
        for json in [r#"{"regex":"("}"#, r#"{"glob":"a"}"#, r#"{"exact":"a","prefix":"b"}"#, "1"] {
            assert!(serde_json::from_str::<Matcher>(json).is_err(), "{json}");
        }
    }
}
