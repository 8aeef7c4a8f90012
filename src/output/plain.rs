//! Text of models, tools and files made harmless before it reaches a terminal: no escape sequence,
//! no control character and nothing that reorders a line gets through.

/// Whether a terminal could act on a character instead of showing it.
fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// The columns that a character takes; wide scripts and pictures take two.
fn columns(c: char) -> usize {
    let wide = matches!(c, '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}')
        || matches!(c, '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe6f}' | '\u{ff00}'..='\u{ff60}')
        || matches!(c, '\u{1f300}'..='\u{1faff}' | '\u{20000}'..='\u{3fffd}');
    if wide { 2 } else { 1 }
}

/// The text as one line of at most `width` columns: white space becomes one blank, harmful
/// characters become `�`, and a cut is marked with `…`.
#[must_use]
pub fn line(text: &str, width: usize) -> String {
    let mut shown = String::new();
    let mut used = 0;
    let mut blank = false;
    for c in text.chars() {
        if c.is_whitespace() {
            blank = !shown.is_empty();
            continue;
        }
        let c = if is_harmful(c) { '\u{fffd}' } else { c };
        let needed = columns(c) + usize::from(blank);
        if used + needed > width {
            return cut(shown, width);
        }
        if blank {
            shown.push(' ');
        }
        shown.push(c);
        used += needed;
        blank = false;
    }
    shown
}

/// Makes room for the mark of a cut.
fn cut(mut shown: String, width: usize) -> String {
    let mut used: usize = shown.chars().map(columns).sum();
    while used >= width {
        match shown.pop() {
            Some(c) => used -= columns(c),
            None => return shown,
        }
    }
    shown.push('…');
    shown
}

/// The text as lines of at most `width` columns, broken between words; at most `most` of them, of
/// which the last one marks a cut.
#[must_use]
pub fn wrap(text: &str, width: usize, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.peek() {
        if lines.len() == most {
            if let Some(last) = lines.last_mut() {
                *last = cut(std::mem::take(last), width);
            }
            break;
        }
        let mut shown = line(word, width);
        words.next();
        while let Some(word) = words.peek() {
            let longer = format!("{shown} {word}");
            if longer.chars().map(columns).sum::<usize>() > width {
                break;
            }
            shown = line(&longer, width);
            words.next();
        }
        lines.push(shown);
    }
    lines
}

/// The text with its line breaks and tabs, and `�` for each harmful character.
#[must_use]
pub fn block(text: &str) -> String {
    let shown = |c| if is_harmful(c) && !matches!(c, '\n' | '\t') { '\u{fffd}' } else { c };
    text.replace("\r\n", "\n").chars().map(shown).collect()
}

/// A line of JSON with every harmful character written as an escape. The value stays the same:
/// JSON has such characters only inside of strings.
#[must_use]
pub fn json(line: &str) -> String {
    use std::fmt::Write as _;
    let mut shown = String::with_capacity(line.len());
    for c in line.chars() {
        if is_harmful(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(shown, "\\u{unit:04x}");
            }
        } else {
            shown.push(c);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_harmless_and_bounded() {
        let table = [
            ("plain", 10, "plain"),
            ("  two\n\t words ", 20, "two words"),
            ("\u{1b}[31mred\u{7}", 20, "�[31mred�"),
            ("\u{9b}2J \u{202e}txt", 20, "�2J �txt"),
            ("0123456789", 10, "0123456789"),
            ("0123456789x", 10, "012345678…"),
            ("一二三四五六", 10, "一二三四…"),
            ("a b", 2, "a…"),
            ("abc", 1, "…"),
            ("abc", 0, ""),
            ("", 5, ""),
        ];
        for (text, width, expected) in table {
            assert_eq!(line(text, width), expected, "{text:?} in {width}");
        }
    }

    #[test]
    fn a_long_text_is_wrapped_between_words_and_bounded() {
        let table = [
            ("", 10, &[][..]),
            ("one two three", 7, &["one two", "three"]),
            ("one \u{1b}two", 20, &["one �two"]),
            ("a-very-long-word b", 6, &["a-ver…", "b"]),
            ("a b c d e f", 3, &["a b", "c d", "e f"]),
            ("a b c d e f g", 3, &["a b", "c d", "e …"]),
        ];
        for (text, width, expected) in table {
            let shown = wrap(text, width, 3);
            assert_eq!(shown, expected, "{text:?} in {width}");
        }
        assert_eq!(wrap("a b c d", 1, 3), ["a", "b", "…"]);
    }

    #[test]
    fn a_block_keeps_its_lines() {
        assert_eq!(block("a\r\n\tb\u{1b}]0;x\u{7}\r"), "a\n\tb�]0;x��");
    }

    #[test]
    fn json_keeps_its_value() {
        let value = serde_json::json!({ "text": "\u{1b}[2J \u{9b}31m \u{7f} \u{e0041} é" });
        let line = json(&value.to_string());
        assert_eq!(line, r#"{"text":"\u001b[2J \u009b31m \u007f \udb40\udc41 é"}"#);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&line).unwrap(), value);
    }
}
