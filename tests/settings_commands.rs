//! The commands for live runs, and the exact message for every option that cannot be used.
#![cfg(feature = "cli")]

use std::ffi::OsString;
use std::path::PathBuf;

use kinfolk::control::{Approval, Request, Say};
use kinfolk::settings::flags::{Parsed, parse};
use kinfolk::settings::run::ControlSettings;
use kinfolk::settings::value::OutputFormat;
use kinfolk_actors::limits::Limits;

const RUN: &str = "00000000-0000-0000-0000-000000000007";

fn parsed(line: &str, variables: &[(&str, &str)]) -> Result<Parsed, String> {
    let look_up = |name: &str| {
        let found = variables.iter().find(|(variable, _)| *variable == name);
        found.map(|(_, value)| OsString::from(value))
    };
    let words = std::iter::once("kinfolk").chain(line.split_whitespace());
    parse(words.map(OsString::from), &look_up).map_err(|error| error.to_string())
}

#[test]
fn the_commands_for_live_runs_say_what_they_were_told() {
    let told = |line: &str| match parsed(line, &[("KINFOLK_DATA", "env")]) {
        Ok(Parsed::Control(settings)) => settings,
        other => panic!("{line}: {other:?}"),
    };
    let (id, run) = (format!("{RUN}:sub-2:q1"), RUN.parse().unwrap());
    let approve = |says, reason: Option<&str>, raised| Request::Approve {
        approval: id.parse().unwrap(),
        answer: Approval { says, by: None, reason: reason.map(Into::into), raised },
    };
    let table = [
        ("approvals".to_owned(), Request::Approvals),
        (format!("approve {id}"), approve(Say::Approve, None, None)),
        (format!("approve {id} --deny"), approve(Say::Deny, None, None)),
        (format!("approve {id} --deny no"), approve(Say::Deny, Some("no"), None)),
        (format!("approve {id} --stop"), approve(Say::DenyAndStop, None, None)),
        (format!("approve {id} --deny no --stop"), approve(Say::DenyAndStop, Some("no"), None)),
        (
            format!("approve {id} --max-tokens 9"),
            approve(Say::Approve, None, Some(Limits::none().tokens(9))),
        ),
        (
            format!("answer {id} yes --by ada"),
            Request::Answer {
                question: id.parse().unwrap(),
                text: "yes".into(),
                by: Some("ada".into()),
            },
        ),
        (format!("steer {RUN} left"), Request::Steer { run, text: "left".into() }),
        (format!("steer {RUN} next --queue"), Request::Queue { run, text: "next".into() }),
        (
            format!("cancel {RUN}"),
            Request::Cancel { run, reason: "cancelled by `kinfolk cancel`".into() },
        ),
        (format!("cancel {RUN} --reason late"), Request::Cancel { run, reason: "late".into() }),
        ("compact trip".to_owned(), Request::Compact { session: "trip".parse().unwrap() }),
    ];
    for (line, request) in table {
        let (data, output) = (PathBuf::from("env"), OutputFormat::Text);
        assert_eq!(told(&line), ControlSettings { request, data, output }, "{line}");
    }
    let json = told("approvals --output json --data d");
    assert_eq!((json.data, json.output), (PathBuf::from("d"), OutputFormat::Json));
}

const BAD_OPTIONS: &[(&str, &str)] = &[
    (
        "run x --approval no",
        "invalid value 'no' for '--approval <MODE>': `no` is not known; use one of `manual`, `allow-list`, `auto-run`, `headless`",
    ),
    (
        "run x --durability off",
        "invalid value 'off' for '--durability <WHEN>': `off` is not supported by this version; it knows `always`",
    ),
    (
        "run x --output xml",
        "invalid value 'xml' for '--output <FORMAT>': `xml` is not known; use one of `text`, `json`",
    ),
    (
        "run x --max-parallel 0",
        "invalid value '0' for '--max-parallel <N>': `0` is no whole number from 1 to 4294967295",
    ),
    (
        "run x --max-depth many",
        "invalid value 'many' for '--max-depth <N>': `many` is no whole number from 0 to 4294967295",
    ),
    (
        "run x --session ../x",
        "invalid value '../x' for '--session <ID>': `../x` is not a valid session id: use 1 to 128 of A-Z a-z 0-9 . _ -, starting with a letter or digit",
    ),
    (
        "run x --model gpt",
        "invalid value 'gpt' for '--model <PROVIDER:NAME>': `gpt` is no model; write `PROVIDER:NAME`, for example `openai:NAME`",
    ),
    (
        "run x --base-url nowhere",
        "--base-url: `nowhere` is no URL (relative URL without a base); write for example `https://host/v1`",
    ),
    (
        "run x --base-url http://a:secret@h",
        "--base-url: a base URL must not hold credentials or `@`; put the key into a variable and name it with `api_key_env`",
    ),
    (
        "run x --api-key-env sk-secret",
        "--api-key-env: this must be the name of an environment variable (A-Z a-z 0-9 _), not the key itself",
    ),
    (
        "run x --max-steps 0",
        "invalid value '0' for '--max-steps <N>': `0` is no whole number from 1 to 9223372036854775807",
    ),
    (
        "run x --max-cost 1e3",
        "invalid value '1e3' for '--max-cost <USD>': `1e3` is not a valid amount of money: use dollars with at most 12 decimals, for example 0.50",
    ),
    (
        "run x --max-cost 0.00",
        "invalid value '0.00' for '--max-cost <USD>': a limit of money must be more than 0 dollars",
    ),
    (
        "run x --max-time 10",
        "invalid value '10' for '--max-time <DURATION>': `10` is no length of time; write for example `10s` or `2m`",
    ),
    (
        "run x --max-time 9000h",
        "invalid value '9000h' for '--max-time <DURATION>': `9000h` must be at least `1ms` and at most `8760h`",
    ),
    (
        "run x --on-limit die",
        "invalid value 'die' for '--on-limit <WHAT>': `die` is not known; use one of `finish`, `stop`, `interrupt`, `ask`, `warn`",
    ),
    (
        "approve x",
        "invalid value 'x' for '<ID>': `x` is not a valid approval or question id: use RUN:AGENT:qN, as `kinfolk approvals` shows it",
    ),
    ("approve", "the following required arguments were not provided:"),
    (
        "approve 00000000-0000-0000-0000-000000000007:lead:q0 --stop --max-steps 9",
        "a limit is raised by a yes; leave `--deny` and `--stop` out",
    ),
    (
        "answer 00000000-0000-0000-0000-000000000007:lead:q0",
        "the following required arguments were not provided:",
    ),
    (
        "steer 00000000-0000-0000-0000-000000000007",
        "the following required arguments were not provided:",
    ),
    ("run x --attach f", "unexpected argument '--attach' found"),
    ("run x y", "unexpected argument 'y' found"),
    (
        "resume x",
        "invalid value 'x' for '[RUN]': `x` is not a valid run id: use the id that `run_started` shows, a UUID",
    ),
    (
        "inspect a/b",
        "invalid value 'a/b' for '[SESSION|RUN]': `a/b` is not a valid session id: use 1 to 128 of A-Z a-z 0-9 . _ -, starting with a letter or digit",
    ),
    (
        "inspect s --events --agent x",
        "invalid value 'x' for '--agent <ID>': `x` is not a valid agent id: use `lead` or `sub-N`",
    ),
    ("inspect s --from 3", "the following required arguments were not provided:"),
    ("serve", "unrecognized subcommand 'serve'"),
    ("", "'kinfolk' requires a subcommand but one was not provided"),
];

#[test]
fn every_bad_option_has_its_message() {
    for (line, message) in BAD_OPTIONS {
        let error = parsed(line, &[]).expect_err(line);
        assert_eq!(error.lines().next(), Some(*message), "{line}");
    }
}

#[test]
fn every_bad_variable_has_its_message() {
    let table = [
        (
            "KINFOLK_APPROVAL",
            "never",
            "KINFOLK_APPROVAL: `never` is not known; use one of `manual`, `allow-list`, `auto-run`, `headless`",
        ),
        ("KINFOLK_MAX_DEPTH", "", "KINFOLK_MAX_DEPTH: `` is no whole number from 0 to 4294967295"),
        (
            "KINFOLK_MODEL",
            "x",
            "KINFOLK_MODEL: `x` is no model; write `PROVIDER:NAME`, for example `openai:NAME`",
        ),
        (
            "KINFOLK_API_KEY_ENV",
            "sk-1",
            "KINFOLK_API_KEY_ENV: this must be the name of an environment variable (A-Z a-z 0-9 _), not the key itself",
        ),
        ("KINFOLK_DATA", "", "KINFOLK_DATA: this must not be empty"),
        (
            "KINFOLK_MAX_COST",
            "a lot",
            "KINFOLK_MAX_COST: `a lot` is not a valid amount of money: use dollars with at most 12 decimals, for example 0.50",
        ),
        (
            "KINFOLK_MAX_STEPS",
            "-1",
            "KINFOLK_MAX_STEPS: `-1` is no whole number from 1 to 9223372036854775807",
        ),
    ];
    for (name, value, message) in table {
        assert_eq!(parsed("run x", &[(name, value)]).expect_err(name), message);
    }
}
