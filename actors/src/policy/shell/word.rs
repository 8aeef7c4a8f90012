//! Words: quotes are removed, the commands in substitutions are found.

use super::parse::{End, Parser, is_delimiter, script};
use super::{Form, SplitError, Word};

/// What a word is built in.
struct Builder {
    text: String,
    form: Form,
    /// Nothing of it was quoted, so it may be a keyword.
    bare: bool,
    /// An unquoted `{` stands in it.
    braced: bool,
}

/// A word as it was read.
pub(super) struct ReadWord {
    pub(super) word: Word,
    /// Nothing of it was quoted or expanded: it may be a keyword.
    pub(super) bare: bool,
    /// It is one `{a,b}`, which the shell makes several words of.
    pub(super) braced: bool,
}

impl Builder {
    fn new() -> Self {
        Self { text: String::new(), form: Form::Literal, bare: true, braced: false }
    }

    fn computed(&mut self) {
        self.form = Form::Computed;
        self.bare = false;
    }
}

impl Parser<'_, '_> {
    /// The next word; `None` if none begins here.
    pub(super) fn word(&mut self) -> Result<Option<ReadWord>, SplitError> {
        let start = self.at;
        let mut to = Builder::new();
        while let Some(c) = self.peek() {
            match c {
                '<' | '>' if self.peek_second() == Some('(') => {
                    let from = self.at;
                    self.at += 2;
                    self.nested_list()?;
                    to.text.push_str(&self.src[from..self.at]);
                    to.computed();
                }
                _ if is_delimiter(c) => break,
                '\\' => self.escape(&mut to)?,
                '\'' => self.single(&mut to)?,
                '"' => self.double(&mut to)?,
                '$' => self.dollar(&mut to, Quoting::None)?,
                '`' => self.backtick(&mut to, Quoting::None)?,
                '\0' => return Err(self.unexpected(c)),
                _ => self.plain(c, &mut to),
            }
        }
        if self.at == start {
            return Ok(None);
        }
        if to.text != "[" && to.text != "[[" && to.bare && to.text.contains(['*', '?', '[']) {
            to.form = Form::Computed;
        }
        let braced = to.braced && to.text.starts_with('{') && to.text.contains(',');
        if to.braced && (to.text.contains(',') || to.text.contains("..")) {
            to.form = Form::Computed;
        }
        let word = Word { text: to.text, form: to.form };
        Ok(Some(ReadWord { word, bare: to.bare, braced }))
    }

    fn plain(&mut self, c: char, to: &mut Builder) {
        // A pattern in a word that also has quotes: the check at the end sees only bare words.
        if matches!(c, '*' | '?' | '[') && !to.bare {
            to.form = Form::Computed;
        }
        to.braced |= c == '{';
        // What follows without a meaning is taken at once.
        let rest = &self.src[self.at..];
        let others = rest[c.len_utf8()..].bytes().take_while(|byte| is_ordinary(*byte)).count();
        let len = c.len_utf8() + others;
        to.text.push_str(&rest[..len]);
        self.at += len;
    }

    fn escape(&mut self, to: &mut Builder) -> Result<(), SplitError> {
        self.mark_patterns(to);
        self.at += 1;
        match self.bump() {
            None => return Err(SplitError::Unterminated { what: "an escape" }),
            Some('\n') => {}
            Some(c) => {
                to.bare = false;
                to.text.push(c);
            }
        }
        Ok(())
    }

    /// Before a quote begins: patterns so far stay patterns.
    fn mark_patterns(&self, to: &mut Builder) {
        if to.bare && to.text.contains(['*', '?', '[']) {
            to.form = Form::Computed;
        }
    }

    fn single(&mut self, to: &mut Builder) -> Result<(), SplitError> {
        self.mark_patterns(to);
        to.bare = false;
        self.at += 1;
        let rest = &self.src[self.at..];
        let len = rest.find('\'').ok_or(SplitError::Unterminated { what: "single quotes" })?;
        to.text.push_str(&rest[..len]);
        self.at += len + 1;
        Ok(())
    }

    fn double(&mut self, to: &mut Builder) -> Result<(), SplitError> {
        self.mark_patterns(to);
        to.bare = false;
        self.at += 1;
        loop {
            match self.peek() {
                None => return Err(SplitError::Unterminated { what: "double quotes" }),
                Some('"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some('\\') => {
                    self.at += 1;
                    match self.bump() {
                        Some('\n') => {}
                        Some(c @ ('$' | '`' | '"' | '\\')) => to.text.push(c),
                        Some(c) => to.text.extend(['\\', c]),
                        None => return Err(SplitError::Unterminated { what: "double quotes" }),
                    }
                }
                Some('$') => self.dollar(to, Quoting::Double)?,
                Some('`') => self.backtick(to, Quoting::Double)?,
                Some(c) => {
                    to.text.push(c);
                    self.at += c.len_utf8();
                }
            }
        }
    }

    fn dollar(&mut self, to: &mut Builder, quoting: Quoting) -> Result<(), SplitError> {
        let from = self.at;
        let unquoted = quoting == Quoting::None;
        match self.peek_second() {
            Some('(') => {
                self.at += 2;
                self.substitution()?;
            }
            Some('{') => {
                self.at += 2;
                self.parameter(quoting)?;
            }
            Some('\'') if unquoted => {
                self.mark_patterns(to);
                to.bare = false;
                self.at += 2;
                return self.ansi(&mut to.text);
            }
            Some('"') if unquoted => {
                self.at += 1;
                return self.double(to);
            }
            Some(c) if c.is_alphanumeric() || "_@*#?-$!".contains(c) => {
                self.at += 1 + c.len_utf8();
                if c.is_alphabetic() || c == '_' {
                    while self.peek().is_some_and(|c| c.is_alphanumeric() || c == '_') {
                        self.bump();
                    }
                }
            }
            Some(_) | None => {
                to.text.push('$');
                self.at += 1;
                return Ok(());
            }
        }
        to.text.push_str(&self.src[from..self.at]);
        to.computed();
        Ok(())
    }

    /// After `$(`: a command substitution, or arithmetic whose brackets close together.
    fn substitution(&mut self) -> Result<(), SplitError> {
        if self.peek() == Some('(') && self.skips_arithmetic()? {
            return Ok(());
        }
        self.nested_list()
    }

    fn nested_list(&mut self) -> Result<(), SplitError> {
        self.deeper()?;
        self.list(End::Paren, 0..0)?;
        self.depth -= 1;
        Ok(())
    }

    /// Reads `(…))` if it is arithmetic. Commands in it run whatever quotes stand around them.
    fn skips_arithmetic(&mut self) -> Result<bool, SplitError> {
        let from = self.at + 1;
        let mut open = 1_usize;
        for (i, byte) in self.src.as_bytes()[from..].iter().enumerate() {
            match byte {
                b'(' => open += 1,
                b')' => open -= 1,
                _ => {}
            }
            if open == 0 {
                let inside = &self.src[from..from + i];
                let rest = &self.src[from + i + 1..];
                // Quotes may hide a bracket, and then the two readings differ.
                if !rest.starts_with(')') || inside.contains(['\'', '"', '\\', '#', '\n']) {
                    return Ok(false);
                }
                self.at = from + i + 2;
                expansions(inside, self)?;
                return Ok(true);
            }
        }
        Err(SplitError::Unterminated { what: "arithmetic" })
    }

    /// After `${`.
    fn parameter(&mut self, quoting: Quoting) -> Result<(), SplitError> {
        self.deeper()?;
        let mut ignored = Builder::new();
        loop {
            match self.peek() {
                None => return Err(SplitError::Unterminated { what: "`${`" }),
                Some('}') => {
                    self.at += 1;
                    self.depth -= 1;
                    return Ok(());
                }
                Some('\\') => self.escape(&mut ignored)?,
                Some('\'') if quoting == Quoting::Double => {
                    let what = "a single quote in a quoted `${…}`";
                    return Err(SplitError::Ambiguous { what });
                }
                Some('\'') => self.single(&mut ignored)?,
                Some('"') => self.double(&mut ignored)?,
                Some('$') => self.dollar(&mut ignored, quoting)?,
                Some('`') => self.backtick(&mut ignored, quoting)?,
                Some('<' | '>') if self.peek_second() == Some('(') => {
                    self.at += 2;
                    self.nested_list()?;
                }
                Some(c) => self.at += c.len_utf8(),
            }
        }
    }

    fn backtick(&mut self, to: &mut Builder, quoting: Quoting) -> Result<(), SplitError> {
        let from = self.at;
        self.at += 1;
        let mut inside = String::new();
        loop {
            match self.bump() {
                None => return Err(SplitError::Unterminated { what: "backticks" }),
                Some('`') => break,
                Some('\\') => match self.bump() {
                    Some(c @ ('`' | '\\' | '$')) => inside.push(c),
                    Some('"') if quoting == Quoting::Double => inside.push('"'),
                    Some(c) => inside.extend(['\\', c]),
                    None => return Err(SplitError::Unterminated { what: "backticks" }),
                },
                Some(c) => inside.push(c),
            }
        }
        script(&inside, self.found, self.depth + 1)?;
        to.text.push_str(&self.src[from..self.at]);
        to.computed();
        Ok(())
    }

    /// After `$'`: escapes as in C.
    fn ansi(&mut self, text: &mut String) -> Result<(), SplitError> {
        let open = || SplitError::Unterminated { what: "`$'`" };
        loop {
            match self.bump().ok_or_else(open)? {
                '\'' => return Ok(()),
                '\\' => {
                    let decoded = match self.bump().ok_or_else(open)? {
                        'n' => '\n',
                        't' => '\t',
                        'r' => '\r',
                        'a' => '\x07',
                        'b' => '\x08',
                        'e' | 'E' => '\x1b',
                        'f' => '\x0c',
                        'v' => '\x0b',
                        'x' => self.digits(16, 2),
                        'u' => self.digits(16, 4),
                        'U' => self.digits(16, 8),
                        '0'..='7' => {
                            self.at -= 1;
                            self.digits(8, 3)
                        }
                        'c' => {
                            let what = "a control character in `$'`";
                            return Err(SplitError::Ambiguous { what });
                        }
                        // Who does not know `$'` ends the quote here.
                        '\'' => return Err(SplitError::Ambiguous { what: "a quote in `$'`" }),
                        other => other,
                    };
                    // Some shells end the word at a zero, some do not.
                    if decoded == '\0' {
                        return Err(SplitError::Ambiguous { what: "a zero byte in `$'`" });
                    }
                    text.push(decoded);
                }
                c => text.push(c),
            }
        }
    }

    /// A character by its number; zero if there is none.
    fn digits(&mut self, radix: u32, most: usize) -> char {
        let mut value = 0_u32;
        for _ in 0..most {
            let Some(digit) = self.peek().and_then(|c| c.to_digit(radix)) else { break };
            value = value.wrapping_mul(radix).wrapping_add(digit);
            self.at += 1;
        }
        char::from_u32(value).unwrap_or('\0')
    }
}

fn is_ordinary(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_./=:,+@%".contains(&byte)
}

/// What stands around an expansion.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quoting {
    None,
    Double,
}

/// Finds the commands in a text in which only `$` and backticks have a meaning, such as a
/// here-document.
pub(super) fn expansions(text: &str, outer: &mut Parser<'_, '_>) -> Result<(), SplitError> {
    if !text.contains(['$', '`']) {
        return Ok(());
    }
    let mut inner = Parser::new(text, outer.found, outer.depth)?;
    inner.deeper()?;
    let mut ignored = Builder::new();
    while let Some(c) = inner.peek() {
        match c {
            '\\' => {
                inner.at += 1;
                inner.bump();
            }
            '$' => inner.dollar(&mut ignored, Quoting::Double)?,
            '`' => inner.backtick(&mut ignored, Quoting::Double)?,
            c => inner.at += c.len_utf8(),
        }
    }
    Ok(())
}
