//! What reads a text and runs it: shells, `source`, `xargs`. And where that text stands in a line.

use super::{Command, Flow, Form, Line, Word};

/// Programs that read shell scripts.
pub(crate) const SHELLS: [&str; 10] =
    ["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "rbash", "yash"];

/// Where a script comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Source<'c> {
    /// The word after `-c`.
    Given(&'c str),
    /// A file, which nobody has read.
    File,
    /// Its input.
    Input,
    /// What the commands in its `<(…)` put out.
    Nested,
}

/// Whether it runs as a shell script what it gets as its input.
pub(crate) fn reads_script(command: &Command) -> bool {
    source(command) == Some(Source::Input)
}

/// Where the script of a command comes from; `None` if it runs none.
pub(super) fn source(command: &Command) -> Option<Source<'_>> {
    let texts = || command.arguments().iter().map(|word| word.text.as_str());
    let is_option = |text: &str| text.len() > 1 && text.starts_with('-');
    match command.name() {
        name if SHELLS.contains(&name) => Some(shell(command)),
        "source" | "." => Some(file(texts().find(|text| *text != "--"))),
        "at" | "batch" if !texts().any(|text| text.starts_with("-f")) => Some(Source::Input),
        "su" if !texts().any(|text| text.starts_with("-c")) => Some(Source::Input),
        "sudo" if texts().all(is_option) => Some(Source::Input),
        _ => None,
    }
}

/// The script of `sh -c`. Where it is an expansion that may come to nothing, the next word may be
/// the script instead.
pub(super) fn given_script(command: &Command, text: &str) -> String {
    let words = &command.words;
    let is_script = |word: &Word| std::ptr::eq(word.text.as_str(), text);
    let at = words.iter().position(is_script).unwrap_or(words.len());
    let known = words[at..].iter().position(|word| word.form == Form::Literal);
    let end = known.map_or(words.len(), |known| at + known + 1);
    let scripts: Vec<&str> = words[at..end].iter().map(|word| word.text.as_str()).collect();
    scripts.join("\n")
}

/// The text that a command reads, as far as it stands in the line: its own here-document, what
/// the stages before it say (`echo … | sh`, `cat <<E | sh`), or what `< <(…)` says. Filters in
/// between are taken to change nothing.
pub(super) fn input(command: &Command, found: &Line) -> Option<String> {
    if let Some(text) = command.input_text() {
        // Empty where the body of a document is still to come.
        return (!text.is_empty()).then(|| text.to_owned());
    }
    let is_substitution = |text: &str| text.starts_with("<(");
    let mut files = command.redirects.iter().filter(|redirect| redirect.flow == Flow::In);
    let nested = files.any(|redirect| is_substitution(&redirect.target.text));
    said(found.range(if nested { &command.nested } else { &command.feeds }))
}

/// What commands put out that only say what stands in the line.
pub(super) fn said(commands: &[Command]) -> Option<String> {
    let texts = commands.iter().filter_map(|command| match command.name() {
        "echo" | "printf" => Some(echoed(command)),
        _ => command.input_text().map(str::to_owned),
    });
    let texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

/// What `echo` or `printf` puts out.
fn echoed(command: &Command) -> String {
    let options = |word: &&Word| {
        let text = word.text.as_str();
        text == "--" || text.strip_prefix('-').is_some_and(|o| o.chars().all(|c| "neE".contains(c)))
    };
    let mut words = command.arguments().iter().skip_while(options).map(|word| word.text.as_str());
    if command.name() == "echo" {
        return decoded(&words.collect::<Vec<_>>().join(" "));
    }
    let mut text = words.next().unwrap_or_default().to_owned();
    for word in words {
        let place = ["%s", "%b", "%q"].iter().filter_map(|place| text.find(place)).min();
        match place {
            Some(at) => text.replace_range(at..at + 2, word),
            None => text.extend([" ", word]),
        }
    }
    decoded(&text)
}

/// The escapes that `printf`, some `echo` and other languages read: line ends and characters by
/// their number. What else follows a backslash stays as it is.
pub(super) fn decoded(text: &str) -> String {
    if !text.contains('\\') {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let number = |digits: &str, radix: u32, most: usize| {
            let count = digits.chars().take(most).take_while(|c| c.is_digit(radix)).count();
            let value = u32::from_str_radix(&digits[..count], radix).ok();
            value.and_then(char::from_u32).map(|c| (c, count))
        };
        let (character, len) = match rest.bytes().next() {
            Some(b'n') => (Some('\n'), 1),
            Some(b't') => (Some('\t'), 1),
            Some(b'x') => number(&rest[1..], 16, 2).map_or((None, 0), |(c, n)| (Some(c), n + 1)),
            Some(b'0'..=b'7') => number(rest, 8, 4).map_or((None, 0), |(c, n)| (Some(c), n)),
            Some(_) | None => (None, 0),
        };
        match character {
            Some(character) => out.push(character),
            None => {
                out.push('\\');
                let len = rest.chars().next().map_or(0, char::len_utf8);
                out.push_str(&rest[..len]);
                rest = &rest[len..];
            }
        }
        rest = &rest[len..];
    }
    out + rest
}

/// The commands that `xargs` makes of a text: with the text as its last words, as one last word,
/// or in the place that `-I` names.
pub(super) fn filled(command: &Command, from: usize, text: &str) -> Vec<Vec<Word>> {
    let words = command.words.get(from..).unwrap_or_default();
    let place = place(command);
    if words.iter().any(|word| word.text.contains(place)) {
        let fill =
            |word: &Word| Word { text: word.text.replace(place, text.trim()), ..word.clone() };
        return vec![words.iter().map(fill).collect()];
    }
    let with = |more: Vec<Word>| words.iter().cloned().chain(more).collect::<Vec<Word>>();
    let parts: Vec<Word> =
        text.split_whitespace().map(|text| Word::literal(unquoted(text))).collect();
    let whole = (parts.len() > 1).then(|| with(vec![Word::literal(text.trim())]));
    std::iter::once(with(parts)).chain(whole).collect()
}

/// What stands for the input in the words of `xargs` or `parallel`.
pub(crate) fn place(command: &Command) -> &str {
    let mut words = command.arguments().iter().map(|word| word.text.as_str());
    let named = words.find_map(|text| text.strip_prefix("-I").or(text.strip_prefix("--replace=")));
    match named {
        Some("") => words.next().filter(|text| !text.is_empty()).unwrap_or("{}"),
        Some(place) => place,
        None => "{}",
    }
}

fn unquoted(text: &str) -> String {
    text.replace(['\'', '"'], "")
}

fn shell(command: &Command) -> Source<'_> {
    let mut words = command.arguments().iter().map(|word| word.text.as_str());
    let (mut given, mut from_input) = (false, false);
    while let Some(text) = words.next() {
        if text == "--" && from_input && !given {
            return Source::Input;
        }
        if text == "--" {
            return operand_or_input(words.next(), given);
        }
        if matches!(text, "--rcfile" | "--init-file") {
            words.next();
        } else if text.starts_with("--") || text == "-" {
        } else if text.starts_with(['-', '+']) {
            given |= text.starts_with('-') && text.contains('c');
            from_input |= text.contains('s');
            // `-euo pipefail`: the name of an option follows.
            if text.contains(['o', 'O']) {
                words.next();
            }
        } else if from_input && !given {
            return Source::Input;
        } else {
            return operand(Some(text), given);
        }
    }
    Source::Input
}

fn operand_or_input(text: Option<&str>, given: bool) -> Source<'_> {
    text.map_or(Source::Input, |text| operand(Some(text), given))
}

fn operand(text: Option<&str>, given: bool) -> Source<'_> {
    text.filter(|_| given).map_or_else(|| file(text), Source::Given)
}

fn file(text: Option<&str>) -> Source<'_> {
    match text {
        Some(text) if is_input(text) => Source::Input,
        Some(text) if text.starts_with("<(") => Source::Nested,
        Some(_) | None => Source::File,
    }
}

/// Names of the input, and of a descriptor that a redirection may have given a text.
pub(super) fn is_input(text: &str) -> bool {
    matches!(text, "-" | "/dev/stdin")
        || text.starts_with("/dev/fd/")
        || (text.starts_with("/proc/") && text.contains("/fd/"))
}
