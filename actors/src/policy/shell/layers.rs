//! Commands that run other commands: what they run is added to the list behind them.

use std::ops::Range;

use super::parse::script;
use super::reader::{Source, filled, given_script, input, reads_script, said, source};
use super::wrapper::{self, Wrapper, begins, is_assignment};
use super::{Command, Flow, Form, Layer, Line, MAX_COMMANDS, MAX_DEPTH, SplitError, Word, code};

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
    if matches!(command.name(), "export" | "declare" | "local" | "typeset" | "readonly") {
        command.arguments().iter().for_each(|word| found.keep_value(&word.text));
    }
    let inside = inside(&command, found);
    let has_input = !command.feeds.is_empty() || !command.redirects.is_empty();
    let read = (has_input && takes_text(&command)).then(|| input(&command, found)).flatten();
    let reader = read.is_some().then(|| command.clone());
    let mut code = code::of_arguments(&command);
    code.scripts.extend(wrapper::option_scripts(&command));
    let said = program_said(&command, found);
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
    if let Some(text) = said {
        guess(found, |found| script(&text, found, depth + 1))?;
    }
    guess_runs(code, found, depth)?;
    match (reader, read) {
        (Some(reader), Some(text)) => run_text(&text, &reader, found, depth),
        (_, None) | (None, _) => Ok(()),
    }
}

/// Gives commands the text of their here-document. Who reads it, also behind a pipe, runs it.
pub(super) fn give_input(
    body: &str,
    readers: Range<usize>,
    found: &mut Line,
    depth: usize,
) -> Result<(), SplitError> {
    for command in found.commands.get_mut(readers.clone()).unwrap_or_default() {
        let text = command.redirects.iter_mut().rfind(|redirect| redirect.flow == Flow::Text);
        if let Some(text) = text {
            body.clone_into(&mut text.target.text);
        }
    }
    let later = found.commands.iter().enumerate().skip(readers.start);
    let reached = later.filter(|(at, command)| {
        let fed = command.feeds.start < readers.end && readers.start < command.feeds.end;
        readers.contains(at) || (fed && command.input_text().is_none())
    });
    let takers: Vec<Command> = reached
        .map(|(_, command)| command)
        .filter(|command| takes_text(command))
        .cloned()
        .collect();
    takers.iter().try_for_each(|command| run_text(body, command, found, depth))
}

/// Whether it runs what it gets as its input.
fn takes_text(command: &Command) -> bool {
    reads_script(command)
        || matches!(command.name(), "xargs" | "parallel")
        || code::reads_code(command)
        || reads_remotely(command)
}

/// `ssh HOST` without a command.
fn reads_remotely(command: &Command) -> bool {
    let wrapper = wrapper::of("ssh");
    command.name() == "ssh"
        && wrapper.is_some_and(|wrapper| begins(command, wrapper) >= command.words.len())
}

/// Adds what a command runs of a text that it reads.
fn run_text(
    text: &str,
    command: &Command,
    found: &mut Line,
    depth: usize,
) -> Result<(), SplitError> {
    let wrapper = wrapper::of(command.name());
    match wrapper.filter(|wrapper| matches!(wrapper.name, "xargs" | "parallel")) {
        Some(wrapper) if begins(command, wrapper) < command.words.len() => {
            let filled = filled(command, begins(command, wrapper), text);
            guess_runs(code::Runs { commands: filled, scripts: vec![] }, found, depth)
        }
        Some(_) => guess(found, |found| script(text, found, depth + 1)),
        None if reads_script(command) || reads_remotely(command) => script(text, found, depth + 1),
        None => guess_runs(code::of_input(command, text), found, depth),
    }
}

/// Adds what variables of the line hold, if one of its commands is a variable: `X='…'; $X`.
pub(super) fn run_values(found: &mut Line) -> Result<(), SplitError> {
    let values = std::mem::take(&mut found.values);
    let is_variable = |command: &Command| {
        command.words.first().is_some_and(|word| {
            word.form == Form::Computed
                && word.text.starts_with('$')
                && !word.text.starts_with("$(")
        })
    };
    if values.is_empty() || !found.commands.iter().any(is_variable) {
        return Ok(());
    }
    values.iter().try_for_each(|value| guess(found, |found| script(value, found, 1)))
}

fn guess_runs(runs: code::Runs, found: &mut Line, depth: usize) -> Result<(), SplitError> {
    for text in &runs.scripts {
        guess(found, |found| script(text, found, depth + 1))?;
    }
    for words in runs.commands {
        let command = Command { words, ..Command::default() };
        guess(found, |found| add(command, found, depth + 1))?;
    }
    Ok(())
}

/// Adds commands that may run. Where the text is none of a shell, what was read of it stays.
fn guess(
    found: &mut Line,
    read: impl FnOnce(&mut Line) -> Result<(), SplitError>,
) -> Result<(), SplitError> {
    let from = found.commands.len();
    let result = read(found);
    for command in found.commands.get_mut(from..).unwrap_or_default() {
        command.layer = Layer::Guess;
    }
    match result {
        Err(error @ (SplitError::TooDeep | SplitError::TooLong)) => Err(error),
        Err(
            SplitError::Unterminated { .. }
            | SplitError::Unexpected { .. }
            | SplitError::Ambiguous { .. },
        )
        | Ok(()) => Ok(()),
    }
}

/// What `$(echo rm) -rf /` makes of itself.
fn program_said(command: &Command, found: &Line) -> Option<String> {
    let (program, rest) = command.words.split_first()?;
    let substituted = program.form == Form::Computed && program.text.starts_with(['$', '`']);
    let said = substituted.then(|| said(found.range(&command.nested))).flatten()?;
    Some(rest.iter().fold(said, |text, word| text + " " + &word.text))
}

fn inside(command: &Command, found: &Line) -> Inside {
    let name = command.name();
    let texts = |words: &[Word]| -> String {
        words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
    };
    match name {
        _ if source(command).is_some() && wrapper::of(name).is_none() => match source(command) {
            Some(Source::Given(text)) => Inside::Script(given_script(command, text)),
            Some(Source::Nested) => {
                said(found.range(&command.nested)).map_or(Inside::Nothing, Inside::Script)
            }
            Some(Source::File | Source::Input) | None => Inside::Nothing,
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
        "alias" => {
            let values = command.arguments().iter().filter_map(|word| word.text.split_once('='));
            let values: Vec<&str> = values.map(|(_, value)| value).collect();
            if values.is_empty() { Inside::Nothing } else { Inside::Script(values.join("\n")) }
        }
        "find" | "fd" => executed(&command.words),
        "su" | "script" | "flock" | "runuser" if option_value(command, "-c").is_some() => {
            Inside::Script(option_value(command, "-c").unwrap_or_default().to_owned())
        }
        "env" if command.arguments().iter().any(|word| splits(&word.text)) => {
            let words = command.arguments();
            let at = words.iter().position(|word| splits(&word.text)).unwrap_or_default();
            let text = texts(&words[at..]);
            let long = ["--split-string=", "--split-string"];
            let rest = long.iter().find_map(|option| text.strip_prefix(option));
            let rest = rest.or_else(|| text.split_once('S').map(|(_, rest)| rest));
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
        _ => match wrapper::of(name) {
            Some(wrapper) => wrapped(command, wrapper),
            None => Inside::Nothing,
        },
    }
}

/// `env -S 'cmd arg'`, also behind letters without a value: `env -vS 'cmd arg'`.
fn splits(option: &str) -> bool {
    let letters = option.strip_prefix('-').unwrap_or_default();
    letters.trim_start_matches(['0', 'i', 'v']).starts_with('S')
        || option.starts_with("--split-string")
}

/// `command -v rm` only says where `rm` is.
fn is_question(option: &str) -> bool {
    option.starts_with("-v") || option.starts_with("-V") || option.starts_with("-pv")
}

fn wrapped(command: &Command, wrapper: &Wrapper) -> Inside {
    let words = &command.words;
    let at = begins(command, wrapper);
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

/// The value of an option: the next word, or the rest of its own.
fn option_value<'c>(command: &'c Command, option: &str) -> Option<&'c str> {
    let mut words = command.arguments().iter().map(|word| word.text.as_str());
    let found = words.find(|text| text.starts_with(option) && !text.starts_with("--"))?;
    if found.len() > option.len() { Some(&found[option.len()..]) } else { words.next() }
}
