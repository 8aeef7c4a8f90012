//! Tools that run a command: a process group of its own for each call.
//!
//! The command runs in the workspace with the arguments as one line of JSON on its stdin, which is
//! closed after it. Exit status 0 means success, and stdout is the result as it is. Every other
//! end gives a text whose first line says what happened, so that it survives any later cut:
//!
//! ```text
//! exit status 3
//! stderr:
//! no such record
//! stdout:
//! reading …
//! ```
//!
//! `stderr:` and `stdout:` are left out when they are empty. Other first lines are
//! `killed by signal 9`, `timed out after 10s` and `cancelled`. Of stdout the first 256 KiB are kept,
//! of stderr the last 16 KiB; the command is never blocked by that.
//!
//! No process of the group outlives its call, also when the call's future is dropped; what a
//! command leaves in the background is killed when the command ends. A process that starts a
//! session of its own (`setsid`) leaves the group and is out of reach.
//!
//! The environment is an allow list: a command sees no key of the host.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use kinfolk_actors::call::CallStatus;
use kinfolk_actors::family::{CommandSpec, ToolSpec};
use process_wrap::tokio::{CommandWrap, ProcessGroup};
use serde_json::Value;
use tokio::process::Command;

use crate::ports::tool::{Call, RunTool, ToolAnswer, ToolOutput};
use crate::tools::command::end::{End, run_to_end};
use crate::tools::command::group::Group;
use crate::tools::command::output::Output;
use crate::tools::tool::Tool;

mod end;
mod group;
mod output;

/// The variable that holds the call's id. It is the same when an idempotent call runs again, so
/// that a command can tell.
pub const CALL_ID_VARIABLE: &str = "KINFOLK_CALL_ID";

/// The variables of the host that a command sees, if they are set.
pub const PASSED_VARIABLES: [&str; 11] = [
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR",
    "TERM",
];

/// How long the toolbox waits longer than the command's own limit, so that it is the command's
/// runner that ends the group and keeps its output.
const STOPPING: Duration = Duration::from_secs(5);

/// A command spec that names no program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the tool `{tool}` has no command: name a program, as in command = [\"sh\", \"x.sh\"]")]
pub struct NoProgram {
    /// The tool.
    pub tool: String,
}

/// A tool that runs `command`.
///
/// # Errors
/// The command names no program.
pub fn command_tool(spec: ToolSpec, command: CommandSpec) -> Result<Tool, NoProgram> {
    let mut argv = command.argv.into_iter();
    let program = argv.next().filter(|program| !program.is_empty());
    let program = program.ok_or_else(|| NoProgram { tool: spec.name.as_ref().to_owned() })?;
    let timeout = Duration::from(command.timeout);
    let runs = RunCommand { program, arguments: argv.collect(), timeout };
    Ok(Tool::new(spec, runs).timeout(timeout.saturating_add(STOPPING)))
}

/// Runs one command a call.
struct RunCommand {
    program: String,
    arguments: Vec<String>,
    timeout: Duration,
}

impl RunTool for RunCommand {
    fn run(&self, call: Call) -> BoxFuture<'static, ToolAnswer> {
        let Some(workspace) = call.workspace() else {
            let text = "a command runs in the workspace, and this run has none";
            return std::future::ready(ToolOutput::error(text).into()).boxed();
        };
        let mut command = self.prepare(&call, &workspace);
        let (program, timeout) = (self.program.clone(), self.timeout);
        async move {
            let group = match Group::spawn(&mut command) {
                Ok(group) => group,
                Err(error) => return not_started(&program, &workspace, &error).into(),
            };
            let mut arguments = Value::Object(call.arguments().clone()).to_string().into_bytes();
            arguments.push(b'\n');
            let (end, output) = run_to_end(group, arguments, timeout, &call.cancelled()).await;
            told(&end, timeout, &output).into()
        }
        .boxed()
    }
}

impl RunCommand {
    fn prepare(&self, call: &Call, workspace: &Path) -> CommandWrap {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .current_dir(workspace)
            .env_clear()
            .envs(passed_environment())
            .env(CALL_ID_VARIABLE, call.id().to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut command = CommandWrap::from(command);
        command.wrap(ProcessGroup::leader());
        command
    }
}

fn passed_environment() -> impl Iterator<Item = (&'static str, OsString)> {
    PASSED_VARIABLES.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?)))
}

fn not_started(program: &str, workspace: &Path, error: &io::Error) -> ToolOutput {
    if !workspace.is_dir() {
        let place = workspace.display();
        return ToolOutput::error(format!("the workspace `{place}` is not a directory any more"));
    }
    ToolOutput::error(match error.kind() {
        io::ErrorKind::NotFound => format!(
            "the program `{program}` was not found: it is neither on PATH nor in the workspace"
        ),
        io::ErrorKind::PermissionDenied => {
            format!("the program `{program}` may not be run: make it executable")
        }
        _ => format!("the program `{program}` could not be started: {error}"),
    })
}

/// The result for the model.
fn told(end: &End, timeout: Duration, output: &Output) -> ToolOutput {
    let (status, first_line) = match end {
        End::Exited(status) if status.success() => return ToolOutput::ok(output.stdout()),
        End::Exited(status) => (CallStatus::Error, exit_line(*status)),
        End::Lost(error) => (CallStatus::Error, format!("its exit status is unknown: {error}")),
        End::TimedOut => (CallStatus::Timeout, format!("timed out after {timeout:?}")),
        End::Cancelled => (CallStatus::Cancelled, "cancelled".to_owned()),
    };
    let mut text = first_line;
    for (title, part) in [("stderr", output.stderr()), ("stdout", output.stdout())] {
        if !part.is_empty() {
            text = format!("{}\n{title}:\n{part}", text.trim_end_matches('\n'));
        }
    }
    ToolOutput { status, text: text.into() }
}

fn exit_line(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => status.to_string(),
    }
}
