//! Tests of the estimate: the numbers, the runs, and the size that follows an agent.

use super::*;

#[test]
fn each_kind_of_text_has_its_weight() {
    let words = "abc ".repeat(100);
    let hex = "0123456789abcdef".repeat(20);
    for (what, tokens, expected) in [
        ("nothing", prose(""), 0),
        ("one byte", prose("a"), 1),
        ("400 bytes of prose", prose(&words), 100),
        ("400 bytes as JSON", json(&words), 122),
        ("320 bytes of hex", prose(&hex), 214),
        ("320 bytes of hex in JSON", json(&hex), 214),
        ("a run just too short", prose(&hex[..63]), 16),
        ("the shortest run", prose(&hex[..64]), 43),
        ("two short runs", prose(&format!("{} {}", &hex[..63], &hex[..63])), 32),
        ("Chinese", prose(&"汉语".repeat(50)), 75),
        ("JSON by its start", text(&format!(" \n[{words}]")), 123),
        ("prose by its start", text(&words), 100),
    ] {
        assert_eq!(tokens, expected, "{what}");
    }
}

#[test]
fn an_entry_counts_as_its_messages_do() {
    use crate::call::{CallKind, CallResult, CallStatus, ProposedCall};
    use crate::id::{AgentId, CallId, RunId};
    use crate::transcript::{SettledTurn, Transcript};
    let call = |n| ProposedCall {
        gate: crate::call::Gate::Pass,
        call: CallId { run: RunId(uuid::Uuid::nil()), agent: AgentId::LEAD, n },
        alias: format!("c{n}").into(),
        name: "read".into(),
        arguments: r#"{"path":"a"}"#.into(),
        kind: CallKind::Subagent,
        provider_id: "".into(),
    };
    let result = |text: &str| CallResult::new(CallStatus::Ok, text);
    let said = Said { text: "Reading.".into(), opaque: Some(r#"[{"sig":"x"}]"#.into()) };
    let calls = vec![(call(0), result("words")), (call(1), result(r#"{"a":1}"#))];
    let mut transcript = Transcript::default();
    transcript.push(Entry::User("Go".into()));
    transcript.push(Entry::Turn(SettledTurn { said: said.clone(), calls }));
    transcript.push(Entry::Text(said));
    let transcript = transcript.compacted(0, "Goal: all");
    let entries: u64 = transcript.entries().map(|part| entry(part)).sum();
    let messages: u64 = crate::context::messages(&transcript).iter().map(message).sum();
    assert_eq!(entries, messages);
}

#[test]
fn the_size_is_what_was_reported_and_what_came_after() {
    let usage = Usage { input_tokens: 900, output_tokens: 100, ..Usage::default() };
    let mut size = ContextSize::default();
    size.added(5);
    assert_eq!(size.next(NextRequest::Ordinary), None);
    size.replied(&usage);
    assert_eq!(size.next(NextRequest::Ordinary), Some(1_000));
    size.added(50);
    size.added(7);
    assert_eq!(size.next(NextRequest::Ordinary), Some(1_057));
    assert_eq!(size.next(NextRequest::Closing { tools: 57 }), Some(1_000));
    size.replied(&usage);
    assert_eq!(size.next(NextRequest::Ordinary), Some(1_000));
    size.replied(&Usage::default());
    assert_eq!(size.next(NextRequest::Ordinary), None, "a provider that reports nothing");
}

#[test]
fn a_closing_request_does_not_count_its_tools() {
    let size = RequestSize { system: 1, tools: 20, messages: 300 };
    let closing = NextRequest::Closing { tools: 20 };
    assert_eq!((size.total(), size.fixed()), (321, 21));
    assert_eq!((size.next(NextRequest::Ordinary), size.next(closing)), (321, 301));
}
