//! The command line and the environment: what comes out, and the exact message for what does not.
#![cfg(feature = "cli")]

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use kinfolk::settings::flags::{Parsed, parse};
use kinfolk::settings::freeze::Host;
use kinfolk::settings::run::{
    DEFAULT_PROMPT, EventFilter, InspectSettings, InspectTarget, MAX_PROMPT, PromptSource,
    ResumeSettings, RunSettings,
};
use kinfolk::settings::value::{Durability, OutputFormat};
use kinfolk_actors::call::EffectClass;
use kinfolk_actors::family::{ApprovalMode, Caps, ModelEndpoint, ToolSpec};
use kinfolk_actors::id::{AgentId, Offset};

const RUN: &str = "00000000-0000-0000-0000-000000000007";

fn parsed(line: &str, variables: &[(&str, &str)]) -> Result<Parsed, String> {
    let look_up = |name: &str| {
        let found = variables.iter().find(|(variable, _)| *variable == name);
        found.map(|(_, value)| OsString::from(value))
    };
    let words = std::iter::once("kinfolk").chain(line.split_whitespace());
    parse(words.map(OsString::from), &look_up).map_err(|error| error.to_string())
}

/// Resolves a `run` in a directory of its own.
fn run(dir: &Path, line: &str, variables: &[(&str, &str)]) -> Result<RunSettings, String> {
    let tools = ["read_file", "workspace_tree", "search_workspace"].map(|name| ToolSpec {
        name: name.into(),
        description: "reads".into(),
        schema: r#"{"type":"object"}"#.into(),
        effect: EffectClass::ReadOnly,
    });
    let any = |_: &str, _: &ModelEndpoint| Ok(());
    let host = Host { tools: &tools, check_model: &any, current_dir: dir };
    match parsed(line, variables)? {
        Parsed::Run(options) => options.resolve(&host).map_err(|error| error.to_string()),
        other @ (Parsed::Resume(_) | Parsed::Inspect(_) | Parsed::Show(_)) => {
            panic!("{other:?}")
        }
    }
}

fn temp() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().canonicalize().unwrap();
    (dir, path)
}

#[test]
fn run_alone_has_every_default() {
    let (_guard, dir) = temp();
    let settings = run(&dir, "run", &[]).unwrap();
    let RunSettings { prompt, family, data, session, durability, output } = settings;
    assert_eq!(prompt, PromptSource::Text(DEFAULT_PROMPT.into()));
    assert_eq!(&*family.lead.model, "scripted:explorer");
    assert_eq!(family.caps, Caps::default());
    assert_eq!(family.approval, ApprovalMode::Manual);
    assert_eq!(family.workspace.as_deref(), dir.to_str());
    assert_eq!(data, dir.join(".kinfolk"));
    assert_eq!((session, durability, output), (None, Durability::Always, OutputFormat::Text));
}

#[test]
fn flags_win_over_the_environment_and_it_over_the_file() {
    let (_guard, dir) = temp();
    for name in ["flag", "env", "sub", "sub/file"] {
        std::fs::create_dir(dir.join(name)).unwrap();
    }
    let file = "workspace = 'file'\ndata = 'store'\nsession = 'file'\noutput = 'json'\n\
                [lead]\nprompt = 'p'\nmodel = 'openai:file'\n[limits]\nmax_depth = 4\n\
                max_parallel = 4\nmax_subagents = 4\n[approval]\nmode = 'manual'\n";
    std::fs::write(dir.join("sub/f.toml"), file).unwrap();
    let family = dir.join("sub/f.toml");
    let line = format!("run go --family {}", family.display());

    let told = run(&dir, &line, &[]).unwrap();
    assert_eq!(told.family.workspace, Some(dir.join("sub/file").display().to_string()));
    assert_eq!(told.data, dir.join("sub/store"));
    assert_eq!(told.session, Some("file".parse().unwrap()));
    assert_eq!(told.output, OutputFormat::Json);
    assert_eq!(told.family.caps, Caps { max_subagents: 4, max_parallel: 4, max_depth: 4 });

    let variables = [
        ("KINFOLK_WORKSPACE", "env"),
        ("KINFOLK_DATA", "env-store"),
        ("KINFOLK_SESSION", "env"),
        ("KINFOLK_OUTPUT", "text"),
        ("KINFOLK_MODEL", "openai:env"),
        ("KINFOLK_BASE_URL", "http://env/"),
        ("KINFOLK_API_KEY_ENV", "ENV_KEY"),
        ("KINFOLK_APPROVAL", "auto-run"),
        ("KINFOLK_MAX_DEPTH", "5"),
        ("KINFOLK_MAX_PARALLEL", "5"),
        ("KINFOLK_MAX_SUBAGENTS", "5"),
        ("KINFOLK_DURABILITY", "always"),
    ];
    let told = run(&dir, &line, &variables).unwrap();
    assert_eq!(told.family.workspace, Some(dir.join("env").display().to_string()));
    assert_eq!(told.data, dir.join("env-store"));
    assert_eq!(told.session, Some("env".parse().unwrap()));
    assert_eq!(told.output, OutputFormat::Text);
    assert_eq!(told.family.approval, ApprovalMode::AutoRun);
    assert_eq!(told.family.caps, Caps { max_subagents: 5, max_parallel: 5, max_depth: 5 });
    let endpoint =
        ModelEndpoint { base_url: Some("http://env/".into()), api_key_env: Some("ENV_KEY".into()) };
    assert_eq!(told.family.models, [("openai:env".to_owned(), endpoint)].into());

    let line = format!(
        "{line} --workspace flag --data d --session flag --output json --model openai:flag \
         --base-url http://flag/ --api-key-env FLAG_KEY --approval manual --max-depth 6 \
         --max-parallel 6 --max-subagents 6 --durability always"
    );
    let told = run(&dir, &line, &variables).unwrap();
    assert_eq!(told.family.workspace, Some(dir.join("flag").display().to_string()));
    assert_eq!(told.data, dir.join("d"));
    assert_eq!(told.session, Some("flag".parse().unwrap()));
    assert_eq!(told.output, OutputFormat::Json);
    assert_eq!(told.family.approval, ApprovalMode::Manual);
    assert_eq!(told.family.caps, Caps { max_subagents: 6, max_parallel: 6, max_depth: 6 });
    let endpoint = ModelEndpoint {
        base_url: Some("http://flag/".into()),
        api_key_env: Some("FLAG_KEY".into()),
    };
    assert_eq!(told.family.models, [("openai:flag".to_owned(), endpoint)].into());

    let from_env = [("KINFOLK_FAMILY", family.to_str().unwrap())];
    assert_eq!(&*run(&dir, "run go", &from_env).unwrap().family.lead.model, "openai:file");
}

#[test]
fn resume_and_inspect_say_what_they_were_told() {
    let Ok(Parsed::Resume(resume)) = parsed("resume", &[]) else { panic!("resume") };
    let plain = ResumeSettings {
        run: None,
        data: ".kinfolk".into(),
        base_url: None,
        api_key_env: None,
        durability: Durability::Always,
        output: OutputFormat::Text,
    };
    assert_eq!(resume, plain);
    let line = format!("resume {RUN} --data d --output json");
    let Ok(Parsed::Resume(resume)) = parsed(&line, &[]) else { panic!("{line}") };
    let run = Some(RUN.parse().unwrap());
    assert_eq!(
        resume,
        ResumeSettings { run, data: "d".into(), output: OutputFormat::Json, ..plain }
    );

    let inspect = |line: &str| match parsed(line, &[("KINFOLK_DATA", "env")]) {
        Ok(Parsed::Inspect(settings)) => settings,
        other => panic!("{line}: {other:?}"),
    };
    let plain = InspectSettings {
        target: None,
        events: None,
        data: "env".into(),
        output: OutputFormat::Text,
    };
    assert_eq!(inspect("inspect"), plain);
    let target = Some(InspectTarget::Session("trip".parse().unwrap()));
    let events = Some(EventFilter { from: Offset(3), agent: Some(AgentId(1)) });
    assert_eq!(
        inspect("inspect trip --events --from 3 --agent sub-1"),
        InspectSettings { target, events, ..plain.clone() }
    );
    let target = Some(InspectTarget::RunOrSession(RUN.parse().unwrap(), RUN.parse().unwrap()));
    assert_eq!(inspect(&format!("inspect {RUN}")), InspectSettings { target, ..plain });
}

const BAD_OPTIONS: &[(&str, &str)] = &[
    (
        "run x --approval headless",
        "invalid value 'headless' for '--approval <MODE>': `headless` is not supported by this version; it knows `manual`, `auto-run`",
    ),
    (
        "run x --approval allow-list",
        "invalid value 'allow-list' for '--approval <MODE>': `allow-list` is not supported by this version; it knows `manual`, `auto-run`",
    ),
    (
        "run x --approval no",
        "invalid value 'no' for '--approval <MODE>': `no` is not known; use one of `manual`, `auto-run`",
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
    ("run x --max-steps 3", "unexpected argument '--max-steps' found"),
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
            "headless",
            "KINFOLK_APPROVAL: `headless` is not supported by this version; it knows `manual`, `auto-run`",
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
    ];
    for (name, value, message) in table {
        assert_eq!(parsed("run x", &[(name, value)]).expect_err(name), message);
    }
}

#[test]
fn workspaces_and_prompts_are_checked() {
    let (_guard, dir) = temp();
    std::fs::write(dir.join("file"), "").unwrap();
    std::fs::write(dir.join("f.toml"), "[lead]\nprompt='p'\nmodel='openai:m'").unwrap();
    let family = format!("--family {}", dir.join("f.toml").display());
    let table = [
        (
            "run --workspace gone",
            "--workspace: the workspace DIR/gone cannot be used: No such file or directory (os error 2); name an existing directory",
        ),
        (
            "run --workspace file",
            "--workspace: the workspace DIR/file is not a directory; name an existing directory",
        ),
        ("run FAMILY", "the prompt is missing; a run with --family needs one, or `-` for stdin"),
        ("run --family", "a value is required for '--family <FILE>' but none was supplied"),
    ];
    for (line, message) in table {
        let error = run(&dir, &line.replace("FAMILY", &family), &[]).unwrap_err();
        let error = error.replace(dir.to_str().unwrap(), "DIR");
        assert_eq!(error.lines().next(), Some(message), "{line}");
    }
    let stdin = run(&dir, &format!("run - {family}"), &[]).unwrap().prompt;
    assert_eq!(stdin, PromptSource::Stdin);
    let read = |bytes: &[u8]| stdin.read(&mut &*bytes).map_err(|error| error.to_string());
    assert_eq!(read("ask\n".as_bytes()), Ok("ask\n".into()));
    assert_eq!(read(b" \n"), Err("the prompt is empty; say what to do".into()));
    assert_eq!(read(b"\xff"), Err("the prompt on stdin is not UTF-8 text".into()));
    let long = vec![b'x'; usize::try_from(MAX_PROMPT).unwrap() + 1];
    let message = "the prompt on stdin is longer than 2097152 bytes; shorten it";
    assert_eq!(read(&long), Err(message.into()));
    assert_eq!(read(&long[1..]).map(|text| text.len()), Ok(long.len() - 1));
}

#[test]
fn help_explains_every_option_with_its_variable_and_the_exit_codes() {
    let Ok(Parsed::Show(help)) = parsed("run --help", &[]) else { panic!("help") };
    let options = [
        "family",
        "workspace",
        "data",
        "session",
        "model",
        "base-url",
        "api-key-env",
        "approval",
        "max-subagents",
        "max-parallel",
        "max-depth",
        "durability",
        "output",
    ];
    for option in options {
        let variable = format!("[env: KINFOLK_{}]", option.replace('-', "_").to_uppercase());
        assert!(help.contains(&format!("--{option} <")), "{option}: {help}");
        assert!(help.contains(&variable), "{variable}: {help}");
    }
    assert!(help.contains("Exit codes: 0 completed, 1 failed, 2 usage or settings"), "{help}");
    let Ok(Parsed::Show(version)) = parsed("--version", &[]) else { panic!("version") };
    assert_eq!(version, format!("kinfolk {}\n", env!("CARGO_PKG_VERSION")));
}
