//! Code of other languages that stands in a line (`python3 -c …`, `awk '…'`, `vim -c …`): whether
//! it runs programs, and which ones.
//!
//! It is not parsed. Who runs a program says so by one of few words, and the program stands in the
//! quotes near it: each quoted text is read as a shell line, and texts that follow each other as
//! the words of one command. This finds too many commands rather than too few.

use std::borrow::Cow;

use super::reader::{decoded, input, is_input};
use super::{Command, Line, Word};

/// Where a program takes code from.
struct Language {
    name: &'static str,
    /// Its options whose value is code. One letter also counts among others (`perl -ne`).
    options: &'static [&'static str],
    first: First,
}

/// What its first operand is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum First {
    /// A file with code. Without one the code is the input.
    File,
    /// The code, unless an option gives it.
    Code,
    /// A file that is no code.
    Data,
}

const fn language(name: &'static str, options: &'static [&'static str], first: First) -> Language {
    Language { name, options, first }
}

const LANGUAGES: [Language; 36] = [
    language("python", &["-c"], First::File),
    language("pypy", &["-c"], First::File),
    language("perl", &["-e", "-E"], First::File),
    language("ruby", &["-e"], First::File),
    language("node", &["-e", "-p", "--eval", "--print"], First::File),
    language("nodejs", &["-e", "-p", "--eval", "--print"], First::File),
    language("bun", &["-e", "--eval"], First::File),
    language("deno", &["eval"], First::File),
    language("php", &["-r", "-B", "-R", "-E"], First::File),
    language("lua", &["-e"], First::File),
    language("luajit", &["-e"], First::File),
    language("julia", &["-e", "-E", "--eval"], First::File),
    language("Rscript", &["-e"], First::File),
    language("R", &["-e"], First::File),
    language("groovy", &["-e"], First::File),
    language("elixir", &["-e", "--eval"], First::File),
    language("osascript", &["-e"], First::File),
    language("tclsh", &[], First::File),
    language("expect", &["-c"], First::File),
    language("guile", &["-c"], First::File),
    language("awk", &["-e", "--source"], First::Code),
    language("gawk", &["-e", "--source"], First::Code),
    language("mawk", &["-e"], First::Code),
    language("nawk", &["-e"], First::Code),
    language("sed", &["-e", "--expression"], First::Code),
    language("gsed", &["-e", "--expression"], First::Code),
    language("vi", &["-c", "--cmd"], First::Data),
    language("vim", &["-c", "--cmd"], First::Data),
    language("nvim", &["-c", "--cmd"], First::Data),
    language("view", &["-c", "--cmd"], First::Data),
    language("ex", &["-c", "--cmd"], First::Data),
    language("ed", &[], First::Data),
    language("emacs", &["--eval", "-eval"], First::Data),
    language("gdb", &["-ex", "--eval-command"], First::Data),
    language("psql", &["-c", "--command"], First::Data),
    language("sqlite3", &["-cmd"], First::Data),
];

/// Words by which code runs a program. `exec` is looked at with what follows it.
const MARKS: [&str; 19] = [
    "system",
    "popen",
    "spawn",
    "subprocess",
    "child_process",
    "`",
    "qx",
    "%x",
    "shell_exec",
    "passthru",
    "proc_open",
    "shell-command",
    "call-process",
    "do shell script",
    "Open3",
    "pcntl",
    "Command",
    "os.exec",
    "$(",
];

/// Words by which code itself removes whole directories.
const REMOVERS: [&str; 7] =
    ["rmtree", "rm_r", "remove_tree", "rmSync", "rmdirSync", "removeSync", "remove_dir_all"];

/// What code would run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Runs {
    /// Texts that a shell may read.
    pub(super) scripts: Vec<String>,
    /// Programs with their arguments.
    pub(super) commands: Vec<Vec<Word>>,
}

/// Whether a command is given code that runs programs.
pub(crate) fn runs_programs(command: &Command, line: &Line) -> bool {
    let Some(language) = of(command) else { return false };
    let given = codes(command, language);
    let read = || reads(command, language).then(|| input(command, line)).flatten();
    given.iter().any(|code| is_marked(code, language))
        || read().is_some_and(|code| is_marked(&code, language))
}

/// What the code among the arguments of a command would run.
pub(super) fn of_arguments(command: &Command) -> Runs {
    let mut runs = Runs::default();
    if let Some(language) = of(command) {
        codes(command, language).iter().for_each(|code| look(code, language, &mut runs));
    }
    runs
}

/// What code that a command reads would run.
pub(super) fn of_input(command: &Command, code: &str) -> Runs {
    let mut runs = Runs::default();
    if let Some(language) = of(command) {
        look(code, language, &mut runs);
    }
    runs
}

/// Whether a command runs the code that it gets as its input.
pub(crate) fn reads_code(command: &Command) -> bool {
    of(command).is_some_and(|language| reads(command, language))
}

fn reads(command: &Command, language: &Language) -> bool {
    let mut before = "";
    let mut words = command.arguments().iter().map(|word| {
        let text = word.text.as_str();
        (std::mem::replace(&mut before, text), text)
    });
    match language.first {
        First::File => {
            // A word behind an option may be its value: `-W ignore`.
            let file = words.find(|(before, text)| {
                is_input(text) || !(text.starts_with('-') || before.starts_with('-'))
            });
            file.is_none_or(|(_, text)| is_input(text)) && codes(command, language).is_empty()
        }
        First::Code => words.any(|(before, text)| {
            let joined = ["-f", "--file="].iter().find_map(|option| text.strip_prefix(option));
            joined.is_some_and(is_input) || (matches!(before, "-f" | "--file") && is_input(text))
        }),
        First::Data => true,
    }
}

fn of(command: &Command) -> Option<&'static Language> {
    // `python3.11` is `python`.
    let name = command.name();
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    LANGUAGES.iter().find(|language| language.name == name || language.name == command.name())
}

/// The code among the arguments.
fn codes<'c>(command: &'c Command, language: &Language) -> Vec<Cow<'c, str>> {
    let mut words = command.arguments().iter().map(|word| word.text.as_str());
    let mut codes = vec![];
    let mut operands = vec![];
    while let Some(text) = words.next() {
        if language.options.contains(&text) {
            codes.extend(words.next().map(Cow::Borrowed));
            continue;
        }
        let joined =
            language.options.iter().filter(|option| option.len() > 2).find_map(|option| {
                text.strip_prefix(option).and_then(|rest| rest.strip_prefix('='))
            });
        if let Some(code) = joined.or_else(|| text.strip_prefix('+')) {
            codes.push(Cow::Borrowed(code));
        } else if let Some(letters) = text.strip_prefix('-').filter(|rest| !rest.starts_with('-')) {
            let letter = |option: &&&str| option.len() == 2;
            let place =
                language.options.iter().filter(letter).filter_map(|o| letters.find(&o[1..]));
            match place.min().map(|at| &letters[at + 1..]) {
                // `-ne CODE`, `-cCODE`; letters of another option may look the same, and then what
                // follows is an option again: `-MStorable -e CODE`.
                Some("") => {
                    let next = words.clone().next().filter(|next| !next.starts_with('-'));
                    if let Some(code) = next {
                        words.next();
                        codes.push(Cow::Borrowed(code));
                    }
                }
                Some(code) => codes.push(Cow::Borrowed(code)),
                None => {}
            }
        } else {
            operands.push(text);
        }
    }
    // Options such as `-F ,` may have taken words: which operand is the code is not certain.
    if language.first == First::Code && codes.is_empty() {
        codes.extend(operands.iter().copied().map(Cow::Borrowed));
    }
    if matches!(language.name, "sqlite3" | "deno") {
        codes.extend(operands.into_iter().map(Cow::Borrowed));
    }
    codes
}

fn is_marked(code: &str, language: &Language) -> bool {
    match language.name {
        "sed" | "gsed" => sed_script(code).is_some(),
        "awk" | "gawk" | "mawk" | "nawk" => {
            code.contains("system") || code.replace("||", "").contains('|')
        }
        _ if language.first == First::Data => escape(code).is_some() || says_so(code),
        _ => says_so(code) || REMOVERS.iter().any(|remover| code.contains(remover)),
    }
}

fn says_so(code: &str) -> bool {
    // `execute` is of a database.
    let executes = code.match_indices("exec").any(|(at, _)| !code[at + 4..].starts_with("ut"));
    // Perl and Ruby open a pipe to a program.
    let pipes = || ["\"|", "'|", "|\"", "|'"].iter().any(|pipe| code.contains(pipe));
    executes || MARKS.iter().any(|mark| code.contains(mark)) || (code.contains("open") && pipes())
}

/// `e COMMAND` of `sed`, or the command that `s/…/COMMAND/e` makes.
fn sed_script(code: &str) -> Option<String> {
    let between = |c: char| c.is_ascii_digit() || "$,~!; \n\t{}".contains(c);
    let mut rest = code;
    loop {
        rest = rest.trim_start_matches(between);
        let verb = rest.chars().next()?;
        let after = &rest[verb.len_utf8()..];
        let skipped = after.find([';', '\n', '}']).map_or("", |end| &after[end..]);
        rest = match verb {
            '/' => past(after, '/')?.1.trim_start_matches(['I', 'M']),
            'e' if after.is_empty() || after.starts_with([' ', '\n']) => {
                return Some(after.lines().next().unwrap_or_default().trim().to_owned());
            }
            's' => {
                let mark = after.chars().next().filter(|c| !c.is_alphanumeric())?;
                let (_, replaced) = past(&after[mark.len_utf8()..], mark)?;
                let (command, flags) = past(replaced, mark)?;
                let end = flags.find([';', '\n', '}']).unwrap_or(flags.len());
                if flags[..end].contains('e') {
                    return Some(command.replace(&format!("\\{mark}"), &mark.to_string()));
                }
                &flags[end..]
            }
            _ => skipped,
        };
    }
}

/// What stands before the next mark that no backslash escapes, and what stands behind it.
fn past(text: &str, mark: char) -> Option<(&str, &str)> {
    let mut escaped = false;
    let at = text.char_indices().find_map(|(at, c)| {
        let ends = c == mark && !escaped;
        escaped = c == '\\' && !escaped;
        ends.then_some(at)
    })?;
    Some((&text[..at], &text[at + mark.len_utf8()..]))
}

/// What an editor or a client gives to a shell: `:!cmd`, `\! cmd`, `.shell cmd`.
fn escape(code: &str) -> Option<&str> {
    let starts = ["!", ".shell ", ".system ", "\\system ", "shell ", "term ", "terminal "];
    let found = starts.iter().filter_map(|start| code.split_once(start).map(|(_, rest)| rest));
    found.map(str::trim).find(|rest| rest.starts_with(|c: char| !matches!(c, '=' | '|')))
}

fn look(code: &str, language: &Language, runs: &mut Runs) {
    if !is_marked(code, language) {
        return;
    }
    if let Some(script) = sed_script(code).filter(|_| language.name.ends_with("sed")) {
        runs.scripts.push(script);
        return;
    }
    if language.first == First::Data {
        runs.scripts.extend(code.lines().filter_map(escape).map(str::to_owned));
    }
    if matches!(language.name, "expect" | "tclsh") {
        let words = code.split_once("spawn ").or_else(|| code.split_once("exec "));
        runs.scripts.extend(words.map(|(_, rest)| rest.to_owned()));
    }
    let texts = quoted(code);
    let removes = REMOVERS.iter().filter_map(|remover| code.find(remover)).min();
    for (at, group) in groups(texts) {
        if removes.is_some_and(|removes| at > removes) {
            let words = ["rm", "-rf"].into_iter().chain(group.iter().map(String::as_str));
            runs.commands.push(words.map(Word::literal).collect());
        }
        if group.len() > 1 {
            runs.commands.push(group.iter().map(Word::literal).collect());
        }
        // `open(F, "|cmd")`.
        runs.scripts.extend(group.iter().map(|text| text.trim_matches(['|', ' ']).to_owned()));
    }
}

/// A quoted text and where it stands.
struct Quoted<'c> {
    at: usize,
    text: String,
    /// What stands before it, after the one before.
    gap: &'c str,
}

/// All quoted texts: in `'`, `"` and backticks, and in `qx{…}`, `%x(…)` and their like.
fn quoted(code: &str) -> Vec<Quoted<'_>> {
    let mut found = vec![];
    let (mut at, mut gap) = (0, 0);
    while let Some(c) = code[at..].chars().next() {
        let Some((open, close)) = opening(code, at) else {
            at += c.len_utf8();
            continue;
        };
        let from = at + open;
        let mut escaped = false;
        let end = code[from..].char_indices().find(|(_, c)| {
            let ends = !escaped && *c == close;
            escaped = !escaped && *c == '\\';
            ends
        });
        let end = end.map_or(code.len(), |(len, _)| from + len);
        let text = decoded(&code[from..end]).replace('\\', "");
        found.push(Quoted { at, text, gap: &code[gap..at] });
        at = (end + close.len_utf8()).min(code.len());
        gap = at;
    }
    found
}

/// The length of what opens a quoted text here, and what closes it.
fn opening(code: &str, at: usize) -> Option<(usize, char)> {
    let rest = &code[at..];
    let first = rest.chars().next()?;
    if matches!(first, '\'' | '"' | '`') {
        return Some((1, first));
    }
    if !matches!(first, 'q' | '%') || code[..at].ends_with(|c: char| c.is_alphanumeric()) {
        return None;
    }
    let starts = ["qx", "qw", "qq", "q", "%x", "%w", "%q", "%Q"];
    let start = starts.iter().find(|start| rest.starts_with(**start))?;
    let open = rest[start.len()..].chars().next()?;
    let close = match open {
        '(' => ')',
        '{' => '}',
        '[' => ']',
        '<' => '>',
        '/' | '|' | '!' | '~' | '#' => open,
        _ => return None,
    };
    Some((start.len() + open.len_utf8(), close))
}

/// Texts with only commas between them as the words of one command; with `+`, `.` or nothing
/// between them they are one word.
fn groups(texts: Vec<Quoted<'_>>) -> Vec<(usize, Vec<String>)> {
    let mut groups: Vec<(usize, Vec<String>)> = vec![];
    for quoted in texts {
        let gap = quoted.gap.trim();
        let joins = gap
            .chars()
            .all(|c| matches!(c, '+' | '.' | '[' | ']' | ',' | '(' | ')') || c.is_whitespace());
        match groups.last_mut() {
            Some((_, group)) if joins && gap.contains(',') => group.push(quoted.text),
            Some((_, group)) if joins => {
                if let Some(last) = group.last_mut() {
                    last.push_str(&quoted.text);
                }
            }
            Some(_) | None => groups.push((quoted.at, vec![quoted.text])),
        }
    }
    groups
}
