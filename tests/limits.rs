//! Every limit under every policy, end to end: what the run comes to, its exit code, and how it goes
//! on. The table of the command line's documentation, line by line.

#[path = "support/launcher.rs"]
mod launcher;

use std::path::{Path, PathBuf};
use std::process::Output;

use launcher::{check_whole_run, events, journal, run};
use serde_json::Value;

/// A family that reads one line a turn, twelve times, and then answers.
struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut script = String::new();
        for n in 1..=12 {
            script.push_str(&format!(
                "[[reply]]\nagent = \"lead\"\nturn = {n}\ntext = \"Step {n}.\"\nlatency = \"10ms\"\n\
                 calls = [{{ name = \"read_file\", arguments = {{ path = \"a\", from = {n} }} }}]\n"
            ));
        }
        script.push_str("[[reply]]\nagent = \"lead\"\nturn = 13\ntext = \"All done.\"\n");
        std::fs::write(dir.path().join("script.toml"), script).unwrap();
        let lines: String = (0..20).map(|n| format!("line {n}\n")).collect();
        std::fs::write(dir.path().join("a"), lines).unwrap();
        let place = Self { dir };
        let family = format!(
            "[lead]\nprompt = \"You read.\"\ntools = [\"read_file\"]\n\
             [models.\"{}\"]\nprices = {{ input = \"0.0001\", output = \"0.0002\" }}\n",
            place.model()
        );
        std::fs::write(place.path("family.toml"), family).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn model(&self) -> String {
        format!("scripted:{}", self.path("script.toml").display())
    }

    /// Runs it under a limit.
    fn run(&self, limit: [&str; 2], policy: &str) -> Output {
        let (family, data) = (self.path("family.toml"), self.path("data"));
        let model = self.model();
        run(&[
            "run",
            "--family",
            text(&family),
            "--model",
            &model,
            "--workspace",
            text(self.dir.path()),
            "--data",
            text(&data),
            limit[0],
            limit[1],
            "--on-limit",
            policy,
            "--output",
            "json",
            "read",
        ])
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The last event with an offset: what the journal ends with.
fn last(output: &Output) -> Value {
    let newest = events(output).into_iter().rev();
    let mut journaled = newest.filter(|event| event["offset"].is_number());
    journaled.next().unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

/// A limit that is met in the middle of the work: its flag, its name in codes, the reason of an end
/// after a closing turn, and the reason of a hard end. A second is far more than the closing turn
/// needs, and the work takes less: 120 ms and what the machine adds, so time has a test of its own.
const LIMITS: [([&str; 2], &str, &str, &str); 4] = [
    (["--max-steps", "3"], "steps", "max_steps_completed", "max_steps_exceeded"),
    (["--max-tool-calls", "3"], "tool_calls", "max_steps_completed", "max_steps_exceeded"),
    (["--max-tokens", "400"], "tokens", "budget_completed", "cost_limit_exceeded"),
    (["--max-cost", "0.05"], "cost", "budget_completed", "cost_limit_exceeded"),
];

#[test]
fn finish_ends_with_a_closing_turn_and_what_it_says() {
    for (limit, name, closed, _) in LIMITS {
        let place = Place::new();
        let output = place.run(limit, "finish");
        let end = last(&output);
        assert_eq!(output.status.code(), Some(0), "{name}: {end}");
        let facts = (&end["type"], &end["outcome"], &end["finish_reason"]);
        assert_eq!(facts, (&"run_finished".into(), &"completed".into(), &closed.into()), "{name}");
        assert!(end["text"].as_str().unwrap().starts_with("Step "), "{end}");
        assert!(end["error"].is_null(), "{end}");
        let closing = |event: &&Value| event["closing"] == name;
        let all = events(&output);
        assert_eq!(all.iter().filter(closing).count(), 1, "{name}: one closing request");
        check_whole_run(&journal(&place.path("data")));
    }
}

#[test]
fn a_limit_of_n_steps_never_makes_more_than_n_replies() {
    for n in [1, 2, 5] {
        let place = Place::new();
        let output = place.run(["--max-steps", &n.to_string()], "finish");
        let replies = |event: &&Value| event["role"] == "assistant";
        assert_eq!(events(&output).iter().filter(replies).count(), n);
        assert_eq!(last(&output)["usage"]["turns"], n);
    }
}

#[test]
fn stop_fails_with_the_limits_code_and_no_text() {
    for (limit, name, _, stopped) in LIMITS {
        let place = Place::new();
        let output = place.run(limit, "stop");
        let end = last(&output);
        assert_eq!(output.status.code(), Some(3), "{name}: {end}");
        let facts = (&end["type"], &end["outcome"], &end["finish_reason"], &end["text"]);
        let expected =
            (&"run_finished".into(), &"failed".into(), &stopped.into(), &Value::from(""));
        assert_eq!(facts, expected, "{name}");
        assert_eq!(end["error"]["code"], format!("limit.{name}"));
        assert_eq!(end["error"]["attribution"], "user");
        check_whole_run(&journal(&place.path("data")));
    }
}

#[test]
fn interrupt_rests_and_goes_on_with_a_higher_limit_from_where_it_was() {
    for (limit, name, _, _) in LIMITS {
        let place = Place::new();
        let output = place.run(limit, "interrupt");
        let end = last(&output);
        assert_eq!(output.status.code(), Some(3), "{name}: {end}");
        assert_eq!((&end["type"], &end["limit"]), (&"run_interrupted".into(), &name.into()));
        assert_eq!(end["resumable"], true);
        let data = place.path("data");
        let resumed =
            run(&["resume", "--data", text(&data), limit[0], "100000", "--output", "json"]);
        assert_eq!(resumed.status.code(), Some(0), "{}", String::from_utf8_lossy(&resumed.stderr));
        assert_eq!(events(&resumed)[0]["type"], "run_resumed");
        let end = last(&resumed);
        assert_eq!((&end["text"], &end["usage"]["turns"]), (&"All done.".into(), &13.into()));
        check_whole_run(&journal(&data));
    }
}

#[test]
fn ask_parks_on_an_approval_of_the_limit() {
    for (limit, name, _, _) in LIMITS {
        let place = Place::new();
        let output = place.run(limit, "ask");
        let end = last(&output);
        assert_eq!(output.status.code(), Some(4), "{name}: {end}");
        let facts = (&end["type"], &end["kind"], &end["limit"]);
        assert_eq!(facts, (&"approval_requested".into(), &"limit".into(), &name.into()));
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(
            said.contains(end["approval"].as_str().unwrap()),
            "it names what to answer: {said}"
        );
    }
}

#[test]
fn warn_says_so_and_goes_on() {
    for (limit, name, _, _) in LIMITS {
        let place = Place::new();
        let output = place.run(limit, "warn");
        let end = last(&output);
        assert_eq!((output.status.code(), &end["text"]), (Some(0), &"All done.".into()), "{name}");
        let warned = |event: &&Value| event["type"] == "limit_warning" && event["limit"] == name;
        let events = events(&output);
        let warnings: Vec<&Value> = events.iter().filter(warned).collect();
        assert_eq!(warnings.len(), 1, "{name}: warned once: {warnings:?}");
    }
}

#[test]
fn time_closes_the_turn_of_a_model_that_hangs_or_stops_it() {
    let stalled = "[[reply]]\nagent = \"lead\"\nstall = true\n";
    let closing = "[[reply]]\nagent = \"lead\"\ntext = \"In short.\"\n";
    let scripts = [
        ("finish", format!("{stalled}{closing}"), 0, "budget_completed", "In short."),
        ("finish", format!("{stalled}{stalled}"), 3, "timeout", ""),
        ("stop", stalled.to_owned(), 3, "timeout", ""),
    ];
    for (policy, script, code, reason, said) in scripts {
        let place = Place::new();
        std::fs::write(place.path("script.toml"), script).unwrap();
        let output = place.run(["--max-time", "2s"], policy);
        let end = last(&output);
        assert_eq!(output.status.code(), Some(code), "{policy}: {end}");
        assert_eq!((&end["finish_reason"], &end["text"]), (&reason.into(), &said.into()));
        let error = if code == 0 { Value::Null } else { "limit.time".into() };
        assert_eq!(end["error"]["code"], error);
        check_whole_run(&journal(&place.path("data")));
    }
}

#[test]
fn time_interrupts_or_asks_where_the_family_says_so_and_goes_on_with_more() {
    let script = "[[reply]]\nagent = \"lead\"\nstall = true\n\
                  [[reply]]\nagent = \"lead\"\ntext = \"All done.\"\n";
    for (policy, code, kind) in
        [("interrupt", 3, "run_interrupted"), ("ask", 4, "approval_requested")]
    {
        let place = Place::new();
        std::fs::write(place.path("script.toml"), script).unwrap();
        let output = place.run(["--max-time", "2s"], policy);
        let end = last(&output);
        assert_eq!(output.status.code(), Some(code), "{policy}: {end}");
        assert_eq!((&end["type"], &end["limit"]), (&kind.into(), &"time".into()));
        let data = place.path("data");
        let resumed =
            run(&["resume", "--data", text(&data), "--max-time", "1h", "--output", "json"]);
        if policy == "ask" {
            assert_eq!(
                resumed.status.code(),
                Some(4),
                "a person has to answer: {}",
                last(&resumed)
            );
            continue;
        }
        assert_eq!(resumed.status.code(), Some(0), "{}", String::from_utf8_lossy(&resumed.stderr));
        assert_eq!(last(&resumed)["text"], "All done.");
        check_whole_run(&journal(&data));
    }
}

#[test]
fn time_under_warn_is_told_and_the_run_goes_on() {
    let place = Place::new();
    let script = "[[reply]]\nagent = \"lead\"\nlatency = \"1200ms\"\n\
                  calls = [{ name = \"read_file\", arguments = { path = \"a\" } }]\n\
                  [[reply]]\nagent = \"lead\"\ntext = \"All done.\"\n";
    std::fs::write(place.path("script.toml"), script).unwrap();
    let output = place.run(["--max-time", "1s"], "warn");
    let end = last(&output);
    assert_eq!((output.status.code(), &end["text"]), (Some(0), &"All done.".into()), "{end}");
    let told = |event: &&Value| event["type"] == "limit_warning" && event["limit"] == "time";
    assert_eq!(events(&output).iter().filter(told).count(), 1);
    check_whole_run(&journal(&place.path("data")));
}

#[test]
fn a_limit_on_cost_that_could_not_bind_is_refused_before_anything_starts() {
    let place = Place::new();
    std::fs::write(place.path("family.toml"), "[lead]\nprompt = \"x\"\ntools = [\"read_file\"]\n")
        .unwrap();
    let output = place.run(["--max-cost", "0.05"], "finish");
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{said}");
    assert!(said.contains("prices") && said.contains(&place.model()), "{said}");
}
