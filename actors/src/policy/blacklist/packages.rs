//! What is installed, removed or published.

use super::super::rule::Need::{Always, Required};
use super::view::View;
use super::{BuiltIn, Class, Need, Test};

const fn rule(
    id: &'static str,
    need: Need,
    about: &'static str,
    test: fn(&View<'_>) -> bool,
) -> BuiltIn {
    BuiltIn { id, class: Class::Packages, need, about, test: Test::Command(test) }
}

/// Package managers of operating systems.
const SYSTEM: [&str; 14] = [
    "apt", "apt-get", "aptitude", "dpkg", "yum", "dnf", "rpm", "zypper", "apk", "pacman", "brew",
    "snap", "flatpak", "port",
];

/// Packages without which a machine does not start or cannot be repaired.
const ESSENTIAL: [&str; 18] = [
    "apt",
    "bash",
    "coreutils",
    "dpkg",
    "glibc",
    "init",
    "kernel",
    "libc6",
    "openssh-server",
    "pacman",
    "python3",
    "rpm",
    "sudo",
    "systemd",
    "util-linux",
    "dnf",
    "busybox",
    "musl",
];

pub(super) const RULES: &[BuiltIn] = &[
    rule("packages.remove_system", Always, "removes what the system needs to start", |view| {
        let essential = |text: &&str| {
            let name = text.split([':', '=']).next().unwrap_or_default();
            ESSENTIAL.contains(&name)
                || name.starts_with("linux-image")
                || name.starts_with("kernel-")
        };
        removes(view) && (view.operands.iter().skip(1).any(essential) || bare(view, essential))
            || view.has("--allow-remove-essential")
            || (view.is(&["dpkg"]) && view.has_prefix("--force-"))
    }),
    rule("packages.remove", Required, "removes packages of the system", removes),
    rule("packages.install_system", Required, "installs packages for the whole machine", |view| {
        let verbs =
            ["install", "upgrade", "dist-upgrade", "full-upgrade", "add", "update", "localinstall"];
        match view.name {
            "pacman" => view.flag('S', "sync") || view.flag('U', "upgrade"),
            "dpkg" | "rpm" => view.flag('i', "install") || view.flag('U', "upgrade"),
            name if SYSTEM.contains(&name) => view.does(&verbs) && !view.has("list"),
            _ => false,
        }
    }),
    rule("packages.install_global", Required, "installs packages beyond the project", |view| {
        match view.name {
            "npm" | "pnpm" | "bun" => {
                let installs = view.does(&["install", "i", "add", "link"]);
                installs && (view.flag('g', "global") || view.has("--location=global"))
            }
            "yarn" => view.does(&["global"]),
            "pip" | "pip3" => view.does(&["install"]) && view.has("--break-system-packages"),
            "gem" => view.does(&["install"]),
            _ => false,
        }
    }),
    rule(
        "packages.untrusted_source",
        Required,
        "takes packages from another or an unproven source",
        |view| {
            let index = [
                "--index-url",
                "--extra-index-url",
                "--trusted-host",
                "--registry",
                "--allow-unauthenticated",
                "--allow-untrusted",
                "--nogpgcheck",
                "--force-yes",
                "--no-gpg-checks",
            ];
            let managers = ["npm", "pnpm", "yarn", "bun", "pip", "pip3", "uv", "cargo"];
            let manages = managers.contains(&view.name) || SYSTEM.contains(&view.name);
            (manages && index.iter().any(|option| view.has_prefix(option)))
                || (view.is(&["pip", "pip3"]) && view.does(&["install"]) && view.has("-i"))
                || view.is(&["add-apt-repository", "apt-key"])
        },
    ),
    rule("packages.publish", Required, "publishes a package to everyone", |view| match view.name {
        "npm" | "pnpm" | "yarn" | "bun" | "cargo" | "poetry" | "uv" | "flit" | "hatch" => {
            view.operands
                .iter()
                .any(|word| *word == "publish" || *word == "unpublish" || *word == "yank")
                && view.does(&["publish", "unpublish", "yank", "npm"])
        }
        "twine" => view.does(&["upload"]),
        "gem" => view.does(&["push", "yank"]),
        "docker" | "podman" => view.does(&["push"]),
        "mvn" => view.has("deploy"),
        _ => false,
    }),
];

fn removes(view: &View<'_>) -> bool {
    match view.name {
        "pacman" => view.flag('R', "remove"),
        "dpkg" => view.flag('r', "remove") || view.flag('P', "purge"),
        "rpm" => view.flag('e', "erase"),
        name if SYSTEM.contains(&name) => view.does(&[
            "remove",
            "purge",
            "autoremove",
            "autopurge",
            "erase",
            "del",
            "rm",
            "uninstall",
            "delete",
        ]),
        _ => false,
    }
}

/// For managers without a verb the first operand is a package too.
fn bare(view: &View<'_>, is_essential: impl Fn(&&str) -> bool) -> bool {
    view.is(&["pacman", "dpkg", "rpm"]) && view.operands.first().is_some_and(is_essential)
}
