//! Keys, tokens and passwords: files that hold them, and programs that show them.

use std::borrow::Cow;

use super::super::rule::Need::{Always, Required};
use super::view::View;
use super::{BuiltIn, Class, Need, Test};

const fn rule(id: &'static str, need: Need, about: &'static str, test: Test) -> BuiltIn {
    BuiltIn { id, class: Class::Credentials, need, about, test }
}

pub(super) const RULES: &[BuiltIn] = &[
    rule(
        "credentials.ssh_keys",
        Always,
        "touches private SSH keys",
        Test::CommandOrNames(
            |view| !view.is(&["ssh-keygen"]) && copies(view, ".ssh"),
            &[
                ".ssh/id_rsa",
                ".ssh/id_dsa",
                ".ssh/id_ecdsa",
                ".ssh/id_ed25519",
                ".ssh/id_ecdsa_sk",
                ".ssh/id_ed25519_sk",
                ".ssh/*.pem",
                ".ssh/*.key",
                "/etc/ssh/ssh_host_*_key",
            ],
        ),
    ),
    rule(
        "credentials.aws",
        Always,
        "touches credentials of AWS",
        Test::CommandOrNames(
            |view| copies(view, ".aws"),
            &[".aws/credentials", ".aws/sso/cache/**", ".aws/cli/cache/**"],
        ),
    ),
    rule(
        "credentials.gcp",
        Always,
        "touches credentials of Google Cloud",
        Test::CommandOrNames(
            |view| {
                copies(view, "gcloud")
                    || (view.is(&["gcloud"])
                        && view.has("auth")
                        && (view.has("print-access-token") || view.has("print-identity-token")))
            },
            &[
                ".config/gcloud/credentials.db",
                ".config/gcloud/access_tokens.db",
                ".config/gcloud/application_default_credentials.json",
                ".config/gcloud/legacy_credentials/**",
            ],
        ),
    ),
    rule(
        "credentials.azure",
        Always,
        "touches credentials of Azure",
        Test::CommandOrNames(
            |view| copies(view, ".azure") || (view.is(&["az"]) && view.has("get-access-token")),
            &[".azure/accessTokens.json", ".azure/msal_token_cache.*", ".azure/azureProfile.json"],
        ),
    ),
    rule(
        "credentials.kubernetes",
        Always,
        "touches credentials of Kubernetes",
        Test::CommandOrNames(
            |view| view.is(&["kubectl"]) && view.has("view") && view.has("--raw"),
            &[".kube/config", "/etc/kubernetes/admin.conf", "/var/run/secrets/kubernetes.io/**"],
        ),
    ),
    rule(
        "credentials.browser",
        Always,
        "touches passwords and cookies of a browser",
        Test::Names(&[
            "Login Data",
            "Local State",
            "Cookies",
            "key4.db",
            "logins.json",
            "cookies.sqlite",
            "Cookies.binarycookies",
            "Web Data",
        ]),
    ),
    rule(
        "credentials.keychain",
        Always,
        "touches the passwords that the system keeps",
        Test::CommandOrNames(
            |view| match view.name {
                "security" => view.verb().starts_with("find-") || view.verb().starts_with("dump-"),
                "secret-tool" => view.does(&["lookup", "search"]),
                "pass" => view.does(&["show"]),
                "op" => view.does(&["read", "item"]),
                _ => false,
            },
            &[
                "Library/Keychains/**",
                ".local/share/keyrings/**",
                ".password-store/**",
                ".config/Bitwarden/**",
                "*.kdbx",
            ],
        ),
    ),
    rule(
        "credentials.gpg",
        Always,
        "touches private GPG keys",
        Test::CommandOrNames(
            |view| {
                copies(view, ".gnupg")
                    || (view.is(&["gpg", "gpg2"]) && view.has_prefix("--export-secret"))
            },
            &[".gnupg/private-keys-v1.d/**", ".gnupg/secring.gpg"],
        ),
    ),
    rule(
        "credentials.logins",
        Always,
        "touches stored logins",
        Test::Names(&[
            ".netrc",
            "_netrc",
            ".pgpass",
            ".my.cnf",
            ".git-credentials",
            ".config/git/credentials",
            ".config/gh/hosts.yml",
            ".config/hub",
        ]),
    ),
    rule(
        "credentials.shadow",
        Always,
        "touches the passwords of accounts",
        Test::Names(&[
            "/etc/shadow",
            "/etc/gshadow",
            "/etc/shadow-",
            "/etc/master.passwd",
            "/etc/security/opasswd",
        ]),
    ),
    rule(
        "credentials.registries",
        Required,
        "touches tokens of package and image registries",
        Test::CommandOrNames(
            |view| view.is(&["npm"]) && view.does(&["token"]),
            &[
                ".docker/config.json",
                ".npmrc",
                ".pypirc",
                ".cargo/credentials",
                ".cargo/credentials.toml",
                ".gem/credentials",
                ".m2/settings.xml",
                ".composer/auth.json",
                ".terraform.d/credentials.tfrc.json",
            ],
        ),
    ),
    rule(
        "credentials.env_files",
        Required,
        "touches files of secrets",
        Test::CommandOrNames(
            |view| view.named.iter().any(|path| is_env(path)),
            &[
                ".env",
                ".envrc",
                ".env.local",
                ".env.production",
                ".env.development",
                ".env.staging",
            ],
        ),
    ),
    rule(
        "credentials.process_environment",
        Always,
        "reads the environment of processes",
        Test::Names(&["/proc/*/environ", "/proc/*/mem"]),
    ),
    rule(
        "credentials.shell_history",
        Required,
        "reads what was typed before",
        Test::CommandOrNames(
            |view| view.is(&["history"]) && !view.flag('c', "clear"),
            &[
                ".bash_history",
                ".zsh_history",
                ".psql_history",
                ".mysql_history",
                ".python_history",
                ".node_repl_history",
            ],
        ),
    ),
];

/// Whether it takes a whole directory of credentials with it.
fn copies(view: &View<'_>, directory: &str) -> bool {
    let takers = ["tar", "zip", "7z", "cp", "scp", "rsync", "mv", "rclone"];
    let searches = view.is(&["grep", "rg", "cat", "find"]) && !view.is(&["find"]);
    let inside = |path: &Cow<'_, str>| {
        let path = path.strip_suffix("/*").unwrap_or(path.as_ref());
        path.rsplit('/').next() == Some(directory) && (path.contains('/') || path.starts_with('.'))
    };
    (view.is(&takers) || searches) && view.named.iter().any(inside)
}

/// `.env.NAME`, but not the examples that belong into a repository.
fn is_env(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let examples = ["example", "sample", "template", "dist", "defaults"];
    name.strip_prefix(".env.").is_some_and(|kind| !examples.contains(&kind) && !kind.is_empty())
}
