//! Runs that rest and runs that are reached from other processes: approvals, questions, guidance,
//! cancels, limits and compactions, from the command line.

#[path = "support/launcher.rs"]
mod launcher;

use std::fs;
use std::path::Path;
use std::process::Output;

use launcher::{Running, check_whole_run, events, journal, run};
use serde_json::Value;
use tempfile::TempDir;

/// A workspace with a family, a script and a data directory.
struct Place(TempDir);

const TOOLS: &str = r#"
[[tools]]
name = "note"
description = "Writes a note down."
command = ["sh", "-c", "cat >> notes; echo noted"]
[[tools]]
name = "hold"
description = "Waits until somebody lets it go."
command = ["sh", "-c", "touch held; while ! [ -e go ]; do sleep 0.02; done; echo on"]
effect = "read_only"
[[tools]]
name = "look"
description = "Says the same each time."
command = ["sh", "-c", "echo on"]
effect = "read_only"
"#;

impl Place {
    /// The lead has these tools and gives these replies.
    fn new(tools: &str, replies: &str) -> Self {
        let dir = TempDir::new().unwrap();
        let lead = format!("prompt = \"p\"\nmodel = \"scripted:script.toml\"\ntools = [{tools}]\n");
        fs::write(dir.path().join("family.toml"), format!("[lead]\n{lead}{TOOLS}")).unwrap();
        fs::write(dir.path().join("script.toml"), replies).unwrap();
        Self(dir)
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    fn data(&self) -> String {
        self.path("data")
    }

    /// The arguments of `run` with these beside.
    fn run_arguments(&self, more: &[&str]) -> Vec<String> {
        let mut arguments: Vec<String> =
            ["run", "do it", "--session", "s", "--output", "json"].map(str::to_owned).to_vec();
        let named = [("--family", "family.toml"), ("--workspace", ""), ("--data", "data")];
        for (option, path) in named {
            arguments.extend([option.to_owned(), self.path(path)]);
        }
        arguments.extend(more.iter().map(|one| (*one).to_owned()));
        arguments
    }

    fn run(&self, more: &[&str]) -> Output {
        run(&borrowed(&self.run_arguments(more)))
    }

    fn start(&self, more: &[&str]) -> Running {
        Running::start(&borrowed(&self.run_arguments(more)))
    }

    /// Another command on the data directory.
    fn say(&self, arguments: &[&str]) -> Output {
        let data = self.data();
        let mut all = arguments.to_vec();
        all.extend(["--data", &data]);
        run(&all)
    }

    fn journal(&self) -> Vec<Value> {
        journal(Path::new(&self.data()))
    }

    /// The ids of what waits for a person.
    fn open(&self) -> Vec<String> {
        let output = self.say(&["approvals", "--output", "json"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let ids = launcher::lines(&output.stdout);
        ids.iter().map(|line| line["id"].as_str().unwrap().to_owned()).collect()
    }

    fn exists(&self, name: &str) -> bool {
        self.0.path().join(name).exists()
    }

    /// Starts a run whose tool `hold` waits, and gives its id.
    fn held(&self, more: &[&str]) -> (Running, String) {
        let mut running = self.start(more);
        let seen = running.read_until(|event| event["type"] == "tool_started");
        let id = seen[0]["run"].as_str().unwrap().to_owned();
        (running, id)
    }

    fn let_go(&self) {
        fs::write(self.0.path().join("go"), "").unwrap();
    }
}

fn borrowed(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn of_type<'e>(events: &'e [Value], name: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| event["type"] == name).collect()
}

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

const NOTE: &str = r#"
[[reply]]
agent = "lead"
calls = [{ name = "note", arguments = { text = "boats" } }]
[[reply]]
agent = "lead"
text = "Done."
"#;

const HOLD: &str = r#"
[[reply]]
agent = "lead"
calls = [{ name = "hold" }]
[[reply]]
agent = "lead"
text = "Done."
"#;

#[test]
fn an_approval_parks_the_run_and_an_answer_to_its_holder_lets_it_go_on() {
    let place = Place::new("\"note\"", NOTE);
    let parked = place.run(&[]);
    let told = stderr(&parked);
    assert_eq!(code(&parked), Some(4), "{told}");
    assert!(!place.exists("notes"), "nothing runs before it may");
    let ids = place.open();
    let [id] = ids.as_slice() else { panic!("{ids:?}") };
    let command = format!("kinfolk approve --data {} {id}", place.data());
    assert!(told.contains(&command), "{told}");
    let asked = events(&parked);
    assert_eq!(of_type(&asked, "approval_requested")[0]["approval"], id.as_str());
    let run = asked[0]["run"].as_str().unwrap();

    // Nobody holds the run: nothing is recorded, and the way out is told.
    let refused = place.say(&["approve", id]);
    assert_eq!(code(&refused), Some(2));
    let way_out = format!("`kinfolk resume --wait --data {} {run}`", place.data());
    assert!(stderr(&refused).contains(&way_out), "{}", stderr(&refused));
    let listed = String::from_utf8(place.say(&["inspect"]).stdout).unwrap();
    assert!(listed.contains("waits for a person"), "{listed}");
    // It still waits.
    let again = place.say(&["resume", run, "--output", "json"]);
    assert_eq!(code(&again), Some(4), "{}", stderr(&again));
    assert_eq!(place.open(), ids);

    let data = place.data();
    let mut holder =
        Running::start(&["resume", run, "--wait", "--data", &data, "--output", "json"]);
    holder.read_until(|event| event["type"] == "run_resumed");
    let wrong = place.say(&["answer", id, "yes"]);
    assert!(stderr(&wrong).contains("`kinfolk approve` answers an approval"), "{}", stderr(&wrong));
    let approved = place.say(&["approve", id, "--by", "ada"]);
    assert_eq!(code(&approved), Some(0), "{}", stderr(&approved));
    let (status, _, told) = holder.wait();
    assert_eq!(status.code(), Some(0), "{told}");
    let journal = place.journal();
    check_whole_run(&journal);
    let settled = of_type(&journal, "approval_settled");
    assert_eq!((&settled[0]["decision"], &settled[0]["by"]), (&"approved".into(), &"ada".into()));
    assert_eq!(fs::read_to_string(place.path("notes")).unwrap(), "{\"text\":\"boats\"}\n");
    assert!(place.open().is_empty());
    assert!(!place.exists("data/control.sock"));
}

#[test]
fn a_refusal_is_read_by_the_model_or_ends_the_run_and_counts_once() {
    for (more, outcome, exit) in
        [(vec!["--deny", "not now"], "completed", 0), (vec!["--stop"], "cancelled", 130)]
    {
        let place = Place::new("\"note\"", NOTE);
        let mut running = place.start(&["--wait"]);
        let seen = running.read_until(|event| event["type"] == "approval_requested");
        let id = seen.last().unwrap()["approval"].as_str().unwrap();
        let mut arguments = vec!["approve", id];
        arguments.extend(&more);
        let denied = place.say(&arguments);
        assert_eq!(code(&denied), Some(0), "{}", stderr(&denied));
        let (status, stdout, told) = running.wait();
        let last = launcher::lines(&stdout).pop().unwrap();
        assert_eq!((status.code(), &last["outcome"]), (Some(exit), &outcome.into()), "{told}");
        let journal = place.journal();
        check_whole_run(&journal);
        assert_eq!(of_type(&journal, "tool_finished")[0]["status"], "denied");
        assert!(!place.exists("notes"));
        // The run is over and nobody holds it.
        assert_eq!(code(&place.say(&["approve", id])), Some(2));
    }
}

#[test]
fn a_question_to_the_user_is_answered_in_words() {
    let replies =
        NOTE.replace("note", "ask_user").replace("text = \"boats\"", "question = \"Port?\"");
    let place = Place::new("\"ask_user\"", &replies);
    let mut running = place.start(&["--wait"]);
    let seen = running.read_until(|event| event["type"] == "question_asked");
    let asked = seen.last().unwrap();
    assert_eq!((&asked["kind"], &asked["text"]), (&"text".into(), &"Port?".into()));
    let id = asked["question"].as_str().unwrap();
    assert_eq!(place.open(), [id]);
    assert_eq!(code(&place.say(&["answer", id, "Esbjerg"])), Some(0));
    let (status, _, told) = running.wait();
    assert_eq!(status.code(), Some(0), "{told}");
    let journal = place.journal();
    check_whole_run(&journal);
    assert_eq!(of_type(&journal, "tool_finished")[0]["result"], "Esbjerg");
}

#[test]
fn guidance_reaches_a_live_run_before_its_next_request() {
    let place = Place::new("\"hold\"", HOLD);
    let (running, id) = place.held(&[]);
    let steered = place.say(&["steer", &id, "look left"]);
    assert_eq!(code(&steered), Some(0), "{}", stderr(&steered));
    let nobody = "00000000-0000-0000-0000-000000000007";
    assert_eq!(code(&place.say(&["steer", nobody, "x"])), Some(2));
    place.let_go();
    let (status, _, told) = running.wait();
    assert_eq!(status.code(), Some(0), "{told}");
    let journal = place.journal();
    check_whole_run(&journal);
    let at = |fits: &dyn Fn(&Value) -> bool| journal.iter().position(fits).unwrap();
    let heard = at(&|event| event["source"] == "guidance" && event["text"] == "look left");
    let second = at(&|event| event["type"] == "model_request" && event["request"] == 2);
    assert!(heard < second);
}

#[test]
fn queued_input_starts_the_next_run_in_the_same_process() {
    let replies = format!("{HOLD}\n[[reply]]\nagent = \"*\"\nturn = 1\ntext = \"Next.\"\n");
    // The lead's own first reply holds; so the next run is told to end by its script.
    let place = Place::new("\"hold\"", &replies);
    let (running, id) = place.held(&[]);
    assert_eq!(code(&place.say(&["steer", &id, "and then this", "--queue"])), Some(0));
    place.let_go();
    let (status, stdout, told) = running.wait();
    assert_eq!(status.code(), Some(0), "{told}");
    let shown = launcher::lines(&stdout);
    let ends = of_type(&shown, "run_finished");
    let runs: Vec<_> = ends.iter().map(|end| (&end["run"], &end["finish_reason"])).collect();
    assert_eq!(ends.len(), 2, "{runs:?} {told}");
    assert_eq!(ends[0]["finish_reason"], "queued_message_interrupt");
    assert_eq!(ends[1]["outcome"], "completed");
    assert_ne!(ends[0]["run"], ends[1]["run"]);
}

#[test]
fn a_cancel_from_outside_returns_when_the_run_is_dead() {
    let place = Place::new("\"hold\"", HOLD);
    let (running, id) = place.held(&[]);
    let cancelled = place.say(&["cancel", &id, "--reason", "enough"]);
    assert_eq!(code(&cancelled), Some(0), "{}", stderr(&cancelled));
    let (status, stdout, _) = running.wait();
    assert_eq!(status.code(), Some(130));
    let last = launcher::lines(&stdout).pop().unwrap();
    assert_eq!(last["finish_reason"], "user_requested");
    check_whole_run(&place.journal());
}

/// Two notes and an answer, under a limit of two steps.
fn limited(policy: &str) -> (Place, Output) {
    let one = "[[reply]]\nagent = \"lead\"\ncalls = [{ name = \"note\", arguments = { n = N } }]\n";
    let replies = format!(
        "{}{}[[reply]]\nagent = \"lead\"\ntext = \"Done.\"\n",
        one.replace('N', "1"),
        one.replace('N', "2")
    );
    let place = Place::new("\"note\"", &replies);
    let output = place.run(&["--approval", "auto-run", "--max-steps", "2", "--on-limit", policy]);
    (place, output)
}

#[test]
fn each_policy_at_a_limit_has_its_end_and_its_exit_code() {
    for (policy, exit, last, reason) in [
        ("finish", 0, "run_finished", "max_steps_completed"),
        ("stop", 3, "run_finished", "max_steps_exceeded"),
        ("interrupt", 3, "run_interrupted", ""),
        ("ask", 4, "approval_requested", ""),
        ("warn", 0, "run_finished", "completed"),
    ] {
        let (place, output) = limited(policy);
        assert_eq!(code(&output), Some(exit), "{policy}: {}", stderr(&output));
        let journaled = place.journal();
        let end = journaled.last().unwrap();
        assert_eq!(end["type"], last, "{policy}");
        assert_eq!(end["finish_reason"].as_str().unwrap_or_default(), reason, "{policy}");
        let replies = of_type(&journaled, "message");
        let replies = replies.iter().filter(|message| message["role"] == "assistant").count();
        assert_eq!(replies, if policy == "warn" { 3 } else { 2 }, "{policy}");
        if policy == "stop" {
            assert_eq!(end["error"]["code"], "limit.steps");
        }
    }
}

#[test]
fn an_interrupted_run_goes_on_with_a_higher_limit() {
    let (place, output) = limited("interrupt");
    let told = stderr(&output);
    let (data, journal) = (place.data(), place.journal());
    let run = journal[0]["run"].as_str().unwrap();
    let advice = format!("`kinfolk resume --data {data} {run} --max-steps 4`");
    assert!(told.contains(&advice), "{told}");
    let listed = place.say(&["inspect"]);
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(listed.contains("interrupted (limit of steps)"), "{listed}");
    let resumed = place.say(&["resume", "--max-steps", "5", "--output", "json"]);
    assert_eq!(code(&resumed), Some(0), "{}", stderr(&resumed));
    let journal = place.journal();
    check_whole_run(&journal);
    let raised = of_type(&journal, "run_resumed");
    assert!(raised.iter().any(|event| event["raised"]["max_steps"] == 5), "{raised:?}");
    let late = place.say(&["steer", run, "on"]);
    assert!(stderr(&late).contains("is over"), "{}", stderr(&late));
    let listed = String::from_utf8(place.say(&["inspect"]).stdout).unwrap();
    assert!(listed.contains(", completed\n"), "{listed}");
}

#[test]
fn a_limit_that_asks_is_raised_by_a_yes() {
    let (place, _) = limited("ask");
    let ids = place.open();
    let [id] = ids.as_slice() else { panic!("{ids:?}") };
    let data = place.data();
    let mut holder = Running::start(&["resume", "--wait", "--data", &data, "--output", "json"]);
    holder.read_until(|event| event["type"] == "run_resumed");
    assert_eq!(code(&place.say(&["approve", id, "--max-steps", "9"])), Some(0));
    let (status, _, told) = holder.wait();
    assert_eq!(status.code(), Some(0), "{told}");
    check_whole_run(&place.journal());
}

#[test]
fn a_session_at_rest_is_compacted_by_a_run_of_its_own() {
    let long = "word ".repeat(20_000);
    let replies = format!(
        "[[reply]]\nagent = \"lead\"\ntext = \"{long}\"\n\
         [[reply]]\nagent = \"lead\"\nkind = \"summary\"\ntext = \"Goal: boats.\"\n"
    );
    let place = Place::new("", &replies);
    for _ in 0..2 {
        let output = place.run(&[]);
        assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    }
    let compacted = place.say(&["compact", "s"]);
    assert_eq!(code(&compacted), Some(0), "{}", stderr(&compacted));
    let journal = place.journal();
    let done = of_type(&journal, "compaction_finished");
    assert_eq!((done.last().unwrap()["ok"].clone()), true);
    assert_eq!(code(&place.say(&["compact", "nobody"])), Some(2));
}

#[test]
fn a_live_run_is_compacted_before_its_next_request() {
    let long = "word ".repeat(12_000);
    let summary = "[[reply]]\nagent = \"lead\"\nkind = \"summary\"\ntext = \"Goal: boats.\"\n";
    let place = Place::new("\"hold\"", &format!("{HOLD}{summary}").replace("Done.", &long));
    place.let_go();
    assert_eq!(code(&place.run(&[])), Some(0));
    fs::remove_file(place.path("go")).unwrap();
    let (running, id) = place.held(&[]);
    let compacted = place.say(&["compact", "s"]);
    assert_eq!(code(&compacted), Some(0), "{}", stderr(&compacted));
    place.let_go();
    let (status, _, told) = running.wait();
    assert_eq!(status.code(), Some(0), "{told}");
    let journal: Vec<Value> =
        place.journal().into_iter().filter(|event| event["run"] == id.as_str()).collect();
    let finished = journal.iter().position(|event| event["type"] == "compaction_finished");
    let finished = finished.expect("a compaction");
    assert_eq!(journal[finished]["ok"], true);
    let requested = |event: &Value| event["type"] == "model_request" && event["request"] == 2;
    assert!(finished < journal.iter().position(requested).unwrap());
}
