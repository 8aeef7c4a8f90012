//! What waits for people, as text with the commands that answer, or as JSON lines.

use std::io::{self, Write};
use std::path::Path;

use kinfolk_actors::event::ApprovalSubject;
use kinfolk_actors::id::{AgentId, AskId, RunId, SessionId};
use serde::Serialize;

use super::plain;
use crate::control::asks::{Asked, OpenAsk};
use crate::events::rfc3339;
use crate::settings::value::OutputFormat;

/// The most columns of arguments, reasons and questions.
const PART: usize = 100;

/// An open ask as a JSON line.
#[derive(Serialize)]
struct Line<'a> {
    id: AskId,
    session: &'a SessionId,
    run: RunId,
    agent: AgentId,
    name: &'a str,
    at: String,
    #[serde(flatten)]
    asked: &'a Asked,
}

/// Writes what waits, in the order given. The commands name the data directory if it is given.
///
/// # Errors
/// The writer's.
pub fn asks(
    open: &[OpenAsk],
    format: OutputFormat,
    data: Option<&Path>,
    to: &mut dyn Write,
) -> io::Result<()> {
    match format {
        OutputFormat::Json => open.iter().try_for_each(|ask| {
            let line = Line {
                id: ask.id(),
                session: &ask.session,
                run: ask.run,
                agent: ask.agent,
                name: &ask.name,
                at: rfc3339(ask.at),
                asked: &ask.asked,
            };
            writeln!(to, "{}", plain::json(&serde_json::to_string(&line)?))
        }),
        OutputFormat::Text if open.is_empty() => writeln!(to, "nothing waits for a person"),
        OutputFormat::Text => open.iter().try_for_each(|ask| ask_text(ask, data, to)),
    }
}

fn ask_text(ask: &OpenAsk, data: Option<&Path>, to: &mut dyn Write) -> io::Result<()> {
    let OpenAsk { session, run, agent, name, at, asked } = ask;
    let who = match agent.is_lead() {
        true => "lead".to_owned(),
        false => format!("{agent} {}", plain::line(name, PART)),
    };
    let at = rfc3339(*at);
    writeln!(to, "{who} of run {run}, session {session}, since {at}")?;
    match asked {
        Asked::Approval(requested) => {
            let reason = plain::line(&requested.reason, PART);
            match &requested.subject {
                ApprovalSubject::Tool { name, arguments, call: _, digest: _ } => {
                    let (name, arguments) = (plain::line(name, PART), plain::line(arguments, PART));
                    writeln!(to, "  may {name} {arguments} run? {reason}")?;
                }
                ApprovalSubject::Limit { limit, scope: _ } => {
                    writeln!(to, "  may the limit of {} be raised? {reason}", limit.words())?;
                }
            }
            if let Some(deadline) = requested.deadline {
                writeln!(to, "  silence is a no at {}", rfc3339(deadline))?;
            }
        }
        Asked::Question(question) => {
            writeln!(to, "  {}", plain::line(&question.text, PART))?;
            let options = question.options.iter();
            options.clone().try_for_each(|one| writeln!(to, "  - {}", plain::line(one, PART)))?;
        }
    }
    writeln!(to, "  {}", command(ask, data))
}

/// The command that answers.
#[must_use]
pub fn command(ask: &OpenAsk, data: Option<&Path>) -> String {
    let data = data.map_or_else(String::new, |data| format!(" --data {}", quoted(data)));
    match &ask.asked {
        Asked::Approval(_) => {
            format!("kinfolk approve{data} {}   (or with --deny [REASON], --stop)", ask.id())
        }
        Asked::Question(_) => format!("kinfolk answer{data} {} TEXT", ask.id()),
    }
}

/// A path as a shell takes it.
#[must_use]
pub fn quoted(path: &Path) -> String {
    let text = plain::block(&path.display().to_string());
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,@%=:".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}
