//! The command line and the environment: what comes out, and the exact message for what does not.
#![cfg(feature = "cli")]

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use kinfolk::settings::flags::{Parsed, parse};
use kinfolk::settings::freeze::Host;
use kinfolk::settings::run::{
    DEFAULT_PROMPT, EventFilter, InspectSettings, InspectTarget, MAX_PROMPT, PromptSource,
    ResumeSettings, RunSettings, Wait,
};
use kinfolk::settings::value::{Durability, OutputFormat};
use kinfolk_actors::call::EffectClass;
use kinfolk_actors::family::{Caps, ModelEndpoint, Offer, Placement, ToolSpec};
use kinfolk_actors::id::{AgentId, Offset};
use kinfolk_actors::limits::{Limits, OnLimit};
use kinfolk_actors::money::Money;
use kinfolk_actors::policy::{Mode, Policy};
use kinfolk_actors::profile::ModelProfile;
use kinfolk_actors::time::Millis;

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
        placement: Placement::Runtime,
        offer: Offer::Always,
        cost: None,
    });
    let any = |_: &str, _: &ModelEndpoint| Ok(());
    let host = Host { tools: &tools, check_model: &any, current_dir: dir };
    match parsed(line, variables)? {
        Parsed::Run(options) => options.resolve(&host).map_err(|error| error.to_string()),
        other @ (Parsed::Resume(_) | Parsed::Inspect(_) | Parsed::Control(_) | Parsed::Show(_)) => {
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
    let RunSettings { prompt, family, data, session, durability, output, wait } = settings;
    assert_eq!(prompt, PromptSource::Text(DEFAULT_PROMPT.into()));
    assert_eq!(&*family.lead.model, "scripted:explorer");
    assert_eq!(family.caps, Caps::default());
    assert_eq!(family.policy, Policy::default());
    assert_eq!((family.limits, family.on_limit), (Limits::none(), OnLimit::Finish));
    assert_eq!(wait, Wait::Leave);
    assert_eq!(family.workspace.as_deref(), dir.to_str());
    assert_eq!(data, dir.join(".kinfolk"));
    assert_eq!((session, durability, output), (None, Durability::Always, OutputFormat::Text));
}

const VARIABLES: [(&str, &str); 18] = [
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
    ("KINFOLK_MAX_STEPS", "5"),
    ("KINFOLK_MAX_TOOL_CALLS", "5"),
    ("KINFOLK_MAX_TOKENS", "5"),
    ("KINFOLK_MAX_COST", "0.5"),
    ("KINFOLK_MAX_TIME", "5m"),
    ("KINFOLK_ON_LIMIT", "ask"),
    ("KINFOLK_DURABILITY", "always"),
];

#[test]
fn flags_win_over_the_environment_and_it_over_the_file() {
    let (_guard, dir) = temp();
    for name in ["flag", "env", "sub", "sub/file"] {
        std::fs::create_dir(dir.join(name)).unwrap();
    }
    let file = "workspace = 'file'\ndata = 'store'\nsession = 'file'\noutput = 'json'\n\
                [lead]\nprompt = 'p'\nmodel = 'openai:file'\n[limits]\nmax_depth = 4\n\
                max_parallel = 4\nmax_subagents = 4\nmax_steps = 4\nmax_cost = 4\non_limit = 'stop'\n[approval]\nmode = 'manual'\n";
    std::fs::write(dir.join("sub/f.toml"), file).unwrap();
    let family = dir.join("sub/f.toml");
    let line = format!("run go --family {}", family.display());

    let told = run(&dir, &line, &[]).unwrap();
    assert_eq!(told.family.workspace, Some(dir.join("sub/file").display().to_string()));
    assert_eq!(told.data, dir.join("sub/store"));
    assert_eq!(told.session, Some("file".parse().unwrap()));
    assert_eq!(told.output, OutputFormat::Json);
    assert_eq!(told.family.caps, Caps { max_subagents: 4, max_parallel: 4, max_depth: 4 });
    assert_eq!(told.family.limits, Limits::none().steps(4).cost(Money::from_dollars(4)));
    assert_eq!(told.family.on_limit, OnLimit::Stop);

    let told = run(&dir, &line, &VARIABLES).unwrap();
    assert_eq!(told.family.workspace, Some(dir.join("env").display().to_string()));
    assert_eq!(told.data, dir.join("env-store"));
    assert_eq!(told.session, Some("env".parse().unwrap()));
    assert_eq!(told.output, OutputFormat::Text);
    assert_eq!(told.family.policy.mode, Mode::AutoRun);
    assert_eq!(told.family.caps, Caps { max_subagents: 5, max_parallel: 5, max_depth: 5 });
    let five = Limits::none().steps(5).tool_calls(5).tokens(5).time(Millis(300_000));
    assert_eq!(told.family.limits, five.cost("0.50".parse().unwrap()));
    assert_eq!(told.family.on_limit, OnLimit::Ask);
    let endpoint = ModelEndpoint {
        base_url: Some("http://env/".into()),
        api_key_env: Some("ENV_KEY".into()),
        profile: ModelProfile::unknown(),
    };
    assert_eq!(told.family.models, [("openai:env".to_owned(), endpoint)].into());

    let line = format!(
        "{line} --workspace flag --data d --session flag --output json --model openai:flag \
         --base-url http://flag/ --api-key-env FLAG_KEY --approval headless --max-depth 6 \
         --max-parallel 6 --max-subagents 6 --durability always --max-steps 6 \
         --max-tool-calls 6 --max-tokens 6 --max-cost 0.06 --max-time 6h --on-limit warn --wait"
    );
    let told = run(&dir, &line, &VARIABLES).unwrap();
    assert_eq!(told.family.workspace, Some(dir.join("flag").display().to_string()));
    assert_eq!(told.data, dir.join("d"));
    assert_eq!(told.session, Some("flag".parse().unwrap()));
    assert_eq!(told.output, OutputFormat::Json);
    assert_eq!(told.family.policy.mode, Mode::Headless);
    assert_eq!(told.family.caps, Caps { max_subagents: 6, max_parallel: 6, max_depth: 6 });
    let six = Limits::none().steps(6).tool_calls(6).tokens(6).time(Millis(6 * 3_600_000));
    assert_eq!(told.family.limits, six.cost("0.06".parse().unwrap()));
    assert_eq!((told.family.on_limit, told.wait), (OnLimit::Warn, Wait::Stay));
    let endpoint = ModelEndpoint {
        base_url: Some("http://flag/".into()),
        api_key_env: Some("FLAG_KEY".into()),
        profile: ModelProfile::unknown(),
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
        raised: Limits::none(),
        wait: Wait::Leave,
        output: OutputFormat::Text,
    };
    assert_eq!(resume, plain);
    // Limits are raised by hand, once: no variable does it each time.
    let Ok(Parsed::Resume(raised)) =
        parsed("resume --max-steps 9 --wait", &[("KINFOLK_MAX_COST", "1")])
    else {
        panic!("resume")
    };
    let limits = Limits::none().steps(9);
    assert_eq!(raised, ResumeSettings { raised: limits, wait: Wait::Stay, ..plain.clone() });
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
        "max-steps",
        "max-tool-calls",
        "max-tokens",
        "max-cost",
        "max-time",
        "on-limit",
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
    let Ok(Parsed::Show(help)) = parsed("resume --help", &[]) else { panic!("help") };
    assert!(help.contains("--max-steps <") && !help.contains("KINFOLK_MAX_STEPS"), "{help}");
    let Ok(Parsed::Show(version)) = parsed("--version", &[]) else { panic!("version") };
    assert_eq!(version, format!("kinfolk {}\n", env!("CARGO_PKG_VERSION")));
}
