//! Laws of the policy over random lines, arguments and calls. Each test holds one of them.

use kinfolk_actors::call::EffectClass;
use kinfolk_actors::policy::blacklist::Blacklist;
use kinfolk_actors::policy::call::Examined;
use kinfolk_actors::policy::canonical::{ArgumentDigest, CallText, Canonical, same_call};
use kinfolk_actors::policy::gate::{Audit, CallFacts, Origin, ToolFacts, Verdict, decide};
use kinfolk_actors::policy::rule::Need;
use kinfolk_actors::policy::shell::{Command, MAX_COMMANDS, split};
use kinfolk_actors::policy::{Mode, Policy};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

#[path = "support/laws.rs"]
mod laws;

const MODES: [Mode; 4] = [Mode::Manual, Mode::AllowList, Mode::AutoRun, Mode::Headless];

/// Pieces of which lines are made that are shell in their parts, though rarely in the whole.
const PIECES: [&str; 52] = [
    "a",
    "b",
    "ls",
    "rm",
    "x=1",
    "$x",
    "${x}",
    "${x:-",
    "}",
    "$(",
    ")",
    "`",
    "'",
    "\"",
    "\\",
    "\n",
    " ",
    " ",
    " ",
    ";",
    "&",
    "&&",
    "||",
    "|",
    "(",
    "{",
    "<",
    ">",
    ">>",
    "<<E",
    "\nE\n",
    "<<<",
    "<(",
    "#",
    "if ",
    "then ",
    "fi",
    "case x in ",
    ";;",
    "esac",
    "for i in ",
    "do ",
    "done",
    "[[ ",
    " ]]",
    "f()",
    "eval ",
    "sh -c ",
    "$((",
    "))",
    "$'",
    "sudo ",
];

fn shell_like() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&PIECES[..]), 0..24).prop_map(|parts| parts.concat())
}

fn any_line() -> impl Strategy<Value = String> {
    let bytes = prop::collection::vec(any::<u8>(), 0..200);
    prop_oneof![
        4 => shell_like(),
        1 => bytes.prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
    ]
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any_line().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(".{0,6}", inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn any_arguments() -> impl Strategy<Value = Map<String, Value>> {
    let names = prop::sample::select(vec!["command", "path", "file_path", "text", "paths"]);
    prop::collection::btree_map(names.prop_map(str::to_owned), any_json(), 0..4)
        .prop_map(|map| map.into_iter().collect())
}

fn tool(origin: Origin) -> ToolFacts<'static> {
    let effect = EffectClass::Changing;
    ToolFacts { name: "run", server: None, origin, effect, declared: None }
}

fn hits(line: &str) -> bool {
    let arguments = json!({ "command": line }).as_object().cloned().unwrap_or_default();
    let call = Examined::new("run", &arguments);
    Blacklist::default().strongest(&call, EffectClass::Changing).is_some()
}

/// The same JSON with other white space.
fn spread(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let members = map.iter().rev();
            let members: Vec<String> = members
                .map(|(key, value)| format!("\n{} :\t{}", Value::from(key.as_str()), spread(value)))
                .collect();
            format!("{{ {} }}", members.join(" ,"))
        }
        Value::Array(parts) => {
            format!("[ {} ]", parts.iter().map(spread).collect::<Vec<_>>().join("\r\n, "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

proptest! {
    #![proptest_config(laws::cases(10_000))]

    /// No text makes the splitter panic or run away, and it says the same twice.
    #[test]
    fn splitting_is_total_and_stable(line in any_line()) {
        let first = split(&line);
        prop_assert_eq!(&first, &split(&line));
        if let Ok(found) = first {
            prop_assert!(found.commands.len() <= MAX_COMMANDS);
            for command in &found.commands {
                prop_assert!(command.feeds.end <= found.commands.len());
                prop_assert!(command.nested.end <= found.commands.len());
            }
        }
    }

    /// Whatever stands before it, a command on its own line is found.
    #[test]
    fn nothing_before_a_command_hides_it(before in shell_like()) {
        prop_assume!(!before.ends_with('\\'));
        if let Ok(found) = split(&format!("{before}\nrm -rf /")) {
            let texts: Vec<String> = found.commands.iter().map(Command::text).collect();
            prop_assert!(texts.iter().any(|text| text == "rm -rf /"), "{:?}", texts);
        }
    }

    /// A quoted text is one word, whatever is in it.
    #[test]
    fn quotes_hold(text in "[^\u{0}]{0,40}") {
        let quoted = format!("echo '{}'", text.replace('\'', "'\\''"));
        let found = split(&quoted).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let words: Vec<&str> = found.commands[0].words.iter().map(|word| word.text.as_str()).collect();
        prop_assert_eq!(found.commands.len(), 1);
        prop_assert_eq!(words, ["echo", text.as_str()]);
    }

    /// A line of simple commands passes an allow list if and only if each of them does.
    #[test]
    fn a_line_is_allowed_if_every_part_is(
        first in part(),
        rest in prop::collection::vec((operator(), part()), 0..6),
    ) {
        let mut line = first.0.to_owned();
        let mut every = first.1;
        for (operator, (text, allowed)) in &rest {
            line.push_str(operator);
            line.push_str(text);
            every &= allowed;
        }
        let policy = r#"{"mode":"allow-list","allow":["git status","ls","echo:*"]}"#;
        let policy: Policy = serde_json::from_str(policy).unwrap();
        let arguments = json!({ "command": line }).as_object().cloned().unwrap_or_default();
        let facts = CallFacts { arguments: &arguments, audit: Audit::NotAsked };
        let verdict = decide(&policy, &tool(Origin::Host), &facts);
        prop_assert_eq!(verdict == Verdict::Allow, every, "{}", line);
    }

    /// No call makes the gates panic; headless asks nobody; what is `always` passes in no mode.
    #[test]
    fn the_gates_are_total(arguments in any_arguments(), mode in prop::sample::select(&MODES[..])) {
        let policy = Policy { mode, ..Policy::default() };
        let facts = CallFacts { arguments: &arguments, audit: Audit::NotAsked };
        let call = Examined::new("run", &arguments);
        let hit = policy.blacklist.strongest(&call, EffectClass::Changing);
        let held = hit.is_some_and(|hit| hit.need == Need::Always);
        for origin in [Origin::BuiltIn, Origin::Control, Origin::Server, Origin::Unknown] {
            let verdict = decide(&policy, &tool(origin), &facts);
            let asks = matches!(verdict, Verdict::Ask { .. });
            prop_assert!(mode != Mode::Headless || !asks);
            prop_assert!(!held || verdict != Verdict::Allow);
        }
    }

    /// White space and the order of keys do not make another call; the spelling is its own.
    #[test]
    fn a_spelling_does_not_make_another_call(value in any_json()) {
        let (compact, spread) = (value.to_string(), spread(&value));
        let call = |arguments| CallText { tool: "t", arguments };
        prop_assert!(same_call(call(&compact), call(&spread)));
        prop_assert_eq!(ArgumentDigest::of(call(&compact)), ArgumentDigest::of(call(&spread)));
        let canonical = Canonical::of(&spread);
        prop_assert_eq!(&Canonical::of(canonical.as_str()), &canonical);
        prop_assert_eq!(serde_json::from_str::<Value>(canonical.as_str()).unwrap(), value);
    }

    /// Two calls are the same exactly if their values are.
    #[test]
    fn other_arguments_make_another_call(a in any_json(), b in any_json()) {
        let (x, y) = (a.to_string(), spread(&b));
        let call = |arguments| CallText { tool: "t", arguments };
        prop_assert_eq!(same_call(call(&x), call(&y)), a == b);
    }

    /// Text that is no JSON is compared as it is.
    #[test]
    fn any_text_has_a_spelling(text in ".{0,60}") {
        let canonical = Canonical::of(&text);
        prop_assert_eq!(&Canonical::of(canonical.as_str()), &canonical);
    }

    /// It is found too where a shell reads it from a document behind a pipe, or from `source`.
    #[test]
    fn the_blacklist_sees_what_a_shell_reads(
        before in shell_like(),
        reader in prop::sample::select(vec![
            "cat <<'Q' | sh",
            "tee a <<'Q' | sudo bash -s",
            "(cat <<'Q') | sh",
            ". /dev/stdin <<'Q'",
            "source /dev/fd/0 <<'Q'",
            "cat <<'Q' | xargs -0 sh -c",
        ]),
    ) {
        prop_assume!(!before.ends_with('\\'));
        let line = format!("{before}\n{reader}\nmkfs.ext4 /x\nQ\n");
        prop_assert!(split(&line).is_err() || hits(&line), "{}", line);
    }

    /// A destructive command is found behind any readable beginning of its line.
    #[test]
    fn the_blacklist_sees_the_end_of_a_line(before in shell_like()) {
        prop_assume!(!before.ends_with('\\'));
        let line = format!("{before}\nsudo mkfs.ext4 /x");
        prop_assert!(split(&line).is_err() || hits(&line), "{}", line);
    }
}

/// A command, and whether the list of the law above lets it pass.
fn part() -> impl Strategy<Value = (&'static str, bool)> {
    prop::sample::select(vec![
        ("git status", true),
        ("git 'status' -s", true),
        ("ls -l \"a b\"", true),
        ("echo 'a; b' \"c && d\"", true),
        ("nohup ls", true),
        ("(ls; echo)", true),
        ("{ ls; }", true),
        ("echo $(ls)", true),
        ("if ls; then echo; fi", true),
        ("git statusfoo", false),
        ("lsof", false),
        ("touch pwned", false),
        ("ls > f", false),
        ("echo $(touch pwned)", false),
        ("echo \"`touch pwned`\"", false),
        ("(ls; touch pwned)", false),
        ("sudo ls", false),
        ("PATH=. ls", false),
        ("sh -c ls", false),
        ("$X", false),
    ])
}

fn operator() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["; ", " && ", " || ", " | ", " |& ", " & ", "\n", "&&", " ;\n"])
}
