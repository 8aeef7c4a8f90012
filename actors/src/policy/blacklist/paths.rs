//! Paths as rules compare them: in one spelling, by their parts.

use std::borrow::Cow;

use super::super::matcher::wildcard;

/// Directories whose whole content belongs to the system.
const SYSTEM_TREES: [&str; 13] = [
    "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/sbin", "/sys", "/usr",
    "/System", "/Library",
];

/// Parts of them where people keep their own things.
const OWN_TREES: [&str; 2] = ["/usr/local", "/dev/shm"];

/// Directories that hold much, though what is deep in them may be anyone's.
const LARGE: [&str; 12] = [
    "/home",
    "/Users",
    "/var",
    "/var/lib",
    "/var/log",
    "/opt",
    "/srv",
    "/mnt",
    "/media",
    "/usr/local",
    "/run",
    "/Applications",
];

/// A path in one spelling: no `//`, `.` and closed `..`, no slash at its end, the home directory
/// as `~`.
pub(crate) fn normal(path: &str) -> Cow<'_, str> {
    if is_normal(path) { Cow::Borrowed(path) } else { Cow::Owned(respelled(path)) }
}

fn is_normal(path: &str) -> bool {
    let rest = path.strip_prefix('/').unwrap_or(path);
    let plain = |part: &str| !matches!(part, "" | "." | "..");
    !path.starts_with('$') && rest.split('/').all(plain)
}

fn respelled(path: &str) -> String {
    let (home, rest) = ["$HOME", "${HOME}", "~"]
        .iter()
        .find_map(|home| {
            path.strip_prefix(home).filter(|rest| rest.is_empty() || rest.starts_with('/'))
        })
        .map_or((false, path), |rest| (true, rest));
    let absolute = !home && rest.starts_with('/');
    let mut parts: Vec<&str> = vec![];
    for part in rest.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if absolute => {}
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    match (home, absolute, joined.is_empty()) {
        (true, _, true) => "~".to_owned(),
        (true, _, false) => format!("~/{joined}"),
        (false, true, _) => format!("/{joined}"),
        (false, false, true) if path.is_empty() => String::new(),
        (false, false, true) => ".".to_owned(),
        (false, false, false) => joined,
    }
}

/// Whether a rule's pattern could fit the path at all: one of its parts is one of those by which
/// every pattern is known. It spares nearly all paths the look at more than a hundred patterns; a
/// test holds that no pattern is forgotten.
pub(super) fn may_be_guarded(path: &str) -> bool {
    let guarded = |part: &str| {
        matches!(
            part,
            "etc"
                | "boot"
                | "proc"
                | "sys"
                | "var"
                | "Library"
                | "gcloud"
                | "hooks"
                | "_netrc"
                | ".config"
                | ".local"
                | ".ssh"
                | ".aws"
                | ".azure"
                | ".kube"
                | ".gnupg"
                | ".git"
                | ".bashrc"
                | ".bash_profile"
                | ".bash_login"
                | ".profile"
                | ".zshrc"
                | ".zshenv"
                | ".zprofile"
                | "Login Data"
                | "Local State"
                | "Cookies"
                | "key4.db"
                | "logins.json"
                | "cookies.sqlite"
                | "Cookies.binarycookies"
                | "Web Data"
                | ".password-store"
                | ".netrc"
                | ".pgpass"
                | ".my.cnf"
                | ".git-credentials"
                | ".docker"
                | ".npmrc"
                | ".pypirc"
                | ".cargo"
                | ".gem"
                | ".m2"
                | ".composer"
                | ".terraform.d"
        ) || part.starts_with(".env")
            || part.ends_with("_history")
            || part.ends_with(".kdbx")
    };
    path.contains('*') || path.split('/').any(guarded)
}

/// Whether one of the paths fits one of the patterns. A pattern that begins with `/` is the whole
/// path, another one its end; `*` stands for a part or a piece of one; `/**` at its end means
/// everything below too.
pub(super) fn any_path(patterns: &[&str], paths: &[Cow<'_, str>]) -> bool {
    paths.iter().any(|path| patterns.iter().any(|pattern| fits(pattern, path)))
}

fn fits(pattern: &str, path: &str) -> bool {
    let (pattern, tree) =
        pattern.strip_suffix("/**").map_or((pattern, false), |pattern| (pattern, true));
    if path.contains('*') {
        return fits_by_parts(pattern, path, tree);
    }
    if let Some((_, tail)) = pattern.rsplit_once('*') {
        return (tree || path.ends_with(tail)) && fits_by_parts(pattern, path, tree);
    }
    let whole = pattern.starts_with('/');
    let begins = |at: usize| at == 0 || (!whole && path[..at].ends_with('/'));
    if path.ends_with(pattern) && begins(path.len() - pattern.len()) {
        return true;
    }
    let below = |at: usize| path[at + pattern.len()..].starts_with('/');
    match (tree, whole) {
        (false, _) => false,
        (true, true) => path.starts_with(pattern) && below(0),
        (true, false) => path.match_indices(pattern).any(|(at, _)| below(at) && begins(at)),
    }
}

fn fits_by_parts(pattern: &str, path: &str, tree: bool) -> bool {
    let wanted = pattern.split('/').count();
    let count = path.split('/').count();
    let mut starts = if pattern.starts_with('/') { 0..1 } else { 0..count };
    starts.any(|start| {
        let enough = if tree { count >= start + wanted } else { count == start + wanted };
        enough && parts_fit(pattern.split('/'), path.split('/').skip(start))
    })
}

/// The shell's own `*` may stand for what is guarded, where a part before it says so: `.ssh/*` is
/// meant by `.ssh/id_rsa`, but `*` alone is not.
fn parts_fit<'a>(
    pattern: impl Iterator<Item = &'a str>,
    path: impl Iterator<Item = &'a str>,
) -> bool {
    let mut placed = false;
    pattern.zip(path).all(|(want, has)| {
        let open = placed && has.contains('*') && (has.starts_with('.') || !want.starts_with('.'));
        let fits = want == has
            || (want.contains('*') && wildcard(want, has))
            || (open && wildcard(has, want));
        placed |= fits && !has.is_empty();
        fits
    })
}

/// The root directory or all in it.
pub(super) fn is_root(path: &str) -> bool {
    matches!(path, "/" | "/*" | "/.*" | "/**")
}

/// A home directory or all in it.
pub(super) fn is_home(path: &str) -> bool {
    let path = path.strip_suffix("/*").or_else(|| path.strip_suffix("/.*")).unwrap_or(path);
    let of_user = |homes: &str| {
        path.strip_prefix(homes).is_some_and(|user| !user.is_empty() && !user.contains('/'))
    };
    let named = path.starts_with('~') && !path.contains('/');
    named || path == ["/", "root"].concat() || of_user("/home/") || of_user("/Users/")
}

/// A directory of the system, or a part of one.
pub(super) fn is_system(path: &str) -> bool {
    let path = path.strip_suffix("/*").unwrap_or(path);
    let under = |trees: &[&str]| {
        trees.iter().any(|tree| path.strip_prefix(tree).is_some_and(|rest| rest.starts_with('/')))
    };
    LARGE.contains(&path)
        || SYSTEM_TREES.contains(&path)
        || (under(&SYSTEM_TREES) && !under(&OWN_TREES))
}

/// A disk or a part of one.
pub(super) fn is_disk(path: &str) -> bool {
    let disks =
        ["sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "rdisk", "mapper/", "md", "dm-"];
    path.strip_prefix("/dev/").is_some_and(|name| disks.iter().any(|disk| name.starts_with(disk)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_one_spelling() {
        for (path, one) in [
            ("/", "/"),
            ("//", "/"),
            ("/./", "/"),
            ("/etc/..", "/"),
            ("/../..", "/"),
            ("/etc//passwd/", "/etc/passwd"),
            ("./a/./b", "a/b"),
            ("a/../..", ".."),
            (".", "."),
            ("", ""),
            ("~", "~"),
            ("$HOME/", "~"),
            ("${HOME}/.ssh", "~/.ssh"),
            ("~user/x", "~user/x"),
        ] {
            assert_eq!(normal(path), one, "{path}");
        }
    }

    #[test]
    fn patterns_fit_by_parts() {
        let cases: &[(&str, &[&str], &[&str])] = &[
            (
                "/etc/passwd",
                &["/etc/passwd", "/etc/*", "/etc/pass*"],
                &["etc/passwd", "/x/etc/passwd"],
            ),
            (
                ".ssh/id_*",
                &["~/.ssh/id_rsa", ".ssh/id_x", "~/.ssh/*"],
                &["x.ssh/id_rsa", ".ssh/known"],
            ),
            ("/boot/**", &["/boot", "/boot/x/y", "/boot/*"], &["/*", "/bootx", "/x/boot", "boot"]),
            ("/etc/cron*/**", &["/etc/cron.d/x", "/etc/crontab"], &["/etc/cr", "/etc/a/cron"]),
            (".env", &[".env", "a/.env"], &["a.env", ".env/x"]),
        ];
        for (pattern, yes, no) in cases {
            yes.iter().for_each(|path| assert!(fits(pattern, path), "{pattern} {path}"));
            no.iter().for_each(|path| assert!(!fits(pattern, path), "{pattern} {path}"));
        }
    }

    #[test]
    fn places_are_known() {
        assert!(["~", "~/*", "~x", "/home/x", "/Users/x/*"].iter().all(|path| is_home(path)));
        assert!(!["~/x", "/home", "/home/x/y", "home"].iter().any(|path| is_home(path)));
        assert!(
            ["/etc", "/etc/x", "/usr/lib/*", "/var", "/home"].iter().all(|path| is_system(path))
        );
        let own = ["/tmp", "/usr/local/go", "/var/tmp/x", "/dev/shm/x", "etc", "/home/x"];
        assert!(!own.iter().any(|path| is_system(path)));
        assert!(is_disk("/dev/sda1") && is_disk("/dev/nvme0n1") && !is_disk("/dev/null"));
    }
}
