//! A command tool owns its whole process group: nothing of it outlives the call.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kinfolk::ports::tool::ToolOutput;
use kinfolk::tools::command::{NoProgram, PASSED_VARIABLES, command_tool};
use kinfolk::tools::tool::Tool;
use kinfolk::tools::toolbox::{Dispatch, Toolbox};
use kinfolk_actors::call::{CallStatus, EffectClass};
use kinfolk_actors::family::{CommandSpec, Offer, Placement, ToolSpec};
use kinfolk_actors::id::{AgentId, CallId, RunId};
use kinfolk_actors::time::Millis;
use tempfile::TempDir;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

/// Longer than anything here takes, and shorter than anything here sleeps.
const GENEROUS: Duration = Duration::from_secs(20);

fn tool(argv: &[&str], timeout: Duration) -> Result<Tool, NoProgram> {
    let spec = ToolSpec {
        name: "command".into(),
        description: "A command".into(),
        schema: r#"{"type":"object"}"#.into(),
        effect: EffectClass::Changing,
        placement: Placement::Runtime,
        offer: Offer::Always,
        cost: None,
    };
    let argv = argv.iter().map(|&part| part.to_owned()).collect();
    command_tool(spec, CommandSpec { argv, timeout: Millis::from(timeout) })
}

fn call_id() -> CallId {
    CallId { run: RunId(uuid::Uuid::from_u128(7)), agent: AgentId(2), n: 3 }
}

/// A shell script as a tool, in a workspace of its own.
struct Script {
    toolbox: Toolbox,
    workspace: TempDir,
}

impl Script {
    fn new(script: &str) -> Self {
        Self::with_limit(script, GENEROUS)
    }

    fn with_limit(script: &str, limit: Duration) -> Self {
        Self::program(&["sh", "-c", script], limit)
    }

    fn program(argv: &[&str], limit: Duration) -> Self {
        let toolbox = Toolbox::new([tool(argv, limit).unwrap()]).unwrap();
        Self { toolbox, workspace: TempDir::new().unwrap() }
    }

    fn path(&self) -> &Path {
        self.workspace.path()
    }

    async fn run_with(&self, arguments: &str, cancelled: &CancellationToken) -> ToolOutput {
        let dispatch = Dispatch {
            name: "command",
            call: call_id(),
            arguments,
            workspace: Some(Arc::from(self.path())),
            cancelled: cancelled.clone(),
        };
        self.toolbox.run(dispatch).await.output().unwrap()
    }

    /// Runs it; a call that hangs fails the test.
    async fn run(&self, arguments: &str) -> ToolOutput {
        let never = CancellationToken::new();
        timeout(GENEROUS, self.run_with(arguments, &never)).await.expect("the call ends")
    }

    /// The group's number, once the script has written it to `group`.
    async fn group(&self) -> u32 {
        wait_for(|| fs::read_to_string(self.path().join("group")).ok()?.trim().parse().ok()).await
    }

    async fn is_dead(&self) {
        let group = self.group().await;
        wait_for(|| members(group).is_empty().then_some(())).await;
    }
}

async fn wait_for<T>(mut condition: impl FnMut() -> Option<T>) -> T {
    let waiting = async {
        loop {
            match condition() {
                Some(value) => return value,
                None => sleep(Duration::from_millis(5)).await,
            }
        }
    };
    timeout(GENEROUS, waiting).await.expect("the condition comes true")
}

/// The living processes of a group; a zombie only waits for its parent.
fn members(group: u32) -> Vec<String> {
    let stat = |entry: fs::DirEntry| fs::read_to_string(entry.path().join("stat")).ok();
    let belongs = |stat: &String| {
        let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let fields: Vec<&str> = fields.split_whitespace().collect();
        fields.get(2) == Some(&group.to_string().as_str()) && fields.first() != Some(&"Z")
    };
    fs::read_dir("/proc").unwrap().filter_map(|entry| stat(entry.ok()?)).filter(belongs).collect()
}

fn output(status: CallStatus, text: &str) -> ToolOutput {
    ToolOutput { status, text: text.into() }
}

#[tokio::test]
async fn arguments_come_on_stdin_and_stdout_is_the_result() {
    let script = Script::new("cat; pwd; echo note >&2");
    let root = script.path().canonicalize().unwrap();
    let expected = format!("{{\"text\":\"hi\"}}\n{}\n", root.display());
    assert_eq!(script.run(r#"{ "text": "hi" }"#).await, ToolOutput::ok(expected));
}

#[tokio::test]
async fn a_failure_says_how_it_ended_before_anything_else() {
    let failed = Script::new("echo out; echo why >&2; exit 3").run("").await;
    assert_eq!(failed, ToolOutput::error("exit status 3\nstderr:\nwhy\nstdout:\nout\n"));
    assert_eq!(Script::new("exit 1").run("").await, ToolOutput::error("exit status 1"));
    let killed = Script::new("kill -9 $$").run("").await;
    assert_eq!(killed, ToolOutput::error("killed by signal 9"));
}

#[tokio::test]
async fn a_program_that_does_not_exist_is_named() {
    let missing = Script::program(&["no-such-program-here"], GENEROUS).run("").await;
    let text = "the program `no-such-program-here` was not found: it is neither on PATH nor in the \
                workspace";
    assert_eq!(missing, ToolOutput::error(text));
    let none = NoProgram { tool: "command".into() };
    assert_eq!(tool(&[], GENEROUS).unwrap_err(), none);
    assert_eq!(tool(&[""], GENEROUS).unwrap_err(), none);
}

#[tokio::test]
async fn a_program_of_the_workspace_runs_by_its_relative_path() {
    let script = Script::program(&["./hello"], GENEROUS);
    let path = script.path().join("hello");
    fs::write(&path, "not a program").unwrap();
    let refused = script.run("").await;
    let text = "the program `./hello` may not be run: make it executable";
    assert_eq!(refused, ToolOutput::error(text));
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/bin/pwd", &path).unwrap();
    let root = script.path().canonicalize().unwrap();
    assert_eq!(script.run("").await, ToolOutput::ok(format!("{}\n", root.display())));
}

#[tokio::test]
async fn the_environment_is_an_allow_list_with_the_call_id() {
    // Set by cargo for every test: it stands for the host's secrets.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    let all = Script::new("env | cut -d= -f1").run("").await;
    let by_shell = ["PWD", "OLDPWD", "SHLVL", "_", "KINFOLK_CALL_ID"];
    for name in all.text.lines() {
        assert!(PASSED_VARIABLES.contains(&name) || by_shell.contains(&name), "{name}");
    }
    let id = Script::new("printf %s \"$KINFOLK_CALL_ID\"").run("").await;
    assert_eq!(id, ToolOutput::ok(call_id().to_string()));
}

#[tokio::test]
async fn a_command_that_does_not_read_its_arguments_is_not_at_fault() {
    let large = format!(r#"{{"text":"{}"}}"#, "x".repeat(1024 * 1024));
    for script in ["exec <&-; echo done", "echo done"] {
        assert_eq!(Script::new(script).run(&large).await, ToolOutput::ok("done\n"), "{script}");
    }
}

#[tokio::test]
async fn output_is_bounded_and_never_blocks_the_command() {
    let flood = "head -c 1000000 /dev/zero | tr '\\0' a";
    let cut = Script::new(flood).run("").await;
    let mark = "\n[cut: the first 262144 of 1000000 bytes are shown]";
    assert_eq!(cut, ToolOutput::ok(format!("{}{mark}", "a".repeat(262_144))));
    let failed = Script::new(&format!("{flood} >&2; exit 2")).run("").await;
    let mark = "[cut: the last 16384 of 1000000 bytes are shown]";
    let text = format!("exit status 2\nstderr:\n{mark}\n{}", "a".repeat(16_384));
    assert_eq!(failed, ToolOutput::error(text));
}

#[tokio::test]
async fn what_is_not_utf8_is_replaced() {
    let shown = Script::new("printf 'a\\377b'").run("").await;
    assert_eq!(shown, ToolOutput::ok("a\u{fffd}b"));
}

#[tokio::test]
async fn a_timeout_ends_the_whole_group_and_keeps_what_was_written() {
    let script = "echo $$ > group; sleep 300 & echo started; wait";
    let script = Script::with_limit(script, Duration::from_secs(1));
    let expected = output(CallStatus::Timeout, "timed out after 1s\nstdout:\nstarted\n");
    assert_eq!(script.run("").await, expected);
    script.is_dead().await;
}

#[tokio::test]
async fn a_group_that_ignores_the_request_to_end_is_killed() {
    let script = "trap '' TERM; echo $$ > group; echo started; while :; do sleep 1; done";
    let script = Script::with_limit(script, Duration::from_secs(1));
    let expected = output(CallStatus::Timeout, "timed out after 1s\nstdout:\nstarted\n");
    assert_eq!(script.run("").await, expected);
    script.is_dead().await;
}

#[tokio::test]
async fn a_group_may_clean_up_when_it_is_asked_to_end() {
    let script = "trap 'echo cleaned; exit 0' TERM; echo $$ > group; sleep 300 & wait";
    let script = Script::with_limit(script, Duration::from_secs(1));
    let expected = output(CallStatus::Timeout, "timed out after 1s\nstdout:\ncleaned\n");
    assert_eq!(script.run("").await, expected);
    script.is_dead().await;
}

#[tokio::test]
async fn what_is_left_in_the_background_neither_holds_the_result_nor_lives_on() {
    for background in ["sleep 60 &", "sleep 60 >/dev/null 2>&1 </dev/null &"] {
        let script = Script::new(&format!("echo $$ > group; {background} echo done"));
        assert_eq!(script.run("").await, ToolOutput::ok("done\n"), "{background}");
        script.is_dead().await;
    }
}

#[tokio::test]
async fn a_cancel_ends_the_whole_group_and_keeps_what_was_written() {
    let script = Script::new("echo started; sleep 300 & echo $$ > group; wait");
    let cancelled = CancellationToken::new();
    let cancel = async {
        script.group().await;
        cancelled.cancel();
    };
    let (ended, ()) = tokio::join!(script.run_with("", &cancelled), cancel);
    assert_eq!(ended, output(CallStatus::Cancelled, "cancelled\nstdout:\nstarted\n"));
    script.is_dead().await;
}

#[tokio::test]
async fn dropping_the_call_kills_the_whole_group() {
    let script = Script::new("trap '' TERM; echo $$ > group; sleep 300 & wait");
    let never = CancellationToken::new();
    tokio::select! {
        ended = script.run_with("", &never) => panic!("it ended by itself: {ended:?}"),
        _ = script.group() => {}
    }
    script.is_dead().await;
}

#[tokio::test]
async fn a_run_without_a_workspace_cannot_run_commands() {
    let toolbox = Toolbox::new([tool(&["true"], GENEROUS).unwrap()]).unwrap();
    let dispatch = Dispatch {
        name: "command",
        call: call_id(),
        arguments: "{}",
        workspace: None,
        cancelled: CancellationToken::new(),
    };
    let text = "a command runs in the workspace, and this run has none";
    assert_eq!(toolbox.run(dispatch).await.output().unwrap(), ToolOutput::error(text));
}
