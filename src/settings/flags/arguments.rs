//! The commands and their arguments, as clap knows them. Doc comments are the text of `--help`.

use std::path::PathBuf;

use clap::{Arg, Args, Parser, Subcommand};
use kinfolk_actors::id::{AgentId, AskId, InvalidId, RunId, SessionId};
use kinfolk_actors::limits::OnLimit;
use kinfolk_actors::money::Money;
use kinfolk_actors::policy::Mode;
use kinfolk_actors::time::Millis;

use crate::settings::run::InspectTarget;
use crate::settings::value::{self, Durability, OutputFormat};

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
pub(super) struct CommandLine {
    #[command(subcommand)]
    pub(super) command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 completed, 1 failed, 2 usage or settings, 3 stopped or interrupted by a limit, \
4 parked (it waits for an answer or an approval), 130 cancelled, 143 ended by SIGTERM (resumable).
Flags win over the environment, the environment over the family file.";

const CONTROL: &str = "\
It talks to the process that owns the data directory, through the socket `control.sock` in it.
Exit codes: 0 done, 1 refused or failed, 2 usage, nobody to talk to, or nothing of that name.";

const ALONE: &str = "\
It talks to the process that owns the data directory, through the socket `control.sock` in it; \
where nobody owns it, it opens the directory itself.
Exit codes: 0 done, 1 refused or failed, 2 usage, or nothing of that name.";

#[derive(Subcommand)]
pub(super) enum Command {
    /// Starts one run in this process; what happens is durable in --data.
    #[command(after_help = EXIT_CODES)]
    Run(RunArguments),
    /// Goes on with an interrupted run; of a finished one, shows the end again.
    #[command(after_help = EXIT_CODES, mut_args = |arg| unchanged(arg, "as the run has it"))]
    Resume(ResumeArguments),
    /// Shows sessions, the family tree of a session's runs, or events.
    #[command(after_help = EXIT_CODES)]
    Inspect(InspectArguments),
    /// Lists what waits for a person: approvals and questions.
    #[command(after_help = ALONE)]
    Approvals(ApprovalsArguments),
    /// Answers an approval with yes, or with no.
    #[command(after_help = CONTROL, mut_args = |arg| unchanged(arg, "as it is; the one that was reached, doubled"))]
    Approve(ApproveArguments),
    /// Answers a question.
    #[command(after_help = CONTROL)]
    Answer(AnswerArguments),
    /// Tells a run something; it reads it before its next step.
    #[command(after_help = CONTROL)]
    Steer(SteerArguments),
    /// Cancels a run with everything under it; returns when all of it is dead.
    #[command(after_help = CONTROL)]
    Cancel(CancelArguments),
    /// Compacts a session's history before the next request.
    #[command(after_help = ALONE)]
    Compact(CompactArguments),
}

#[derive(Args)]
pub(super) struct RunArguments {
    /// What to do; `-` reads it from stdin (UTF-8, at most 2 MiB). Needed with --family; the
    /// built-in family describes the directory if nothing is asked
    pub(super) prompt: Option<String>,
    /// The family file (TOML, at most 1 MiB) [default: the built-in explorer family]
    #[arg(long, value_name = "FILE")]
    pub(super) family: Option<PathBuf>,
    /// The directory that file tools see and commands run in [default: .]
    #[arg(long, value_name = "DIR")]
    pub(super) workspace: Option<PathBuf>,
    #[command(flatten)]
    pub(super) shared: SharedArguments,
    #[command(flatten)]
    pub(super) reach: ReachArguments,
    /// The session to go on with, or the name of a new one [default: a new one]
    #[arg(long, value_name = "ID", value_parser = value::session)]
    pub(super) session: Option<SessionId>,
    /// The model of the lead and of subagents whose table names none: openai:NAME, scripted:FILE
    /// (relative to the current directory) or scripted:explorer [default: the file's;
    /// scripted:explorer for the built-in family]
    #[arg(long, value_name = "PROVIDER:NAME", value_parser = value::model)]
    pub(super) model: Option<String>,
    /// Whether tools that change something run: manual (a person is asked), allow-list (a person
    /// is asked for what the file's `allow` does not list), auto-run (all run that nothing forbids)
    /// or headless (as auto-run, and what would ask is blocked) [default: manual]
    #[arg(long, value_name = "MODE", value_parser = value::approval)]
    pub(super) approval: Option<Mode>,
    #[command(flatten)]
    pub(super) limits: LimitArguments,
    /// What happens at a limit: finish (a closing turn without tools), stop (fail), interrupt (rest,
    /// resumable with a higher limit), ask (a person) or warn (go on) [default: finish]
    #[arg(long, value_name = "WHAT", value_parser = value::on_limit)]
    pub(super) on_limit: Option<OnLimit>,
    /// Subagents that the run may start in all, a count [default: 6]
    #[arg(long, value_name = "N", value_parser = any_count)]
    pub(super) max_subagents: Option<u32>,
    /// Subagents at work at once, a count from 1 [default: 3]
    #[arg(long, value_name = "N", value_parser = positive_count)]
    pub(super) max_parallel: Option<u32>,
    /// Levels of subagents below the lead, a count; 0 forbids subagents [default: 1]
    #[arg(long, value_name = "N", value_parser = any_count)]
    pub(super) max_depth: Option<u32>,
    /// When a write counts as done: always (on the disk before anybody is told) [default: always]
    #[arg(long, value_name = "WHEN", value_parser = value::durability)]
    pub(super) durability: Option<Durability>,
    /// Stays while a person is asked, so that `kinfolk approve` and `kinfolk answer` reach the run,
    /// instead of ending with 4
    #[arg(long)]
    pub(super) wait: bool,
}

#[derive(Args)]
pub(super) struct ResumeArguments {
    /// The run's id [default: the newest run that is not finished]
    #[arg(value_parser = run_id)]
    pub(super) run: Option<RunId>,
    #[command(flatten)]
    pub(super) raised: LimitArguments,
    #[command(flatten)]
    pub(super) shared: SharedArguments,
    #[command(flatten)]
    pub(super) reach: ReachArguments,
    /// When a write counts as done: always (on the disk before anybody is told) [default: always]
    #[arg(long, value_name = "WHEN", value_parser = value::durability)]
    pub(super) durability: Option<Durability>,
    /// Stays while a person is asked, so that `kinfolk approve` and `kinfolk answer` reach the run,
    /// instead of ending with 4
    #[arg(long)]
    pub(super) wait: bool,
}

#[derive(Args)]
pub(super) struct InspectArguments {
    /// A session's name or a run's id [default: all sessions; with --events the newest one]
    #[arg(value_name = "SESSION|RUN", value_parser = target)]
    pub(super) target: Option<InspectTarget>,
    /// Shows the events, one JSON object a line
    #[arg(long)]
    pub(super) events: bool,
    /// The offset of the first event to show [default: 0]
    #[arg(long, value_name = "OFFSET", requires = "events")]
    pub(super) from: Option<u64>,
    /// Shows only the events of this agent: lead or sub-N
    #[arg(long, value_name = "ID", requires = "events", value_parser = agent)]
    pub(super) agent: Option<AgentId>,
    #[command(flatten)]
    pub(super) shown: ShownArguments,
}

/// Limits of the whole family. As a limit is told by its own name alone, none is taken back.
#[derive(Args)]
pub(super) struct LimitArguments {
    /// Model replies of the whole family, a count from 1 [default: no limit]
    #[arg(long, value_name = "N", value_parser = value::amount)]
    pub(super) max_steps: Option<u64>,
    /// Tool calls of the whole family, a count from 1 [default: no limit]
    #[arg(long, value_name = "N", value_parser = value::amount)]
    pub(super) max_tool_calls: Option<u64>,
    /// Tokens in and out of the whole family, a count from 1 [default: no limit]
    #[arg(long, value_name = "N", value_parser = value::amount)]
    pub(super) max_tokens: Option<u64>,
    /// Money of the whole family in dollars, for example 0.50 [default: no limit]
    #[arg(long, value_name = "USD", value_parser = value::money)]
    pub(super) max_cost: Option<Money>,
    /// Time at work, for example 90s, 10m or 1h [default: no limit]
    #[arg(long, value_name = "DURATION", value_parser = value::long_time)]
    pub(super) max_time: Option<Millis>,
}

#[derive(Args)]
pub(super) struct ApprovalsArguments {
    #[command(flatten)]
    pub(super) shown: ShownArguments,
}

#[derive(Args)]
pub(super) struct ApproveArguments {
    /// The approval's id, as `kinfolk approvals` shows it
    #[arg(value_name = "ID", value_parser = ask)]
    pub(super) approval: AskId,
    /// Says no; the model reads the reason as the call's result. What follows is the reason, so the
    /// id stands before it: `kinfolk approve ID --deny`
    #[arg(long, value_name = "REASON", num_args = 0..=1, default_missing_value = "")]
    pub(super) deny: Option<String>,
    /// Says no and ends the run
    #[arg(long)]
    pub(super) stop: bool,
    #[command(flatten)]
    pub(super) raised: LimitArguments,
    /// Who answers, for the record [default: nobody is named]
    #[arg(long, value_name = "NAME")]
    pub(super) by: Option<String>,
    #[command(flatten)]
    pub(super) data: DataArguments,
}

#[derive(Args)]
pub(super) struct AnswerArguments {
    /// The question's id, as `kinfolk approvals` shows it
    #[arg(value_name = "ID", value_parser = ask)]
    pub(super) question: AskId,
    /// The answer
    pub(super) text: String,
    /// Who answers, for the record [default: nobody is named]
    #[arg(long, value_name = "NAME")]
    pub(super) by: Option<String>,
    #[command(flatten)]
    pub(super) data: DataArguments,
}

#[derive(Args)]
pub(super) struct SteerArguments {
    /// The run's id
    #[arg(value_parser = run_id)]
    pub(super) run: RunId,
    /// What to tell it
    pub(super) text: String,
    /// Keeps the text for the session's next run, for which this one makes way between two steps
    #[arg(long)]
    pub(super) queue: bool,
    #[command(flatten)]
    pub(super) data: DataArguments,
}

#[derive(Args)]
pub(super) struct CancelArguments {
    /// The run's id
    #[arg(value_parser = run_id)]
    pub(super) run: RunId,
    /// Why, for people
    #[arg(long, value_name = "TEXT", default_value = "cancelled by `kinfolk cancel`")]
    pub(super) reason: String,
    #[command(flatten)]
    pub(super) data: DataArguments,
}

#[derive(Args)]
pub(super) struct CompactArguments {
    /// The session
    #[arg(value_parser = value::session)]
    pub(super) session: SessionId,
    #[command(flatten)]
    pub(super) data: DataArguments,
}

#[derive(Args)]
pub(super) struct DataArguments {
    /// The directory of the durable store [default: .kinfolk]
    #[arg(long, value_name = "DIR")]
    pub(super) data: Option<PathBuf>,
}

#[derive(Args)]
pub(super) struct SharedArguments {
    /// The directory of the durable store [default: .kinfolk]
    #[arg(long, value_name = "DIR")]
    pub(super) data: Option<PathBuf>,
    /// text (lines for people on stderr, the answer alone on stdout) or json (one object a line on
    /// stdout) [default: text]
    #[arg(long, value_name = "FORMAT", value_parser = value::output_format)]
    pub(super) output: Option<OutputFormat>,
}

/// For commands that only show something.
#[derive(Args)]
pub(super) struct ShownArguments {
    #[command(flatten)]
    pub(super) data: DataArguments,
    /// text (for people) or json (one object a line), both on stdout [default: text]
    #[arg(long, value_name = "FORMAT", value_parser = value::output_format)]
    pub(super) output: Option<OutputFormat>,
}

/// The texts are checked after parsing: clap would repeat them, and one may be a key by mistake.
#[derive(Args)]
pub(super) struct ReachArguments {
    /// The base URL of the lead's model, http or https [default: the file's, else the provider's]
    #[arg(long, value_name = "URL")]
    pub(super) base_url: Option<String>,
    /// The name of the variable that holds the key of the lead's model [default: the file's, else
    /// the provider's]
    #[arg(long, value_name = "VAR")]
    pub(super) api_key_env: Option<String>,
}

/// A limit that a run has already stays as it is if it is not told.
fn unchanged(arg: Arg, stays: &str) -> Arg {
    match arg.get_help().map(|help| help.to_string().replace("no limit", stays)) {
        Some(help) => arg.help(help),
        None => arg,
    }
}

pub(super) fn any_count(text: &str) -> Result<u32, String> {
    value::count(text, 0)
}

pub(super) fn positive_count(text: &str) -> Result<u32, String> {
    value::count(text, 1)
}

fn run_id(text: &str) -> Result<RunId, String> {
    text.parse().map_err(|error: InvalidId| error.to_string())
}

fn ask(text: &str) -> Result<AskId, String> {
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
