//! Files that are lost for good.

use std::borrow::Cow;

use super::super::rule::Need::{Always, Required};
use super::super::shell::Command;
use super::super::shell::reader::place;
use super::paths::{is_home, is_root, is_system, normal};
use super::view::View;
use super::{BuiltIn, Class, Need, Test};

const fn rule(
    id: &'static str,
    need: Need,
    about: &'static str,
    test: fn(&View<'_>) -> bool,
) -> BuiltIn {
    BuiltIn { id, class: Class::Filesystem, need, about, test: Test::Command(test) }
}

pub(super) const RULES: &[BuiltIn] = &[
    rule("filesystem.remove_root", Always, "removes the root directory", |view| {
        removes(view) && (targets(view).any(|path| is_root(&path)) || in_place(view, is_root))
            || (view.is(&["rm"]) && view.has("--no-preserve-root"))
    }),
    rule("filesystem.remove_home", Always, "removes a home directory", |view| {
        removes(view) && (targets(view).any(|path| is_home(&path)) || in_place(view, is_home))
    }),
    rule("filesystem.remove_system", Always, "removes directories of the system", |view| {
        removes(view) && (targets(view).any(|path| is_system(&path)) || in_place(view, is_system))
    }),
    rule(
        "filesystem.remove_computed",
        Always,
        "changes or removes what nobody knows yet",
        is_computed,
    ),
    rule("filesystem.remove_all_here", Required, "removes everything in a directory", |view| {
        let all = |path: Cow<'_, str>| {
            let broad = matches!(path.as_ref(), "." | "*" | ".*" | "**");
            broad || path == ".." || path.starts_with("../")
        };
        removes(view) && targets(view).any(all)
    }),
    rule("filesystem.remove_repository", Required, "removes the history of a repository", |view| {
        removes(view) && targets(view).any(|path| path == ".git" || path.ends_with("/.git"))
    }),
    rule("filesystem.find_delete", Always, "removes what it finds in a large directory", |view| {
        let deletes = || {
            let removers = ["rm", "shred", "unlink"];
            view.has("-delete")
                || view.line.commands.iter().any(|other| {
                    removers.contains(&other.name())
                        && other.words.iter().any(|word| word.text == "{}")
                })
        };
        view.is(&["find", "fd"]) && view.targets().any(|path| is_large(&path)) && deletes()
    }),
    rule(
        "filesystem.move_away",
        Always,
        "moves a large directory, or files into nothing",
        |view| {
            view.is(&["mv"])
                && (view.targets().any(|path| path == "/dev/null")
                    || sources(view)
                        .any(|path| is_root(&path) || is_home(&path) || is_whole_system(&path)))
        },
    ),
    rule(
        "filesystem.shred",
        Required,
        "overwrites files so that nothing can restore them",
        |view| view.is(&["shred", "srm", "wipe"]),
    ),
    rule(
        "filesystem.mirror_delete",
        Required,
        "removes files that the source does not have",
        |view| {
            view.is(&["rsync"]) && view.has_prefix("--delete")
                || view.is(&["rclone"]) && view.does(&["sync", "purge", "delete"])
        },
    ),
    rule(
        "filesystem.permissions_of_all",
        Always,
        "changes rights or owners of a large directory",
        |view| {
            view.is(&["chmod", "chown", "chgrp", "setfacl", "chattr"])
                && view.flag('R', "recursive")
                && view.targets().any(|path| is_large(&path))
        },
    ),
    rule("filesystem.world_writable", Required, "lets every user write files", |view| {
        let open = |mode: &&str| {
            let digits = mode.chars().all(|c| c.is_digit(8)) && mode.len() >= 3;
            let others = digits && mode.ends_with(['2', '3', '6', '7']);
            let symbolic = ["o+", "a+", "ugo+", "o=", "a=", "ugo="];
            others
                || symbolic
                    .iter()
                    .any(|who| mode.strip_prefix(who).is_some_and(|to| to.contains('w')))
        };
        view.is(&["chmod"]) && view.operands.first().is_some_and(open)
    }),
];

/// Whether it removes whole directories. A program whose name is computed counts if its flags say
/// so: `X=rm; $X -rf /`.
fn removes(view: &View<'_>) -> bool {
    let computed = !view.command.is_named() && view.flag('f', "force");
    (view.is(&["rm", "grm"]) || computed)
        && (view.flag('r', "recursive") || view.flag('R', "recursive"))
}

/// What it removes: its operands, and what `echo … | xargs` gives it.
fn targets<'v>(view: &'v View<'_>) -> impl Iterator<Item = Cow<'v, str>> + 'v {
    let echoes = view.others(&view.command.feeds).filter(|other| other.is(&["echo", "printf"]));
    let given = echoes.flat_map(|other| other.operands.clone()).map(normal);
    view.targets().chain(given)
}

/// Whether it removes, overwrites or changes whole directories or disks that only the running line
/// knows: a variable, a substitution, what `xargs` reads. An empty variable leaves `/` behind.
fn is_computed(view: &View<'_>) -> bool {
    if removes(view) {
        return targets(view).next().is_none() || targets(view).any(|path| unknown(view, &path));
    }
    match view.name {
        "chmod" | "chown" | "chgrp" | "setfacl" | "chattr" => {
            let of = view.operands.iter().skip(1);
            view.flag('R', "recursive") && {
                let mut of = of.peekable();
                of.peek().is_none() || of.any(|path| unknown(view, &normal(path)))
            }
        }
        "dd" => view
            .operands
            .iter()
            .filter_map(|text| text.strip_prefix("of="))
            .any(|path| unknown(view, &normal(path))),
        "find" => {
            view.has("-delete") && view.targets().next().is_some_and(|path| unknown(view, &path))
        }
        _ => false,
    }
}

/// Whether a target is known only when the line runs. A pattern in a directory with a name is
/// known well enough, and so is what is below the home directory.
fn unknown(view: &View<'_>, path: &str) -> bool {
    let lines = &view.line.commands;
    let moved = || lines.iter().flat_map(|command| &command.assignments).any(|name| name == "HOME");
    let first = path.strip_prefix('/').and_then(|path| path.split('/').next());
    let given = |command: &Command| {
        matches!(command.name(), "xargs" | "parallel") && path.contains(place(command))
    };
    path.contains(['$', '`'])
        || path.starts_with("<(")
        || (path.starts_with('~') && moved())
        || first.is_some_and(|first| first.len() > 1 && first.contains(['*', '?', '[', '{']))
        || lines.iter().any(given)
}

/// Whether it removes all in a directory that the line went to: `cd / && rm -rf *`.
fn in_place(view: &View<'_>, is_place: fn(&str) -> bool) -> bool {
    let all = targets(view).any(|path| matches!(path.as_ref(), "." | "*" | ".*" | "**"));
    let goes = |name: &str| matches!(name, "cd" | "pushd");
    all && view.line.commands.iter().filter(|other| goes(other.name())).any(|other| {
        let place = other.arguments().first().map_or("~", |word| word.text.as_str());
        is_place(&normal(place))
    })
}

fn is_large(path: &str) -> bool {
    is_root(path) || is_home(path) || is_system(path)
}

/// A directory directly under the root.
fn is_whole_system(path: &str) -> bool {
    is_system(path) && path.matches('/').count() == 1
}

fn sources<'v>(view: &'v View<'_>) -> impl Iterator<Item = Cow<'v, str>> + 'v {
    let count = view.operands.len().saturating_sub(1);
    view.targets().take(count)
}
