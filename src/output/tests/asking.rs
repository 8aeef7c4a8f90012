//! What is shown of people, limits and histories, and what waits for people.

use std::path::Path;

use kinfolk_actors::budget::account::Scope;
use kinfolk_actors::compaction::Trigger;
use kinfolk_actors::event::{
    ApprovalRequested, ApprovalSettled, ApprovalSubject, CallAudited, CallDeferred,
    CompactionFinished, CompactionStarted, Decision, LimitReached, LimitWarning, ModelRequested,
    QuestionAnswered, QuestionAsked, QuestionKind, RunInterrupted, RunResumed, ToolsActivated,
};
use kinfolk_actors::failure::{ErrorCode, Failure};
use kinfolk_actors::id::AskId;
use kinfolk_actors::limits::{Amount, LimitKind, Limits};
use kinfolk_actors::policy::canonical::ArgumentDigest;

use super::*;
use crate::control::asks::{OpenAsk, OpenAsks};
use crate::output::asks::{asks, quoted};
use crate::output::renderer::{Renderer, Style};
use crate::settings::value::OutputFormat;

const PLAIN: Style = Style { colour: false, width: 100, answer_on_terminal: false };

fn recorded(agent: AgentId, event: Event) -> Recorded {
    Recorded { agent, event, ..story().remove(0) }
}

/// The lines that an event of the lead shows.
fn shown(event: Event) -> String {
    shown_in(PLAIN, event)
}

fn shown_in(style: Style, event: Event) -> String {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    Renderer::text(style).show(&arc(recorded(AgentId::LEAD, event)), &mut out, &mut err);
    assert!(out.is_empty());
    String::from_utf8(err).unwrap()
}

fn ask(n: u32) -> AskId {
    AskId { run: RUN, agent: AgentId::LEAD, n }
}

fn requested(subject: ApprovalSubject) -> ApprovalRequested {
    let reason = "nothing allows it yet".into();
    ApprovalRequested { approval: ask(0), subject, reason, deadline: None }
}

fn append() -> ApprovalRequested {
    requested(ApprovalSubject::Tool {
        call: call(AgentId::LEAD, 3),
        name: "append".into(),
        arguments: "{\"text\":\"a\\u001b\"}".into(),
        digest: ArgumentDigest([7; 32]),
    })
}

fn question(kind: QuestionKind, options: &[&str]) -> QuestionAsked {
    QuestionAsked {
        question: ask(1),
        kind,
        text: "Which\nport?".into(),
        options: options.iter().map(|one| (*one).into()).collect(),
        call: None,
    }
}

fn settled(decision: Decision, reason: Option<&str>) -> Event {
    Event::ApprovalSettled(ApprovalSettled {
        approval: ask(0),
        decision,
        by: Some("ada".into()),
        reason: reason.map(Into::into),
        raised: None,
    })
}

fn compacted(error: Option<Failure>) -> Event {
    Event::CompactionFinished(CompactionFinished {
        cost: None,
        n: 1,
        ok: error.is_none(),
        summary: None,
        tokens_before: 9_000,
        tokens_after: 900,
        gained: true,
        error,
        model: "openai:m".into(),
        usage: Usage::default(),
        duration_ms: Millis(2_000),
    })
}

fn heard(source: Source) -> Event {
    let ended = (Outcome::Failed, FinishReason::ErrorRecovery);
    let message = UserMessage { ended: Some(ended), ..UserMessage::new(source, "look\nleft") };
    Event::Message(Message::User(message))
}

#[test]
fn what_is_asked_of_people_shows_the_id_that_an_answer_names() {
    let table = [
        (
            Event::ApprovalRequested(append()),
            "lead: asks: may append {\"text\":\"a\\u001b\"} run? nothing allows it yet\n        \
             approval 00000000-0000-0000-0000-000000000007:lead:q0",
        ),
        (
            Event::ApprovalRequested(requested(ApprovalSubject::Limit {
                limit: LimitKind::Steps,
                scope: Scope::Family,
            })),
            "lead: asks: may the limit of steps be raised? nothing allows it yet\n        \
             approval 00000000-0000-0000-0000-000000000007:lead:q0",
        ),
        (
            Event::QuestionAsked(question(QuestionKind::Text, &[])),
            "lead: asks the user: \"Which port?\"\n        \
             question 00000000-0000-0000-0000-000000000007:lead:q1",
        ),
        (
            Event::QuestionAsked(question(QuestionKind::Choice, &["Esbjerg", "Fanø"])),
            "lead: asks the user: \"Which port?\" (Esbjerg | Fanø)\n        \
             question 00000000-0000-0000-0000-000000000007:lead:q1",
        ),
        (
            Event::QuestionAsked(question(QuestionKind::Parent, &[])),
            "lead: asks its parent: \"Which port?\"",
        ),
        (
            Event::CallDeferred(CallDeferred { call: call(AgentId::LEAD, 2) }),
            "lead: waits for a result from outside\n        \
             call 00000000-0000-0000-0000-000000000007:lead:2",
        ),
        (settled(Decision::Approved, None), "lead: is approved by ada"),
        (settled(Decision::Denied, Some("too wide")), "lead: is denied by ada: too wide"),
        (settled(Decision::DeniedAndStop, None), "lead: is denied, and the run ends by ada"),
        (
            Event::QuestionAnswered(QuestionAnswered {
                question: ask(1),
                answer: "Fanø".into(),
                by: None,
            }),
            "lead: gets the answer \"Fanø\"",
        ),
        (Event::QuestionWithdrawn { question: ask(1) }, "lead: its question is not asked any more"),
    ];
    for (event, expected) in table {
        assert_eq!(shown(event), format!("   0 ms {expected}\n"));
    }
    let style = Style { colour: true, ..PLAIN };
    let yellow = shown_in(style, Event::QuestionAsked(question(QuestionKind::Text, &[])));
    assert!(yellow.starts_with("   0 ms \u{1b}[33mlead: asks the user"), "{yellow:?}");
}

#[test]
fn what_an_agent_hears_beside_its_task_is_told() {
    let table = [
        (heard(Source::Guidance), "is told \"look left\""),
        (heard(Source::Queued), "queued for the next run: \"look left\""),
        (heard(Source::Notice), "hears that a subagent in the background is done (failed)"),
        (heard(Source::Question), "hears a subagent's question"),
        (heard(Source::Hint), "gets a hint: look left"),
    ];
    for (event, expected) in table {
        assert_eq!(shown(event), format!("   0 ms lead: {expected}\n"));
    }
    assert_eq!(shown(heard(Source::Virtual)), "");
}

/// A start of a compaction.
fn compacts() -> Event {
    Event::CompactionStarted(CompactionStarted {
        n: 1,
        trigger: Trigger::Threshold,
        tokens: 9_000,
        max_output: 500,
        entries: 4,
        model: "openai:m".into(),
    })
}

#[test]
fn limits_interrupts_and_histories_are_told() {
    let warning = |limit, used, of| {
        Event::LimitWarning(LimitWarning { limit, scope: Scope::Family, used, of })
    };
    let usd = |text: &str| Amount::Money(text.parse().unwrap());
    let closing = ModelRequested {
        request: RequestNo(3),
        model: "m".into(),
        attempt_no: 1,
        estimated_tokens: 9,
        closing: Some(LimitKind::Tokens),
        max_output: None,
    };
    let failed = Failure::new(ErrorCode::CompactionFailed, "no summary");
    let table = [
        (warning(LimitKind::Steps, Amount::Count(8), Amount::Count(10)), "8 of 10 steps are used"),
        (warning(LimitKind::Cost, usd("0.4"), usd("0.50")), "0.4 of 0.5 USD are used"),
        (
            warning(LimitKind::Time, Amount::Count(48_000), Amount::Count(60_000)),
            "48.0 s of 1 min 0 s time are used",
        ),
        (
            Event::LimitReached(LimitReached {
                limit: LimitKind::ToolCalls,
                scope: Scope::Agent(SUB),
            }),
            "the limit of tool calls is reached (the own limit of sub-1)",
        ),
        (Event::ModelRequest(closing), "writes its last answer within the limit of tokens"),
        (
            Event::RunInterrupted(RunInterrupted {
                reason: "8 of 8 steps".into(),
                limit: Some(LimitKind::Steps),
                resumable: true,
            }),
            "interrupted: 8 of 8 steps; it can be resumed",
        ),
        (
            Event::RunResumed(RunResumed {
                attempt: Attempt(1),
                from_offset: Offset(9),
                raised: Some(Limits::none().steps(20)),
            }),
            "run 00000000-0000-0000-0000-000000000007 resumed, attempt 1, with raised limits",
        ),
        (compacts(), "compacts its history of 9000 tokens (threshold) with openai:m"),
        (compacted(None), "history compacted from 9000 to 900 tokens in 2.0 s"),
        (
            compacted(Some(failed)),
            "its history could not be compacted in 2.0 s: context.compaction_failed: no summary",
        ),
        (Event::CompactionAsked, "is asked to compact"),
        (Event::InterruptAsked { reason: "lunch".into() }, "is asked to rest: lunch"),
        (
            Event::ToolsActivated(ToolsActivated { tools: vec!["a".into(), "b".into()] }),
            "has more tools: a, b",
        ),
        (
            Event::CallAudited(CallAudited { call: call(AgentId::LEAD, 0), intervene: true }),
            "a check wants a person to look at a call",
        ),
    ];
    for (event, expected) in table {
        assert_eq!(shown(event), format!("   0 ms lead: {expected}\n"));
    }
}

#[test]
fn subagents_in_the_background_say_so_and_costs_are_shown() {
    let Event::SubagentStarted(started) = sub_started() else { panic!() };
    let background = SubagentStarted { mode: ChildMode::Background, label: None, ..started };
    assert_eq!(
        shown(Event::SubagentStarted(background)),
        "   0 ms lead: starts sub-1 explorer in the background: count the files\n"
    );
    let spawned =
        tool_finished(call(AgentId::LEAD, 0), "spawn_subagent", (CallStatus::Ok, "{}"), 1);
    assert_eq!(shown(spawned), "");
    let end = RunFinished {
        cost_usd: Some("0.0125".parse().unwrap()),
        detail: Some("2 calls could not be read".into()),
        ..finished(Outcome::Completed, FinishReason::MaxStepsCompleted, "")
    };
    assert_eq!(
        shown_in(Style { width: 200, ..PLAIN }, Event::RunFinished(end)),
        "   0 ms lead: completed (max_steps_completed) in 3.2 s, 2 agents, 4 turns, 3 calls, 1650 \
         tokens (1500 in, 150 out), 0.0125 USD; 2 calls could not be read\n"
    );
}

fn open(events: &[(AgentId, Event)]) -> Vec<OpenAsk> {
    let mut asks = OpenAsks::default();
    let start = story().remove(0);
    asks.take(&start);
    asks.take(&recorded(AgentId::LEAD, sub_started()));
    events.iter().for_each(|(agent, event)| asks.take(&recorded(*agent, event.clone())));
    asks.open().cloned().collect()
}

fn listed(open: &[OpenAsk], format: OutputFormat, data: Option<&Path>) -> String {
    let mut text = Vec::new();
    asks(open, format, data, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn what_is_open_is_listed_with_the_command_that_answers() {
    let lead = AgentId::LEAD;
    let of_sub = QuestionAsked {
        question: AskId { run: RUN, agent: SUB, n: 0 },
        ..question(QuestionKind::Choice, &["Esbjerg", "Fanø"])
    };
    let events = [
        (lead, Event::ApprovalRequested(append())),
        (SUB, Event::QuestionAsked(of_sub)),
        (lead, Event::QuestionAsked(question(QuestionKind::Parent, &[]))),
    ];
    let open = open(&events);
    let expected = "\
lead of run 00000000-0000-0000-0000-000000000007, session trip, since 2026-09-21T14:13:20.000Z
  may append {\"text\":\"a\\u001b\"} run? nothing allows it yet
  kinfolk approve --data 'my data' 00000000-0000-0000-0000-000000000007:lead:q0   (or with --deny [REASON], --stop)
sub-1 explorer of run 00000000-0000-0000-0000-000000000007, session trip, since 2026-09-21T14:13:20.000Z
  Which port?
  - Esbjerg
  - Fanø
  kinfolk answer --data 'my data' 00000000-0000-0000-0000-000000000007:sub-1:q0 TEXT
";
    assert_eq!(listed(&open, OutputFormat::Text, Some(Path::new("my data"))), expected);
    let first = listed(&open[..1], OutputFormat::Json, None);
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&first).unwrap(),
        serde_json::json!({
            "id": "00000000-0000-0000-0000-000000000007:lead:q0",
            "session": "trip",
            "run": "00000000-0000-0000-0000-000000000007",
            "agent": "lead",
            "name": "lead",
            "at": "2026-09-21T14:13:20.000Z",
            "approval": {
                "approval": "00000000-0000-0000-0000-000000000007:lead:q0",
                "kind": "tool",
                "call": "00000000-0000-0000-0000-000000000007:lead:3",
                "name": "append",
                "arguments": "{\"text\":\"a\\u001b\"}",
                "digest": "07".repeat(32),
                "reason": "nothing allows it yet"
            }
        })
    );
    assert_eq!(listed(&[], OutputFormat::Text, None), "nothing waits for a person\n");
}

#[test]
fn an_ask_is_open_until_it_is_settled_or_its_agent_ends() {
    let lead = AgentId::LEAD;
    let asked = (lead, Event::ApprovalRequested(append()));
    let ended = (lead, Event::RunFinished(finished(Outcome::Failed, FinishReason::Timeout, "")));
    assert_eq!(open(std::slice::from_ref(&asked)).len(), 1);
    assert_eq!(open(&[asked.clone(), (lead, settled(Decision::Denied, None))]), []);
    assert_eq!(open(&[asked, ended]), []);
    let of_sub = QuestionAsked {
        question: AskId { run: RUN, agent: SUB, n: 0 },
        ..question(QuestionKind::Text, &[])
    };
    let done = explorer_events().pop().unwrap();
    let asked = (SUB, Event::QuestionAsked(of_sub));
    assert_eq!(open(std::slice::from_ref(&asked)).len(), 1);
    assert_eq!(open(&[asked, (SUB, done)]), []);
}

#[test]
fn paths_are_quoted_as_shells_need_them() {
    let table =
        [("/a/b-1", "/a/b-1"), ("my data", "'my data'"), ("it's", r"'it'\''s'"), ("", "''")];
    for (path, expected) in table {
        assert_eq!(quoted(Path::new(path)), expected);
    }
}
