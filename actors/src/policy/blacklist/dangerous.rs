//! What harms the machine or its data at once.

use std::borrow::Cow;

use super::super::rule::Need::{Always, Required};
use super::super::shell::code;
use super::super::shell::reader::{SHELLS, reads_script};
use super::paths::is_disk;
use super::view::View;
use super::{BuiltIn, Class, Need, Test};

const fn rule(
    id: &'static str,
    need: Need,
    about: &'static str,
    test: fn(&View<'_>) -> bool,
) -> BuiltIn {
    BuiltIn { id, class: Class::DangerousCommands, need, about, test: Test::Command(test) }
}

pub(super) const RULES: &[BuiltIn] = &[
    rule("dangerous.fork_bomb", Always, "starts processes without end", |view| {
        view.name.strip_suffix("()").is_some_and(|function| {
            let calls = |range| view.line.range(range).iter().any(|other| other.name() == function);
            view.line.commands.iter().any(|other| other.name() == function && calls(&other.feeds))
        })
    }),
    rule("dangerous.disk_write", Always, "writes onto a disk itself", |view| {
        view.written.iter().any(|path| is_disk(path))
    }),
    rule("dangerous.format", Always, "formats or partitions a disk", |view| {
        view.name.starts_with("mkfs")
            || view.name.starts_with("newfs")
            || view.is(&[
                "mke2fs",
                "mkswap",
                "wipefs",
                "fdisk",
                "sfdisk",
                "cfdisk",
                "gdisk",
                "sgdisk",
                "parted",
                "blkdiscard",
                "pvremove",
                "vgremove",
                "lvremove",
            ])
            || (view.is(&["cryptsetup"]) && view.does(&["luksFormat", "erase", "luksErase"]))
            || (view.is(&["diskutil"]) && view.verb().starts_with("erase"))
            || (view.is(&["zpool", "zfs"]) && view.does(&["destroy"]))
    }),
    rule("dangerous.power", Required, "stops or restarts the machine", |view| {
        view.is(&["shutdown", "reboot", "halt", "poweroff"])
            || (view.is(&["init", "telinit"]) && view.does(&["0", "6", "1", "S"]))
            || (view.is(&["systemctl"])
                && view.does(&["poweroff", "reboot", "halt", "kexec", "rescue", "emergency"]))
    }),
    rule("dangerous.kill_all", Required, "ends every process, or the first one", |view| {
        let all = |at: usize, text: &str| (text == "-1" && at > 0) || text == "1";
        let words = || view.command.arguments().iter().map(|word| word.text.as_str()).enumerate();
        (view.is(&["kill"]) && words().any(|(at, text)| all(at, text)))
            || view.is(&["killall5"])
            || (view.is(&["pkill"]) && view.does(&[".", ".*", ""]))
            || (view.is(&["killall", "pkill"]) && view.flag('u', "user"))
    }),
    rule(
        "dangerous.decoded_script",
        Always,
        "runs a script that is hidden by an encoding",
        |view| runs_output_of(view, is_decoder),
    ),
    rule("dangerous.inline_code", Required, "runs programs from code within the line", |view| {
        code::runs_programs(view.command, view.line)
    }),
    rule("dangerous.hide_history", Required, "hides what was done", |view| {
        let history =
            |path: &Cow<'_, str>| path.ends_with("_history") || path.ends_with(".lesshst");
        (view.is(&["history"]) && view.flag('c', "clear"))
            || (view.is(&["unset"]) && view.has("HISTFILE"))
            || view.command.assignments.iter().any(|name| name == "HISTFILE")
            || view.written.iter().any(history)
    }),
    rule("dangerous.git_discard", Required, "throws away commits or changes for good", |view| {
        view.is(&["git"]) && discards(view)
    }),
    rule("dangerous.container_escape", Always, "gives a container the whole machine", |view| {
        let host = ["--privileged", "--pid=host", "--cap-add=ALL", "--cap-add=SYS_ADMIN"];
        view.is(&["docker", "podman", "nerdctl"])
            && (host.iter().any(|option| view.has(option))
                || view.operands.iter().any(|text| text.starts_with("/:"))
                || view.has_prefix("-v/:")
                || view.has_prefix("--volume=/:"))
    }),
    rule("dangerous.database_drop", Required, "drops or empties a database", |view| {
        let programs = [
            "psql",
            "mysql",
            "mariadb",
            "sqlite3",
            "sqlcmd",
            "clickhouse-client",
            "mongosh",
            "mongo",
        ];
        let verbs = ["drop database", "drop table", "drop schema", "truncate ", "dropdatabase("];
        let says = |text: &str| {
            let lower = text.to_lowercase();
            verbs.iter().any(|verb| lower.contains(verb))
        };
        let fed = || {
            view.command.input_text().is_some_and(says)
                || view
                    .others(&view.command.feeds)
                    .any(|other| other.operands.iter().any(|text| says(text)))
        };
        view.is(&["dropdb"])
            || (view.is(&programs)
                && (view.command.words.iter().any(|word| says(&word.text)) || fed()))
            || (view.is(&["redis-cli"])
                && view
                    .operands
                    .iter()
                    .any(|text| ["flushall", "flushdb"].contains(&text.to_lowercase().as_str())))
    }),
    rule("dangerous.infrastructure", Required, "destroys machines or services elsewhere", |view| {
        let words = || view.operands.iter().copied();
        match view.name {
            "terraform" | "tofu" | "pulumi" | "cdk" => words().any(|word| word == "destroy"),
            "kubectl" | "oc" => view.does(&["delete", "drain"]),
            "helm" => view.does(&["uninstall", "delete"]),
            "aws" => {
                words().any(|word| {
                    word.starts_with("delete-") || word.starts_with("terminate-") || word == "rb"
                }) || (words().any(|word| word == "rm") && view.has("--recursive"))
            }
            "gcloud" | "az" | "doctl" | "heroku" | "fly" | "flyctl" => words()
                .any(|word| word == "delete" || word == "destroy" || word.ends_with(":destroy")),
            "docker" | "podman" => view.has("prune"),
            _ => false,
        }
    }),
];

/// Whether it runs as a script what one of these commands puts out.
pub(super) fn runs_output_of(view: &View<'_>, is_source: fn(&View<'_>) -> bool) -> bool {
    if view.command.feeds.is_empty() && view.command.nested.is_empty() {
        return false;
    }
    let interpreters = ["python", "python3", "perl", "ruby", "node", "php", "lua"];
    let reads = reads_script(view.command)
        || (interpreters.contains(&view.name) && (view.operands.is_empty() || view.has("-")));
    let runs_words = SHELLS.contains(&view.name)
        || interpreters.contains(&view.name)
        || matches!(view.name, "eval" | "source" | ".")
        || !view.command.is_named();
    (reads && view.others(&view.command.feeds).any(|other| is_source(&other)))
        || (runs_words && view.others(&view.command.nested).any(|other| is_source(&other)))
}

fn is_decoder(view: &View<'_>) -> bool {
    match view.name {
        "base64" | "base32" | "basenc" | "gbase64" => {
            view.flag('d', "decode") || view.flag('D', "decode")
        }
        "openssl" => view.has("-d") || view.has("-D"),
        "xxd" => view.flag('r', "revert"),
        "uudecode" | "rev" | "tr" | "gpg" => true,
        _ => false,
    }
}

fn discards(view: &View<'_>) -> bool {
    let verb = view.operands.iter().copied().find(|word| {
        matches!(
            *word,
            "push"
                | "reset"
                | "clean"
                | "branch"
                | "filter-branch"
                | "filter-repo"
                | "checkout"
                | "restore"
                | "stash"
                | "reflog"
                | "update-ref"
        ) || matches!(
            *word,
            "commit" | "log" | "rm" | "grep" | "show" | "diff" | "add" | "tag" | "config"
        )
    });
    match verb {
        Some("push") => {
            view.flag('f', "force")
                || view.has_prefix("--force-with-lease")
                || view.has("--mirror")
                || view.flag('d', "delete")
                || view.operands.iter().any(|word| word.starts_with('+') || word.starts_with(':'))
        }
        Some("reset") => view.has("--hard"),
        Some("clean") => view.flag('f', "force"),
        Some("branch") => view.flag('D', "delete-force"),
        Some("stash") => view.has("clear") || view.has("drop"),
        Some("reflog") => view.has("expire") || view.has("delete"),
        Some("update-ref") => view.has("-d"),
        Some("checkout" | "restore") => view.has(".") || view.flag('f', "force"),
        Some("filter-branch" | "filter-repo") => true,
        Some(_) | None => false,
    }
}
