//! Names of things. Ids are given from outside or derived from positions in the journal; nothing
//! here draws one at random.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Writes an id as its `Display` text and reads it back by `FromStr`.
macro_rules! text_serde {
    ($name:ty) => {
        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

/// A text is not a well-formed id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a valid {what}: {expected}")]
pub struct InvalidId {
    what: &'static str,
    text: String,
    expected: &'static str,
}

impl InvalidId {
    pub(crate) fn new(what: &'static str, text: &str, expected: &'static str) -> Self {
        let text = text.chars().take(200).collect();
        Self { what, text, expected }
    }
}

/// The name of a session, chosen by the host: 1 to 128 characters out of `A-Z a-z 0-9 . _ -`, the
/// first a letter or digit. Clones share one allocation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionId(Arc<str>);

impl SessionId {
    /// The longest name in bytes.
    pub const MAX_LEN: usize = 128;

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SessionId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        let fits = (1..=Self::MAX_LEN).contains(&text.len());
        let starts_well = text.starts_with(|c: char| c.is_ascii_alphanumeric());
        if fits && starts_well && text.chars().all(allowed) {
            Ok(Self(text.into()))
        } else {
            let expected = "use 1 to 128 of A-Z a-z 0-9 . _ -, starting with a letter or digit";
            Err(InvalidId::new("session id", text, expected))
        }
    }
}

impl TryFrom<String> for SessionId {
    type Error = InvalidId;

    fn try_from(text: String) -> Result<Self, InvalidId> {
        text.parse()
    }
}

impl From<SessionId> for String {
    fn from(id: SessionId) -> Self {
        id.0.as_ref().to_owned()
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One request on a session. Shown as a hyphenated UUID; version 7 ids sort by the time of start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub Uuid);

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for RunId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        Uuid::parse_str(text).map(Self).map_err(|_| {
            InvalidId::new("run id", text, "use the id that `run_started` shows, a UUID")
        })
    }
}

/// A member of a family in one run: 0 is the lead, subagents count from 1 in the order of their
/// starts. Shown as `lead` or `sub-N`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AgentId(pub u32);

impl AgentId {
    /// The lead of every family.
    pub const LEAD: Self = Self(0);

    /// Whether this is the lead.
    #[must_use]
    pub fn is_lead(self) -> bool {
        self == Self::LEAD
    }
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("lead"),
            n => write!(f, "sub-{n}"),
        }
    }
}

impl FromStr for AgentId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let numbered = |digits: &str| digits.parse().ok().filter(|n| *n > 0);
        match text {
            "lead" => Some(Self::LEAD),
            _ => text.strip_prefix("sub-").and_then(numbered).map(Self),
        }
        .ok_or_else(|| InvalidId::new("agent id", text, "use `lead` or `sub-N`"))
    }
}

text_serde!(AgentId);

/// One tool call, unique in the whole store: the run, the agent that made it, and its place among
/// that agent's calls of the run, from 0 without gaps. Shown as `RUN:AGENT:N`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId {
    /// The run in which the call was made.
    pub run: RunId,
    /// The agent that made it.
    pub agent: AgentId,
    /// Its place among the agent's calls of the run.
    pub n: u32,
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.run, self.agent, self.n)
    }
}

impl FromStr for CallId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let mut parts = text.split(':');
        let parsed = (|| {
            let run = parts.next()?.parse().ok()?;
            let agent = parts.next()?.parse().ok()?;
            let n = parts.next()?.parse().ok()?;
            parts.next().is_none().then_some(Self { run, agent, n })
        })();
        parsed.ok_or_else(|| InvalidId::new("call id", text, "use RUN:AGENT:N"))
    }
}

text_serde!(CallId);

/// One question to a person, unique in the whole store: the run, the agent that asks, and its
/// place among that agent's questions of the run, from 0 without gaps. Shown as `RUN:AGENT:qN`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AskId {
    /// The run in which it was asked.
    pub run: RunId,
    /// The agent that asks.
    pub agent: AgentId,
    /// Its place among the agent's questions of the run.
    pub n: u32,
}

impl fmt::Display for AskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:q{}", self.run, self.agent, self.n)
    }
}

impl FromStr for AskId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let mut parts = text.split(':');
        let parsed = (|| {
            let run = parts.next()?.parse().ok()?;
            let agent = parts.next()?.parse().ok()?;
            let n = parts.next()?.strip_prefix('q')?.parse().ok()?;
            parts.next().is_none().then_some(Self { run, agent, n })
        })();
        let expected = "use RUN:AGENT:qN, as `kinfolk approvals` shows it";
        parsed.ok_or_else(|| InvalidId::new("approval or question id", text, expected))
    }
}

text_serde!(AskId);

/// The place of a model request among its agent's requests of the run, from 1.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct RequestNo(pub u32);

/// The place of an event in its session's one stream, from 0 without gaps.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Offset(pub u64);

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Which activation of a run this is: 1 from its start, one more after every recovery.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Attempt(pub u32);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_read_back_what_they_show() {
        let run = RunId(Uuid::from_u128(7));
        let call = CallId { run, agent: AgentId(3), n: 12 };
        assert_eq!(call.to_string().parse(), Ok(call));
        assert_eq!("lead".parse(), Ok(AgentId::LEAD));
        assert_eq!(AgentId(2).to_string(), "sub-2");
        assert!("sub-0".parse::<AgentId>().is_err());
        let json = serde_json::to_string(&call).unwrap();
        assert_eq!(serde_json::from_str::<CallId>(&json).unwrap(), call);
    }

    #[test]
    fn session_names_that_could_hurt_a_path_or_a_terminal_are_refused() {
        assert!("trip-42".parse::<SessionId>().is_ok());
        for bad in ["", "../x", "-x", "a b", "a/b", "ä", &"x".repeat(129)] {
            assert!(bad.parse::<SessionId>().is_err(), "{bad:?}");
        }
    }
}
