//! Accounts, boot, services and start-up of the machine.

use super::super::rule::Need::{Always, Required};
use super::view::View;
use super::{BuiltIn, Class, Need, Test};

const fn rule(id: &'static str, need: Need, about: &'static str, test: Test) -> BuiltIn {
    BuiltIn { id, class: Class::SystemConfig, need, about, test }
}

pub(super) const RULES: &[BuiltIn] = &[
    rule(
        "system.passwd",
        Always,
        "changes the files of accounts",
        Test::CommandOrWrites(
            |view| view.is(&["vipw", "vigr"]),
            &["/etc/passwd", "/etc/group", "/etc/shadow", "/etc/gshadow", "/etc/master.passwd"],
        ),
    ),
    rule(
        "system.sudoers",
        Always,
        "changes who may act as the administrator",
        Test::CommandOrWrites(
            |view| view.is(&["visudo"]),
            &["/etc/sudoers", "/etc/sudoers.d/**", "/etc/doas.conf", "/etc/pam.d/**"],
        ),
    ),
    rule(
        "system.accounts",
        Required,
        "creates, changes or removes accounts",
        Test::Command(|view| {
            view.is(&[
                "useradd", "userdel", "usermod", "adduser", "deluser", "groupadd", "groupdel",
                "groupmod", "passwd", "chpasswd", "chsh", "gpasswd", "dscl",
            ])
        }),
    ),
    rule(
        "system.boot",
        Always,
        "changes how the machine starts",
        Test::CommandOrWrites(
            |view| {
                view.is(&[
                    "grub-install",
                    "update-grub",
                    "grub-mkconfig",
                    "grub2-mkconfig",
                    "efibootmgr",
                    "bootctl",
                    "lilo",
                    "nvram",
                ])
            },
            &["/boot/**", "/etc/default/grub", "/etc/grub.d/**", "/etc/inittab"],
        ),
    ),
    rule(
        "system.scheduled",
        Required,
        "schedules commands that run later",
        Test::CommandOrWrites(
            |view| {
                (view.is(&["crontab"]) && !view.flag('l', "list"))
                    || view.is(&["at", "batch", "systemd-run"])
            },
            &[
                "/etc/cron*/**",
                "/var/spool/cron/**",
                "/etc/systemd/**",
                ".config/systemd/**",
                "Library/LaunchAgents/**",
                "Library/LaunchDaemons/**",
            ],
        ),
    ),
    rule(
        "system.services",
        Required,
        "stops or switches services",
        Test::Command(|view| {
            let verbs = [
                "stop", "disable", "mask", "kill", "enable", "isolate", "unload", "bootout",
                "remove",
            ];
            (view.is(&["systemctl", "launchctl", "rc-update"]) && view.does(&verbs))
                || (view.is(&["service", "rc-service"]) && view.has("stop"))
                || (view.is(&["update-rc.d", "chkconfig"]))
        }),
    ),
    rule(
        "system.kernel",
        Always,
        "changes the running kernel",
        Test::CommandOrWrites(
            |view| {
                view.is(&["insmod", "rmmod", "modprobe", "kexec", "kextload", "kextunload"])
                    || (view.is(&["sysctl"])
                        && (view.flag('w', "write")
                            || view.operands.iter().any(|text| text.contains('='))))
            },
            &[
                "/proc/sys/**",
                "/proc/sysrq-trigger",
                "/sys/**",
                "/etc/sysctl.conf",
                "/etc/sysctl.d/**",
                "/etc/modprobe.d/**",
            ],
        ),
    ),
    rule(
        "system.preload",
        Always,
        "loads code into every program",
        Test::Writes(&["/etc/ld.so.preload", "/etc/ld.so.conf", "/etc/ld.so.conf.d/**"]),
    ),
    rule(
        "system.startup_files",
        Required,
        "changes what a shell runs when it starts",
        Test::Writes(&[
            ".bashrc",
            ".bash_profile",
            ".bash_login",
            ".profile",
            ".zshrc",
            ".zshenv",
            ".zprofile",
            ".config/fish/config.fish",
            "/etc/profile",
            "/etc/profile.d/**",
            "/etc/bash.bashrc",
            "/etc/environment",
            "/etc/zsh/**",
        ]),
    ),
    rule(
        "system.names_and_mounts",
        Required,
        "changes names, resolvers or mounts",
        Test::CommandOrWrites(
            is_mount,
            &[
                "/etc/hosts",
                "/etc/resolv.conf",
                "/etc/nsswitch.conf",
                "/etc/fstab",
                "/etc/hostname",
            ],
        ),
    ),
    rule(
        "system.git_hooks",
        Required,
        "changes what git runs by itself",
        Test::CommandOrWrites(
            |view| view.is(&["git"]) && view.has("core.hooksPath"),
            &[".git/hooks/**"],
        ),
    ),
];

fn is_mount(view: &View<'_>) -> bool {
    (view.is(&["mount"]) && !view.operands.is_empty())
        || view.is(&["umount", "swapoff", "hostnamectl"])
}
