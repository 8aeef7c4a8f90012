//! Shows a run while it happens: as JSON lines for scripts or as plain lines for people.

use std::ffi::OsStr;
use std::io::{self, Write};

use super::plain;
use super::text::TextLines;
use crate::events::RunEvent;

/// Shows the events of a run, one after the other.
///
/// A writer that fails gets nothing more; the run is never disturbed. The first failure that is
/// not just a closed pipe is kept for whoever wants to report it.
#[derive(Debug)]
pub struct Renderer {
    format: Format,
    stdout: Health,
    stderr: Health,
}

#[derive(Debug)]
enum Format {
    Json,
    Text(Box<TextLines>),
}

/// How lines for people look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether names and ends are coloured.
    pub colour: bool,
    /// The most columns of a line on stderr.
    pub width: usize,
    /// Whether the final answer goes to a terminal, so that it must be made harmless first. A file
    /// or a pipe gets it as it is.
    pub answer_on_terminal: bool,
}

/// Where a stream leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// To a terminal.
    Terminal,
    /// To a file or another program.
    Elsewhere,
}

impl Stream {
    /// Where this one leads.
    #[must_use]
    pub fn of(stream: &impl io::IsTerminal) -> Self {
        if stream.is_terminal() { Self::Terminal } else { Self::Elsewhere }
    }
}

/// The width of lines where no better one is known.
pub const WIDTH: usize = 120;

impl Style {
    /// The style for streams of these kinds. `no_color` is the variable `NO_COLOR`: any text in it
    /// turns colours off.
    #[must_use]
    pub fn for_streams(stdout: Stream, stderr: Stream, no_color: Option<&OsStr>) -> Self {
        let allowed = no_color.is_none_or(OsStr::is_empty);
        Self {
            colour: allowed && stderr == Stream::Terminal,
            width: WIDTH,
            answer_on_terminal: stdout == Stream::Terminal,
        }
    }
}

impl Renderer {
    /// One event a line on stdout, progress included, and nothing else.
    #[must_use]
    pub fn json() -> Self {
        Self::new(Format::Json)
    }

    /// Lines about the family's work on stderr; the final answer alone on stdout.
    #[must_use]
    pub fn text(style: Style) -> Self {
        Self::new(Format::Text(Box::new(TextLines::new(style))))
    }

    fn new(format: Format) -> Self {
        Self { format, stdout: Health::default(), stderr: Health::default() }
    }

    /// Shows one event and flushes what it wrote. Blocks as long as the writers do.
    pub fn show(&mut self, event: &RunEvent, stdout: &mut dyn Write, stderr: &mut dyn Write) {
        match &mut self.format {
            Format::Json => {
                let line = plain::json(&event.to_string());
                self.stdout.write(stdout, format_args!("{line}\n"));
            }
            Format::Text(lines) => {
                let shown = lines.event(event);
                for line in shown.work {
                    self.stderr.write(stderr, format_args!("{line}\n"));
                }
                if let Some(answer) = shown.answer {
                    self.stdout.write(stdout, format_args!("{answer}\n"));
                }
            }
        }
    }

    /// The first failure of a writer that is not a closed pipe.
    #[must_use]
    pub fn write_error(&self) -> Option<&io::Error> {
        let broken = |error: &&io::Error| error.kind() != io::ErrorKind::BrokenPipe;
        [&self.stdout, &self.stderr].into_iter().filter_map(|health| health.0.as_ref()).find(broken)
    }
}

/// Whether a writer still works: the error that ended it, if it does not.
#[derive(Debug, Default)]
struct Health(Option<io::Error>);

impl Health {
    fn write(&mut self, to: &mut dyn Write, text: std::fmt::Arguments<'_>) {
        if self.0.is_none() {
            self.0 = to.write_fmt(text).and_then(|()| to.flush()).err();
        }
    }
}
