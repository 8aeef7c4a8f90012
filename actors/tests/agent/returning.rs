//! Subagents that end by a call: it stands last, and it is the report.

use kinfolk_actors::agent::Key;
use kinfolk_actors::call::{CallKind, CallResult, CallStatus};
use kinfolk_actors::event::{Event, FinishReason, Outcome as End, SubagentStarted};
use kinfolk_actors::family::{Delivery, TASK_RETURN};
use kinfolk_actors::id::{AgentId, CallId};

use crate::bench::{Bench, thinks};
use crate::fixture::*;

fn clerk() -> Bench {
    let call = proposed(0, &ask_scout("t"), CallKind::Subagent);
    let started = SubagentStarted { delivery: Delivery::Return, ..scout_started(1, &call, "t") };
    Bench::subagent(started, full()).given(&[recovered(1)])
}

fn own(n: u32) -> CallId {
    CallId { agent: AgentId(1), ..id(n) }
}

fn returns(result: &str) -> kinfolk_actors::agent::RawCall {
    raw_call(TASK_RETURN, &format!("{{\"result\":\"{result}\"}}"))
}

#[test]
fn the_return_is_the_report_and_the_end() {
    let clerk = clerk().given(&[calls(1, vec![returns("found it")])]);
    let report = clerk.state.report().unwrap();
    assert_eq!((report.status, &*report.summary), (End::Completed, "found it"));
    assert_eq!(report.finish_reason, FinishReason::AgentDecision);
    assert_eq!(clerk.settled()[&own(0)], CallResult::new(CallStatus::Ok, "returned"));
    assert_eq!(clerk.outstanding(), vec![]);
    let Some(Event::SubagentFinished(_)) = clerk.journal.last() else { panic!("no report") };
}

#[test]
fn what_stands_before_the_return_is_settled_first() {
    let mut clerk = clerk().given(&[calls(1, vec![raw_call("look", "{}"), returns("seen")])]);
    assert_eq!(clerk.keys(), [Key::Tool(own(0))]);
    assert_eq!(clerk.state.report(), None);
    clerk.take(&settle(Key::Tool(own(0)), tool_ok("r"))).unwrap();
    assert_eq!(clerk.state.report().map(|report| report.summary.to_string()), Some("seen".into()));
}

#[test]
fn a_return_that_does_not_stand_last_refuses_the_whole_batch() {
    let batches = [
        vec![returns("a"), raw_call("look", "{}")],
        vec![raw_call("look", "{}"), returns("a"), returns("b")],
    ];
    for batch in batches {
        let count = batch.len();
        let clerk = clerk().given(&[calls(1, batch)]);
        let statuses: Vec<_> = clerk.settled().values().map(|result| result.status).collect();
        assert_eq!(statuses, vec![CallStatus::Error; count]);
        assert!(!clerk.journal.iter().any(|event| matches!(event, Event::ToolStarted(_))));
        assert_eq!(clerk.outstanding(), thinks(2));
    }
}

#[test]
fn a_return_that_does_not_fit_is_told_so_and_does_not_end() {
    let clerk = clerk().given(&[calls(1, vec![raw_call(TASK_RETURN, "{}")])]);
    assert_eq!(clerk.settled()[&own(0)].status, CallStatus::Malformed);
    assert_eq!(clerk.outstanding(), thinks(2));
}

#[test]
fn who_answers_by_words_has_no_return() {
    let lead = Bench::lead(full()).given(&[start("go"), calls(1, vec![returns("x")])]);
    assert_eq!(lead.settled()[&id(0)].status, CallStatus::UnknownTool);
    let call = proposed(0, &ask_scout("t"), CallKind::Subagent);
    let scout = Bench::subagent(scout_started(1, &call, "t"), full()).given(&[recovered(1)]);
    assert!(scout.request().tools.iter().all(|tool| &*tool.name != TASK_RETURN));
}
