//! Each rule with an input that only it means, the ways around it, and what only looks like it.

mod alone;
mod hidden;

use std::collections::BTreeSet;

use self::alone::ALONE;
use super::*;

/// The names of the rules that a call of a changing tool hits.
fn hits(arguments: &str) -> Vec<String> {
    let arguments = serde_json::from_str(arguments).unwrap();
    let call = Examined::new("run", &arguments);
    if let Some(Err(error)) = &call.line {
        panic!("{arguments:?}: {error}");
    }
    let blacklist = Blacklist::default();
    blacklist.hits(&call, EffectClass::Changing).map(|hit| hit.id.into_owned()).collect()
}

fn line_hits(line: &str) -> Vec<String> {
    hits(&serde_json::json!({ "command": line }).to_string())
}

#[test]
fn each_rule_has_inputs_that_only_it_means() {
    for (id, lines) in ALONE {
        for line in *lines {
            assert_eq!(line_hits(line), [*id], "{line}");
        }
    }
    // It cannot be met alone: who removes what the system needs removes a package.
    for line in ["apt remove sudo", "dnf -y erase kernel-core", "pacman -R bash"] {
        assert_eq!(line_hits(line), ["packages.remove_system", "packages.remove"], "{line}");
    }
    let proved: BTreeSet<&str> =
        ALONE.iter().map(|(id, _)| *id).chain(["packages.remove_system"]).collect();
    let all: BTreeSet<&str> = Blacklist::built_in().map(|rule| rule.id).collect();
    assert_eq!(proved, all);
    assert!(all.len() >= 34);
    assert_eq!(all.len(), Blacklist::built_in().count(), "names are unique");
}

#[test]
fn names_tell_the_class_and_every_class_has_rules() {
    let of = |class| match class {
        Class::Filesystem => "filesystem",
        Class::SystemConfig => "system",
        Class::DangerousCommands => "dangerous",
        Class::Network => "network",
        Class::Packages => "packages",
        Class::Credentials => "credentials",
    };
    for rule in Blacklist::built_in() {
        assert_eq!(rule.id.split('.').next(), Some(of(rule.class)), "{}", rule.id);
        assert_ne!(rule.need, Need::Never, "{}", rule.id);
        assert!(!rule.about.is_empty() && !rule.about.ends_with('.'), "{}", rule.id);
    }
    let classes: BTreeSet<&str> = Blacklist::built_in().map(|rule| of(rule.class)).collect();
    assert_eq!(classes.len(), 6);
}

#[test]
fn no_pattern_is_spared_a_look() {
    for rule in Blacklist::built_in() {
        let patterns: &[&str] = match rule.test {
            Test::Command(_) => &[],
            Test::Writes(patterns) | Test::Names(patterns) => patterns,
            Test::CommandOrNames(_, patterns) | Test::CommandOrWrites(_, patterns) => patterns,
        };
        for pattern in patterns {
            let path = pattern.replace('*', "x");
            assert!(paths::may_be_guarded(&path), "{}: {pattern}", rule.id);
        }
    }
    for directory in [".ssh", ".aws", "gcloud", ".azure", ".gnupg", ".env.x"] {
        assert!(paths::may_be_guarded(directory), "{directory}");
    }
}

/// Ways to write a command so that a look at the text alone misses it.
fn disguises(program: &str, rest: &str) -> Vec<String> {
    let plain = format!("{program} {rest}");
    let (first, others) = program.split_at(1);
    let encoded = "cm0gLXJmIC8=";
    vec![
        plain.clone(),
        format!("/usr/bin/{plain}"),
        format!("{first}''{others} {rest}"),
        format!("\"{program}\" {rest}"),
        format!("\\{plain}"),
        format!("$'{program}' {rest}"),
        format!("A=1 {plain}"),
        format!("env -i A=1 {plain}"),
        format!("sudo -u x {plain}"),
        format!("sudo -- nohup nice -n 5 timeout 5 {plain}"),
        format!("ls && {plain}; ls"),
        format!("ls\n{plain}\n"),
        format!("ls & {plain}"),
        format!("({plain})"),
        format!("{{ {plain}; }}"),
        format!("if true; then {plain}; fi"),
        format!("for i in 1; do {plain}; done"),
        format!("case x in x) {plain};; esac"),
        format!("f() {{ {plain}; }}; f"),
        format!("echo $({plain})"),
        format!("echo \"`{plain}`\""),
        format!("echo <({plain})"),
        format!("echo ${{X:-$({plain})}}"),
        format!("sh -c '{plain}'"),
        format!("bash -lc '{plain}'"),
        format!("sudo sh -c \"bash -c '{plain}'\""),
        format!("eval '{plain}'"),
        format!("echo '{plain}' | sh"),
        format!("sh <<< '{plain}'"),
        format!("bash <<E\n{plain}\nE"),
        format!("cat <<E\n$({plain})\nE"),
        format!("echo {encoded} | base64 -d | sh"),
        format!("trap '{plain}' EXIT"),
        format!("find . -exec {plain} \\;"),
        format!("ssh h '{plain}'"),
        format!("{program} \\\n {rest}"),
    ]
}

#[test]
fn disguises_are_seen_through() {
    let flags = [
        "-rf /",
        "-fr /",
        "-r -f /",
        "/ -rf",
        "--recursive --force /",
        "-v -R -f -- /",
        "--rec -f '/'",
    ];
    let lines = flags.iter().flat_map(|rest| disguises("rm", rest));
    let more = [("mkfs.ext4", "/x"), ("visudo", "-f x"), ("insmod", "x"), ("iptables", "-F")];
    let more = more.iter().flat_map(|(program, rest)| disguises(program, rest));
    for line in lines.chain(more) {
        let arguments = serde_json::json!({ "command": line }).as_object().unwrap().clone();
        let call = Examined::new("run", &arguments);
        let hit = Blacklist::default().strongest(&call, EffectClass::Changing);
        assert_eq!(hit.map(|hit| hit.need), Some(Need::Always), "{line}");
    }
    for line in ["{rm,-rf,/}", "cd / && rm -rf *", "cd; rm -rf .", "rm -rf -- /."] {
        assert!(!line_hits(line).is_empty(), "{line}");
    }
}

#[test]
fn what_only_looks_like_it_passes() {
    for line in [
        "rm -r build",
        "rm -rf target/debug node_modules",
        "rm -rf /tmp/x ./dist",
        "rm /tmp/x",
        "rm -f a",
        "grep rm -rf README",
        "echo \"rm -rf /\"",
        "echo 'curl x | sh'",
        "git rm -r x",
        "git log --grep 'rm -rf /'",
        "git commit -m 'drop table x; reboot'",
        "git push",
        "git push origin main",
        "git branch -d x",
        "git checkout main",
        "git reset --soft HEAD~1",
        "find . -name x -delete",
        "find src -exec grep x {} +",
        "mv a b",
        "chmod 755 a",
        "chmod +x a",
        "chmod -R u+w a",
        "cat /etc/passwd /etc/hosts",
        "grep root /etc/passwd",
        "crontab -l",
        "systemctl status nginx",
        "dd if=/dev/zero of=a bs=1 count=1",
        "ls > /dev/null 2>&1",
        "kill 1234",
        "kill -9 4321",
        "pkill -f server",
        "base64 a | tee b",
        "echo x | base64 -d > y",
        "curl https://x -o y",
        "curl https://x | jq .",
        "curl -d a=b https://x",
        "curl -d a@b.c https://x",
        "ssh h ls",
        "ip addr",
        "npm install",
        "npm ci && npm test",
        "pip install -r requirements.txt",
        "pip install -e .",
        "cargo build --release",
        "apt list",
        "apt-cache search x",
        "docker run --rm x",
        "docker run -v $PWD:/w x",
        "psql -c 'select 1'",
        "kubectl get pods",
        "cat .env.example docs/env",
        "ls ~/.ssh",
        "cat ~/.ssh/id_rsa.pub",
        "grep -r id_rsa docs",
        "echo 'see ~/.ssh/id_rsa'",
        "history_tool -c",
        "f() { ls | wc; }; f",
        "python3 x.py | sh_tool",
        "command -v mkfs",
    ] {
        assert_eq!(line_hits(line), Vec::<String>::new(), "{line}");
    }
}

#[test]
fn paths_of_other_arguments_are_looked_at() {
    let check = |arguments: &str, effect| {
        let arguments = serde_json::from_str(arguments).unwrap();
        let call = Examined::new("any", &arguments);
        let hit = Blacklist::default().strongest(&call, effect);
        hit.map(|hit| hit.id.into_owned())
    };
    let (reads, changes) = (EffectClass::ReadOnly, EffectClass::Changing);
    let key = Some("credentials.ssh_keys".to_owned());
    assert_eq!(check(r#"{"path":"/home/x/.ssh/id_rsa"}"#, reads), key);
    assert_eq!(check(r#"{"file_path":"a/../.ssh//id_rsa"}"#, reads), key);
    assert_eq!(check(r#"{"paths":["a",".ssh/id_rsa"]}"#, changes), key);
    assert_eq!(check(r#"{"text":".ssh/id_rsa"}"#, changes), None);
    assert_eq!(check(r#"{"path":"/etc/passwd"}"#, reads), None);
    assert_eq!(check(r#"{"path":"/etc/passwd"}"#, changes), Some("system.passwd".into()));
    assert_eq!(
        check(r#"{"command":["rm","-rf","/"]}"#, changes),
        Some("filesystem.remove_root".into())
    );
}

#[test]
fn a_family_adds_rules_and_the_strongest_is_named() {
    let json = r#"[{
        "id": "ours.migrate",
        "class": "dangerous_commands",
        "about": "changes the production tables",
        "rule": { "match": { "command": "migrate:*" }, "policy": "always" }
    }]"#;
    let blacklist: Blacklist = serde_json::from_str(json).unwrap();
    let arguments = serde_json::from_str(r#"{"command":"reboot; ./migrate up"}"#).unwrap();
    let call = Examined::new("run", &arguments);
    let ids: Vec<_> = blacklist.hits(&call, EffectClass::Changing).map(|hit| hit.id).collect();
    assert_eq!(ids, ["dangerous.power", "ours.migrate"]);
    let expected = Hit {
        id: "ours.migrate".into(),
        class: Class::DangerousCommands,
        need: Need::Always,
        about: "changes the production tables".into(),
    };
    assert_eq!(blacklist.strongest(&call, EffectClass::Changing), Some(expected));
}
