//! Every public line, as scripts and dashboards read it.

mod samples;

use super::*;
use kinfolk_actors::event::{Event, Message};
use kinfolk_actors::time::Millis;

/// What every line of these tests begins with.
const COMMON: &str = concat!(
    r#""session":"s","run":"00000000-0000-0000-0000-000000000001","attempt":1,"#,
    r#""agent":"sub-2","at":"2026-09-21T14:13:20.123Z","#
);

/// The fields of the event's type, without those that every line has.
fn line(event: Event) -> String {
    let recorded = Recorded {
        offset: Offset(4),
        session: "s".parse().unwrap(),
        run: RunId(uuid::Uuid::from_u128(1)),
        attempt: Attempt(1),
        agent: AgentId(2),
        at: Timestamp(1_790_000_000_123),
        event,
    };
    let line = RunEvent::Journaled(Arc::new(recorded)).to_string();
    let begin = format!("{{\"offset\":4,{COMMON}");
    line.strip_prefix(&begin).unwrap_or_else(|| panic!("{line} begins otherwise")).to_owned()
}

/// The public name of an event; a new kind breaks the build here, and then needs a sample.
fn name_of(event: &Event) -> &'static str {
    match event {
        Event::RunStarted(_) => "run_started",
        Event::RunResumed(_) => "run_resumed",
        Event::RunInterrupted(_) => "run_interrupted",
        Event::Message(Message::User(_)) => "message\",\"role\":\"user",
        Event::Message(Message::Assistant(_)) => "message\",\"role\":\"assistant",
        Event::ModelRequest(_) => "model_request",
        Event::ModelFailed(_) => "model_failed",
        Event::ToolStarted(_) => "tool_started",
        Event::ToolFinished(_) => "tool_finished",
        Event::CallAudited(_) => "call_audited",
        Event::CallDeferred(_) => "call_deferred",
        Event::ToolsActivated(_) => "tools_activated",
        Event::ApprovalRequested(_) => "approval_requested",
        Event::ApprovalSettled(_) => "approval_settled",
        Event::QuestionAsked(_) => "question_asked",
        Event::QuestionAnswered(_) => "question_answered",
        Event::QuestionWithdrawn { .. } => "question_withdrawn",
        Event::CompactionAsked => "compaction_asked",
        Event::InterruptAsked { .. } => "interrupt_asked",
        Event::CompactionStarted(_) => "compaction_started",
        Event::CompactionFinished(_) => "compaction_finished",
        Event::LimitWarning(_) => "limit_warning",
        Event::LimitReached(_) => "limit_reached",
        Event::SubagentStarted(_) => "subagent_started",
        Event::SubagentFinished(_) => "subagent_finished",
        Event::Ending(_) => "ending",
        Event::RunFinished(_) => "run_finished",
    }
}

const NAMES: usize = 27;

/// Scripts and dashboards hold on to what stands in the table: fields are added, none changes.
/// `KINFOLK_BLESS=1` writes the table instead of comparing it.
#[test]
fn every_event_is_shown_as_documented() {
    let mut names = std::collections::BTreeSet::new();
    let mut shown = String::new();
    for event in samples::every_event() {
        let name = name_of(&event);
        names.insert(name);
        let fields = line(event);
        assert!(fields.starts_with(&format!("\"type\":\"{name}\"")), "{fields}");
        shown.push_str(&format!("{{{fields}\n"));
    }
    assert_eq!(names.len(), NAMES);
    if std::env::var_os("KINFOLK_BLESS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/events/tests/lines.jsonl");
        std::fs::write(path, &shown).unwrap();
        return;
    }
    let reviewed = include_str!("tests/lines.jsonl");
    for (today, reviewed) in shown.lines().zip(reviewed.lines()) {
        assert_eq!(today, reviewed);
    }
    assert_eq!(shown.lines().count(), reviewed.lines().count());
}

/// A line has no field twice: an event's field must not have the name of a common one.
#[test]
fn no_field_is_there_twice() {
    for event in samples::every_event() {
        let text = format!("{{\"offset\":4,{COMMON}{}", line(event));
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        // A second field of a name replaces the first, so that it is shorter when it is shown.
        assert_eq!(read.to_string().len(), text.len(), "{text}");
    }
}

#[test]
fn progress_has_no_offset() {
    let table = [
        (
            ProgressKind::PhaseChanged { phase: "tool_result", state: "acting" },
            r#""type":"phase_changed","phase":"tool_result","state":"acting"}"#,
        ),
        (
            ProgressKind::ModelRetry {
                code: ErrorCode::ModelRateLimited,
                attempt_no: 2,
                wait_ms: 500,
            },
            r#""type":"model_retry","code":"model.rate_limited","attempt_no":2,"wait_ms":500}"#,
        ),
        (
            ProgressKind::Delta {
                text: Some("Hel".into()),
                reasoning: None,
                call: None,
                void: false,
            },
            r#""type":"delta","text":"Hel"}"#,
        ),
        (
            ProgressKind::Delta {
                text: None,
                reasoning: Some("hm".into()),
                call: Some("grep".into()),
                void: true,
            },
            r#""type":"delta","reasoning":"hm","call":"grep","void":true}"#,
        ),
    ];
    for (kind, expected) in table {
        let progress = Progress {
            session: "s".parse().unwrap(),
            run: RunId(uuid::Uuid::from_u128(1)),
            attempt: Attempt(1),
            agent: AgentId(2),
            at: Timestamp(1_790_000_000_123),
            kind,
        };
        let event = RunEvent::Progress(Arc::new(progress));
        assert_eq!(event.offset(), None);
        assert_eq!(event.to_string(), format!("{{{COMMON}{expected}"));
    }
}

#[test]
fn times_are_shown_with_milliseconds() {
    assert_eq!(rfc3339(Timestamp(0)), "1970-01-01T00:00:00.000Z");
    let day = Millis(86_400_000);
    assert_eq!(rfc3339(Timestamp(day.0)), "1970-01-02T00:00:00.000Z");
}
