//! Lines and the commands that are found in them.

use super::*;

/// The texts of all commands of a line.
#[track_caller]
fn texts(line: &str) -> Vec<String> {
    match split(line) {
        Ok(line) => line.commands.iter().map(Command::text).collect(),
        Err(error) => panic!("{line:?}: {error}"),
    }
}

#[test]
fn a_line_is_split_into_its_commands() {
    let cases: &[(&str, &[&str])] = &[
        ("", &[]),
        ("  # only a comment", &[]),
        ("ls -l", &["ls -l"]),
        ("a && b || c; d & e | f |& g", &["a", "b", "c", "d", "e", "f", "g"]),
        ("a\nb\n\nc # d\ne", &["a", "b", "c", "e"]),
        ("a \\\n b", &["a b"]),
        ("echo a#b '#c' \\#d", &["echo a#b #c #d"]),
        // Quotes.
        ("echo \"a && b\" 'c;d' e\\;f", &["echo 'a && b' c;d e;f"]),
        ("r''m \"-rf\" /t\\mp", &["rm -rf /tmp"]),
        ("$'\\x72\\155' $'a\\tb'", &["rm 'a\tb'"]),
        ("echo '$(x)' \"\\$(x)\" \\`x", &["echo $(x) $(x) `x"]),
        ("echo \"\" a", &["echo '' a"]),
        // Substitutions.
        ("ls $(touch p)", &["touch p", "ls '$(touch p)'"]),
        ("ls `touch p`", &["touch p", "ls '`touch p`'"]),
        ("ls \"x$(a \"$(b)\")\"", &["b", "a $(b)", "ls 'x$(a \"$(b)\")'"]),
        ("ls <(a) >(b)", &["a", "b", "ls <(a) >(b)"]),
        ("ls ${x:-$(a)} \"${y:-`b`}\"", &["a", "b", "ls ${x:-$(a)} ${y:-`b`}"]),
        ("echo $((1 + $(a)))", &["a", "echo '$((1 + $(a)))'"]),
        ("echo $((a); b)", &["a", "b", "echo '$((a); b)'"]),
        ("echo `a \\`b\\``", &["b", "a `b`", "echo '`a \\`b\\``'"]),
        // Groups and keywords.
        ("(a; b) | c", &["a", "b", "c"]),
        ("{ a; b; } > f", &["a", "b", ""]),
        ("if a; then b; elif c; then d; else e; fi", &["a", "b", "c", "d", "e"]),
        ("for x in $(a) b; do c $x; done", &["a", "c $x"]),
        ("for ((i=0;i<3;i++)); do a; done", &["a"]),
        ("while ! a; do b; done < f", &["a", "b", ""]),
        ("case $x in a|b) c;; (*) d; e;; esac; f", &["c", "d", "e", "f"]),
        ("case x in a) case y in b) c; esac; esac | d", &["c", "d"]),
        ("f() { a; }; f", &["f()", "a", "f"]),
        ("function f { a; }", &["f()", "a"]),
        ("[[ $(a) =~ ^(b)$ && ! -f d ]] && f", &["a", "f"]),
        ("[[ a || p x ]]; f", &["p x", "f"]),
        ("[[ a > p ]]", &[""]),
        ("!(a)", &["a"]),
        ("time (a)", &["a"]),
        // Assignments.
        ("A=1 B+=2 cmd C=3", &["cmd C=3"]),
        ("A=$(x)", &["x", ""]),
        ("A=(1 $(x) 3) cmd", &["x", "cmd"]),
        // Redirections.
        ("a > f 2>&1 < g >> h &> i", &["a"]),
        ("a 2>f b 22", &["a b 22"]),
        ("a <<E && b\nrm -rf /\nE\nc", &["a", "b", "c"]),
        ("a <<E | \n$(x)\nE\nc", &["a", "x", "c"]),
        ("a <<'E'\n$(x)\nE\nc", &["a", "c"]),
        ("a <<-E\n\tx\n\tE\nc", &["a", "c"]),
        ("echo {a,b} x{c,d} {} {e}", &["echo a b x{c,d} {} {e}"]),
    ];
    for (line, commands) in cases {
        assert_eq!(texts(line), *commands, "{line:?}");
    }
}

#[test]
fn what_a_command_runs_is_found() {
    let cases: &[(&str, &[&str])] = &[
        ("sudo -u x A=1 rm f", &["sudo -u x A=1 rm f", "rm f"]),
        ("sudo -nu root -- rm f", &["sudo -nu root -- rm f", "rm f"]),
        ("sudo -uroot rm f", &["sudo -uroot rm f", "rm f"]),
        ("$X $Y rm f", &["$X $Y rm f", "rm f"]),
        ("eval -- rm f", &["eval -- rm f", "rm f"]),
        ("env -i A=1 rm f", &["env -i A=1 rm f", "rm f"]),
        ("env -S 'rm f'", &["env -S 'rm f'", "rm f"]),
        (
            "/usr/bin/nohup nice -n 5 rm f",
            &["/usr/bin/nohup nice -n 5 rm f", "nice -n 5 rm f", "rm f"],
        ),
        ("timeout -k 5 10 rm f", &["timeout -k 5 10 rm f", "rm f"]),
        ("time ! rm f", &["rm f"]),
        ("time -p ! rm f", &["time -p ! rm f", "rm f"]),
        ("command rm f", &["command rm f", "rm f"]),
        ("command -v rm", &["command -v rm"]),
        ("exec rm f", &["exec rm f", "rm f"]),
        ("ls | xargs -n 1 rm -f", &["ls", "xargs -n 1 rm -f", "rm -f"]),
        ("sh -c 'a; b'", &["sh -c 'a; b'", "a", "b"]),
        ("bash -euxo pipefail -c 'a' b", &["bash -euxo pipefail -c a b", "a"]),
        ("bash -lc \"a \\\"b\\\"\"", &["bash -lc 'a \"b\"'", "a b"]),
        ("sh -c $X 'rm f' y", &["sh -c $X 'rm f' y", "$X", "rm f"]),
        ("sh script.sh -c a", &["sh script.sh -c a"]),
        ("eval rm '-rf /'", &["eval rm '-rf /'", "rm -rf /"]),
        ("trap -- 'rm f' EXIT", &["trap -- 'rm f' EXIT", "rm f"]),
        ("echo 'rm f' | sh", &["echo 'rm f'", "sh", "rm f"]),
        ("sh <<< 'rm f'", &["sh", "rm f"]),
        ("sudo bash -s <<E\nrm f\nE", &["sudo bash -s", "bash -s", "rm f"]),
        (
            "find . -exec a {} \\; -exec b {} +",
            &["find . -exec a {} ; -exec b {} +", "a {}", "b {}"],
        ),
        ("ssh -p 22 host a \\; b", &["ssh -p 22 host a ; b", "a", "b"]),
        ("su - x -c 'rm f'", &["su - x -c 'rm f'", "rm f"]),
        ("busybox rm f", &["busybox rm f", "rm f"]),
        ("sh -c \"sh -c 'a'\"", &["sh -c 'sh -c 'a''", "sh -c a", "a"]),
    ];
    for (line, commands) in cases {
        assert_eq!(texts(line), *commands, "{line:?}");
    }
}

#[test]
fn only_wrappers_that_add_nothing_are_layers() {
    let layers = |line: &str| -> Vec<Layer> {
        split(line).unwrap().commands.iter().map(|command| command.layer).collect()
    };
    assert_eq!(layers("nohup ls"), [Layer::Wrapper, Layer::Plain]);
    assert_eq!(layers("sudo ls"), [Layer::Plain, Layer::Plain]);
    assert_eq!(layers("time -o f ls"), [Layer::Plain, Layer::Plain]);
    assert_eq!(layers("env"), [Layer::Plain]);
}

#[test]
fn a_command_knows_its_redirections_assignments_and_sources() {
    let line = split("A=1 a | B=2 b <<E > f\ntext\nE\n").unwrap();
    let redirect = |flow, text: &str| Redirect { flow, target: Word::literal(text) };
    let expected = [
        Command {
            words: vec![Word::literal("a")],
            assignments: vec!["A".into()],
            ..Command::default()
        },
        Command {
            words: vec![Word::literal("b")],
            assignments: vec!["B".into()],
            redirects: vec![redirect(Flow::Text, "text\n"), redirect(Flow::Out, "f")],
            feeds: 0..1,
            nested: 1..1,
            ..Command::default()
        },
    ];
    assert_eq!(line.commands, expected);
    let nested = split("x; a $(b) | (c)").unwrap();
    assert_eq!(nested.range(&nested.commands[2].nested)[0].name(), "b");
    assert_eq!(nested.commands[3].feeds, 1..3);
}

#[test]
fn only_literal_programs_are_named() {
    for line in ["ls $X", "/bin/ls *", "'$X'", "[ -f x ]", "\"l\"s"] {
        assert!(split(line).unwrap().commands[0].is_named(), "{line}");
    }
    for line in ["$X", "l${y}s", "\"$X\"", "/bin/l?", "l*'s'", "'l'*", "{ls,-l}", "f() { :; }"] {
        assert!(!split(line).unwrap().commands[0].is_named(), "{line}");
    }
}

#[test]
fn what_cannot_be_read_with_certainty_is_an_error() {
    let open = |what| SplitError::Unterminated { what };
    let unexpected = |what, at| SplitError::Unexpected { what, at };
    let deep = format!("{}a{}", "$(".repeat(20), ")".repeat(20));
    let cases = [
        ("echo 'a", open("single quotes")),
        ("echo \"a", open("double quotes")),
        ("echo \"$(a\"", open("double quotes")),
        ("echo $(a", open("a bracket")),
        ("echo `a", open("backticks")),
        ("(a", open("a bracket")),
        ("a \\", open("an escape")),
        ("a <<E\nb", open("a here-document")),
        ("a <<E", open("a here-document")),
        ("a >", open("a redirection")),
        ("case x in a) b", open("`case`")),
        ("echo $((1", open("arithmetic")),
        ("[[ a", open("`[[`")),
        ("a )", unexpected(')', 2)),
        ("a ;; b", unexpected(';', 4)),
        ("ls @(a|b)", unexpected('(', 4)),
        ("a (b)", unexpected('(', 2)),
        ("a\0b", unexpected('\0', 1)),
        ("echo $'a\\0b'", SplitError::Ambiguous { what: "a zero byte in `$'`" }),
        (
            "echo \"${x:-'$(a)'}\"",
            SplitError::Ambiguous { what: "a single quote in a quoted `${…}`" },
        ),
        ("sh -c 'a \"b'", open("double quotes")),
        ("echo $'\\'' '; p; #'", SplitError::Ambiguous { what: "a quote in `$'`" }),
        ("[[ a # ]]\np", SplitError::Ambiguous { what: "`#` in `[[ … ]]`" }),
        (deep.as_str(), SplitError::TooDeep),
    ];
    for (line, error) in cases {
        assert_eq!(split(line), Err(error), "{line:?}");
    }
    assert_eq!(split(&"a".repeat(MAX_BYTES + 1)), Err(SplitError::TooLong));
    assert_eq!(split(&"a;".repeat(MAX_COMMANDS + 1)), Err(SplitError::TooLong));
    assert_eq!(split(&format!("{} a", "nohup ".repeat(40))), Err(SplitError::TooDeep));
    let eval = (0..6)
        .fold(format!("a # {}\n", "x".repeat(60_000)), |inner, _| format!("eval \"$({inner})\""));
    assert_eq!(split(&eval), Err(SplitError::TooLong));
}

#[test]
fn a_program_without_a_shell_is_one_command() {
    let texts = |argv: &[&str]| -> Vec<String> {
        split_argv(argv).unwrap().commands.iter().map(Command::text).collect()
    };
    assert_eq!(texts(&["echo", "a; b", "$(c)"]), ["echo 'a; b' $(c)"]);
    assert_eq!(texts(&["sh", "-c", "a; b"]), ["sh -c 'a; b'", "a", "b"]);
}
