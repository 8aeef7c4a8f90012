//! What becomes of a subagent's report: the tool result of the call that started it.

use kinfolk_actors::agent::{Key, Outcome};
use kinfolk_actors::call::{CallKind, CallResult, CallStatus};
use kinfolk_actors::event::{Event, Outcome as End, SubagentFinished, SubagentStarted};
use kinfolk_actors::failure::{ErrorCode, Failure};
use kinfolk_actors::family::{CALL_SUBAGENT, Family, Role};
use serde_json::json;

use crate::bench::{Bench, has_at_work, thinks};
use crate::fixture::*;

fn scout() -> SubagentStarted {
    scout_started(1, &proposed(0, &ask_scout("t"), CallKind::Subagent), "t")
}

fn reported(report: SubagentFinished) -> CallResult {
    let mut lead = Bench::lead(family()).given(&[start("go"), calls(1, vec![ask_scout("t")])]);
    assert_eq!(lead.outstanding(), vec![has_at_work(&scout())]);
    lead.take(&settle(Key::Child(id(0)), reported_by(report))).unwrap();
    assert_eq!(lead.outstanding(), thinks(2));
    lead.settled().remove(&id(0)).unwrap()
}

#[test]
fn a_report_becomes_the_whole_notice() {
    let result = reported(report(&scout(), "found it"));
    let notice: serde_json::Value = serde_json::from_str(&result.text).unwrap();
    let usage = serde_json::to_value(usage(1, 10, 5)).unwrap();
    let expected = json!({
        "subagent": "sub-1", "agent": "scout", "status": "completed", "summary": "found it",
        "evidence": [], "changed_paths": [], "verification": [], "revision": null, "usage": usage,
    });
    assert_eq!((notice, result.status, result.full_size), (expected, CallStatus::Ok, None));
}

#[test]
fn a_failed_and_a_cancelled_subagent_have_their_own_statuses() {
    let error = Failure::new(ErrorCode::ModelQuota, "no money left");
    let failed = SubagentFinished {
        status: End::Failed,
        error: Some(error),
        ..report(&scout(), "no money left")
    };
    let result = reported(failed);
    let notice: serde_json::Value = serde_json::from_str(&result.text).unwrap();
    assert_eq!(result.status, CallStatus::Error);
    assert_eq!(notice["status"], "failed");
    assert_eq!(notice["blocked_reason"], "model.quota_exhausted");

    let result = reported(SubagentFinished { status: End::Cancelled, ..report(&scout(), "") });
    let notice: serde_json::Value = serde_json::from_str(&result.text).unwrap();
    assert_eq!(
        (result.status, notice["status"].as_str()),
        (CallStatus::Cancelled, Some("cancelled"))
    );
}

#[test]
fn f07_ii_a_long_summary_is_cut_with_a_mark_and_the_notice_stays_whole_json() {
    // Quotes double and control characters grow sixfold when they are escaped.
    for unit in ["x", "\"", "\u{1}", "é", "\n"] {
        let summary = unit.repeat(60_000);
        let mut started = scout();
        started.label = Some("l".repeat(100_000).into());
        let arguments = json!({ "agent": "scout", "task": "t", "label": started.label });
        let call = raw_call(CALL_SUBAGENT, &arguments.to_string());
        let mut lead = Bench::lead(family()).given(&[start("go"), calls(1, vec![call])]);
        let report = reported_by(report(&started, &summary));
        lead.take(&settle(Key::Child(id(0)), report)).unwrap();
        let result = lead.settled().remove(&id(0)).unwrap();
        let notice: serde_json::Value = serde_json::from_str(&result.text).unwrap();
        let full = u64::try_from(summary.len()).unwrap();
        assert_eq!((result.full_size, notice["full_size"].as_u64()), (Some(full), Some(full)));
        assert!(notice["summary"].as_str().unwrap().contains("[cut: the first "));
        assert!(result.text.len() <= CallResult::CAP);
    }
}

#[test]
fn f02_a_panicking_subagent_is_an_error_among_its_siblings_results() {
    let batch = vec![ask_scout("a"), ask_scout("b"), ask_scout("c")];
    let mut lead = Bench::lead(family()).given(&[start("go"), calls(1, batch.clone())]);
    let ok = |number, n: u32| {
        let call = proposed(n, &batch[n as usize], CallKind::Subagent);
        reported_by(report(&scout_started(number, &call, "t"), "fine"))
    };
    lead.take(&settle(Key::Child(id(2)), ok(3, 2))).unwrap();
    lead.take(&settle(Key::Child(id(1)), Outcome::Panicked { message: "oh".into() })).unwrap();
    lead.take(&settle(Key::Child(id(0)), ok(1, 0))).unwrap();
    let statuses: Vec<_> = lead.settled().values().map(|result| result.status).collect();
    assert_eq!(statuses, [CallStatus::Ok, CallStatus::Error, CallStatus::Ok]);
    let ids: Vec<_> = lead.results().into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, ["call_1_0", "call_1_1", "call_1_2"]);
}

#[test]
fn a_subagents_last_event_is_its_report() {
    let mut child = Bench::subagent(scout(), family()).given(&[recovered(1)]);
    child.take(&says(1, "found it")).unwrap();
    let report = child.state.report().unwrap().clone();
    assert_eq!((&*report.summary, report.status), ("found it", End::Completed));

    let mut child = Bench::subagent(scout(), family()).given(&[recovered(1)]);
    let error = Failure::new(ErrorCode::ModelQuota, "no money left");
    let failed = Outcome::ModelFailed { error: error.clone(), usage: usage(1, 0, 0), cost: None };
    child.take(&settle(Key::Model(kinfolk_actors::id::RequestNo(1)), failed)).unwrap();
    let report = child.state.report().unwrap().clone();
    assert_eq!((&*report.summary, report.error), ("no money left", Some(error)));
    assert_eq!(report.status, End::Failed);
}

#[test]
fn a_subagent_that_only_looks_changes_nothing_even_if_its_family_lets_it() {
    let mut explorer = Bench::subagent(scout(), explorers_with_everything());
    explorer = explorer.given(&[recovered(1), calls(1, vec![raw_call("write", "{}")])]);
    let (status, text) = (
        explorer.journal.iter().find_map(|event| match event {
            Event::ToolFinished(finished) => Some(finished.result.status),
            _ => None,
        }),
        explorer.results()[0].1.clone(),
    );
    assert_eq!(status, Some(CallStatus::Blocked));
    assert!(text.contains("only looks"), "{text}");
}

#[test]
fn a_subagent_that_only_looks_starts_nobody_who_could_change_things() {
    let mut family = explorers_with_everything();
    let mut worker = family.subagents[0].clone();
    (worker.name, worker.role) = ("worker".into(), Role::Task);
    family.subagents.push(worker);
    let ask = raw_call(CALL_SUBAGENT, r#"{"agent":"worker","task":"write"}"#);
    let explorer = Bench::subagent(scout(), family).given(&[recovered(1), calls(1, vec![ask])]);
    let started = explorer.journal.iter().any(|event| matches!(event, Event::SubagentStarted(_)));
    assert!(!started);
    assert_eq!(explorer.results()[0].1, "`worker` may change things and this agent only looks");
}

#[test]
fn a_subagent_that_may_delegate_is_not_told_of_itself() {
    let system = |bench: &Bench| bench.request().system.to_string();
    let lead = Bench::lead(explorers_with_everything()).given(&[start("go")]);
    assert!(system(&lead).contains("- scout: "), "{}", system(&lead));
    let scout = Bench::subagent(scout(), explorers_with_everything()).given(&[recovered(1)]);
    assert!(!system(&scout).contains("- scout: "), "{}", system(&scout));
}

/// A family two deep whose explorers were given the lead's tools, as a host's mistake could.
fn explorers_with_everything() -> Family {
    let mut family = capped(6, 3, 2);
    for spec in &mut family.subagents {
        spec.invocation.tools = family.lead.tools.clone();
    }
    family
}
