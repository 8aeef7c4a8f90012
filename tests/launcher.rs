//! The launcher from outside: the explorer's answer against the file system, exit codes, signals,
//! bad input.

#[path = "support/launcher.rs"]
mod launcher;

use std::fs;
use std::net::TcpListener;
use std::path::Path;

use launcher::{Running, answer, check_whole_run, events, journal, run};
use tempfile::TempDir;

fn explore(workspace: &Path, data: &Path) -> std::process::Output {
    let (workspace, data) = (workspace.to_str().unwrap(), data.to_str().unwrap());
    run(&["run", "--workspace", workspace, "--data", data, "--output", "json"])
}

#[test]
fn the_built_in_family_says_of_this_project_what_the_file_system_says() {
    let data = TempDir::new().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = explore(root, data.path());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let journal = journal(data.path());
    check_whole_run(&journal);
    let subagents = journal.iter().filter(|event| event["type"] == "subagent_started").count();
    assert_eq!(subagents, 3);
    let text = answer(&journal);
    for folder in ["actors", "docs", "examples", "src", "tests", "benches"] {
        assert!(text.contains(&format!("## {folder}/")), "{folder} is missing in:\n{text}");
    }
    let lines = fs::read_to_string(root.join("Cargo.toml")).unwrap().lines().count();
    assert!(text.contains(&format!("Cargo.toml  ({lines} lines")), "{text}");
    // The answer is the model's last message: only the answer goes to stdout in text mode.
    let (root, data) = (root.to_str().unwrap(), data.path().to_str().unwrap());
    let output = run(&["run", "--workspace", root, "--data", data]);
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim_end(), text.trim_end());
}

#[test]
fn changing_one_file_changes_the_answer() {
    let (work, data) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    fs::create_dir(work.path().join("part")).unwrap();
    fs::write(work.path().join("part/one.txt"), "first\n").unwrap();
    fs::write(work.path().join("part/two.txt"), "second\n").unwrap();
    explore(work.path(), data.path());
    let before = answer(&journal(data.path())).to_owned();
    fs::write(work.path().join("part/two.txt"), "second\nand more\n").unwrap();
    explore(work.path(), data.path());
    let after = answer(&journal(data.path())).to_owned();
    assert!(before.contains("## part/: 2 files, 2 lines"), "{before}");
    assert!(after.contains("## part/: 2 files, 3 lines"), "{after}");
}

#[test]
fn an_unreachable_model_fails_the_run_with_its_code_and_the_session_lives_on() {
    let (work, data) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    // A port that was free a moment ago and that nobody listens on.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}/v1");
    let at =
        ["--workspace", work.path().to_str().unwrap(), "--data", data.path().to_str().unwrap()];
    let mut arguments = vec!["run", "--session", "s", "--output", "json"];
    arguments.extend(at);
    let mut failing = arguments.clone();
    failing.extend(["--model", "openai:none", "--base-url", &url]);
    let failed = run(&failing);
    assert_eq!(failed.status.code(), Some(1), "{}", String::from_utf8_lossy(&failed.stderr));
    let last = events(&failed).pop().unwrap();
    assert_eq!(last["type"], "run_finished");
    assert_eq!(last["outcome"], "failed");
    assert_eq!(last["error"]["code"], "model.unreachable");
    assert_eq!(last["error"]["attribution"], "provider");
    assert!(last["error"]["message"].as_str().unwrap().contains(&url), "{last}");
    let next = run(&arguments);
    assert_eq!(next.status.code(), Some(0), "{}", String::from_utf8_lossy(&next.stderr));
}

#[test]
fn bad_input_ends_with_2_and_one_message_before_anything_starts() {
    let dir = TempDir::new().unwrap();
    let data = dir.path().join("data");
    let (work, data) = (dir.path().to_str().unwrap(), data.to_str().unwrap());
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let unknown_tool = file(
        "tool.toml",
        "[lead]\nprompt = \"p\"\nmodel = \"scripted:explorer\"\ntools = [\"reed_file\"]\n",
    );
    let unknown_key = file("key.toml", "[lead]\npromt = \"p\"\n");
    let cases: [(&[&str], &str); 8] = [
        (&["run", "--wrong"], "--wrong"),
        (&["run", "--max-steps", "0"], "--max-steps"),
        (&["run", "x", "--family", "/no/such/file.toml"], "/no/such/file.toml"),
        (&["run", "x", "--family", &unknown_tool], "read_file"),
        (&["run", "x", "--family", &unknown_key], "prompt"),
        (&["run", "--model", "unheard:of"], "unheard"),
        (&["run", "--model", "openai:gpt"], "OPENAI_API_KEY"),
        (&["run", "--workspace", "/no/such/place"], "/no/such/place"),
    ];
    for (arguments, named) in cases {
        let mut all = arguments.to_vec();
        all.extend(["--data", data]);
        if !arguments.contains(&"--workspace") {
            all.extend(["--workspace", work]);
        }
        let output = run(&all);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains(named), "{arguments:?}: {stderr}");
        assert!(output.stdout.is_empty());
        assert!(!Path::new(data).exists(), "{arguments:?} started something");
    }
}

/// A family whose lead runs a command that would go on for a minute.
fn sleeper(dir: &Path) -> Vec<String> {
    let family = r#"
[lead]
prompt = "p"
model = "scripted:script.toml"
tools = ["nap", "call_subagent"]
[[subagents]]
name = "sleeper"
description = "Sleeps."
prompt = "p"
role = "task"
tools = ["nap"]
[[tools]]
name = "nap"
description = "Sleeps for a minute."
command = ["sh", "-c", "echo $$ >> pids; sleep 61 & echo $! >> pids; wait"]
effect = "changing"
timeout = "2m"
"#;
    let script = r#"
[[reply]]
agent = "lead"
calls = [{ name = "call_subagent", arguments = { agent = "sleeper", task = "t" } }]
[[reply]]
agent = "sleeper"
calls = [{ name = "nap", arguments = {} }]
"#;
    fs::write(dir.join("family.toml"), family).unwrap();
    fs::write(dir.join("script.toml"), script).unwrap();
    let path = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    let arguments = [
        "run",
        "sleep",
        "--family",
        &path("family.toml"),
        "--workspace",
        &path(""),
        "--data",
        &path("data"),
        "--approval",
        "auto-run",
        "--output",
        "json",
    ];
    arguments.map(str::to_owned).to_vec()
}

fn pids(dir: &Path) -> Vec<String> {
    let text = fs::read_to_string(dir.join("pids")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Whether a process runs; one that only waits to be reaped does not.
fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Waits, generously bounded, for something that has to come true.
fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..1000 {
        if holds() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("still not: {what}");
}

/// The sleeping family, once its command and the command's child run.
fn napping(dir: &Path) -> Running {
    let arguments = sleeper(dir);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut running = Running::start(&arguments);
    running.read_until(|event| event["type"] == "tool_started" && event["name"] == "nap");
    wait_for("both processes run", || pids(dir).len() == 2);
    running
}

#[test]
fn ctrl_c_cancels_the_whole_family_with_its_processes() {
    let dir = TempDir::new().unwrap();
    let running = napping(dir.path());
    running.signal("INT");
    let (status, stdout, stderr) = running.wait();
    assert_eq!(status.code(), Some(130), "{stderr}");
    let last = launcher::lines(&stdout).pop().unwrap();
    assert_eq!(last["type"], "run_finished");
    assert_eq!(last["outcome"], "cancelled");
    assert_eq!(last["finish_reason"], "user_requested");
    assert!(pids(dir.path()).iter().all(|pid| !is_alive(pid)), "no process survives");
    let journal = journal(&dir.path().join("data"));
    check_whole_run(&journal);
    let nap = journal.iter().find(|e| e["type"] == "tool_finished" && e["name"] == "nap").unwrap();
    assert_eq!(nap["status"], "cancelled");
}

#[test]
fn sigterm_leaves_the_run_to_be_resumed_and_a_changing_call_is_not_run_again() {
    let dir = TempDir::new().unwrap();
    let running = napping(dir.path());
    running.signal("TERM");
    let (status, _, stderr) = running.wait();
    assert_eq!(status.code(), Some(143), "{stderr}");
    assert!(stderr.contains("kinfolk resume"), "{stderr}");
    wait_for("no process is left", || pids(dir.path()).iter().all(|pid| !is_alive(pid)));
    let data = dir.path().join("data");
    let resumed = run(&["resume", "--data", data.to_str().unwrap(), "--output", "json"]);
    // The script has no reply for what follows the unknown outcome, so the subagent fails then.
    let journal = journal(&data);
    check_whole_run(&journal);
    let nap = journal.iter().find(|e| e["type"] == "tool_finished" && e["name"] == "nap").unwrap();
    assert_eq!(nap["status"], "unknown_outcome", "{}", String::from_utf8_lossy(&resumed.stderr));
    assert_eq!(pids(dir.path()).len(), 2, "it ran once");
}

#[test]
fn a_store_in_use_is_looked_at_through_its_owner_refused_to_others_and_free_after_kill_9() {
    let dir = TempDir::new().unwrap();
    let mut running = napping(dir.path());
    let data = dir.path().join("data");
    let inspect = ["inspect", "--data", data.to_str().unwrap()];
    let looked = run(&inspect);
    assert_eq!(looked.status.code(), Some(0));
    assert!(String::from_utf8(looked.stdout).unwrap().contains("at work or cut off"));
    let refused = run(&["resume", "--data", data.to_str().unwrap()]);
    let stderr = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains(&format!("process {}", running.0.id())), "{stderr}");
    running.0.kill().unwrap();
    running.0.wait().unwrap();
    assert_eq!(run(&inspect).status.code(), Some(0));
    for pid in pids(dir.path()) {
        // What the killed process left behind; a reaper for it does not exist yet.
        let _ = std::process::Command::new("kill").args(["-9", &pid]).status();
    }
}

#[test]
fn looking_into_an_empty_directory_makes_no_store_there() {
    let dir = TempDir::new().unwrap();
    for command in ["inspect", "resume", "approvals"] {
        let output = run(&[command, "--data", dir.path().to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains("there is no store in"));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}

#[test]
fn a_data_directory_that_would_hide_the_workspace_is_refused_before_anything_is_made() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().to_str().unwrap();
    let output = run(&["run", "--workspace", path, "--data", path]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("contains the workspace"), "{stderr}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_store_whose_files_are_not_a_store_is_refused_with_2() {
    let (work, data) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    explore(work.path(), data.path());
    fs::write(data.path().join("db"), "rubbish").unwrap();
    for command in ["inspect", "resume"] {
        let output = run(&[command, "--data", data.path().to_str().unwrap()]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
    }
}
