//! The command line and the environment. Both read a value with the same function; a flag wins.

mod arguments;
mod control;
mod variables;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches};
use kinfolk_actors::id::Offset;
use kinfolk_actors::limits::Limits;

use self::arguments::{
    Command, CommandLine, InspectArguments, LimitArguments, ResumeArguments, RunArguments,
    any_count, positive_count,
};
use self::variables::{Variables, variable};
use super::error::{Place, SettingsError};
use super::freeze::Overrides;
use super::run::{
    ControlSettings, DEFAULT_DATA, EventFilter, InspectSettings, ResumeSettings, RunOptions, Wait,
};
use super::value;

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
    /// `approvals`, `approve`, `answer`, `steer`, `cancel`, `compact`.
    Control(ControlSettings),
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
        Command::Approvals(arguments) => Parsed::Control(control::approvals(arguments, &env)?),
        Command::Approve(arguments) => Parsed::Control(control::approve(arguments, &env)?),
        Command::Answer(arguments) => Parsed::Control(control::answer(arguments, &env)?),
        Command::Steer(arguments) => Parsed::Control(control::steer(arguments, &env)?),
        Command::Cancel(arguments) => Parsed::Control(control::cancel(arguments, &env)?),
        Command::Compact(arguments) => Parsed::Control(control::compact(arguments, &env)?),
    })
}

/// The command line as clap knows it, each option's help with the name of its variable.
fn command() -> clap::Command {
    let named = |command: clap::Command| {
        // Variables stand for a run's settings; a limit that is raised is raised once, by hand.
        let is_run = command.get_name() == "run";
        command.mut_args(|argument| match (argument.get_long(), argument.get_help()) {
            (Some(long), Some(help)) if has_variable(long, is_run) => {
                let help = format!("{help} [env: {}]", variable(long));
                argument.help(help)
            }
            _ => argument,
        })
    };
    CommandLine::command().mut_subcommands(named)
}

/// Options that belong to one call and have no variable.
const ONLY_FLAGS: [&str; 11] =
    ["help", "version", "events", "from", "agent", "wait", "deny", "stop", "by", "queue", "reason"];

fn has_variable(long: &str, is_run: bool) -> bool {
    !ONLY_FLAGS.contains(&long) && (is_run || !long.starts_with("max-"))
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
        wait: Wait::if_asked(arguments.wait),
        overrides: Overrides {
            model: env.text(arguments.model, "model", value::model)?,
            base_url: env.text(reach.base_url, "base-url", value::base_url)?,
            api_key_env: env.text(reach.api_key_env, "api-key-env", value::api_key_env)?,
            approval: env.or(arguments.approval, "approval", value::approval)?,
            limits: env_limits(arguments.limits, env)?,
            on_limit: env.or(arguments.on_limit, "on-limit", value::on_limit)?,
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
        raised: limits(&arguments.raised),
        wait: Wait::if_asked(arguments.wait),
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
        data: data(arguments.shown.data.data, env)?,
        output: env.or(arguments.shown.output, "output", value::output_format)?.unwrap_or_default(),
    })
}

/// The flags alone.
fn limits(arguments: &LimitArguments) -> Limits {
    Limits {
        max_steps: arguments.max_steps,
        max_tool_calls: arguments.max_tool_calls,
        max_tokens: arguments.max_tokens,
        max_cost: arguments.max_cost,
        max_time: arguments.max_time,
    }
}

/// The flags, else the variables.
fn env_limits(arguments: LimitArguments, env: &Variables<'_>) -> Result<Limits, SettingsError> {
    Ok(Limits {
        max_steps: env.or(arguments.max_steps, "max-steps", value::amount)?,
        max_tool_calls: env.or(arguments.max_tool_calls, "max-tool-calls", value::amount)?,
        max_tokens: env.or(arguments.max_tokens, "max-tokens", value::amount)?,
        max_cost: env.or(arguments.max_cost, "max-cost", value::money)?,
        max_time: env.or(arguments.max_time, "max-time", value::long_time)?,
    })
}

fn data(flag: Option<PathBuf>, env: &Variables<'_>) -> Result<PathBuf, SettingsError> {
    Ok(env.path(flag, "data")?.map_or_else(|| DEFAULT_DATA.into(), |told| told.value))
}
