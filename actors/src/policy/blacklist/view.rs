//! A command as the rules look at it: its flags, its operands, the files that it writes and names.

use std::borrow::Cow;
use std::ops::Range;

use super::super::shell::{Command, Flow, Line};
use super::paths::{may_be_guarded, normal};

/// One command of a line.
pub(super) struct View<'l> {
    pub(super) line: &'l Line,
    pub(super) command: &'l Command,
    /// The program's name without its directory.
    pub(super) name: &'l str,
    /// The arguments that are no options.
    pub(super) operands: Vec<&'l str>,
    /// The files that it may write.
    pub(super) written: Vec<Cow<'l, str>>,
    /// Everything in it that may be a path which a rule means.
    pub(super) named: Vec<Cow<'l, str>>,
}

/// Programs that write each of their operands.
const WRITERS: [&str; 24] = [
    "tee", "mv", "truncate", "rm", "unlink", "shred", "chmod", "chown", "chgrp", "chattr", "touch",
    "vi", "vim", "nvim", "nano", "emacs", "ed", "ex", "patch", "visudo", "vipw", "install", "ln",
    "sponge",
];

/// Programs that write their last operand.
const COPIERS: [&str; 4] = ["cp", "rsync", "scp", "ditto"];

impl<'l> View<'l> {
    pub(super) fn new(line: &'l Line, command: &'l Command) -> Self {
        let mut rest = command.arguments().iter().map(|word| word.text.as_str());
        let mut operands = vec![];
        while let Some(text) = rest.next() {
            if text == "--" {
                operands.extend(rest.by_ref());
            } else if !text.starts_with('-') || text == "-" {
                operands.push(text);
            }
        }
        let mut view =
            Self { line, command, name: command.name(), operands, written: vec![], named: vec![] };
        view.written = view.written();
        view.named = view.named();
        view
    }

    fn written(&self) -> Vec<Cow<'l, str>> {
        let redirects = self.command.redirects.iter().filter(|redirect| redirect.flow == Flow::Out);
        let mut files: Vec<&str> =
            redirects.map(|redirect| redirect.target.text.as_str()).collect();
        let edits = match self.name {
            "sed" | "perl" | "gsed" => self.flag('i', "in-place"),
            "dd" => {
                files.extend(self.operands.iter().filter_map(|text| text.strip_prefix("of=")));
                false
            }
            "curl" | "wget" => self.flag('o', "output") || self.flag('O', "output-document"),
            name => WRITERS.contains(&name),
        };
        if edits {
            files.extend(&self.operands);
        } else if COPIERS.contains(&self.name) {
            files.extend(self.operands.last());
        }
        files.into_iter().map(normal).collect()
    }

    fn named(&self) -> Vec<Cow<'l, str>> {
        let files = self.command.redirects.iter().filter(|redirect| redirect.flow != Flow::Text);
        // What `echo` says is only a name for who reads it: `echo FILE | xargs cat`.
        let says = |command: &&Command| matches!(command.name(), "echo" | "printf");
        let own = Some(self.command).filter(|command| !says(command));
        let read = self.line.range(&self.command.feeds).iter().filter(says);
        let words = own.into_iter().chain(read).flat_map(|command| &command.words);
        let words = words.chain(files.map(|redirect| &redirect.target));
        let texts = words.flat_map(|word| {
            let text = word.text.as_str();
            let value = text.split_once('=').map(|(_, value)| value);
            let file = text.split_once('@').map(|(_, file)| file);
            [Some(text), value, file].into_iter().flatten()
        });
        texts.filter(|text| may_be_path(text)).map(normal).collect()
    }

    /// Whether the program is one of these.
    pub(super) fn is(&self, names: &[&str]) -> bool {
        names.contains(&self.name)
    }

    /// Whether a flag is set: alone (`-r`), among others (`-fr`), or long (`--recursive`, also cut
    /// short as programs allow).
    pub(super) fn flag(&self, short: char, long: &str) -> bool {
        self.options().any(|text| match text.strip_prefix("--") {
            Some(name) => {
                let name = name.split_once('=').map_or(name, |(name, _)| name);
                name.len() >= 2 && long.starts_with(name)
            }
            None => text.contains(short),
        })
    }

    /// Whether one of the words is this.
    pub(super) fn has(&self, word: &str) -> bool {
        self.command.arguments().iter().any(|argument| argument.text == word)
    }

    /// Whether one of the words begins so.
    pub(super) fn has_prefix(&self, beginning: &str) -> bool {
        self.command.arguments().iter().any(|word| word.text.starts_with(beginning))
    }

    /// The first operand: the verb of programs such as `git` or `apt`.
    pub(super) fn verb(&self) -> &'l str {
        self.operands.first().copied().unwrap_or_default()
    }

    /// Whether the verb is one of these.
    pub(super) fn does(&self, verbs: &[&str]) -> bool {
        verbs.contains(&self.verb())
    }

    /// The operands as paths in one spelling.
    pub(super) fn targets(&self) -> impl Iterator<Item = Cow<'l, str>> + '_ {
        self.operands.iter().map(|operand| normal(operand))
    }

    /// The commands of a range of the line.
    pub(super) fn others(&self, range: &Range<usize>) -> impl Iterator<Item = View<'l>> + use<'l> {
        let line = self.line;
        line.range(range).iter().map(move |command| View::new(line, command))
    }

    fn options(&self) -> impl Iterator<Item = &'l str> + use<'l> {
        let texts = self.command.arguments().iter().map(|word| word.text.as_str());
        texts
            .take_while(|text| *text != "--")
            .filter(|text| text.len() > 1 && text.starts_with('-'))
    }
}

/// What a rule about paths could mean. It is no script.
fn may_be_path(text: &str) -> bool {
    text.len() < 4_096 && may_be_guarded(text) && !text.contains('\n')
}
