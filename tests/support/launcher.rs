//! Drives the built launcher as a person or a script would, and reads what it says.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

/// The launcher with a clean environment: no `KINFOLK_…`, no keys.
pub fn kinfolk(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kinfolk"));
    command.args(arguments).stdin(Stdio::null()).env_clear();
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    command
}

/// Runs it to its end.
pub fn run(arguments: &[&str]) -> Output {
    kinfolk(arguments).output().unwrap()
}

/// The events that a run printed with `--output json`.
pub fn events(output: &Output) -> Vec<Value> {
    lines(&output.stdout)
}

/// JSON lines as values; a line that is not JSON fails the test.
pub fn lines(bytes: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(bytes).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Everything that a store has journaled of its newest session.
pub fn journal(data: &Path) -> Vec<Value> {
    let output = run(&["inspect", "--events", "--data", data.to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    events(&output)
}

/// A launcher that runs in the background; killed if it is dropped.
pub struct Running(pub Child);

impl Running {
    pub fn start(arguments: &[&str]) -> Self {
        let mut command = kinfolk(arguments);
        Self(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Reads events from stdout until one fits, and gives back all that were read.
    pub fn read_until(&mut self, fits: impl Fn(&Value) -> bool) -> Vec<Value> {
        let stdout = self.0.stdout.as_mut().unwrap();
        let mut seen = Vec::new();
        // One byte at a time, so that nothing is buffered away from a later reader.
        let mut reader = BufReader::with_capacity(1, stdout);
        let mut line = String::new();
        while reader.read_line(&mut line).unwrap() > 0 {
            let event: Value = serde_json::from_str(&line).unwrap();
            let found = fits(&event);
            seen.push(event);
            line.clear();
            if found {
                break;
            }
        }
        seen
    }

    /// Sends a signal by name, for example `INT`.
    pub fn signal(&self, name: &str) {
        let pid = self.0.id().to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &pid]).status().unwrap().success());
    }

    /// Waits for its end; what is left of stdout and all of stderr.
    pub fn wait(mut self) -> (std::process::ExitStatus, Vec<u8>, String) {
        let mut stdout = Vec::new();
        self.0.stdout.take().unwrap().read_to_end(&mut stdout).unwrap();
        let mut stderr = String::new();
        self.0.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        (self.0.wait().unwrap(), stdout, stderr)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What must hold of any journal of one finished run, whatever happened to its processes.
pub fn check_whole_run(journal: &[Value]) {
    for (n, event) in journal.iter().enumerate() {
        assert_eq!(event["offset"], n, "offsets are dense: {event}");
    }
    let of_type = |name: &str| -> Vec<&Value> {
        journal.iter().filter(|event| event["type"] == name).collect()
    };
    assert_eq!(of_type("run_started").len(), 1);
    assert_eq!(of_type("run_finished").len(), 1);
    assert_eq!(journal.last().unwrap()["type"], "run_finished");
    let mut proposed: Vec<&str> = Vec::new();
    for message in of_type("message") {
        let calls = message["calls"].as_array().into_iter().flatten();
        proposed.extend(calls.map(|call| call["call"].as_str().unwrap()));
    }
    let mut finished: Vec<&str> =
        of_type("tool_finished").iter().map(|event| event["call"].as_str().unwrap()).collect();
    proposed.sort_unstable();
    finished.sort_unstable();
    assert_eq!(proposed, finished, "each call has exactly one result");
    let mut started: Vec<&str> =
        of_type("subagent_started").iter().map(|e| e["subagent"].as_str().unwrap()).collect();
    let mut reported: Vec<&str> =
        of_type("subagent_finished").iter().map(|e| e["subagent"].as_str().unwrap()).collect();
    started.sort_unstable();
    reported.sort_unstable();
    assert_eq!(started, reported, "each subagent reports exactly once");
    started.dedup();
    assert_eq!(started.len(), reported.len(), "no subagent is started twice");
    for agent in started {
        let last = journal.iter().rev().find(|event| event["agent"] == agent).unwrap();
        assert_eq!(last["type"], "subagent_finished", "nothing follows a report: {last}");
    }
}

/// The text of the run's answer.
pub fn answer(journal: &[Value]) -> &str {
    journal.last().unwrap()["text"].as_str().unwrap()
}
