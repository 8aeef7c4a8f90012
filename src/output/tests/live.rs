//! What a run shows while it happens.

use std::io::{self, Write};

use kinfolk_actors::failure::{ErrorCode, Failure};

use super::*;
use crate::events::{Progress, ProgressKind, RunEvent};
use crate::output::exit::exit_code;
use crate::output::renderer::{Renderer, Stream, Style};

const PLAIN: Style = Style { colour: false, width: 100, answer_on_terminal: false };

fn progress(kind: ProgressKind) -> RunEvent {
    RunEvent::Progress(Arc::new(Progress {
        session: "trip".parse().unwrap(),
        run: RUN,
        attempt: Attempt(1),
        agent: SUB,
        at: Timestamp(START + 700),
        kind,
    }))
}

fn delta(text: &str) -> RunEvent {
    progress(ProgressKind::Delta {
        text: Some(text.to_owned()),
        reasoning: None,
        call: None,
        void: false,
    })
}

fn retry() -> RunEvent {
    let code = ErrorCode::ModelUnavailable;
    progress(ProgressKind::ModelRetry { code, attempt_no: 2, wait_ms: 1_500 })
}

fn shown(mut renderer: Renderer, events: &[RunEvent]) -> (String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    events.iter().for_each(|event| renderer.show(event, &mut out, &mut err));
    assert!(renderer.write_error().is_none());
    (String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
}

fn ended(text: &str, error: Option<Failure>) -> RunEvent {
    let (outcome, reason) = match error {
        Some(_) => (Outcome::Failed, FinishReason::ErrorRecovery),
        None => (Outcome::Completed, FinishReason::Completed),
    };
    let mut recorded = story().pop().unwrap();
    recorded.event = Event::RunFinished(RunFinished { error, ..finished(outcome, reason, text) });
    arc(recorded)
}

#[test]
fn text_shows_the_family_at_work_and_the_answer_alone_on_stdout() {
    let mut events: Vec<RunEvent> = story().into_iter().map(arc).collect();
    events.insert(3, retry());
    events.insert(4, delta("hidden"));
    let (out, err) = shown(Renderer::text(PLAIN), &events);
    assert_eq!(out, "There are two.\n");
    let expected = "   0 ms lead: run 00000000-0000-0000-0000-000000000007 with openai:m
 250 ms lead: says \"I ask.\"
 500 ms lead: starts sub-1 explorer \"count �[2J\": count the files
 700 ms sub-1 explorer \"count �[2J\": tries the model again in 1.5 s (try 2): model.unavailable
  1.2 s sub-1 explorer \"count �[2J\": calls read_file {\"path\":\"a.txt\"}
  1.5 s sub-1 explorer \"count �[2J\": read_file ok in 12 ms
  1.7 s sub-1 explorer \"count �[2J\": calls read_file {\"path\":\"a.txt\"}
  2.0 s sub-1 explorer \"count �[2J\": read_file error in 1.5 s: no file �31m
  2.5 s sub-1 explorer \"count �[2J\": completed, 2 turns, 2 calls, 550 tokens (500 in, 50 out)
  3.2 s lead: completed in 3.2 s, 2 agents, 4 turns, 3 calls, 1650 tokens (1500 in, 150 out)
";
    assert_eq!(err, expected);
}

#[test]
fn json_prints_every_event_and_progress_as_one_harmless_line_and_nothing_else() {
    let events = [arc(story().remove(8)), delta("\u{9b}2J\u{1b}"), retry()];
    let (out, err) = shown(Renderer::json(), &events);
    let common = r#""session":"trip","run":"00000000-0000-0000-0000-000000000007","attempt":1,"agent":"sub-1""#;
    let expected = format!(
        "{{\"offset\":8,{common},\"at\":\"2026-09-21T14:13:22.000Z\",\"type\":\"tool_finished\",\
         \"call\":\"00000000-0000-0000-0000-000000000007:sub-1:1\",\"name\":\"read_file\",\
         \"status\":\"error\",\"result\":\"no\\nfile \\u009b31m\",\"duration_ms\":1500}}\n\
         {{{common},\"at\":\"2026-09-21T14:13:20.700Z\",\"type\":\"delta\",\
         \"text\":\"\\u009b2J\\u001b\"}}\n\
         {{{common},\"at\":\"2026-09-21T14:13:20.700Z\",\"type\":\"model_retry\",\
         \"code\":\"model.unavailable\",\"attempt_no\":2,\"wait_ms\":1500}}\n"
    );
    assert_eq!((out.as_str(), err.as_str()), (expected.as_str(), ""));
}

#[test]
fn an_answer_is_made_harmless_only_on_a_terminal() {
    let answer = [ended("a\n\u{1b}[31mb", None)];
    assert_eq!(shown(Renderer::text(PLAIN), &answer).0, "a\n\u{1b}[31mb\n");
    let terminal = Style { answer_on_terminal: true, ..PLAIN };
    assert_eq!(shown(Renderer::text(terminal), &answer).0, "a\n�[31mb\n");
    assert_eq!(shown(Renderer::text(PLAIN), &[ended("", None)]).0, "");
}

#[test]
fn a_failure_is_red_on_a_terminal_and_bounded() {
    let style = Style { colour: true, width: 60, ..PLAIN };
    let message = "no server\u{1b} at http://localhost:1/v1; start it or name another one";
    let error = Failure::new(ErrorCode::ModelUnreachable, message);
    let (out, err) = shown(Renderer::text(style), &[ended("", Some(error))]);
    let expected = "   0 ms \u{1b}[31mlead: failed (error_recovery) in 3.2 s, 2 agents, 4…\u{1b}[0m
model.unreachable: no server� at http://localhost:1/v1;
start it or name another one
";
    assert_eq!((out.as_str(), err.as_str()), ("", expected));
}

/// Fails as a full disk or a closed pipe does, and counts how often it was asked.
struct Broken(io::ErrorKind, usize);

impl Write for Broken {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        self.1 += 1;
        Err(self.0.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_broken_writer_is_left_alone_and_the_other_goes_on() {
    for (kind, reported) in [
        (io::ErrorKind::BrokenPipe, None),
        (io::ErrorKind::StorageFull, Some(io::ErrorKind::StorageFull)),
    ] {
        let mut renderer = Renderer::text(PLAIN);
        let (mut out, mut err) = (Vec::new(), Broken(kind, 0));
        story().into_iter().map(arc).for_each(|event| renderer.show(&event, &mut out, &mut err));
        assert_eq!((out.as_slice(), err.1), (b"There are two.\n".as_slice(), 1));
        assert_eq!(renderer.write_error().map(io::Error::kind), reported);
    }
}

#[test]
fn colour_needs_a_terminal_and_nobody_against_it() {
    let style = |out, err, no_color: Option<&str>| {
        let style = Style::for_streams(out, err, no_color.map(str::as_ref));
        (style.colour, style.answer_on_terminal)
    };
    let (screen, file) = (Stream::Terminal, Stream::Elsewhere);
    assert_eq!(style(file, screen, None), (true, false));
    assert_eq!(style(screen, file, None), (false, true));
    assert_eq!(style(screen, screen, Some("1")), (false, true));
    assert_eq!(style(screen, screen, Some("")), (true, true));
}

#[test]
fn each_end_has_its_exit_code() {
    let table = [
        (Outcome::Completed, FinishReason::Completed, 0),
        (Outcome::Completed, FinishReason::MaxStepsCompleted, 0),
        (Outcome::PartialSuccess, FinishReason::BudgetCompleted, 0),
        (Outcome::Failed, FinishReason::ErrorRecovery, 1),
        (Outcome::Failed, FinishReason::LoopDetected, 1),
        (Outcome::Failed, FinishReason::MaxStepsExceeded, 3),
        (Outcome::Failed, FinishReason::CostLimitExceeded, 3),
        (Outcome::Failed, FinishReason::Timeout, 3),
        (Outcome::Cancelled, FinishReason::UserRequested, 130),
        (Outcome::Cancelled, FinishReason::SystemShutdown, 130),
    ];
    for (outcome, reason, code) in table {
        assert_eq!(exit_code(&finished(outcome, reason, "")), code, "{outcome:?} {reason:?}");
    }
}
