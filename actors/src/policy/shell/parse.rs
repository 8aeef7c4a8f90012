//! Lists, pipelines and commands of a line. Keywords are stepped over: whether they are balanced
//! is for the shell to refuse.

use std::ops::Range;

use super::redirect::Document;
use super::word::ReadWord;
use super::{Command, Form, Line, MAX_BYTES, MAX_DEPTH, MAX_READ, SplitError, Word, layers};

/// Words that stand before or after a command and do nothing themselves.
const STEPPED_OVER: [&str; 14] = [
    "if", "then", "else", "elif", "fi", "while", "until", "do", "done", "esac", "!", "{", "}",
    "coproc",
];

/// Reads one text from start to end into a list that others share.
pub(super) struct Parser<'s, 'f> {
    pub(super) src: &'s str,
    pub(super) at: usize,
    pub(super) found: &'f mut Line,
    pub(super) depth: usize,
    pub(super) documents: Vec<Document>,
    /// Where the groups and loops that are open began, in commands.
    pub(super) open: Vec<usize>,
    /// Where the group began that the last stage closed: what follows reads from all of it.
    pub(super) closed: Option<usize>,
}

/// What ends a list.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The end of the text.
    Text,
    /// A closing bracket.
    Paren,
    /// `;;` or `esac`.
    CaseItem,
}

/// How a list ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// By its end mark.
    Here,
    /// By `esac`, which ends the list around it too.
    Esac,
}

/// Splits a text into `found`.
pub(super) fn script(text: &str, found: &mut Line, depth: usize) -> Result<(), SplitError> {
    Parser::new(text, found, depth)?.list(End::Text, 0..0).map(|_| ())
}

/// Whether this ends a word when it is not quoted.
pub(super) fn is_delimiter(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')')
}

impl<'s, 'f> Parser<'s, 'f> {
    pub(super) fn new(src: &'s str, found: &'f mut Line, depth: usize) -> Result<Self, SplitError> {
        found.read += src.len();
        if src.len() > MAX_BYTES || found.read > MAX_READ {
            return Err(SplitError::TooLong);
        }
        if depth > MAX_DEPTH {
            return Err(SplitError::TooDeep);
        }
        Ok(Self { src, at: 0, found, depth, documents: vec![], open: vec![], closed: None })
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.src[self.at..].chars().next()
    }

    pub(super) fn peek_second(&self) -> Option<char> {
        self.src[self.at..].chars().nth(1)
    }

    pub(super) fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    pub(super) fn unexpected(&self, what: char) -> SplitError {
        SplitError::Unexpected { what, at: self.at }
    }

    pub(super) fn deeper(&mut self) -> Result<(), SplitError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err(SplitError::TooDeep) } else { Ok(()) }
    }

    /// Takes the text if it stands here.
    pub(super) fn takes(&mut self, text: &str) -> bool {
        let here = self.src[self.at..].starts_with(text);
        if here {
            self.at += text.len();
        }
        here
    }

    pub(super) fn blanks(&mut self) {
        while self.takes(" ") || self.takes("\t") || self.takes("\\\n") {}
    }

    fn comment(&mut self) {
        let rest = &self.src[self.at..];
        self.at += rest.find('\n').unwrap_or(rest.len());
    }

    /// Commands until the end mark, which is taken. `feeds` is what the first one reads from.
    pub(super) fn list(&mut self, end: End, feeds: Range<usize>) -> Result<Ended, SplitError> {
        let mut pipeline = self.found.commands.len();
        let (mut feeds, mut after_pipe) = (feeds, false);
        loop {
            self.blanks();
            let Some(c) = self.peek() else {
                return match end {
                    End::Text if self.documents.is_empty() => Ok(Ended::Here),
                    End::Text => Err(SplitError::Unterminated { what: "a here-document" }),
                    End::Paren => Err(SplitError::Unterminated { what: "a bracket" }),
                    End::CaseItem => Err(SplitError::Unterminated { what: "`case`" }),
                };
            };
            let mut ends_pipeline = true;
            match c {
                '#' => {
                    self.comment();
                    ends_pipeline = !after_pipe;
                }
                '\n' => {
                    self.at += 1;
                    self.bodies()?;
                    ends_pipeline = !after_pipe;
                }
                ';' if self.takes(";;&") || self.takes(";;") || self.takes(";&") => {
                    return if end == End::CaseItem {
                        Ok(Ended::Here)
                    } else {
                        Err(self.unexpected(c))
                    };
                }
                ';' => self.at += 1,
                '&' if self.peek_second() != Some('>') => {
                    let _ = self.takes("&&") || self.takes("&");
                }
                '|' if self.takes("||") => {}
                '|' => {
                    let _ = self.takes("|&") || self.takes("|");
                    pipeline = self.closed.take().map_or(pipeline, |group| pipeline.min(group));
                    feeds = pipeline..self.found.commands.len();
                    after_pipe = true;
                    continue;
                }
                ')' if end == End::Paren => {
                    self.at += 1;
                    return Ok(Ended::Here);
                }
                ')' => return Err(self.unexpected(c)),
                _ if end == End::CaseItem && self.takes_keyword("esac") => return Ok(Ended::Esac),
                _ => {
                    self.stage(c, feeds.clone())?;
                    (ends_pipeline, after_pipe) = (false, false);
                }
            }
            if ends_pipeline {
                self.closed = None;
                after_pipe = false;
                pipeline = self.found.commands.len();
                feeds = 0..0;
            }
        }
    }

    /// One stage of a pipeline.
    fn stage(&mut self, c: char, feeds: Range<usize>) -> Result<(), SplitError> {
        if c != '(' {
            return self.simple(feeds);
        }
        self.deeper()?;
        self.at += 1;
        self.list(End::Paren, feeds)?;
        self.depth -= 1;
        Ok(())
    }

    pub(super) fn takes_keyword(&mut self, keyword: &str) -> bool {
        let rest = self.src[self.at..].strip_prefix(keyword);
        let whole = rest.is_some_and(|rest| rest.chars().next().is_none_or(is_delimiter));
        whole && self.takes(keyword)
    }

    fn simple(&mut self, feeds: Range<usize>) -> Result<(), SplitError> {
        let first = self.found.commands.len();
        let mut command = Command { feeds, ..Command::default() };
        loop {
            self.blanks();
            match self.peek() {
                None | Some('\n' | ';' | ')' | '|') => break,
                Some('&') if self.peek_second() != Some('>') => break,
                Some('#') => {
                    self.comment();
                    break;
                }
                Some('<' | '>') if self.peek_second() == Some('(') => {
                    self.take_word(&mut command)?
                }
                Some('&' | '<' | '>') => self.redirect(&mut command)?,
                Some('(') => self.after_word(&mut command)?,
                Some(c) if c.is_ascii_digit() && self.is_descriptor() => {
                    self.redirect(&mut command)?
                }
                Some(_) => self.take_word(&mut command)?,
            }
        }
        let empty = command.words.is_empty() && command.assignments.is_empty();
        if empty && command.redirects.is_empty() {
            return Ok(());
        }
        command.nested = first..self.found.commands.len();
        let from = self.found.commands.len();
        layers::add(command, self.found, self.depth)?;
        let readers = from..self.found.commands.len();
        for document in self.documents.iter_mut().filter(|document| document.readers.is_empty()) {
            document.readers = readers.clone();
        }
        Ok(())
    }

    fn take_word(&mut self, command: &mut Command) -> Result<(), SplitError> {
        let start = self.at;
        let Some(read) = self.word()? else {
            let what = self.peek().unwrap_or(' ');
            return Err(self.unexpected(what));
        };
        if command.words.is_empty() {
            if read.bare && self.keyword(&read.word.text, command)? {
                return Ok(());
            }
            if let Some(name) = assigned(&self.src[start..self.at]) {
                command.assignments.push(name.to_owned());
                self.found.keep_value(&read.word.text);
                if read.word.text.ends_with('=') && self.peek() == Some('(') {
                    self.array()?;
                }
                return Ok(());
            }
        }
        push_word(read, &mut command.words);
        Ok(())
    }

    /// A bracket after a word: the definition of a function, whose body is read as commands. The
    /// name stands as a computed one, since it may hide a program.
    fn after_word(&mut self, command: &mut Command) -> Result<(), SplitError> {
        let bracket = self.at;
        self.at += 1;
        self.blanks();
        let [name] = command.words.as_mut_slice() else {
            self.at = bracket;
            return Err(self.unexpected('('));
        };
        if !self.takes(")") {
            self.at = bracket;
            return Err(self.unexpected('('));
        }
        name.text.push_str("()");
        name.form = Form::Computed;
        let definition = std::mem::take(&mut command.words);
        layers::add(Command { words: definition, ..Command::default() }, self.found, self.depth)?;
        self.blanks();
        if self.peek() == Some('(') {
            let feeds = command.feeds.clone();
            return self.stage('(', feeds);
        }
        Ok(())
    }

    /// Steps over a keyword; `false` if the word is none.
    fn keyword(&mut self, word: &str, command: &mut Command) -> Result<bool, SplitError> {
        match word {
            _ if STEPPED_OVER.contains(&word) => {
                match word {
                    "{" | "if" | "while" | "until" => self.open.push(self.found.commands.len()),
                    "}" | "fi" | "done" => self.closed = self.open.pop().or(self.closed),
                    _ => {}
                }
                self.blanks();
                if self.peek() == Some('(') {
                    let feeds = command.feeds.clone();
                    self.stage('(', feeds)?;
                }
            }
            "time" => {
                self.blanks();
                match self.peek() {
                    // An option: the program of that name, or one that the keyword knows.
                    Some('-') => return Ok(false),
                    Some('(') => {
                        let feeds = command.feeds.clone();
                        self.stage('(', feeds)?;
                    }
                    Some(_) | None => {}
                }
            }
            "case" => {
                let from = self.found.commands.len();
                self.case()?;
                self.closed = Some(from);
            }
            "for" | "select" => {
                self.open.push(self.found.commands.len());
                self.for_header()?;
            }
            "[[" => self.test()?,
            "function" => {
                self.blanks();
                if let Some(mut name) = self.word()? {
                    name.word.form = Form::Computed;
                    name.word.text.push_str("()");
                    let words = vec![name.word];
                    let definition = Command { words, ..Command::default() };
                    layers::add(definition, self.found, self.depth)?;
                }
                self.blanks();
                if self.takes("(") {
                    self.blanks();
                    if !self.takes(")") {
                        return Err(self.unexpected('('));
                    }
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Blanks, ends of lines and comments.
    pub(super) fn lines(&mut self) -> Result<(), SplitError> {
        loop {
            self.blanks();
            if self.peek() == Some('#') {
                self.comment();
            } else if !self.takes("\n") {
                return Ok(());
            } else if !self.documents.is_empty() {
                return Err(SplitError::Ambiguous { what: "a here-document inside a header" });
            }
        }
    }
}

/// The variable of `NAME=value`, `NAME+=value` or `NAME[i]=value`, if the word is one.
fn assigned(word: &str) -> Option<&str> {
    let (left, _) = word.split_once('=')?;
    let left = left.strip_suffix('+').unwrap_or(left);
    let name = left.split_once('[').map_or(left, |(name, _)| name);
    let first = name.chars().next()?;
    let named = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (named && !first.is_ascii_digit()).then_some(name)
}

fn push_word(read: ReadWord, words: &mut Vec<Word>) {
    let ReadWord { word, braced, .. } = read;
    let inside = word.text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
    match inside {
        // `{rm,-rf,/}` is three words; what is nested or has more around it stays one.
        Some(inside) if braced && !inside.contains(['{', '}', '$', '`', '(']) => {
            let parts =
                inside.split(',').map(|part| Word { text: part.into(), form: Form::Computed });
            words.extend(parts);
        }
        Some(_) | None => words.push(word),
    }
}
