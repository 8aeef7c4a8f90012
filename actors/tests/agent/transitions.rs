//! The transition table: every command in every phase, as text that is checked in and reviewed.

use std::fmt::Write;
use std::path::Path;

use kinfolk_actors::agent::{
    AgentMachine, Audited, Command, Deliver, Key, Outcome, RawCall, Steer, Summarised, Timer,
    Verdict, failed,
};
use kinfolk_actors::call::{CallKind, CallStatus};
use kinfolk_actors::event::{Event, Message, SubagentStarted};
use kinfolk_actors::failure::{ErrorCode, Failure};
use kinfolk_actors::id::{AgentId, AskId, RequestNo};
use kinfolk_actors::limits::{Limits, OnLimit};
use kinfolk_actors::machine::{Demand, Machine};
use kinfolk_actors::policy::rule::Need;
use kinfolk_actors::policy::{Dynamic, Intervention};
use kinfolk_actors::time::Millis;
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
        ("lead, deciding: a subagent works in the background", background()),
        ("lead, acting: a change waits for a person", parked()),
        ("lead, acting: a question waits for the user", asking()),
        ("lead, acting: a call waits for a check", audited()),
        ("lead, acting: a call is answered elsewhere", all_tools(&[raw_call("order", "{}")])),
        ("lead, acting: a message is on its way", telling()),
        ("lead, compacting", compacting()),
        ("lead, ending: a summary is stopped", compacting().given(&[cancel()])),
        ("lead, asking: a limit is used up", at_limit(OnLimit::Ask)),
        ("lead, interrupted", at_limit(OnLimit::Interrupt)),
        ("lead, thinking: the last answer", at_limit(OnLimit::Finish)),
        ("subagent, acting: it waits for its parent", awaiting_parent(&started)),
        ("subagent, resting", scout()),
        ("subagent, thinking", scout().given(&[recovered(1)])),
        ("subagent, done", scout().given(&[recovered(1), says(1, "found")])),
    ]
}

fn all_tools(batch: &[RawCall]) -> Bench {
    Bench::lead(full()).given(&[start("go"), calls(1, batch.to_vec())])
}

fn background() -> Bench {
    let spawn = raw_call("spawn_subagent", r#"{"agent":"scout","task":"t"}"#);
    all_tools(&[spawn]).given(&[says(2, "I wait")])
}

fn telling() -> Bench {
    let spawn = raw_call("spawn_subagent", r#"{"agent":"scout","task":"t"}"#);
    let tell = raw_call("message_subagent", r#"{"subagent":"sub-1","message":"hi"}"#);
    all_tools(&[spawn, tell])
}

fn parked() -> Bench {
    Bench::lead(manual()).given(&[start("go"), calls(1, vec![raw_call("write", "{}")])])
}

fn asking() -> Bench {
    all_tools(&[raw_call("ask_user", r#"{"question":"which?"}"#)])
}

fn audited() -> Bench {
    let audit = Dynamic { kind: "watch".to_owned(), default: Need::Never, policy: Need::Always };
    let mut family = family();
    family.policy.tools = [("put".to_owned(), Intervention::Dynamic(audit))].into();
    Bench::lead(family).given(&[start("go"), calls(1, vec![raw_call("put", "{}")])])
}

fn compacting() -> Bench {
    let mut family = family();
    (family.compaction.threshold, family.compaction.keep) = (Some(1_000), Some(100));
    let found = done(id(0), &"abc ".repeat(1_200));
    Bench::lead(family).given(&[start("go"), calls(1, vec![raw_call("look", "{}")]), found])
}

fn at_limit(on_limit: OnLimit) -> Bench {
    let steps = if on_limit == OnLimit::Finish { 2 } else { 1 };
    let limits = Limits { max_steps: Some(steps), ..Limits::none() };
    let commands = [start("go"), calls(1, vec![raw_call("look", "{}")]), done(id(0), "seen")];
    Bench::lead(limited(limits, on_limit)).given(&commands)
}

fn awaiting_parent(started: &SubagentStarted) -> Bench {
    let question = raw_call("ask_parent", r#"{"question":"which?"}"#);
    Bench::subagent(started.clone(), full()).given(&[recovered(1), calls(1, vec![question])])
}

/// What people and other agents say, and the outcomes that only some phases know.
fn more_commands() -> Vec<(&'static str, Command)> {
    let timer = |timer| settle(Key::Timer(timer), Outcome::Fired);
    let overflow = Failure::new(ErrorCode::ModelContextOverflow, "too large");
    let overflow = Outcome::ModelFailed { error: overflow, usage: Usage::default(), cost: None };
    let summed = |result| {
        let summarised = Summarised {
            result,
            fallback: None,
            cost: None,
            usage: Usage::default(),
            duration: Millis(1),
        };
        settle(Key::Summary(1), Outcome::Summarised(summarised))
    };
    let failed = Failure::new(ErrorCode::CompactionFailed, "empty");
    let deliver = Deliver { call: id(0), status: CallStatus::Ok, text: "r".into() };
    let question = AskId { agent: AgentId(1), ..ask(0) };
    let asks = Outcome::ChildAsks { question, text: "which?".into() };
    let tell = Steer { text: "this".into(), from: Some(id(7)) };
    vec![
        ("steer", steer("left")),
        ("told by the parent", Command::Steer(tell)),
        ("queue", queue("next")),
        ("approve", says_to(0, Verdict::Approve)),
        ("deny", says_to(0, Verdict::Deny)),
        ("deny and stop", says_to(0, Verdict::DenyAndStop)),
        ("answer", answers(0, "this")),
        ("deliver", Command::Deliver(deliver)),
        ("compact", Command::Compact),
        ("activate", Command::Activate { tools: vec!["hidden".into()] }),
        ("interrupt", interrupt()),
        ("resume", resume()),
        ("model: too large", settle(Key::Model(RequestNo(1)), overflow)),
        ("tool: deferred", settle(Key::Tool(id(0)), Outcome::Deferred)),
        ("audit: fine", settle(Key::Audit(id(0)), Outcome::Audited(Audited::Fine))),
        ("audit: a person", settle(Key::Audit(id(0)), Outcome::Audited(Audited::Intervene))),
        ("tell: told", settle(Key::Tell(id(1)), Outcome::Told { refused: None })),
        ("child: asks", settle(Key::Child(id(0)), asks)),
        ("summary: written", summed(Ok("notes".into()))),
        ("summary: failed", summed(Err(failed))),
        ("summary: gone", settle(Key::Summary(1), Outcome::Gone)),
        ("timer: ask", timer(Timer::Ask(ask(0)))),
        ("timer: call", timer(Timer::Call(id(0)))),
        ("timer: closing", timer(Timer::Closing)),
        ("timer: deadline", timer(Timer::Deadline)),
    ]
}

fn commands() -> Vec<(&'static str, Command)> {
    let crashed = || failed(Failure::new(ErrorCode::AgentCrashed, "too often"));
    let started = scout_started(1, &proposed(0, &ask_scout("t"), CallKind::Subagent), "t");
    let found = || reported_by(report(&started, "found"));
    let down = || Outcome::ModelFailed {
        error: Failure::new(ErrorCode::ModelUnreachable, "no connection"),
        usage: Usage::default(),
        cost: None,
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
    commands.extend(more_commands());
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
        Event::Message(Message::User(message)) => {
            format!("message {:?}", message.source).to_lowercase()
        }
        Event::Message(Message::Assistant(_)) => "message assistant".to_owned(),
        Event::ModelRequest(requested) => format!("model_request {}", requested.request.0),
        Event::ModelFailed(failed) => format!("model_failed {}", failed.error.code),
        Event::ToolStarted(_) => "tool_started".to_owned(),
        Event::ToolFinished(finished) => format!("tool_finished {:?}", finished.result.status),
        Event::SubagentStarted(_) => "subagent_started".to_owned(),
        Event::SubagentFinished(finished) => format!("subagent_finished {:?}", finished.status),
        Event::Ending(ending) => format!("ending {:?}", ending.outcome),
        Event::RunFinished(finished) => format!("run_finished {:?}", finished.outcome),
        Event::RunInterrupted(_) => "run_interrupted".to_owned(),
        Event::CallAudited(_) => "call_audited".to_owned(),
        Event::CallDeferred(_) => "call_deferred".to_owned(),
        Event::ToolsActivated(_) => "tools_activated".to_owned(),
        Event::ApprovalRequested(_) => "approval_requested".to_owned(),
        Event::ApprovalSettled(settled) => format!("approval_settled {:?}", settled.decision),
        Event::QuestionAsked(asked) => format!("question_asked {:?}", asked.kind),
        Event::QuestionAnswered(_) => "question_answered".to_owned(),
        Event::QuestionWithdrawn { .. } => "question_withdrawn".to_owned(),
        Event::CompactionAsked => "compaction_asked".to_owned(),
        Event::InterruptAsked { .. } => "interrupt_asked".to_owned(),
        Event::CompactionStarted(started) => format!("compaction_started {:?}", started.trigger),
        Event::CompactionFinished(finished) => {
            format!("compaction_finished {}", if finished.ok { "ok" } else { "failed" })
        }
        Event::LimitWarning(_) => "limit_warning".to_owned(),
        Event::LimitReached(reached) => format!("limit_reached {}", reached.limit),
    }
}

fn demand_name<W>(key: &Key, demand: &Demand<W>) -> String {
    let key = match key {
        Key::Model(request) => format!("model/{}", request.0),
        Key::Tool(call) => format!("tool/{}", call.n),
        Key::Lease(call) => format!("lease/{}", call.n),
        Key::Audit(call) => format!("audit/{}", call.n),
        Key::Child(call) => format!("child/{}", call.n),
        Key::Tell(call) => format!("tell/{}", call.n),
        Key::Summary(n) => format!("summary/{n}"),
        Key::Timer(Timer::Closing) => "closing".to_owned(),
        Key::Timer(Timer::Deadline) => "deadline".to_owned(),
        Key::Timer(Timer::Call(call)) => format!("timer/{}", call.n),
        Key::Timer(Timer::Ask(ask)) => format!("timer/q{}", ask.n),
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
