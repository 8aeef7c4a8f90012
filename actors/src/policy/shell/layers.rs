//! Commands that run other commands: what they run is added to the list behind them.

use std::ops::Range;

use super::parse::script;
use super::{Command, Flow, Form, Layer, Line, MAX_COMMANDS, MAX_DEPTH, SplitError, Word};

/// Programs that read shell scripts.
pub(crate) const SHELLS: [&str; 10] =
    ["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "rbash", "yash"];

/// A program that runs the rest of its words as a command.
struct Wrapper {
    name: &'static str,
    /// Its options that take the next word as their value.
    valued: &'static [&'static str],
    /// Words of its own before the command begins.
    operands: usize,
    layer: Layer,
}

const fn thin(name: &'static str, valued: &'static [&'static str], operands: usize) -> Wrapper {
    Wrapper { name, valued, operands, layer: Layer::Wrapper }
}

/// It adds rights, other arguments or another place: a rule has to allow it too.
const fn thick(name: &'static str, valued: &'static [&'static str], operands: usize) -> Wrapper {
    Wrapper { name, valued, operands, layer: Layer::Plain }
}

const WRAPPERS: [Wrapper; 34] = [
    thin("nohup", &[], 0),
    thin("time", &["-f", "-o", "--format", "--output"], 0),
    thin("nice", &["-n", "--adjustment"], 0),
    thin("ionice", &["-c", "-n", "--class", "--classdata"], 0),
    thin("timeout", &["-s", "-k", "--signal", "--kill-after"], 1),
    thin("stdbuf", &["-i", "-o", "-e", "--input", "--output", "--error"], 0),
    thin("command", &[], 0),
    thin("builtin", &[], 0),
    thin("exec", &["-a"], 0),
    thin("env", &["-u", "--unset", "-C", "--chdir"], 0),
    thin("setsid", &[], 0),
    thin("caffeinate", &["-t", "-w"], 0),
    thick(
        "sudo",
        &[
            "-u", "-g", "-h", "-p", "-C", "-D", "-R", "-r", "-t", "-T", "-U", "--user", "--group",
            "--chdir", "--host", "--prompt",
        ],
        0,
    ),
    thick("doas", &["-u", "-C"], 0),
    thick("pkexec", &["--user"], 0),
    thick("runuser", &["-u", "-g", "-G"], 0),
    thick("setpriv", &[], 0),
    thick("chroot", &[], 1),
    thick("unshare", &[], 0),
    thick("nsenter", &["-t", "-S", "-G"], 0),
    thick(
        "xargs",
        &[
            "-I",
            "-n",
            "-P",
            "-L",
            "-d",
            "-E",
            "-s",
            "-a",
            "--max-args",
            "--max-procs",
            "--delimiter",
            "--arg-file",
        ],
        0,
    ),
    thick("parallel", &["-j", "--jobs", "-a"], 0),
    thick("watch", &["-n", "--interval"], 0),
    thick("strace", &["-e", "-o", "-p"], 0),
    thick("ltrace", &["-e", "-o", "-p"], 0),
    thick("taskset", &[], 1),
    thick("flock", &["-w", "-E", "--timeout"], 1),
    thick(
        "ssh",
        &["-p", "-i", "-l", "-o", "-F", "-J", "-L", "-R", "-D", "-b", "-c", "-E", "-m", "-S", "-w"],
        1,
    ),
    thick("busybox", &[], 0),
    thick("toybox", &[], 0),
    thick("entr", &[], 0),
    thick("chronic", &[], 0),
    thick("unbuffer", &[], 0),
    thick("fakeroot", &[], 0),
];

/// What a command runs.
enum Inside {
    Nothing,
    /// Parts of its own words.
    Words(Vec<Range<usize>>, Layer),
    /// A text that a shell reads.
    Script(String),
}

/// Adds a command and everything that it runs.
pub(super) fn add(command: Command, found: &mut Line, depth: usize) -> Result<(), SplitError> {
    if depth > MAX_DEPTH {
        return Err(SplitError::TooDeep);
    }
    if found.commands.len() >= MAX_COMMANDS {
        return Err(SplitError::TooLong);
    }
    let mut command = command;
    let inside = inside(&command, found);
    match inside {
        Inside::Nothing => found.commands.push(command),
        Inside::Script(text) => {
            found.commands.push(command);
            script(&text, found, depth + 1)?;
        }
        Inside::Words(ranges, layer) => {
            let inner = ranges.into_iter().map(|range| {
                let mut inner = Command { layer: Layer::Plain, ..command.clone() };
                inner.words = take_assignments(&command.words[range], &mut inner.assignments);
                inner
            });
            let inner: Vec<Command> = inner.collect();
            command.layer = layer;
            found.commands.push(command);
            inner.into_iter().try_for_each(|inner| add(inner, found, depth + 1))?;
        }
    }
    Ok(())
}

/// Gives commands the text of their here-document; a shell among them reads it as a script.
pub(super) fn give_input(
    body: &str,
    readers: Range<usize>,
    found: &mut Line,
    depth: usize,
) -> Result<(), SplitError> {
    let mut is_script = false;
    for command in found.commands.get_mut(readers).unwrap_or_default() {
        is_script |= reads_script(command);
        let text = command.redirects.iter_mut().rfind(|redirect| redirect.flow == Flow::Text);
        if let Some(text) = text {
            body.clone_into(&mut text.target.text);
        }
    }
    if is_script { script(body, found, depth + 1) } else { Ok(()) }
}

/// Whether it is a shell that reads its script from its input.
pub(crate) fn reads_script(command: &Command) -> bool {
    SHELLS.contains(&command.name()) && matches!(shell_script(command), ShellScript::Input)
}

fn inside(command: &Command, found: &Line) -> Inside {
    let name = command.name();
    let texts = |words: &[Word]| -> String {
        words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
    };
    match name {
        _ if SHELLS.contains(&name) => match shell_script(command) {
            ShellScript::Given(text) => Inside::Script(given_script(command, text)),
            ShellScript::File => Inside::Nothing,
            ShellScript::Input => {
                piped_script(command, found).map_or(Inside::Nothing, Inside::Script)
            }
        },
        "eval" => {
            let words = command.arguments();
            let marked = words.first().is_some_and(|word| word.text == "--");
            Inside::Script(texts(&words[usize::from(marked)..]))
        }
        "trap" => {
            let mut words = command.arguments().iter().map(|word| word.text.as_str());
            words
                .find(|text| *text != "--")
                .map_or(Inside::Nothing, |text| Inside::Script(text.into()))
        }
        "find" | "fd" => executed(&command.words),
        "su" | "script" | "flock" | "runuser" if option_value(command, "-c").is_some() => {
            Inside::Script(option_value(command, "-c").unwrap_or_default().to_owned())
        }
        "env" if command.arguments().iter().any(|word| splits(&word.text)) => {
            let words = command.arguments();
            let at = words.iter().position(|word| splits(&word.text)).unwrap_or_default();
            let text = texts(&words[at..]);
            let option = ["--split-string=", "--split-string", "-S"];
            let rest = option.iter().find_map(|option| text.strip_prefix(option));
            Inside::Script(rest.unwrap_or_default().trim_start().to_owned())
        }
        "command" if command.arguments().first().is_some_and(|word| is_question(&word.text)) => {
            Inside::Nothing
        }
        // An expansion may come to nothing, and then the next word is the program.
        _ if !command.words.is_empty() && !command.is_named() => {
            let known = |word: &Word| word.form == Form::Literal;
            let at = command.words.iter().position(known);
            let rest = |at| {
                Inside::Words(std::iter::once(at..command.words.len()).collect(), Layer::Plain)
            };
            at.map_or(Inside::Nothing, rest)
        }
        _ => match WRAPPERS.iter().find(|wrapper| wrapper.name == name) {
            Some(wrapper) => wrapped(command, wrapper),
            None => Inside::Nothing,
        },
    }
}

/// `env -S 'cmd arg'`.
fn splits(option: &str) -> bool {
    option.starts_with("-S") || option.starts_with("--split-string")
}

/// `command -v rm` only says where `rm` is.
fn is_question(option: &str) -> bool {
    option.starts_with("-v") || option.starts_with("-V") || option.starts_with("-pv")
}

fn wrapped(command: &Command, wrapper: &Wrapper) -> Inside {
    let words = &command.words;
    let mut at = 1;
    let mut operands = wrapper.operands;
    while let Some(word) = words.get(at) {
        let text = word.text.as_str();
        if text == "--" {
            at += 1 + operands;
            break;
        } else if text.len() > 1 && text.starts_with('-') {
            at += if takes_next(wrapper.valued, text) { 2 } else { 1 };
        } else if text == "!" && wrapper.name == "time" {
            at += 1;
        } else if is_assignment(text) && matches!(wrapper.name, "env" | "sudo" | "doas") {
            break;
        } else if operands > 0 {
            operands -= 1;
            at += 1;
        } else {
            break;
        }
    }
    if at >= words.len() {
        return Inside::Nothing;
    }
    if matches!(wrapper.name, "ssh" | "watch" | "parallel") {
        let rest = words[at..].iter().map(|word| word.text.as_str()).collect::<Vec<_>>();
        return Inside::Script(rest.join(" "));
    }
    // `time -o FILE` writes a file; the other thin wrappers have no such option.
    let layer = if wrapper.name == "time" && at > 1 { Layer::Plain } else { wrapper.layer };
    Inside::Words(std::iter::once(at..words.len()).collect(), layer)
}

/// Whether the next word is the value of an option, or of the last one of several (`-nu root`).
fn takes_next(valued: &[&str], text: &str) -> bool {
    if text.starts_with("--") {
        return valued.contains(&text);
    }
    let is_valued = |letter: char| {
        valued.iter().any(|option| option.strip_prefix('-').is_some_and(|o| o.chars().eq([letter])))
    };
    // What follows the first letter with a value in the word is that value.
    text.chars().skip(1).position(is_valued).is_some_and(|at| at + 2 == text.chars().count())
}

/// The commands of `find … -exec CMD ; -exec CMD +`.
fn executed(words: &[Word]) -> Inside {
    let starts = ["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec"];
    let mut ranges = vec![];
    let mut from = None;
    for (at, word) in words.iter().enumerate() {
        let text = word.text.as_str();
        match from {
            None if starts.contains(&text) => from = Some(at + 1),
            Some(start) if text == ";" || (text == "+" && words[at - 1].text == "{}") => {
                ranges.push(start..at);
                from = None;
            }
            None | Some(_) => {}
        }
    }
    ranges.extend(from.map(|start| start..words.len()));
    if ranges.is_empty() { Inside::Nothing } else { Inside::Words(ranges, Layer::Plain) }
}

/// Takes `A=1` from the front.
fn take_assignments(words: &[Word], assignments: &mut Vec<String>) -> Vec<Word> {
    let count = words.iter().take_while(|word| is_assignment(&word.text)).count();
    let names = words[..count].iter().filter_map(|word| word.text.split_once('='));
    assignments.extend(names.map(|(name, _)| name.to_owned()));
    words[count..].to_vec()
}

fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| {
        let named = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        named && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
    })
}

/// The value of an option: the next word, or the rest of its own.
fn option_value<'c>(command: &'c Command, option: &str) -> Option<&'c str> {
    let mut words = command.arguments().iter().map(|word| word.text.as_str());
    let found = words.find(|text| text.starts_with(option) && !text.starts_with("--"))?;
    if found.len() > option.len() { Some(&found[option.len()..]) } else { words.next() }
}

enum ShellScript<'c> {
    Given(&'c str),
    File,
    Input,
}

/// Where a shell's script comes from.
fn shell_script(command: &Command) -> ShellScript<'_> {
    let mut words = command.arguments().iter().map(|word| word.text.as_str());
    let (mut given, mut from_input) = (false, false);
    while let Some(text) = words.next() {
        if text == "--" && from_input && !given {
            return ShellScript::Input;
        }
        if text == "--" {
            return operand(words.next(), given);
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
            return ShellScript::Input;
        } else {
            return operand(Some(text), given);
        }
    }
    ShellScript::Input
}

/// The script of `sh -c`. Where it is an expansion that may come to nothing, the next word may be
/// the script instead.
fn given_script(command: &Command, text: &str) -> String {
    let words = &command.words;
    let is_script = |word: &Word| std::ptr::eq(word.text.as_str(), text);
    let at = words.iter().position(is_script).unwrap_or(words.len());
    let known = words[at..].iter().position(|word| word.form == Form::Literal);
    let end = known.map_or(words.len(), |known| at + known + 1);
    let scripts: Vec<&str> = words[at..end].iter().map(|word| word.text.as_str()).collect();
    scripts.join("\n")
}

fn operand(text: Option<&str>, given: bool) -> ShellScript<'_> {
    match text {
        Some(text) if given => ShellScript::Given(text),
        Some("/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0") | None => ShellScript::Input,
        Some(_) => ShellScript::File,
    }
}

/// The script of a shell that reads a text which stands in the line: `echo '…' | sh`, `sh <<< …`.
fn piped_script(command: &Command, found: &Line) -> Option<String> {
    if let Some(text) = command.input_text() {
        // Empty where the body of a document is still to come.
        return (!text.is_empty()).then(|| text.to_owned());
    }
    let source = found.range(&command.feeds).last()?;
    if !matches!(source.name(), "echo" | "printf") {
        return None;
    }
    let options = |word: &&Word| matches!(word.text.as_str(), "-e" | "-n" | "-ne" | "-en" | "--");
    let words = source.arguments().iter().skip_while(options);
    let text: Vec<&str> = words.map(|word| word.text.as_str()).collect();
    // `printf` and some `echo` make a line end of `\n`.
    (!text.is_empty()).then(|| text.join(" ").replace("\\n", "\n"))
}
