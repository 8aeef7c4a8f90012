//! Ways in and out.

use super::super::rule::Need::{Always, Required};
use super::dangerous::runs_output_of;
use super::{BuiltIn, Class, Need, Test};
use crate::policy::shell::Flow;

const fn rule(id: &'static str, need: Need, about: &'static str, test: Test) -> BuiltIn {
    BuiltIn { id, class: Class::Network, need, about, test }
}

pub(super) const RULES: &[BuiltIn] = &[
    rule(
        "network.disable_firewall",
        Always,
        "switches protection off",
        Test::Command(|view| match view.name {
            "iptables" | "ip6tables" | "iptables-legacy" | "ebtables" => {
                view.flag('F', "flush")
                    || view.flag('X', "delete-chain")
                    || (view.flag('P', "policy") && view.has("ACCEPT"))
            }
            "nft" => view.does(&["flush", "delete"]),
            "ufw" => view.has("disable") || view.has("reset"),
            "pfctl" => view.flag('d', "disable") || view.flag('F', "flush"),
            "setenforce" => view.does(&["0", "Permissive", "permissive"]),
            "firewall-cmd" => view.has_prefix("--panic-off") || view.has_prefix("--remove-"),
            "aa-disable" | "aa-teardown" | "spctl" | "csrutil" => true,
            _ => false,
        }),
    ),
    rule(
        "network.ssh_access",
        Always,
        "changes who may log in over SSH",
        Test::CommandOrWrites(
            |view| view.is(&["ssh-copy-id"]),
            &[
                ".ssh/authorized_keys",
                ".ssh/authorized_keys2",
                ".ssh/config",
                ".ssh/rc",
                "/etc/ssh/**",
            ],
        ),
    ),
    rule(
        "network.remote_script",
        Required,
        "runs a script from the network without a look at it",
        Test::Command(|view| {
            runs_output_of(view, |other| {
                other.is(&["curl", "wget", "fetch", "nc", "ncat", "aria2c", "http", "lynx"])
            })
        }),
    ),
    rule(
        "network.reverse_shell",
        Always,
        "gives a shell to another machine",
        Test::Command(|view| {
            let socket = |text: &str| text.contains("/dev/tcp/") || text.contains("/dev/udp/");
            let redirects = &view.command.redirects;
            let executes = ["exec:", "system:"];
            redirects
                .iter()
                .any(|redirect| redirect.flow != Flow::Text && socket(&redirect.target.text))
                || (view.is(&["exec", "cat", "bash", "sh"])
                    && view.command.words.iter().any(|word| socket(&word.text)))
                || (view.is(&["nc", "ncat", "netcat"])
                    && (view.flag('e', "exec")
                        || view.flag('c', "sh-exec")
                        || view.has_prefix("--lua-exec")))
                || (view.is(&["socat"])
                    && view.operands.iter().any(|text| {
                        let lower = text.to_lowercase();
                        executes.iter().any(|verb| lower.starts_with(verb))
                    }))
        }),
    ),
    rule(
        "network.upload",
        Required,
        "sends a file to another machine",
        Test::Command(|view| match view.name {
            "curl" => {
                let words = &view.command.words;
                view.flag('T', "upload-file")
                    || words.windows(2).any(|pair| {
                        let option = pair[0].text.as_str();
                        let data = option == "-d"
                            || option == "-F"
                            || option.starts_with("--data")
                            || option.starts_with("--form");
                        data && (pair[1].text.starts_with('@') || pair[1].text.contains("=@"))
                    })
                    || words.iter().any(|word| {
                        word.text.starts_with("-d@")
                            || (word.text.starts_with("--data") && word.text.contains("=@"))
                    })
            }
            "wget" => view.has_prefix("--post-file") || view.has_prefix("--body-file"),
            "nc" | "ncat" | "netcat" => {
                view.command.redirects.iter().any(|redirect| redirect.flow == Flow::In)
            }
            "ftp" | "tftp" | "sftp" => view.has("put") || view.flag('u', "upload"),
            _ => false,
        }),
    ),
    rule(
        "network.tunnel",
        Required,
        "opens a way through the network",
        Test::Command(|view| {
            let forwards =
                view.flag('R', "remote") || view.flag('L', "local") || view.flag('D', "dynamic");
            (view.is(&["ssh", "autossh"]) && forwards)
                || view.is(&["ngrok", "chisel", "frpc", "bore"])
                || (view.is(&["cloudflared"]) && view.has("tunnel"))
                || (view.is(&["tailscale"]) && view.does(&["up", "funnel", "serve"]))
        }),
    ),
    rule(
        "network.interfaces",
        Required,
        "changes network interfaces or routes",
        Test::Command(|view| match view.name {
            "ip" => ["set", "del", "delete", "flush", "add", "replace"]
                .iter()
                .any(|verb| view.has(verb)),
            "ifconfig" => view.has("down") || view.has("up"),
            "nmcli" => view.has("off") || view.has("down") || view.has("delete"),
            "route" => view.has("del") || view.has("add") || view.has("flush"),
            "ifdown" | "rfkill" | "networksetup" => true,
            _ => false,
        }),
    ),
];
