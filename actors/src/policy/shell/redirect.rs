//! Redirections and here-documents.

use std::ops::Range;

use super::parse::Parser;
use super::word::expansions;
use super::{Command, Flow, Form, Redirect, SplitError, Word, layers};

/// A here-document whose body is still to come.
pub(super) struct Document {
    end: String,
    expanded: bool,
    strip_tabs: bool,
    /// The command that reads it and what is seen through it; empty until that is known.
    pub(super) readers: Range<usize>,
}

impl Parser<'_, '_> {
    /// Whether digits here are the descriptor of a redirection.
    pub(super) fn is_descriptor(&self) -> bool {
        let rest = self.src[self.at..].trim_start_matches(|c: char| c.is_ascii_digit());
        rest.starts_with(['<', '>']) && !rest.starts_with("<(") && !rest.starts_with(">(")
    }

    pub(super) fn redirect(&mut self, command: &mut Command) -> Result<(), SplitError> {
        while self.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
        }
        let flow = if self.takes("<<<") {
            Flow::Text
        } else if self.takes("<<-") {
            return self.document(command, true);
        } else if self.takes("<<") {
            return self.document(command, false);
        } else if self.takes("<>") || self.takes("&>>") || self.takes("&>") {
            Flow::Out
        } else if self.takes("<&") || self.takes(">&") {
            Flow::Copy
        } else if self.takes("<") {
            Flow::In
        } else {
            let _ = self.takes(">>") || self.takes(">|") || self.takes(">");
            Flow::Out
        };
        self.blanks();
        let Some(target) = self.word()? else {
            return Err(SplitError::Unterminated { what: "a redirection" });
        };
        let target = target.word;
        let closes = target.text.trim_end_matches('-').chars().all(|c| c.is_ascii_digit());
        let flow = if flow == Flow::Copy && !closes { Flow::Out } else { flow };
        command.redirects.push(Redirect { flow, target });
        Ok(())
    }

    fn document(&mut self, command: &mut Command, strip_tabs: bool) -> Result<(), SplitError> {
        self.blanks();
        let Some(end) = self.word()? else {
            return Err(SplitError::Unterminated { what: "a here-document" });
        };
        if end.word.form == Form::Computed {
            return Err(SplitError::Ambiguous { what: "an expansion as the end of a document" });
        }
        command.redirects.push(Redirect { flow: Flow::Text, target: Word::literal("") });
        let (end, expanded) = (end.word.text, end.bare);
        self.documents.push(Document { end, expanded, strip_tabs, readers: 0..0 });
        Ok(())
    }

    /// After the end of a line: the documents that were begun in it.
    pub(super) fn bodies(&mut self) -> Result<(), SplitError> {
        for document in std::mem::take(&mut self.documents) {
            let mut body = String::new();
            loop {
                if self.at >= self.src.len() {
                    return Err(SplitError::Unterminated { what: "a here-document" });
                }
                let rest = &self.src[self.at..];
                let line = rest.split('\n').next().unwrap_or_default();
                self.at = (self.at + line.len() + 1).min(self.src.len());
                let line = if document.strip_tabs { line.trim_start_matches('\t') } else { line };
                if line == document.end {
                    break;
                }
                body.push_str(line);
                body.push('\n');
            }
            if document.expanded {
                expansions(&body, self)?;
            }
            layers::give_input(&body, document.readers, self.found, self.depth)?;
        }
        Ok(())
    }
}
