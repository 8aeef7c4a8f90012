//! Tests of the estimate: the numbers, the runs, and what stands before a history.

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
fn a_head_counts_by_its_sizes_as_it_does_when_it_is_read() {
    let tool = |name: &str, description: &str, schema: &str| ToolSpec {
        name: name.into(),
        description: description.into(),
        schema: schema.into(),
        effect: crate::call::EffectClass::ReadOnly,
        placement: Default::default(),
        offer: Default::default(),
        cost: None,
    };
    let schema = r#"{"type":"object","properties":{"path":{"type":"string"}}}"#;
    let plain = || vec![tool("read", "Reads a file.", schema), tool("look", "", "{}")];
    let with_hash = || [plain(), vec![tool("h", &"0123456789abcdef".repeat(4), "{}")]].concat();
    let read = |system: &str, all: &[ToolSpec]| {
        let (system, tools) = (message_of(prose(system)), tools(all));
        RequestSize { system, tools, messages: 0 }.fixed()
    };
    let by_size = |system: &str, all: &[ToolSpec]| fixed_by_size(system.len() as u64, all);
    for system in ["", "You work.", &"You work with care. ".repeat(99)] {
        assert_eq!(by_size(system, &plain()), read(system, &plain()));
    }
    // The longest that is still prose by its size and encoded data when it is read.
    assert_eq!((by_size("", &with_hash()), read("", &with_hash())), (59, 86));
}
