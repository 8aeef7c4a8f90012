//! Programs that run the rest of their words as a command, or the value of an option.

use super::{Command, Layer};

/// A program that runs the rest of its words as a command.
pub(super) struct Wrapper {
    pub(super) name: &'static str,
    /// Its options that take the next word as their value.
    valued: &'static [&'static str],
    /// Words of its own before the command begins.
    operands: usize,
    pub(super) layer: Layer,
}

const fn thin(name: &'static str, valued: &'static [&'static str], operands: usize) -> Wrapper {
    Wrapper { name, valued, operands, layer: Layer::Wrapper }
}

/// It adds rights, other arguments or another place: a rule has to allow it too.
const fn thick(name: &'static str, valued: &'static [&'static str], operands: usize) -> Wrapper {
    Wrapper { name, valued, operands, layer: Layer::Plain }
}

const WRAPPERS: [Wrapper; 49] = [
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
    thick(
        "setpriv",
        &[
            "--reuid",
            "--regid",
            "--ruid",
            "--euid",
            "--rgid",
            "--egid",
            "--groups",
            "--bounding-set",
            "--inh-caps",
            "--ambient-caps",
            "--securebits",
            "--pdeathsig",
            "--selinux-label",
            "--apparmor-profile",
        ],
        0,
    ),
    thick("chroot", &[], 1),
    thick(
        "unshare",
        &[
            "-S",
            "-G",
            "-R",
            "-w",
            "-l",
            "--setuid",
            "--setgid",
            "--root",
            "--wd",
            "--propagation",
            "--setgroups",
            "--monotonic",
            "--boottime",
            "--map-user",
            "--map-group",
        ],
        0,
    ),
    thick("nsenter", &["-t", "-S", "-G", "--target", "--setuid", "--setgid"], 0),
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
    thick(
        "strace",
        &[
            "-e",
            "-o",
            "-p",
            "-u",
            "-s",
            "-E",
            "-P",
            "-a",
            "-b",
            "-I",
            "-O",
            "-S",
            "-X",
            "-U",
            "--user",
            "--output",
            "--attach",
            "--string-limit",
            "--env",
        ],
        0,
    ),
    thick(
        "ltrace",
        &["-e", "-o", "-p", "-u", "-s", "-x", "-a", "-A", "-D", "-F", "-l", "-n", "-w"],
        0,
    ),
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
    thick("firejail", &[], 0),
    thick("proot", &["-r", "-b", "-w"], 0),
    thick(
        "systemd-run",
        &[
            "-u",
            "-p",
            "-M",
            "-H",
            "-E",
            "-t",
            "--unit",
            "--property",
            "--machine",
            "--host",
            "--setenv",
            "--uid",
            "--gid",
            "--slice",
            "--nice",
            "--working-directory",
            "--description",
            "--on-active",
            "--on-calendar",
        ],
        0,
    ),
    thick(
        "numactl",
        &[
            "-N",
            "-m",
            "-C",
            "-i",
            "-p",
            "-w",
            "-P",
            "--cpunodebind",
            "--membind",
            "--physcpubind",
            "--interleave",
            "--preferred",
            "--weighted-interleave",
        ],
        0,
    ),
    thick("chrt", &[], 1),
    thick("prlimit", &[], 0),
    thick("faketime", &["-f"], 1),
    thick("gosu", &[], 1),
    thick("su-exec", &[], 1),
    thick("tini", &["-p", "-e"], 0),
    thick("dumb-init", &[], 0),
    thick("torsocks", &[], 0),
    thick("proxychains", &["-f"], 0),
    thick("valgrind", &[], 0),
    thick("dbus-run-session", &[], 0),
];

/// The wrapper of a name.
pub(super) fn of(name: &str) -> Option<&'static Wrapper> {
    WRAPPERS.iter().find(|wrapper| wrapper.name == name)
}

/// Where the command of a wrapper begins; beyond its words if it has none.
pub(super) fn begins(command: &Command, wrapper: &Wrapper) -> usize {
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
    at
}

/// The scripts in options and operands of programs that are no wrappers.
pub(super) fn option_scripts(command: &Command) -> Vec<String> {
    let prefixes: &[&str] = match command.name() {
        "tar" | "gtar" | "bsdtar" => {
            &["--checkpoint-action=exec=", "--to-command=", "--use-compress-program=", "-I"]
        }
        "ssh" | "scp" | "sftp" => &["ProxyCommand=", "-oProxyCommand=", "LocalCommand="],
        "rsync" => &["--rsh=", "--rsync-path="],
        "git" => &["core.pager=", "core.editor=", "core.sshCommand=", "--upload-pack=", "-x"],
        "tmux" | "screen" => {
            let words: Vec<&str> =
                command.arguments().iter().map(|word| word.text.as_str()).collect();
            let starts = (0..words.len()).filter(|at| !words[*at].starts_with('-')).take(4);
            // After the verb, or after the name of a session and its like.
            return starts.map(|at| words[at..].join(" ")).collect();
        }
        _ => return vec![],
    };
    let words = || command.arguments().iter().map(|word| word.text.as_str());
    let given =
        words().flat_map(|text| prefixes.iter().filter_map(|start| text.strip_prefix(start)));
    let alias = |text: &'_ str| {
        text.starts_with("alias.")
            .then(|| text.split_once("=!"))
            .flatten()
            .map(|(_, text)| text.to_owned())
    };
    let aliases = words().filter_map(alias).filter(|_| command.name() == "git");
    let next = words().zip(words().skip(1)).filter(|(option, text)| {
        let is_alias = option.starts_with("alias.") && text.starts_with('!');
        is_alias || matches!(*option, "--to-command" | "--rsh" | "-I" | "--exec" | "-x")
    });
    let next = next.map(|(_, text)| text.trim_start_matches('!'));
    given.chain(next).map(str::to_owned).chain(aliases).collect()
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

/// Whether a word sets a variable.
pub(super) fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| {
        let named = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        named && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
    })
}
