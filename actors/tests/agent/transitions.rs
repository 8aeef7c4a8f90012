//! The transition table: every command in every phase, as text that is checked in and reviewed.

use std::fmt::Write;
use std::path::Path;

use kinfolk_actors::agent::{AgentMachine, Command, Key, Outcome, failed};
use kinfolk_actors::call::CallKind;
use kinfolk_actors::event::{Event, Message};
use kinfolk_actors::failure::{ErrorCode, Failure};
use kinfolk_actors::id::RequestNo;
use kinfolk_actors::machine::{Demand, Machine};
use kinfolk_actors::usage::Usage;

use crate::bench::Bench;
use crate::fixture::*;

/// Set to write the table instead of comparing it.
const BLESS: &str = "KINFOLK_BLESS";

fn phases() -> Vec<(&'static str, Bench)> {
    let lead = |commands: &[Command]| Bench::lead(family()).given(commands);
    let acting = |batch: Vec<_>| lead(&[start("go"), calls(1, batch)]);
    let look = || raw_call("look", "{}");
    let write = || raw_call("write", "{}");
    let started = scout_started(1, &proposed(0, &ask_scout("t"), CallKind::Subagent), "t");
    let scout = || Bench::subagent(started.clone(), family());
    vec![
        ("lead, resting", lead(&[])),
        ("lead, thinking", lead(&[start("go")])),
        ("lead, acting: a read runs", acting(vec![look()])),
        ("lead, acting: a change waits for its lease", acting(vec![write()])),
        ("lead, acting: a change runs", acting(vec![write()]).given(&[leased(id(0))])),
        ("lead, acting: a subagent is at work", acting(vec![ask_scout("t")])),
        ("lead, acting: a read runs, a change waits", acting(vec![look(), write()])),
        ("lead, ending: a request is stopped", lead(&[start("go"), cancel()])),
        ("lead, ending: a read is stopped", acting(vec![look()]).given(&[cancel()])),
        (
            "lead, ending: a change is stopped",
            acting(vec![write()]).given(&[leased(id(0)), cancel()]),
        ),
        ("lead, ending: a subagent is stopped", acting(vec![ask_scout("t")]).given(&[cancel()])),
        ("subagent, resting", scout()),
        ("subagent, thinking", scout().given(&[recovered(1)])),
        ("subagent, done", scout().given(&[recovered(1), says(1, "found")])),
    ]
}

fn commands() -> Vec<(&'static str, Command)> {
    let crashed = || failed(Failure::new(ErrorCode::AgentCrashed, "too often"));
    let started = scout_started(1, &proposed(0, &ask_scout("t"), CallKind::Subagent), "t");
    let found = || reported_by(report(&started, "found"));
    let down = || Outcome::ModelFailed {
        error: Failure::new(ErrorCode::ModelUnreachable, "no connection"),
        usage: Usage::default(),
    };
    let request = Key::Model(RequestNo(1));
    let panicked = || Outcome::Panicked { message: "oh".into() };
    let mut commands = vec![
        ("start", start("go")),
        ("recovered", recovered(2)),
        ("recovered, to end", recovered_to_end(2, crashed())),
        ("cancel", cancel()),
        ("model: text", says(1, "text")),
        ("model: a read", calls(1, vec![raw_call("look", "{}")])),
        ("model: a change", calls(1, vec![raw_call("write", "{}")])),
        ("model: a subagent", calls(1, vec![ask_scout("t")])),
        ("model: no such tool", calls(1, vec![raw_call("fly", "{}")])),
        ("model: failed", settle(request, down())),
        ("model: panicked", settle(request, panicked())),
        ("model: gone", settle(request, Outcome::Gone)),
        ("model: a tool's result", settle(request, tool_ok("r"))),
    ];
    let keys = [
        ("tool: result", "tool: panicked", "tool: gone", "tool: leased", Key::Tool(id(0))),
        ("lease: result", "lease: panicked", "lease: gone", "lease: leased", Key::Lease(id(0))),
        ("child: result", "child: panicked", "child: gone", "child: leased", Key::Child(id(0))),
    ];
    for (result, panic, gone, lease, key) in keys {
        commands.push((result, settle(key, tool_ok("r"))));
        commands.push((panic, settle(key, panicked())));
        commands.push((gone, settle(key, Outcome::Gone)));
        commands.push((lease, settle(key, Outcome::Leased)));
    }
    commands.push(("child: report", settle(Key::Child(id(0)), found())));
    commands
}

fn table() -> String {
    let mut table = String::new();
    for (phase, bench) in phases() {
        writeln!(table, "## {phase}").unwrap();
        for (name, command) in commands() {
            writeln!(table, "{name:<24} {}", transition(&bench, &command)).unwrap();
        }
        table.push('\n');
    }
    table
}

fn transition(bench: &Bench, command: &Command) -> String {
    let events = match bench.machine.decide(&bench.state, command, &bench.facts()) {
        Ok(events) => events,
        Err(refusal) => {
            let name = format!("{refusal:?}");
            return format!("refused: {}", name.split('(').next().unwrap());
        }
    };
    let mut state = bench.state.clone();
    events.iter().for_each(|event| AgentMachine::evolve(&mut state, event));
    let names: Vec<String> = events.iter().map(event_name).collect();
    let demands = AgentMachine::outstanding(&state);
    let keys: Vec<String> = demands.iter().map(|(key, demand)| demand_name(key, demand)).collect();
    format!("{} => {{{}}}", names.join(", "), keys.join(", "))
}

fn event_name(event: &Event) -> String {
    match event {
        Event::RunStarted(_) => "run_started".to_owned(),
        Event::RunResumed(_) => "run_resumed".to_owned(),
        Event::Message(Message::User(_)) => "message user".to_owned(),
        Event::Message(Message::Assistant(_)) => "message assistant".to_owned(),
        Event::ModelRequest(requested) => format!("model_request {}", requested.request.0),
        Event::ModelFailed(failed) => format!("model_failed {}", failed.error.code),
        Event::ToolStarted(_) => "tool_started".to_owned(),
        Event::ToolFinished(finished) => format!("tool_finished {:?}", finished.result.status),
        Event::SubagentStarted(_) => "subagent_started".to_owned(),
        Event::SubagentFinished(finished) => format!("subagent_finished {:?}", finished.status),
        Event::Ending(ending) => format!("ending {:?}", ending.outcome),
        Event::RunFinished(finished) => format!("run_finished {:?}", finished.outcome),
    }
}

fn demand_name<W>(key: &Key, demand: &Demand<W>) -> String {
    let key = match key {
        Key::Model(request) => format!("model/{}", request.0),
        Key::Tool(call) => format!("tool/{}", call.n),
        Key::Lease(call) => format!("lease/{}", call.n),
        Key::Child(call) => format!("child/{}", call.n),
    };
    match demand {
        Demand::Run(_) => key,
        Demand::Stop(_) => format!("stop {key}"),
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the table is a file beside this test")]
fn the_table_is_the_one_that_was_reviewed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transitions.txt");
    let table = table();
    if std::env::var_os(BLESS).is_some() {
        std::fs::write(&path, &table).unwrap();
        return;
    }
    let reviewed = std::fs::read_to_string(&path).unwrap_or_default();
    let changes = difference(&reviewed, &table);
    assert!(
        changes.is_empty(),
        "{} differs; read the changes, then run the test with {BLESS}=1 to take them:\n{}",
        path.display(),
        changes.join("\n")
    );
}

/// The lines that are only in one of the two, under the phase that they belong to.
fn difference(reviewed: &str, table: &str) -> Vec<String> {
    let place = |text: &str| -> Vec<String> {
        let mut phase = String::new();
        let mut lines = vec![];
        for line in text.lines() {
            match line.strip_prefix("## ") {
                Some(name) => name.clone_into(&mut phase),
                None if line.is_empty() => {}
                None => lines.push(format!("[{phase}] {line}")),
            }
        }
        lines
    };
    let (old, new) = (place(reviewed), place(table));
    let gone = old.iter().filter(|line| !new.contains(line)).map(|line| format!("- {line}"));
    let come = new.iter().filter(|line| !old.contains(line)).map(|line| format!("+ {line}"));
    gone.chain(come).collect()
}

#[test]
fn a_difference_names_what_went_and_what_came() {
    let changes = difference("## a\nx 1\ny 2\n", "## a\nx 1\ny 3\n");
    assert_eq!(changes, ["- [a] y 2", "+ [a] y 3"]);
}
