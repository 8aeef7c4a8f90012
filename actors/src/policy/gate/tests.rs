//! The gates by tables: what decides, and that a higher gate is not overridden by a lower one.

use super::super::shell::split;
use super::*;

/// A tool of the host that changes something.
const RUN: ToolFacts<'static> = ToolFacts {
    name: "run_command",
    server: None,
    origin: Origin::Host,
    effect: EffectClass::Changing,
    declared: None,
};

const MODES: [&str; 4] = ["manual", "allow-list", "auto-run", "headless"];

fn policy(json: &str) -> Policy {
    serde_json::from_str(json).unwrap()
}

/// A policy in a mode, with more of its text.
fn in_mode(mode: &str, rest: &str) -> Policy {
    policy(&format!("{{\"mode\":\"{mode}\"{rest}}}"))
}

fn decide_with(policy: &Policy, tool: &ToolFacts<'_>, arguments: &str, audit: Audit) -> Verdict {
    let arguments = serde_json::from_str(arguments).unwrap();
    decide(policy, tool, &CallFacts { arguments: &arguments, audit })
}

fn verdict(policy: &Policy, tool: &ToolFacts<'_>, arguments: &str) -> Verdict {
    decide_with(policy, tool, arguments, Audit::NotAsked)
}

fn on_line(policy: &Policy, line: &str) -> Verdict {
    verdict(policy, &RUN, &serde_json::json!({ "command": line }).to_string())
}

/// `allow`, `ask` or `block`.
fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allow",
        Verdict::Ask { .. } => "ask",
        Verdict::Block { .. } => "block",
        Verdict::Audit { .. } => "audit",
    }
}

/// The word for each mode, in the order of `MODES`.
#[track_caller]
fn check(rest: &str, tool: &ToolFacts<'_>, arguments: &str, words: [&str; 4]) {
    for (mode, expected) in MODES.iter().zip(words) {
        let found = verdict(&in_mode(mode, rest), tool, arguments);
        assert_eq!(word(&found), expected, "{mode} {rest} {} {arguments}: {found:?}", tool.name);
    }
}

#[test]
fn h05_composed_commands_do_not_pass_an_allow_list() {
    // The table of the field's reports: a prefix of a string lets composed commands through.
    let allow = ",\"allow\":[\"git status\",\"ls\",\"echo\"]";
    let cases = [
        ("git status", "allow"),
        ("git status --short", "allow"),
        ("git statusfoo", "ask"),
        ("lsof", "ask"),
        ("git status && touch pwned", "ask"),
        ("git status; touch pwned", "ask"),
        ("git status | tee pwned", "ask"),
        ("git status > pwned", "ask"),
        ("ls $(touch pwned)", "ask"),
        ("ls `touch pwned`", "ask"),
        ("ls & touch pwned", "ask"),
        ("ls\ntouch pwned", "ask"),
        ("ls <(touch pwned)", "ask"),
        ("echo \"a && b\"", "allow"),
        ("echo '$(x)'", "allow"),
        ("echo \"$(touch pwned)\"", "ask"),
        // A line that cannot be read.
        ("git status 'x", "ask"),
        // More ways out of a prefix.
        ("git status <<< x > pwned", "ask"),
        ("ls ${x:-$(touch pwned)}", "ask"),
        ("ls() { touch pwned; }; ls", "ask"),
        ("PATH=. ls", "ask"),
        ("ls && git status | echo", "allow"),
        ("ls 2>/dev/null || echo no >&2", "allow"),
    ];
    for mode in ["manual", "allow-list"] {
        for (line, expected) in cases {
            assert_eq!(word(&on_line(&in_mode(mode, allow), line)), expected, "{mode} {line}");
        }
    }
}

#[test]
fn each_kind_of_tool_has_its_default() {
    let tool = |origin, effect| ToolFacts { name: "t", origin, effect, ..RUN };
    let (reads, changes) = (EffectClass::ReadOnly, EffectClass::Changing);
    let free = ["allow"; 4];
    let asks = ["ask", "ask", "allow", "allow"];
    for (origin, by_reading, by_changing) in [
        (Origin::BuiltIn, free, asks),
        (Origin::Control, free, free),
        (Origin::Subagent, free, free),
        (Origin::Host, free, asks),
        (Origin::Server, asks, asks),
        (Origin::Unknown, asks, asks),
    ] {
        check("", &tool(origin, reads), "{}", by_reading);
        check("", &tool(origin, changes), "{}", by_changing);
    }
}

#[test]
fn the_first_gate_looks_at_every_call() {
    let line = |text: &str| serde_json::json!({ "command": text }).to_string();
    let all = ",\"allow\":[{}],\"tools\":{\"run_command\":\"never\"}";
    // Not to be bypassed, by no mode, list or setting.
    check(all, &RUN, &line("sudo rm -rf /"), ["ask", "ask", "ask", "block"]);
    // To be bypassed by the modes that run everything.
    check(all, &RUN, &line("reboot"), ["ask", "ask", "allow", "allow"]);
    check(all, &RUN, &line("ls 'a"), ["ask", "ask", "ask", "block"]);
    check(all, &RUN, &line("ls"), ["allow"; 4]);
    let deny = ",\"allow\":[{}],\"ask\":[{}],\"deny\":[\"git push\"]";
    check(deny, &RUN, &line("ls; /usr/bin/git push -f"), ["block"; 4]);
    check(deny, &RUN, &line("env git 'push' x 'unclosed"), ["ask", "ask", "ask", "block"]);
    // What never asks can still be denied, and does not read private keys unseen.
    let reads = ToolFacts {
        name: "read_file",
        origin: Origin::BuiltIn,
        effect: EffectClass::ReadOnly,
        ..RUN
    };
    check(",\"deny\":[\"read_file\"]", &reads, r#"{"path":"a"}"#, ["block"; 4]);
    check("", &reads, r#"{"path":"x/.ssh/id_rsa"}"#, ["ask", "ask", "ask", "block"]);
    check("", &reads, r#"{"path":".env"}"#, ["allow"; 4]);
    // Unless the user says so.
    let required = ["ask", "ask", "allow", "allow"];
    check(",\"tools\":{\"read_file\":\"required\"}", &reads, "{}", required);
    check(",\"tools\":{\"read_file\":\"never\"}", &reads, "{}", ["allow"; 4]);
    check(",\"ask\":[{\"tool\":\"read_*\",\"policy\":\"required\"}]", &reads, "{}", required);
}

#[test]
fn the_tools_setting_counts_before_the_servers_and_the_declared_one() {
    let declared = Intervention::Never;
    let tool = ToolFacts {
        name: "t",
        server: Some("s"),
        origin: Origin::Server,
        declared: Some(&declared),
        ..RUN
    };
    check("", &tool, "{}", ["allow", "ask", "allow", "allow"]);
    let always = ["ask", "ask", "ask", "block"];
    check(",\"servers\":{\"s\":\"always\"}", &tool, "{}", always);
    let both = ",\"servers\":{\"s\":\"always\"},\"tools\":{\"t\":\"never\"}";
    check(both, &tool, "{}", ["allow", "ask", "allow", "allow"]);
    check(",\"tools\":{\"t\":\"required\"}", &tool, "{}", ["ask", "ask", "allow", "allow"]);
    check(",\"tools\":{\"u\":\"always\"}", &tool, "{}", ["allow", "ask", "allow", "allow"]);
}

#[test]
fn rules_of_a_setting_decide_by_arguments() {
    let rules = ",\"tools\":{\"run_command\":{\"rules\":[
        {\"match\":{\"command\":\"git push:*\",\"force\":\"true\"},\"policy\":\"always\"},
        {\"match\":{\"command\":\"git push:*\"},\"policy\":\"required\"},
        {\"match\":{\"command\":\"git:*\"},\"policy\":\"never\"}]}}";
    let free = ["allow", "ask", "allow", "allow"];
    let required = ["ask", "ask", "allow", "allow"];
    check(rules, &RUN, r#"{"command":"git log"}"#, free);
    check(rules, &RUN, r#"{"command":"git log; ls"}"#, required);
    check(rules, &RUN, r#"{"command":"git push"}"#, required);
    check(
        rules,
        &RUN,
        r#"{"command":"git log; git push","force":true}"#,
        ["ask", "ask", "ask", "block"],
    );
    check(rules, &RUN, r#"{"force":true}"#, required);
}

#[test]
fn an_audit_is_awaited_and_its_answer_counts() {
    let audited = |rest: &str| {
        format!(",\"tools\":{{\"run_command\":{{\"dynamic\":{{\"kind\":\"sql\"{rest}}}}}}}")
    };
    let words = |rest: &str, audit| {
        MODES.map(|mode| word(&decide_with(&in_mode(mode, &audited(rest)), &RUN, "{}", audit)))
    };
    let (yes, no) = (Audit::Answered { intervene: true }, Audit::Answered { intervene: false });
    assert_eq!(words("", Audit::NotAsked), ["audit"; 4]);
    assert_eq!(words("", yes), ["ask", "ask", "ask", "block"]);
    assert_eq!(words("", no), ["allow"; 4]);
    assert_eq!(words("", Audit::Unregistered), ["allow"; 4]);
    let strict = ",\"default\":\"always\"";
    assert_eq!(words(strict, Audit::Unregistered), ["ask", "ask", "ask", "block"]);
    assert_eq!(words(strict, no), ["ask", "ask", "ask", "block"]);
    let mild = ",\"policy\":\"required\"";
    assert_eq!(words(mild, yes), ["ask", "ask", "allow", "allow"]);
    // The first gate does not wait for it.
    let policy = in_mode("manual", &format!("{},\"deny\":[\"run_command\"]", audited("")));
    assert_eq!(word(&verdict(&policy, &RUN, "{}")), "block");
    let asked = verdict(&in_mode("manual", &audited("")), &RUN, "{}");
    assert_eq!(asked, Verdict::Audit { kind: "sql".into() });
}

#[test]
fn ask_is_stronger_than_allow() {
    let rest = ",\"allow\":[\"git\"],\"ask\":[\"git push\",
        {\"tool\":\"run_command\",\"match\":{\"command\":\"git tag:*\"},\"policy\":\"required\"}]";
    check(rest, &RUN, r#"{"command":"git log"}"#, ["allow"; 4]);
    check(
        rest,
        &RUN,
        r#"{"command":"git log && sh -c 'git push'"}"#,
        ["ask", "ask", "ask", "block"],
    );
    check(rest, &RUN, r#"{"command":"git tag x"}"#, ["ask", "ask", "allow", "allow"]);
}

#[test]
fn an_unknown_tool_asks_whatever_is_allowed() {
    let tool = ToolFacts { name: "t", origin: Origin::Unknown, ..RUN };
    check(
        ",\"allow\":[\"t\"],\"tools\":{\"t\":\"never\"}",
        &tool,
        "{}",
        ["ask", "ask", "allow", "allow"],
    );
}

#[test]
fn a_reason_says_what_held_the_call_up() {
    let reason = |rest: &str, tool: &ToolFacts<'_>, arguments: &str| match verdict(
        &in_mode("manual", rest),
        tool,
        arguments,
    ) {
        Verdict::Ask { reason } | Verdict::Block { reason } => reason.to_string(),
        Verdict::Allow | Verdict::Audit { .. } => String::new(),
    };
    let unclosed = split("a '").unwrap_err().to_string();
    let unknown = ToolFacts { origin: Origin::Unknown, ..RUN };
    for (rest, tool, arguments, expected) in [
        (",\"deny\":[\"ls\"]", &RUN, r#"{"command":"ls"}"#, "the deny rule `ls` means it"),
        ("", &RUN, r#"{"command":"a '"}"#, unclosed.as_str()),
        ("", &RUN, r#"{"command":"reboot"}"#, "it stops or restarts the machine (dangerous.power)"),
        (",\"ask\":[\"ls\"]", &RUN, r#"{"command":"ls"}"#, "the ask rule `ls` means it"),
        (",\"tools\":{\"run_command\":\"always\"}", &RUN, "{}", "the tool is set to ask"),
        ("", &unknown, "{}", "the tool is unknown"),
        ("", &RUN, "{}", "nothing allows it yet"),
    ] {
        assert_eq!(reason(rest, tool, arguments), expected);
    }
}

#[test]
fn a_policy_is_frozen_and_read_back() {
    let json = r#"{"mode":"allow-list","allow":["ls",{"tool":"a","match":{"b":{"prefix":"c"}},"policy":"always"}],"deny":["x*"],"tools":{"t":{"dynamic":{"kind":"k","default":"never","policy":"always"}},"u":"never"},"servers":{"s":{"rules":["r"]}}}"#;
    let read = policy(json);
    assert_eq!(serde_json::to_string(&read).unwrap(), json);
    assert_eq!(policy(&serde_json::to_string(&read).unwrap()), read);
    assert_eq!(policy("{}"), Policy::default());
    assert_eq!(serde_json::to_string(&Policy::default()).unwrap(), r#"{"mode":"manual"}"#);
    for bad in
        [r#"{"alow":[]}"#, r#"{"mode":"yolo"}"#, r#"{"deny":[{"match":{"a":{"regex":"("}}}]}"#]
    {
        assert!(serde_json::from_str::<Policy>(bad).is_err(), "{bad}");
    }
}
