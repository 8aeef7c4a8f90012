//! The one spelling of a call's arguments: keys in order, no white space, strings with the same
//! escapes. Numbers stay as they were written, since a number type would lose digits.
//!
//! An approval is bound to the digest of it, and the loop guards compare calls by it.

use std::fmt;
use std::str::FromStr;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::id::InvalidId;

/// Arguments in their one spelling. What is not JSON stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Canonical(String);

impl Canonical {
    /// The spelling of an argument text. An empty one means no arguments, `{}`.
    #[must_use]
    pub fn of(arguments: &str) -> Self {
        let arguments = arguments.trim();
        if arguments.is_empty() {
            return Self("{}".to_owned());
        }
        // Also bounds the depth, so that the walk below cannot run out of stack.
        if serde_json::from_str::<IgnoredAny>(arguments).is_err() {
            return Self(arguments.to_owned());
        }
        let mut out = String::with_capacity(arguments.len());
        Walk { text: arguments, at: 0, members: vec![] }.value(&mut out);
        Self(out)
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A tool's name and the argument text of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallText<'c> {
    /// The tool.
    pub tool: &'c str,
    /// The arguments as the model wrote them.
    pub arguments: &'c str,
}

/// Whether two calls ask for the same.
#[must_use]
pub fn same_call(a: CallText<'_>, b: CallText<'_>) -> bool {
    a.tool == b.tool
        && (a.arguments == b.arguments || Canonical::of(a.arguments) == Canonical::of(b.arguments))
}

/// What an approval is bound to: SHA-256 over the tool's name and the canonical arguments. Shown
/// as 64 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArgumentDigest(pub [u8; 32]);

impl ArgumentDigest {
    /// The digest of a call. The same in every process and version.
    #[must_use]
    pub fn of(call: CallText<'_>) -> Self {
        let mut hash = Sha256::new();
        // The length keeps the name and the arguments apart.
        hash.update((call.tool.len() as u64).to_be_bytes());
        hash.update(call.tool);
        hash.update(Canonical::of(call.arguments).as_str());
        Self(hash.finalize().into())
    }
}

impl fmt::Display for ArgumentDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ArgumentDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for ArgumentDigest {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let bytes = || {
            let mut bytes = [0; 32];
            let hex = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
            let pairs = text.as_bytes().chunks_exact(2).filter(|_| hex);
            let mut count = 0;
            for (byte, pair) in bytes.iter_mut().zip(pairs) {
                *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
                count += 1;
            }
            (count == bytes.len()).then_some(Self(bytes))
        };
        bytes().ok_or_else(|| InvalidId::new("argument digest", text, "use 64 hex digits"))
    }
}

impl Serialize for ArgumentDigest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ArgumentDigest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A walk through text that is known to be one JSON value. On anything else it would stop early.
struct Walk<'t> {
    text: &'t str,
    at: usize,
    /// The members of the objects that are open.
    members: Vec<Member>,
}

/// Where a member stands in what was written.
struct Member {
    from: usize,
    key_end: usize,
    end: usize,
}

impl<'t> Walk<'t> {
    fn value(&mut self, out: &mut String) {
        match self.next() {
            Some(b'{') => self.object(out),
            Some(b'[') => self.array(out),
            Some(b'"') => push_string(self.string(), out),
            Some(_) => {
                let rest = &self.text[self.at..];
                let ends = |c: char| matches!(c, ',' | ']' | '}') || c.is_ascii_whitespace();
                let len = rest.find(ends).unwrap_or(rest.len());
                out.push_str(&rest[..len]);
                self.at += len;
            }
            None => {}
        }
    }

    /// Members in the order of their keys; of equal keys the last one counts, as for the reader.
    /// They are written as they come, and put in order only if they are not.
    fn object(&mut self, out: &mut String) {
        self.at += 1;
        out.push('{');
        let (start, base) = (out.len(), self.members.len());
        let mut ordered = true;
        while self.next() == Some(b'"') {
            if out.len() > start {
                out.push(',');
            }
            let from = out.len();
            push_string(self.string(), out);
            let key_end = out.len();
            if let Some(last) = self.members[base..].last() {
                ordered &= out[last.from..last.key_end] < out[from..key_end];
            }
            self.skip(b':');
            out.push(':');
            self.value(out);
            self.members.push(Member { from, key_end, end: out.len() });
            self.skip(b',');
        }
        self.skip(b'}');
        if !ordered {
            let members = &mut self.members[base..];
            members.sort_by(|a, b| out[a.from..a.key_end].cmp(&out[b.from..b.key_end]));
            let inside = in_order(members, out);
            out.truncate(start);
            out.push_str(&inside);
        }
        self.members.truncate(base);
        out.push('}');
    }

    fn array(&mut self, out: &mut String) {
        self.at += 1;
        out.push('[');
        let mut first = true;
        while !matches!(self.next(), Some(b']') | None) {
            if !first {
                out.push(',');
            }
            first = false;
            self.value(out);
            self.skip(b',');
        }
        self.skip(b']');
        out.push(']');
    }

    /// A string with its quotes, as it is written.
    fn string(&mut self) -> &'t str {
        let start = self.at;
        let bytes = self.text.as_bytes();
        self.at += 1;
        while let Some(byte) = bytes.get(self.at) {
            match byte {
                b'"' => {
                    self.at += 1;
                    break;
                }
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        &self.text[start..self.at]
    }

    /// The next byte that is no white space.
    fn next(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    fn skip(&mut self, byte: u8) {
        if self.next() == Some(byte) {
            self.at += 1;
        }
    }
}

/// The members one after the other; of equal keys, which stand together, the last.
fn in_order(members: &[Member], out: &str) -> String {
    let key = |member: &Member| &out[member.from..member.key_end];
    let mut inside = String::new();
    for (at, member) in members.iter().enumerate() {
        if members.get(at + 1).is_some_and(|next| key(next) == key(member)) {
            continue;
        }
        if !inside.is_empty() {
            inside.push(',');
        }
        inside.push_str(&out[member.from..member.end]);
    }
    inside
}

/// Writes a string in one spelling: only one with escapes has several.
fn push_string(written: &str, out: &mut String) {
    let decoded = written.contains('\\').then(|| serde_json::from_str::<String>(written));
    match decoded {
        // The display of a JSON string is its shortest spelling.
        Some(Ok(text)) => out.push_str(&serde_json::Value::String(text).to_string()),
        Some(Err(_)) | None => out.push_str(written),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_have_one_spelling() {
        for (written, one) in [
            ("", "{}"),
            (" \n", "{}"),
            ("{}", "{}"),
            (
                " { \"b\" : 1 , \"a\" : [ 1 , { \"d\" : null , \"c\" : true } ] } ",
                r#"{"a":[1,{"c":true,"d":null}],"b":1}"#,
            ),
            (r#"{"a":"\u0041\/\n"}"#, r#"{"a":"A/\n"}"#),
            (r#"{"\u0061":1}"#, r#"{"a":1}"#),
            (r#"{"a":1,"a":2}"#, r#"{"a":2}"#),
            (
                r#"{"a": 1.0, "b": 12345678901234567890123, "c": 1E2}"#,
                r#"{"a":1.0,"b":12345678901234567890123,"c":1E2}"#,
            ),
            (r#"{"a":" x  y "}"#, r#"{"a":" x  y "}"#),
            (r#"{"a":"\\\"}"}"#, r#"{"a":"\\\"}"}"#),
            ("[]", "[]"),
            (" \"x\" ", "\"x\""),
            (" 1 ", "1"),
            (" not json ", "not json"),
            ("{\"a\": ", "{\"a\":"),
        ] {
            assert_eq!(Canonical::of(written).as_str(), one, "{written}");
        }
    }

    #[test]
    fn calls_are_the_same_by_tool_and_arguments() {
        let call = |tool, arguments| CallText { tool, arguments };
        let a = call("t", r#"{"a":1,"b":2}"#);
        assert!(same_call(a, call("t", r#"{ "b": 2, "a": 1 }"#)));
        assert!(!same_call(a, call("u", a.arguments)));
        assert!(!same_call(a, call("t", r#"{"a":1,"b":"2"}"#)));
        let digit = |n: &'static str| call("t", n);
        assert!(!same_call(digit("[12345678901234567890123]"), digit("[12345678901234567890124]")));
    }

    #[test]
    fn a_digest_is_stable_and_reads_back() {
        let digest = |tool, arguments| ArgumentDigest::of(CallText { tool, arguments });
        let text = digest("t", r#"{"b":2,"a":1}"#).to_string();
        assert_eq!(digest("t", r#" {"a":1, "b":2}"#).to_string(), text);
        assert_eq!(text, "aa05b602d4ae0855ca6623ed873d066840e1ee789cbabce51ed844cba9e71ea5");
        assert_ne!(digest("ta", "1"), digest("t", "a1"));
        assert_eq!(text.parse::<ArgumentDigest>().unwrap().to_string(), text);
        for bad in ["", "0", &text[1..], &format!("{}zz", &text[2..]), &"+1".repeat(32)] {
            assert!(bad.parse::<ArgumentDigest>().is_err(), "{bad}");
        }
    }

    #[test]
    fn deep_arguments_stay_as_they_are() {
        let deep = "[".repeat(100_000);
        assert_eq!(Canonical::of(&deep).as_str(), deep);
        let closed = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
        assert_eq!(Canonical::of(&closed).as_str(), closed);
    }
}
