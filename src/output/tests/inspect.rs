//! What `inspect` shows of a store.

use kinfolk_actors::id::SessionId;
use kinfolk_actors::limits::LimitKind;

use super::*;
use crate::output::events::events;
use crate::output::family_view::FamilyView;
use crate::output::inspect::{Listed, Standing, families, sessions};
use crate::ports::store::{RunSummary, SessionSummary};
use crate::settings::run::EventFilter;
use crate::settings::value::OutputFormat;

fn tree(records: &[Recorded], format: OutputFormat) -> String {
    let mut out = Vec::new();
    families(&FamilyView::of_session(records), format, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_finished_run_is_a_whole_tree() {
    let expected = "run 00000000-0000-0000-0000-000000000007 of session trip: completed, attempt 1, 3.2 s
  asked: how many?
  model: openai:m
  total: 4 turns, 3 calls, 1650 tokens (1500 in, 150 out)
  lead: completed, 2 turns, 1 call, 1100 tokens (1000 in, 100 out), 0.002 USD
    call_subagent ok in 2.0 s
      sub-1 explorer \"count �[2J\" (explore): completed, 2 turns, 2 calls, 550 tokens (500 in, 50 out)
        task: count the files
        read_file ok in 12 ms
        read_file error in 1.5 s
";
    assert_eq!(tree(&story(), OutputFormat::Text), expected);
}

#[test]
fn an_unfinished_run_shows_what_stands() {
    let expected = "run 00000000-0000-0000-0000-000000000007 of session trip: at work or cut off, attempt 1, 1.7 s
  asked: how many?
  model: openai:m
  total: 2 turns, 3 calls, 660 tokens (600 in, 60 out)
  lead: unfinished, 1 turn, 1 call, 440 tokens (400 in, 40 out)
    call_subagent unfinished
      sub-1 explorer \"count �[2J\" (explore): unfinished, 1 turn, 2 calls, 220 tokens (200 in, 20 out)
        task: count the files
        read_file ok in 12 ms
        read_file unfinished
";
    assert_eq!(tree(&story()[..8], OutputFormat::Text), expected);
    assert_eq!(tree(&story()[1..], OutputFormat::Text), "no runs\n");
    assert_eq!(tree(&[], OutputFormat::Json), "");
}

#[test]
fn a_tree_as_json_has_the_names_of_the_events() {
    let usage = |turns: u64, calls: u64, input: u64, output: u64| {
        serde_json::json!({
            "model_requests": turns, "turns": turns, "tool_calls": calls, "input_tokens": input,
            "output_tokens": output, "cached_input_tokens": 0, "reasoning_tokens": 0
        })
    };
    let run = "00000000-0000-0000-0000-000000000007";
    let read = |n: u32, status: &str, ms: u64| {
        serde_json::json!({
            "call": format!("{run}:sub-1:{n}"), "name": "read_file",
            "arguments": "{\"path\":\"a.txt\"}", "status": status, "duration_ms": ms,
            "subagent": null
        })
    };
    let expected = serde_json::json!({
        "session": "trip", "run": run, "attempt": 1, "input": "how many?", "model": "openai:m",
        "outcome": "completed", "finish_reason": "completed", "error": null, "duration_ms": 3250,
        "text": "There are two.\n", "usage": usage(4, 3, 1500, 150), "cost_usd": null,
        "interrupted": false, "waits_for": [],
        "agents": [
            {
                "agent": "lead", "parent": null, "name": "lead", "role": null, "label": null,
                "task": "how many?", "status": "completed", "usage": usage(2, 1, 1000, 100),
                "cost_usd": "0.002",
                "calls": [{
                    "call": format!("{run}:lead:0"), "name": "call_subagent", "arguments": "{}",
                    "status": "ok", "duration_ms": 2000, "subagent": "sub-1"
                }]
            },
            {
                "agent": "sub-1", "parent": "lead", "name": "explorer", "role": "explore",
                "label": "count \u{1b}[2J", "task": "count\nthe files", "status": "completed",
                "usage": usage(2, 2, 500, 50), "cost_usd": null,
                "calls": [read(0, "ok", 12), read(1, "error", 1500)]
            }
        ]
    });
    let line = tree(&story(), OutputFormat::Json);
    assert_eq!(line.lines().count(), 1);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&line).unwrap(), expected);
}

#[test]
fn the_sums_of_a_tree_are_those_of_the_run_s_end() {
    let view = FamilyView::of_run(RUN, &story()).unwrap();
    let mut end = finished(Outcome::Completed, FinishReason::Completed, "").usage;
    // The story's end does not count its requests one by one.
    end.model_requests = view.usage.model_requests;
    assert_eq!(view.usage, end);
}

#[test]
fn sessions_are_listed_in_order() {
    let session: SessionId = "trip".parse().unwrap();
    let newest = RunSummary {
        run: RUN,
        session: session.clone(),
        first: Offset(0),
        started: Timestamp(START),
        finished: None,
    };
    let done = RunSummary { finished: Some(Offset(13)), ..newest.clone() };
    let listed = |head, newest, standing| {
        let session = session.clone();
        Listed { summary: SessionSummary { session, head: Offset(head), newest }, standing }
    };
    let (failed, reason) = (Outcome::Failed, FinishReason::Timeout);
    let list = [
        listed(14, Some(done), Some(Standing::Ended(failed, reason))),
        listed(1, Some(newest), None),
        listed(0, None, None),
    ];
    let shown = |list: &[Listed], format| {
        let mut out = Vec::new();
        sessions(list, format, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let run = "00000000-0000-0000-0000-000000000007";
    let text = format!(
        "trip  14 events  run {run} of 2026-09-21T14:13:20.000Z, failed (timeout)\n\
         trip  1 event  run {run} of 2026-09-21T14:13:20.000Z, unfinished\n\
         trip  0 events  no run\n"
    );
    assert_eq!(shown(&list, OutputFormat::Text), text);
    assert_eq!(shown(&[], OutputFormat::Text), "no sessions\n");
    let words = [
        (Standing::Ended(Outcome::Completed, FinishReason::Completed), "completed"),
        (Standing::Interrupted(Some(LimitKind::ToolCalls)), "interrupted (limit of tool calls)"),
        (Standing::Interrupted(None), "interrupted"),
        (Standing::Waits, "waits for a person"),
        (Standing::Unfinished, "at work or cut off"),
    ];
    for (standing, word) in words {
        assert_eq!(standing.to_string(), word);
    }
    let json = format!(
        "{{\"session\":\"trip\",\"events\":14,\"run\":\"{run}\",\
         \"started\":\"2026-09-21T14:13:20.000Z\",\"finished\":true}}\n\
         {{\"session\":\"trip\",\"events\":1,\"run\":\"{run}\",\
         \"started\":\"2026-09-21T14:13:20.000Z\",\"finished\":false}}\n\
         {{\"session\":\"trip\",\"events\":0,\"run\":null,\"started\":null,\"finished\":null}}\n"
    );
    assert_eq!(shown(&list, OutputFormat::Json), json);
}

#[test]
fn events_are_filtered_by_offset_agent_and_run() {
    let offsets = |from, agent, run| {
        let mut out = Vec::new();
        let filter = EventFilter { from: Offset(from), agent };
        events(story(), filter, run, &mut out).unwrap();
        let offset = |line: &str| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            line["offset"].as_u64().unwrap()
        };
        String::from_utf8(out).unwrap().lines().map(offset).collect::<Vec<_>>()
    };
    assert_eq!(offsets(0, None, None), (0..14).collect::<Vec<_>>());
    assert_eq!(offsets(12, None, Some(RUN)), [12, 13]);
    assert_eq!(offsets(2, Some(AgentId::LEAD), None), [2, 11, 12, 13]);
    assert_eq!(offsets(9, Some(SUB), None), [9, 10]);
    assert_eq!(offsets(0, None, Some(RunId(uuid::Uuid::nil()))), [0_u64; 0]);
    assert_eq!(offsets(14, None, None), [0_u64; 0]);
}
