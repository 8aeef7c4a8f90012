//! The command line and the environment. Both read a value with the same function; a flag wins.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use kinfolk_actors::family::ApprovalMode;
use kinfolk_actors::id::{AgentId, InvalidId, Offset, RunId, SessionId};

use super::error::{Place, SettingsError, Told};
use super::freeze::Overrides;
use super::run::{
    DEFAULT_DATA, EventFilter, InspectSettings, InspectTarget, ResumeSettings, RunOptions,
};
use super::value::{self, Durability, OutputFormat};

/// Looks up a variable of the environment.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// What the launcher was asked to do.
#[derive(Clone, Debug)]
pub enum Parsed {
    /// `run`; see [`RunOptions::resolve`].
    Run(Box<RunOptions>),
    /// `resume`.
    Resume(ResumeSettings),
    /// `inspect`.
    Inspect(InspectSettings),
    /// `--help` or `--version`: print this text on stdout and exit with 0.
    Show(String),
}

/// Parses the command line, the program's name first, and the environment.
///
/// # Errors
/// The first argument or variable that cannot be used.
pub fn parse(
    arguments: impl IntoIterator<Item = OsString>,
    environment: Environment<'_>,
) -> Result<Parsed, SettingsError> {
    let parsed = command()
        .try_get_matches_from(arguments)
        .and_then(|matches| CommandLine::from_arg_matches(&matches));
    let line = match parsed {
        Ok(line) => line,
        Err(error) => return show_or_refuse(&error),
    };
    let env = Variables(environment);
    Ok(match line.command {
        Command::Run(arguments) => Parsed::Run(Box::new(run(arguments, &env)?)),
        Command::Resume(arguments) => Parsed::Resume(resume(arguments, &env)?),
        Command::Inspect(arguments) => Parsed::Inspect(inspect(arguments, &env)?),
    })
}

/// The command line as clap knows it, each option's help with the name of its variable.
fn command() -> clap::Command {
    let named = |command: clap::Command| {
        command.mut_args(|argument| match (argument.get_long(), argument.get_help()) {
            (Some(long), Some(help)) if !ONLY_FLAGS.contains(&long) => {
                let help = format!("{help} [env: {}]", variable(long));
                argument.help(help)
            }
            _ => argument,
        })
    };
    CommandLine::command().mut_subcommands(named)
}

/// Options that belong to one call and have no variable.
const ONLY_FLAGS: [&str; 5] = ["help", "version", "events", "from", "agent"];

fn variable(long: &str) -> String {
    format!("KINFOLK_{}", long.replace('-', "_").to_uppercase())
}

fn show_or_refuse(error: &clap::Error) -> Result<Parsed, SettingsError> {
    let text = error.render().to_string();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Ok(Parsed::Show(text)),
        // The kinds are clap's; every other one is a usage error.
        _ => {
            let problem = text.strip_prefix("error: ").unwrap_or(&text);
            Err(Place::CommandLine.error(problem.trim_end()))
        }
    }
}

/// Runs families of LLM agents: a lead and its subagents, supervised, durable, cancellable as one.
#[derive(Parser)]
#[command(
    name = "kinfolk",
    version,
    after_help = EXIT_CODES,
    subcommand_required = true,
    arg_required_else_help = false,
    disable_help_subcommand = true
)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 completed, 1 failed, 2 usage or settings, 130 cancelled, 143 ended by SIGTERM (resumable); \
3 (stopped by a limit) and 4 (parked) are kept for later versions.
Flags win over the environment, the environment over the family file.";

#[derive(Subcommand)]
enum Command {
    /// Starts one run in this process; what happens is durable in --data.
    #[command(after_help = EXIT_CODES)]
    Run(RunArguments),
    /// Goes on with an interrupted run; of a finished one, shows the end again.
    #[command(after_help = EXIT_CODES)]
    Resume(ResumeArguments),
    /// Shows sessions, the family tree of a session's runs, or events.
    #[command(after_help = EXIT_CODES)]
    Inspect(InspectArguments),
}

#[derive(Args)]
struct RunArguments {
    /// What to do; `-` reads it from stdin (UTF-8, at most 2 MiB). Needed with --family; the
    /// built-in family describes the directory if nothing is asked
    prompt: Option<String>,
    /// The family file (TOML, at most 1 MiB) [default: the built-in explorer family]
    #[arg(long, value_name = "FILE")]
    family: Option<PathBuf>,
    /// The directory that file tools see and commands run in [default: .]
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    #[command(flatten)]
    shared: SharedArguments,
    #[command(flatten)]
    reach: ReachArguments,
    /// The session to go on with, or the name of a new one [default: a new one]
    #[arg(long, value_name = "ID", value_parser = value::session)]
    session: Option<SessionId>,
    /// The model of the lead and of subagents whose table names none: openai:NAME, scripted:FILE
    /// (relative to the current directory) or scripted:explorer [default: the file's;
    /// scripted:explorer for the built-in family]
    #[arg(long, value_name = "PROVIDER:NAME", value_parser = value::model)]
    model: Option<String>,
    /// Whether tools that change something run: manual (they answer `blocked`) or auto-run (all
    /// run) [default: manual]
    #[arg(long, value_name = "MODE", value_parser = value::approval)]
    approval: Option<ApprovalMode>,
    /// Subagents that the run may start in all, a count [default: 6]
    #[arg(long, value_name = "N", value_parser = any_count)]
    max_subagents: Option<u32>,
    /// Subagents at work at once, a count from 1 [default: 3]
    #[arg(long, value_name = "N", value_parser = positive_count)]
    max_parallel: Option<u32>,
    /// Levels of subagents below the lead, a count; 0 forbids subagents [default: 1]
    #[arg(long, value_name = "N", value_parser = any_count)]
    max_depth: Option<u32>,
    /// When a write counts as done: always (on the disk before anybody is told) [default: always]
    #[arg(long, value_name = "WHEN", value_parser = value::durability)]
    durability: Option<Durability>,
}

#[derive(Args)]
struct ResumeArguments {
    /// The run's id [default: the newest run that is not finished]
    #[arg(value_parser = run_id)]
    run: Option<RunId>,
    #[command(flatten)]
    shared: SharedArguments,
    #[command(flatten)]
    reach: ReachArguments,
    /// When a write counts as done: always (on the disk before anybody is told) [default: always]
    #[arg(long, value_name = "WHEN", value_parser = value::durability)]
    durability: Option<Durability>,
}

#[derive(Args)]
struct InspectArguments {
    /// A session's name or a run's id [default: all sessions; with --events the newest one]
    #[arg(value_name = "SESSION|RUN", value_parser = target)]
    target: Option<InspectTarget>,
    /// Shows the events, one JSON object a line
    #[arg(long)]
    events: bool,
    /// The offset of the first event to show [default: 0]
    #[arg(long, value_name = "OFFSET", requires = "events")]
    from: Option<u64>,
    /// Shows only the events of this agent: lead or sub-N
    #[arg(long, value_name = "ID", requires = "events", value_parser = agent)]
    agent: Option<AgentId>,
    #[command(flatten)]
    shared: SharedArguments,
}

#[derive(Args)]
struct SharedArguments {
    /// The directory of the durable store [default: .kinfolk]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// text (lines for people on stderr, the answer alone on stdout) or json (one object a line on
    /// stdout) [default: text]
    #[arg(long, value_name = "FORMAT", value_parser = value::output_format)]
    output: Option<OutputFormat>,
}

/// The texts are checked after parsing: clap would repeat them, and one may be a key by mistake.
#[derive(Args)]
struct ReachArguments {
    /// The base URL of the lead's model, http or https [default: the file's, else the provider's]
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// The name of the variable that holds the key of the lead's model [default: the file's, else
    /// the provider's]
    #[arg(long, value_name = "VAR")]
    api_key_env: Option<String>,
}

fn any_count(text: &str) -> Result<u32, String> {
    value::count(text, 0)
}

fn positive_count(text: &str) -> Result<u32, String> {
    value::count(text, 1)
}

fn run_id(text: &str) -> Result<RunId, String> {
    text.parse().map_err(|error: InvalidId| error.to_string())
}

fn agent(text: &str) -> Result<AgentId, String> {
    text.parse().map_err(|error: InvalidId| error.to_string())
}

fn target(text: &str) -> Result<InspectTarget, String> {
    let session = value::session(text)?;
    Ok(match text.parse() {
        Ok(run) => InspectTarget::RunOrSession(run, session),
        Err(InvalidId { .. }) => InspectTarget::Session(session),
    })
}

fn run(arguments: RunArguments, env: &Variables<'_>) -> Result<RunOptions, SettingsError> {
    let reach = arguments.reach;
    Ok(RunOptions {
        prompt: arguments.prompt,
        family: env.path(arguments.family, "family")?.map(|told| told.value),
        workspace: env.path(arguments.workspace, "workspace")?,
        data: env.path(arguments.shared.data, "data")?,
        session: env.or(arguments.session, "session", value::session)?,
        durability: env.or(arguments.durability, "durability", value::durability)?,
        output: env.or(arguments.shared.output, "output", value::output_format)?,
        overrides: Overrides {
            model: env.text(arguments.model, "model", value::model)?,
            base_url: env.text(reach.base_url, "base-url", value::base_url)?,
            api_key_env: env.text(reach.api_key_env, "api-key-env", value::api_key_env)?,
            approval: env.or(arguments.approval, "approval", value::approval)?,
            max_subagents: env.or(arguments.max_subagents, "max-subagents", any_count)?,
            max_parallel: env.or(arguments.max_parallel, "max-parallel", positive_count)?,
            max_depth: env.or(arguments.max_depth, "max-depth", any_count)?,
        },
    })
}

fn resume(
    arguments: ResumeArguments,
    env: &Variables<'_>,
) -> Result<ResumeSettings, SettingsError> {
    let reach = arguments.reach;
    Ok(ResumeSettings {
        run: arguments.run,
        data: data(arguments.shared.data, env)?,
        base_url: env.text(reach.base_url, "base-url", value::base_url)?,
        api_key_env: env.text(reach.api_key_env, "api-key-env", value::api_key_env)?,
        durability: env
            .or(arguments.durability, "durability", value::durability)?
            .unwrap_or_default(),
        output: env
            .or(arguments.shared.output, "output", value::output_format)?
            .unwrap_or_default(),
    })
}

fn inspect(
    arguments: InspectArguments,
    env: &Variables<'_>,
) -> Result<InspectSettings, SettingsError> {
    let from = Offset(arguments.from.unwrap_or_default());
    let filter = EventFilter { from, agent: arguments.agent };
    Ok(InspectSettings {
        target: arguments.target,
        events: arguments.events.then_some(filter),
        data: data(arguments.shared.data, env)?,
        output: env
            .or(arguments.shared.output, "output", value::output_format)?
            .unwrap_or_default(),
    })
}

fn data(flag: Option<PathBuf>, env: &Variables<'_>) -> Result<PathBuf, SettingsError> {
    Ok(env.path(flag, "data")?.map_or_else(|| DEFAULT_DATA.into(), |told| told.value))
}

/// The environment behind the flags.
struct Variables<'a>(Environment<'a>);

impl Variables<'_> {
    fn place(long: &str) -> Place {
        Place::Option(variable(long).into())
    }

    fn flag_place(long: &str) -> Place {
        Place::Option(format!("--{long}").into())
    }

    /// The flag's value, else the variable's.
    fn or<T>(
        &self,
        flag: Option<T>,
        long: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<T>, SettingsError> {
        if flag.is_some() {
            return Ok(flag);
        }
        let Some(text) = (self.0)(&variable(long)) else { return Ok(None) };
        let place = Self::place(long);
        let text = text.into_string().map_err(|_| place.error("this is not UTF-8 text"))?;
        parse(&text).map(Some).map_err(|problem| place.error(problem))
    }

    /// The same for a text that is checked here in either case and keeps its place.
    fn text(
        &self,
        flag: Option<String>,
        long: &str,
        check: impl Fn(&str) -> Result<String, String>,
    ) -> Result<Option<Told<String>>, SettingsError> {
        let place = if flag.is_some() { Self::flag_place(long) } else { Self::place(long) };
        let text = match flag {
            Some(text) => Some(check(&text).map_err(|problem| place.error(problem))?),
            None => self.or(None, long, check)?,
        };
        Ok(text.map(|value| Told { value, place }))
    }

    /// The same for a path, which need not be UTF-8.
    fn path(
        &self,
        flag: Option<PathBuf>,
        long: &str,
    ) -> Result<Option<Told<PathBuf>>, SettingsError> {
        let told = match flag {
            Some(value) => Told { value, place: Self::flag_place(long) },
            None => match (self.0)(&variable(long)) {
                Some(text) => Told { value: text.into(), place: Self::place(long) },
                None => return Ok(None),
            },
        };
        if told.value.as_os_str().is_empty() {
            return Err(told.error("this must not be empty"));
        }
        Ok(Some(told))
    }
}
