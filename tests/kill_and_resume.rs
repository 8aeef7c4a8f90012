//! `kill -9` at any moment loses nothing and does nothing twice: `resume` ends the run as if nothing
//! had happened.

#[path = "support/launcher.rs"]
mod launcher;

use std::fs;
use std::hash::{BuildHasher as _, RandomState};
use std::path::Path;
use std::time::Duration;

use launcher::{Running, answer, check_whole_run, events, journal, run};
use tempfile::TempDir;

/// How often a run is killed and resumed.
const ROUNDS: u64 = 20;

/// A family whose replies take a moment, so that a kill can land anywhere in it.
const SLOW_SCRIPT: &str = r#"
[[reply]]
agent = "lead"
turn = 1
text = "I split the work."
latency = "15ms"
calls = [
    { name = "workspace_tree", arguments = {} },
    { name = "call_subagent", arguments = { agent = "scout", task = "look at a.txt", label = "same" } },
    { name = "call_subagent", arguments = { agent = "scout", task = "look at b.txt", label = "same" } },
    { name = "call_subagent", arguments = { agent = "scout", task = "look at a.txt", label = "same" } },
]

[[reply]]
agent = "lead"
turn = 2
text = "merged"
latency = "15ms"

[[reply]]
agent = "scout"
turn = 1
latency = "10ms"
calls = [{ name = "read_file", arguments = { path = "a.txt" } }, { name = "read_file", arguments = { path = "b.txt" } }]

[[reply]]
agent = "scout"
turn = 2
latency = "10ms"
calls = [{ name = "search_workspace", arguments = { pattern = "line" } }]

[[reply]]
agent = "scout"
turn = 3
text = "a.txt and b.txt have lines"
latency = "10ms"
"#;

const FAMILY: &str = r#"
[lead]
prompt = "You plan, delegate and merge."
model = "scripted:script.toml"
tools = ["workspace_tree", "call_subagent"]

[[subagents]]
name = "scout"
description = "Looks into files."
prompt = "You look and report."
role = "explore"
tools = ["read_file", "search_workspace"]
"#;

/// Another one each time; `KINFOLK_TEST_SEED` repeats what a failed test has printed.
fn seed() -> u64 {
    let given = std::env::var("KINFOLK_TEST_SEED").ok().map(|seed| seed.parse().unwrap());
    given.unwrap_or_else(|| RandomState::new().hash_one(0))
}

/// SplitMix64's mix of a number: neighbours come out far apart.
fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

struct Place {
    dir: TempDir,
}

impl Place {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        fs::create_dir(dir.path().join("work")).unwrap();
        fs::write(dir.path().join("work/a.txt"), "line one\nline two\n").unwrap();
        fs::write(dir.path().join("work/b.txt"), "line three\n").unwrap();
        fs::write(dir.path().join("family.toml"), FAMILY).unwrap();
        fs::write(dir.path().join("script.toml"), SLOW_SCRIPT).unwrap();
        Self { dir }
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().join(name).to_str().unwrap().to_owned()
    }

    fn run_arguments(&self, data: &str) -> Vec<String> {
        let arguments = [
            "run",
            "look",
            "--family",
            &self.path("family.toml"),
            "--workspace",
            &self.path("work"),
            "--data",
            data,
            "--output",
            "json",
        ];
        arguments.map(str::to_owned).to_vec()
    }
}

/// Kills a run at a moment, resumes and kills it again until it ends.
fn killed_until_done(arguments: &[&str], data: &str, moment: Duration) {
    let mut attempt = Running::start(arguments);
    // The moment of the kill is the input of this test, not a wait for something.
    std::thread::sleep(moment);
    attempt.0.kill().unwrap();
    attempt.0.wait().unwrap();
    for kills in 1_u32.. {
        if !Path::new(data).exists() || !has_run(data) {
            // Killed before the start was acknowledged: there is nothing to resume, so start again.
            let status = Running::start(arguments).wait().0;
            assert!(status.success());
            return;
        }
        let mut resumed = Running::start(&["resume", "--data", data, "--output", "json"]);
        if kills < 4 {
            std::thread::sleep(moment / (kills + 1));
            resumed.0.kill().unwrap();
            resumed.0.wait().unwrap();
            continue;
        }
        let (status, _, stderr) = resumed.wait();
        // 2: an earlier resume had ended the run before it was killed.
        assert!(matches!(status.code(), Some(0 | 2)), "{status}: {stderr}");
        return;
    }
}

fn has_run(data: &str) -> bool {
    let output = run(&["inspect", "--data", data, "--output", "json"]);
    let sessions = events(&output);
    sessions.iter().any(|session| session["run"].is_string())
}

#[test]
fn killed_at_random_moments_a_run_ends_as_if_nothing_had_happened() {
    let place = Place::new();
    let undisturbed = place.path("undisturbed");
    let arguments = place.run_arguments(&undisturbed);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    assert!(run(&arguments).status.success());
    let expected = journal(Path::new(&undisturbed));
    check_whole_run(&expected);
    let seed = seed();
    println!("KINFOLK_TEST_SEED={seed}");
    for round in 0..ROUNDS {
        let data = place.path(&format!("data-{round}"));
        let arguments = place.run_arguments(&data);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        // From the first millisecond to beyond the length of the whole run.
        let moment = Duration::from_millis(1 + mixed(seed.wrapping_add(round)) % 160);
        killed_until_done(&arguments, &data, moment);
        let recorded = journal(Path::new(&data));
        check_whole_run(&recorded);
        assert_eq!(answer(&recorded), answer(&expected), "round {round}");
        assert_eq!(results(&recorded), results(&expected), "round {round}");
    }
}

/// What each call got, by agent and place; ids of runs differ.
fn results(journal: &[serde_json::Value]) -> Vec<(String, String, String)> {
    let mut results: Vec<(String, String, String)> = journal
        .iter()
        .filter(|event| event["type"] == "tool_finished")
        .map(|event| {
            let call = event["call"].as_str().unwrap();
            let place = call.split_once(':').unwrap().1.to_owned();
            let name = event["name"].as_str().unwrap().to_owned();
            (place, name, event["status"].as_str().unwrap().to_owned())
        })
        .collect();
    results.sort();
    results
}

#[test]
fn resume_prints_only_what_is_new_and_run_resumed_first() {
    let place = Place::new();
    let data = place.path("data");
    let arguments = place.run_arguments(&data);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut running = Running::start(&arguments);
    let seen = running.read_until(|event| event["type"] == "subagent_started");
    running.0.kill().unwrap();
    running.0.wait().unwrap();
    let last_seen = seen.iter().filter_map(|event| event["offset"].as_u64()).max().unwrap();
    let resumed = run(&["resume", "--data", &data, "--output", "json"]);
    assert_eq!(resumed.status.code(), Some(0), "{}", String::from_utf8_lossy(&resumed.stderr));
    let new: Vec<_> =
        events(&resumed).into_iter().filter(|event| event["offset"].is_u64()).collect();
    assert_eq!(new[0]["type"], "run_resumed");
    assert_eq!(new[0]["attempt"], 2);
    assert_eq!(new[0]["from_offset"], new[0]["offset"]);
    assert!(new[0]["offset"].as_u64().unwrap() > last_seen);
    assert_eq!(new.last().unwrap()["type"], "run_finished");
    // A finished run shows its end again; without one to resume the command says so.
    let id = new[0]["run"].as_str().unwrap();
    let again = run(&["resume", id, "--data", &data, "--output", "json"]);
    assert_eq!(again.status.code(), Some(0));
    assert_eq!(events(&again), [new.last().unwrap().clone()]);
    let nothing = run(&["resume", "--data", &data]);
    assert_eq!(nothing.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&nothing.stderr).contains("no run in"));
}
