//! What holds commands or words without being a command: `case`, `for`, `[[ … ]]`, arrays.

use super::parse::{End, Ended, Parser};
use super::word::expansions;
use super::{Command, Flow, Redirect, SplitError, Word, layers};

impl Parser<'_, '_> {
    pub(super) fn case(&mut self) -> Result<(), SplitError> {
        self.deeper()?;
        self.blanks();
        self.word()?;
        self.lines()?;
        if !self.takes_keyword("in") {
            return Err(SplitError::Unterminated { what: "`case`" });
        }
        loop {
            self.lines()?;
            if self.takes_keyword("esac") {
                break;
            }
            self.takes("(");
            loop {
                self.blanks();
                let pattern = self.word()?;
                self.blanks();
                match self.bump() {
                    Some(')') if pattern.is_some() => break,
                    Some('|') if pattern.is_some() => {}
                    Some(other) => return Err(self.unexpected(other)),
                    None => return Err(SplitError::Unterminated { what: "`case`" }),
                }
            }
            if self.list(End::CaseItem, 0..0)? == Ended::Esac {
                break;
            }
        }
        self.depth -= 1;
        Ok(())
    }

    /// The words of a loop are no command.
    pub(super) fn for_header(&mut self) -> Result<(), SplitError> {
        self.blanks();
        if self.takes("((") {
            let rest = &self.src[self.at..];
            let len = rest.find("))").ok_or(SplitError::Unterminated { what: "`for ((`" })?;
            let inside = &rest[..len];
            self.at += len + 2;
            return expansions(inside, self);
        }
        loop {
            self.blanks();
            match self.peek() {
                None | Some('\n' | ';' | '#') => return Ok(()),
                Some(c) => {
                    if self.word()?.is_none() {
                        return Err(self.unexpected(c));
                    }
                }
            }
        }
    }

    /// `[[ … ]]`. For one shell it is a test, for another a command, in which `||` begins the next
    /// one and `>` writes a file; so what could be commands there is found too.
    pub(super) fn test(&mut self) -> Result<(), SplitError> {
        // The words since the last operator; the first ones belong to `[[`.
        let mut segment: Option<Vec<Word>> = None;
        loop {
            self.blanks();
            if self.peek() == Some('#') {
                return Err(SplitError::Ambiguous { what: "`#` in `[[ … ]]`" });
            }
            match self.word()? {
                Some(read) if read.bare && read.word.text == "]]" => {
                    return self.segment(segment.unwrap_or_default());
                }
                Some(read) => {
                    if let Some(words) = &mut segment {
                        words.push(read.word);
                    }
                }
                None => match self.bump() {
                    Some('&' | '|' | '\n' | ';') if self.documents.is_empty() => {
                        self.segment(segment.replace(vec![]).unwrap_or_default())?;
                    }
                    Some('>') => {
                        self.blanks();
                        if let Some(target) = self.word()? {
                            let redirects = vec![Redirect { flow: Flow::Out, target: target.word }];
                            let writes = Command { redirects, ..Command::default() };
                            layers::add(writes, self.found, self.depth)?;
                        }
                    }
                    Some('(' | ')' | '<') => {}
                    Some(other) => return Err(self.unexpected(other)),
                    None => return Err(SplitError::Unterminated { what: "`[[`" }),
                },
            }
        }
    }

    /// What may be a command in `[[ … ]]`: not what begins with an operator such as `-f`.
    fn segment(&mut self, words: Vec<Word>) -> Result<(), SplitError> {
        let words: Vec<Word> = words.into_iter().skip_while(|word| word.text == "!").collect();
        match words.first() {
            Some(first) if !first.text.starts_with('-') => {
                layers::add(Command { words, ..Command::default() }, self.found, self.depth)
            }
            Some(_) | None => Ok(()),
        }
    }

    /// The values of `NAME=(…)`.
    pub(super) fn array(&mut self) -> Result<(), SplitError> {
        self.at += 1;
        loop {
            self.lines()?;
            if self.takes(")") {
                return Ok(());
            }
            if self.word()?.is_none() {
                return Err(SplitError::Unterminated { what: "an array" });
            }
        }
    }
}
