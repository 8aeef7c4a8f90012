//! A shell line split into the commands that it would run, so that rules see each of them.
//!
//! The splitter is our own because no parser crate fits a pure, small crate: `yash-syntax` is
//! under the GPL, `conch-parser` is unmaintained and does not know `<(…)`, `brush-parser` brings a
//! global cache and tracing, `shuck-parser` needs a newer compiler and changes with each release.
//! It also has another aim than they have: it needs no tree, it finds **too many** commands rather
//! than too few, and what shells read in different ways is an error. Who gets an error asks a
//! person.
//!
//! Commands in substitutions, subshells, `sh -c '…'`, `eval`, here-documents of a shell and behind
//! wrappers (`sudo`, `env`, `xargs`, `find -exec`, …) all stand in one flat list.

pub(crate) mod code;
mod compound;
pub(crate) mod layers;
mod parse;
pub(crate) mod reader;
mod redirect;
mod word;
mod wrapper;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::Range;

/// The longest line that is split, in bytes. A longer one asks: nobody reads it in the meantime.
pub const MAX_BYTES: usize = 256 * 1024;

/// How deep substitutions, scripts and wrappers may lie in each other. Real lines have 3 or 4.
pub const MAX_DEPTH: usize = 16;

/// The most bytes that are read for one line. Scripts within it are read again at each level, so
/// this bounds the work that a line of nested `eval` makes.
const MAX_READ: usize = 4 * MAX_BYTES;

/// The most commands of a line. It bounds what a line of the allowed length can cost.
pub const MAX_COMMANDS: usize = 4_096;

/// All commands that a line would run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// In the order in which their ends stand in the line; what is nested stands before its outer
    /// command, what is seen through a wrapper directly after it.
    pub commands: Vec<Command>,
    /// The bytes that were read so far, scripts within scripts counted again.
    read: usize,
    /// What variables are set to, as far as it could be a command.
    values: Vec<String>,
}

impl Line {
    /// Keeps the value of an assignment `NAME=value`.
    fn keep_value(&mut self, assignment: &str) {
        let value = assignment.split_once('=').map_or("", |(_, value)| value);
        if value.contains(char::is_whitespace) {
            self.values.push(value.to_owned());
        }
    }

    /// The commands of a range that a command of this line holds.
    #[must_use]
    pub fn range(&self, range: &Range<usize>) -> &[Command] {
        self.commands.get(range.clone()).unwrap_or_default()
    }
}

/// One simple command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// The program and its arguments, without quoting. Empty where there are only assignments or
    /// redirections (also those behind a loop or a subshell).
    pub words: Vec<Word>,
    /// The names of the variables that are set for it (`A=1 cmd`, `env A=1 cmd`) or by it.
    pub assignments: Vec<String>,
    /// Where its input comes from and its output goes.
    pub redirects: Vec<Redirect>,
    /// Whether it only carries another one.
    pub layer: Layer,
    /// The commands whose output it reads: the earlier stages of its pipeline.
    pub feeds: Range<usize>,
    /// The commands in the substitutions of its words.
    pub nested: Range<usize>,
}

/// Whether a command does something of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layer {
    /// It does what its name says.
    #[default]
    Plain,
    /// It runs the command that stands after it in the list and adds nothing (`time`, `nohup`):
    /// an allow rule need not hold for it.
    Wrapper,
    /// It stands in a text that another program may run, such as code of another language. An
    /// allow rule need not hold for it, a rule that forbids does.
    Guess,
}

/// One word after quotes were removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The text. An expansion stands in it as it was written (`$HOME`, `$(date)`).
    pub text: String,
    /// Whether the text is all of it.
    pub form: Form,
}

impl Word {
    /// A word that is what it says.
    #[must_use]
    pub fn literal(text: impl Into<String>) -> Self {
        Self { text: text.into(), form: Form::Literal }
    }
}

/// Whether a word's text is known before the line runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The text is what the command gets.
    Literal,
    /// The shell still expands it: variables, substitutions, patterns, braces.
    Computed,
}

/// A redirection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// What it does.
    pub flow: Flow,
    /// The file, the descriptor, or the text itself.
    pub target: Word,
}

/// What a redirection does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Reads a file.
    In,
    /// Writes or may write a file.
    Out,
    /// Copies or closes a descriptor.
    Copy,
    /// Gives a text: a here-document or a here-string.
    Text,
}

impl Redirect {
    /// Whether it can change a file.
    #[must_use]
    pub fn writes(&self) -> bool {
        let harmless = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"];
        self.flow == Flow::Out && !harmless.contains(&self.target.text.as_str())
    }
}

impl Command {
    /// The program's name without its directory; empty where no program is named.
    #[must_use]
    pub fn name(&self) -> &str {
        self.words.first().map_or("", |word| {
            word.text.rsplit_once('/').map_or(word.text.as_str(), |(_, name)| name)
        })
    }

    /// Whether the program is known before the line runs.
    #[must_use]
    pub fn is_named(&self) -> bool {
        self.words.first().is_some_and(|word| word.form == Form::Literal)
    }

    /// Whether it only carries another command of the line, or is guessed from one.
    #[must_use]
    pub fn is_wrapper(&self) -> bool {
        matches!(self.layer, Layer::Wrapper | Layer::Guess)
    }

    /// The words after the program.
    #[must_use]
    pub fn arguments(&self) -> &[Word] {
        self.words.get(1..).unwrap_or_default()
    }

    /// The text that it gets as its input, if that stands in the line.
    pub fn input_text(&self) -> Option<&str> {
        let texts = self.redirects.iter().filter(|redirect| redirect.flow == Flow::Text);
        texts.map(|redirect| redirect.target.text.as_str()).next_back()
    }

    /// The command as one text with one space between words. A word that has white space or is
    /// empty stands in single quotes, so that it cannot pass for several.
    #[must_use]
    pub fn text(&self) -> String {
        self.text_with(self.words.first().map_or("", |word| &word.text))
    }

    /// The same with only the name of the program, not its directory.
    #[must_use]
    pub fn short_text(&self) -> String {
        self.text_with(self.name())
    }

    fn text_with(&self, program: &str) -> String {
        if self.words.is_empty() {
            return String::new();
        }
        let mut text = quoted(program).into_owned();
        for word in self.arguments() {
            text.push(' ');
            text.push_str(&quoted(&word.text));
        }
        text
    }
}

fn quoted(word: &str) -> Cow<'_, str> {
    if word.is_empty() || word.contains(char::is_whitespace) {
        Cow::Owned(format!("'{word}'"))
    } else {
        Cow::Borrowed(word)
    }
}

/// Why a line could not be split. It has to be shown to a person as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SplitError {
    /// A quote, substitution, group or here-document is never closed.
    #[error("the shell line ends inside {what}; close it")]
    Unterminated {
        /// What is open.
        what: &'static str,
    },
    /// Something stands where it cannot.
    #[error("the shell line has `{what}` at byte {at}, where it has no meaning; quote it")]
    Unexpected {
        /// The character.
        what: char,
        /// Where, in bytes from the start of the line or of the script within it.
        at: usize,
    },
    /// Shells read it in different ways.
    #[error("the shell line has {what}, which shells read differently; write it in another way")]
    Ambiguous {
        /// What it is.
        what: &'static str,
    },
    /// It is nested deeper than [`MAX_DEPTH`].
    #[error("the shell line is nested deeper than {MAX_DEPTH} levels; use a script file")]
    TooDeep,
    /// It is longer than [`MAX_BYTES`] or has more than [`MAX_COMMANDS`].
    #[error("the shell line is too long to be looked through; use a script file")]
    TooLong,
}

/// Splits a shell line into its commands.
///
/// # Errors
/// The line cannot be read with certainty.
pub fn split(line: &str) -> Result<Line, SplitError> {
    let mut found = Line::default();
    parse::script(line, &mut found, 0)?;
    layers::run_values(&mut found)?;
    Ok(found)
}

/// The commands of a program that is started without a shell.
///
/// # Errors
/// A script among its arguments (`sh -c …`) cannot be read with certainty.
pub fn split_argv(argv: &[&str]) -> Result<Line, SplitError> {
    let words = argv.iter().map(|word| Word::literal(*word)).collect();
    let mut found = Line::default();
    layers::add(Command { words, ..Command::default() }, &mut found, 0)?;
    Ok(found)
}
