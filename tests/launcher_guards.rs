//! The guards that end a run which gets nowhere, from the command line.

#[path = "support/launcher.rs"]
mod launcher;

use std::process::Output;

use launcher::{check_whole_run, events, journal, run};
use serde_json::Value;

/// Runs a lead with one tool that says the same each time.
fn play(lead: &str, replies: &str) -> (Output, Vec<Value>) {
    let dir = tempfile::tempdir().unwrap();
    let family = format!(
        "[lead]\nprompt = \"p\"\nmodel = \"scripted:script.toml\"\ntools = [\"look\"]\n{lead}\n\
         [[tools]]\nname = \"look\"\ndescription = \"Looks.\"\neffect = \"read_only\"\n\
         command = [\"sh\", \"-c\", \"echo boats\"]\n"
    );
    std::fs::write(dir.path().join("family.toml"), family).unwrap();
    std::fs::write(dir.path().join("script.toml"), replies).unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (family, data) = (path("family.toml"), path("data"));
    let output = run(&["run", "do it", "--family", &family, "--data", &data, "--output", "json"]);
    let journal = journal(&dir.path().join("data"));
    check_whole_run(&journal);
    (output, journal)
}

fn count(journal: &[Value], fits: impl Fn(&Value) -> bool) -> usize {
    journal.iter().filter(|event| fits(event)).count()
}

#[test]
fn e05_a_call_that_is_made_again_and_again_ends_the_run() {
    let again = "[[reply]]\nagent = \"lead\"\ncalls = [{ name = \"look\" }]\n";
    let (output, journal) = play("", &again.repeat(6));
    let end = events(&output).pop().unwrap();
    assert_eq!(output.status.code(), Some(1), "{end}");
    assert_eq!(end["finish_reason"], "loop_detected");
    assert_eq!(end["error"]["code"], "loop.detected");
    assert_eq!(count(&journal, |event| event["type"] == "tool_started"), 3);
    assert_eq!(count(&journal, |event| event["source"] == "hint"), 1);
}

#[test]
fn a_model_that_has_to_call_and_only_talks_is_reminded_twenty_times() {
    let talks = "[[reply]]\nagent = \"lead\"\ntext = \"Well.\"\n";
    let (output, journal) = play("tool_choice = \"required\"", &talks.repeat(30));
    let end = events(&output).pop().unwrap();
    assert_eq!(output.status.code(), Some(1), "{end}");
    assert_eq!(end["error"]["code"], "model.tool_call_required");
    assert_eq!(count(&journal, |event| event["role"] == "assistant"), 21);
}
