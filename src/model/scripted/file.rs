//! The TOML form of a script. Unknown keys are errors with their line.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use kinfolk_actors::event::Finish;
use serde::Deserialize;

use crate::ports::model::Purpose;

use super::{Ending, MAX_SCRIPT, ScriptError, Scripted, ScriptedReply};

/// A script file's text; the error says what is wrong with the file.
pub(super) fn read(path: &Path) -> Result<String, String> {
    let told = |error: std::io::Error| error.to_string();
    // Looked at by its name, because opening a pipe would wait for its writer.
    if !std::fs::metadata(path).map_err(told)?.is_file() {
        return Err("it is no regular file; name a TOML file".to_owned());
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(told)?;
    file.take(MAX_SCRIPT + 1).read_to_end(&mut bytes).map_err(told)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MAX_SCRIPT {
        return Err(format!("it is larger than {MAX_SCRIPT} bytes; no script may be"));
    }
    String::from_utf8(bytes).map_err(|error| error.to_string())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptFile {
    #[serde(default)]
    reply: Vec<ReplyEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReplyEntry {
    agent: String,
    #[serde(default)]
    kind: Kind,
    turn: Option<u32>,
    #[serde(default)]
    text: String,
    #[serde(default)]
    calls: Vec<CallEntry>,
    latency: Option<String>,
    chunks: Option<usize>,
    finish: Option<String>,
    error: Option<ErrorEntry>,
    #[serde(default)]
    stall: bool,
}

/// Which requests a reply answers.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    #[default]
    Reply,
    Summary,
    SummaryAgain,
}

impl From<Kind> for Purpose {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Reply => Self::Reply,
            Kind::Summary => Self::Summary,
            Kind::SummaryAgain => Self::SummaryAgain,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallEntry {
    name: String,
    #[serde(default)]
    arguments: Arguments,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "`arguments` must be a table or text")]
enum Arguments {
    Text(String),
    Table(serde_json::Map<String, serde_json::Value>),
}

impl Default for Arguments {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ErrorEntry {
    code: String,
    message: String,
}

/// Reads a script. `origin` names it in errors.
pub(super) fn parse(text: &str, origin: &str) -> Result<Scripted, ScriptError> {
    let file: ScriptFile = toml::from_str(text).map_err(|error| ScriptError::Syntax {
        origin: origin.to_owned(),
        detail: error.to_string(),
    })?;
    let mut script = Scripted::default();
    let mut last_turn: HashMap<(String, Kind), u32> = HashMap::new();
    for (n, entry) in file.reply.into_iter().enumerate() {
        let agent = entry.agent.clone();
        let kind = entry.kind;
        let last = last_turn.entry((agent.clone(), kind)).or_default();
        let turn = entry.turn.unwrap_or(last.saturating_add(1));
        *last = turn;
        let refused = |detail: String| ScriptError::Reply {
            origin: origin.to_owned(),
            number: n + 1,
            agent: agent.clone(),
            turn,
            detail,
        };
        let reply = reply(entry).map_err(refused)?;
        if turn == 0 {
            return Err(refused("turns count from 1".to_owned()));
        }
        let turns = script.replies.entry(agent.clone()).or_default();
        if turns.insert((kind.into(), turn), reply).is_some() {
            let detail = "another reply has the same agent, kind and turn";
            return Err(refused(detail.to_owned()));
        }
    }
    Ok(script)
}

fn reply(entry: ReplyEntry) -> Result<ScriptedReply, String> {
    let says = !entry.text.is_empty() || !entry.calls.is_empty() || entry.finish.is_some();
    let ending = match (entry.error, entry.stall) {
        (Some(_), true) => return Err("`error` and `stall` exclude each other".to_owned()),
        (Some(_), false) | (None, true) if says => {
            let detail = "a reply with `error` or `stall` has no text, calls or finish";
            return Err(detail.to_owned());
        }
        (Some(ErrorEntry { code, message }), false) => {
            Ending::Error { code: code.as_str().into(), message }
        }
        (None, true) => Ending::Stall,
        (None, false) => Ending::Reply,
    };
    let mut reply = ScriptedReply {
        text: entry.text,
        latency: entry.latency.as_deref().map(latency).transpose()?.unwrap_or_default(),
        chunks: entry.chunks.unwrap_or(1),
        finish: entry.finish.as_deref().map(Finish::from),
        ending,
        ..ScriptedReply::default()
    };
    for call in entry.calls {
        let arguments = match call.arguments {
            Arguments::Text(text) => text,
            Arguments::Table(table) => serde_json::Value::Object(table).to_string(),
        };
        reply = reply.call(call.name, arguments);
    }
    Ok(reply)
}

fn latency(text: &str) -> Result<Duration, String> {
    let parsed: Option<jiff::SignedDuration> = text.parse().ok();
    parsed
        .and_then(|duration| Duration::try_from(duration).ok())
        .ok_or_else(|| format!("`{text}` is not a latency; write one like \"50ms\" or \"2s\""))
}
