//! How outcomes come back: in any order, exactly once, and only where they fit.

use kinfolk_actors::agent::{Key, Outcome, Refusal, Timer, Verdict};
use kinfolk_actors::call::{CallKind, CallResult, CallStatus};
use kinfolk_actors::event::{FinishReason, Outcome as End};
use kinfolk_actors::failure::{ErrorCode, Failure};
use kinfolk_actors::family::Family;
use kinfolk_actors::id::{AgentId, CallId, RequestNo};
use kinfolk_actors::time::Millis;
use kinfolk_actors::usage::Usage;

use crate::bench::{Bench, runs, thinks};
use crate::fixture::*;

#[test]
fn outcomes_arrive_in_any_order_and_go_back_in_call_order() {
    let looks = vec![raw_call("look", "{}"); 3];
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1]] {
        let mut lead = Bench::lead(family()).given(&[start("go"), calls(1, looks.clone())]);
        for n in order {
            lead.take(&done(id(n), &format!("result {n}"))).unwrap();
        }
        let results = [0, 1, 2].map(|n| (format!("call_1_{n}"), format!("result {n}")));
        assert_eq!(lead.results(), results);
        assert_eq!(lead.outstanding(), thinks(2));
    }
}

#[test]
fn b06_the_second_outcome_of_a_call_is_stale() {
    let looks = vec![raw_call("look", "{}"); 2];
    let mut lead = Bench::lead(family()).given(&[start("go"), calls(1, looks.clone())]);
    let first = proposed(0, &looks[0], LOOK);
    let second = proposed(1, &looks[1], LOOK);
    let result = CallResult::new(CallStatus::Ok, "first");
    lead.check(&done(id(0), "first"), &[ended(&first, result, 2)], &vec![runs(&second)]);
    lead.check_refused(&done(id(0), "second"), &Refusal::Stale(Key::Tool(id(0))));
}

#[test]
fn an_outcome_of_nothing_that_is_in_flight_is_stale() {
    let stranger = CallId { agent: AgentId(9), ..id(0) };
    let keys = |request| {
        let request = Key::Model(RequestNo(request));
        [request, Key::Tool(id(7)), Key::Lease(id(7)), Key::Child(id(7)), Key::Tool(stranger)]
    };
    let thinking = Bench::lead(family()).given(&[start("go")]);
    let acting = Bench::lead(family()).given(&[start("go"), calls(1, vec![raw_call("look", "")])]);
    let resting = Bench::lead(family()).given(&[start("go"), says(1, "done")]);
    for (mut lead, request) in [(thinking, 2), (acting, 1), (resting, 1)] {
        for key in keys(request) {
            lead.check_refused(&settle(key, Outcome::Gone), &Refusal::Stale(key));
        }
    }
}

#[test]
fn a_key_of_another_kind_for_the_same_call_is_stale() {
    let batch = vec![raw_call("look", "{}")];
    let mut lead = Bench::lead(family()).given(&[start("go"), calls(1, batch)]);
    for key in [Key::Child(id(0)), Key::Lease(id(0))] {
        lead.check_refused(&settle(key, Outcome::Gone), &Refusal::Stale(key));
    }
    let mut lead = Bench::lead(family()).given(&[start("go"), calls(1, vec![ask_scout("t")])]);
    let key = Key::Tool(id(0));
    lead.check_refused(&settle(key, tool_ok("r")), &Refusal::Stale(key));
}

#[test]
fn an_outcome_that_the_work_cannot_have_is_a_misfit() {
    let call = proposed(0, &ask_scout("t"), CallKind::Subagent);
    let reported = reported_by(report(&scout_started(1, &call, "t"), "r"));
    let replied = Outcome::Replied(reply("r", vec![]));
    let failed = model_down();
    let cases = [
        (vec![], Key::Model(RequestNo(1)), [tool_ok("r"), Outcome::Leased, reported.clone()]),
        (
            vec![raw_call("look", "")],
            Key::Tool(id(0)),
            [replied.clone(), Outcome::Leased, reported.clone()],
        ),
        (vec![raw_call("write", "")], Key::Lease(id(0)), [replied.clone(), tool_ok("r"), reported]),
        (vec![ask_scout("t")], Key::Child(id(0)), [replied, tool_ok("r"), failed]),
    ];
    for (batch, key, misfits) in cases {
        let mut lead = Bench::lead(family()).given(&[start("go")]);
        if !batch.is_empty() {
            lead = lead.given(&[calls(1, batch)]);
        }
        for misfit in misfits {
            lead.check_refused(&settle(key, misfit), &Refusal::Misfit(key));
        }
    }
}

fn model_down() -> Outcome {
    let error = Failure::new(ErrorCode::ModelUnreachable, "no connection");
    Outcome::ModelFailed { error, usage: usage(3, 20, 0), cost: None }
}

#[test]
fn a_failed_request_ends_the_run_as_failed_and_what_it_used_is_counted() {
    let mut lead = Bench::lead(family()).given(&[start("go")]);
    lead.take(&settle(Key::Model(RequestNo(1)), model_down())).unwrap();
    let finished = lead.finished();
    let error = Failure::new(ErrorCode::ModelUnreachable, "no connection");
    assert_eq!(
        (finished.outcome, finished.finish_reason),
        (End::Failed, FinishReason::ErrorRecovery)
    );
    assert_eq!((finished.error, finished.usage), (Some(error.clone()), usage(3, 20, 0)));
    assert!(lead.journal.contains(&model_failed(1, error, usage(3, 20, 0))));
}

#[test]
fn a_request_that_panics_or_is_lost_fails_the_run_with_its_own_code() {
    let panicked = Outcome::Panicked { message: "index".into() };
    for (outcome, code) in
        [(panicked, ErrorCode::EffectPanicked), (Outcome::Gone, ErrorCode::ServiceDown)]
    {
        let mut lead = Bench::lead(family()).given(&[start("go")]);
        lead.take(&settle(Key::Model(RequestNo(1)), outcome)).unwrap();
        assert_eq!(lead.finished().error.map(|error| error.code), Some(code));
    }
}

#[test]
fn every_end_of_a_tool_is_a_result_for_the_model() {
    let panicked = Outcome::Panicked { message: "index".into() };
    let timeout = Outcome::Tool {
        status: CallStatus::Timeout,
        text: "10 s".into(),
        duration: Millis(10_000),
    };
    for (outcome, status, text, duration) in [
        (panicked, CallStatus::Error, "the tool failed inside: index", 0),
        (Outcome::Gone, CallStatus::Error, "the call was stopped before it was done", 0),
        (timeout, CallStatus::Timeout, "10 s", 10_000),
    ] {
        let look = raw_call("look", "{}");
        let mut lead = Bench::lead(family()).given(&[start("go"), calls(1, vec![look.clone()])]);
        let call = proposed(0, &look, LOOK);
        let events = [ended(&call, CallResult::new(status, text), duration), requested(2)];
        lead.check(&settle(Key::Tool(id(0)), outcome), &events, &thinks(2));
    }
}

#[test]
fn a_lease_that_cannot_be_had_settles_its_call_and_the_next_goes_on() {
    let writes = vec![raw_call("write", "{}"), raw_call("look", "{}")];
    let mut lead = Bench::lead(family()).given(&[start("go"), calls(1, writes.clone())]);
    let (write, look) = (proposed(0, &writes[0], WRITE), proposed(1, &writes[1], LOOK));
    let text = "the call was stopped before it was done";
    let events = [refused(&write, CallStatus::Error, text), begun(&look)];
    lead.check(&settle(Key::Lease(id(0)), Outcome::Gone), &events, &vec![runs(&look)]);
}

#[test]
fn a_long_result_is_cut_with_a_mark_and_its_full_size() {
    let batch = vec![raw_call("look", "{}")];
    let mut lead = Bench::lead(family()).given(&[start("go"), calls(1, batch)]);
    lead.take(&done(id(0), &"x".repeat(100_000))).unwrap();
    let result = &lead.settled()[&id(0)];
    assert_eq!(result.full_size, Some(100_000));
    assert!(result.text.ends_with("[cut: the first 32768 of 100000 bytes are shown]"));
}

#[test]
fn the_sums_hold_the_whole_family_and_the_last_reply() {
    let batch = vec![raw_call("look", "{}"), ask_scout("t")];
    let mut lead = Bench::lead(family()).given(&[start("go"), calls(1, batch), done(id(0), "r")]);
    // What the subagent used, as its own chain records it.
    let scouts = reply("found", vec![]);
    lead.ledger.record(RUN, AgentId(1), lead.now, &assistant(1, &scouts, &[]));
    let call = proposed(1, &ask_scout("t"), CallKind::Subagent);
    let reported = report(&scout_started(1, &call, "t"), "found");
    lead.take(&settle(Key::Child(id(1)), reported_by(reported))).unwrap();
    lead.take(&says(2, "all done")).unwrap();

    let finished = lead.finished();
    let leads = Usage { turns: 2, tool_calls: 2, ..usage(2, 20, 10) };
    let scouts = Usage { turns: 1, ..usage(1, 10, 5) };
    let by_agent: Vec<_> =
        finished.agents.iter().map(|sums| (sums.agent, &*sums.name, sums.usage)).collect();
    assert_eq!(by_agent, [(AgentId(0), "lead", leads), (AgentId(1), "scout", scouts)]);
    assert_eq!(finished.usage, Usage { turns: 3, tool_calls: 2, ..usage(3, 30, 15) });
}

#[test]
fn a_timer_that_is_lost_changes_nothing_and_is_set_again() {
    for outcome in [Outcome::Gone, Outcome::Panicked { message: "oh".into() }] {
        let family = Family { approval_timeout: Some(Millis(50)), ..manual() };
        let mut lead =
            Bench::lead(family).given(&[start("go"), calls(1, vec![raw_call("write", "{}")])]);
        let key = Key::Timer(Timer::Ask(ask(0)));
        let before = lead.outstanding();
        assert_eq!(lead.keys(), [key]);
        lead.check(&settle(key, outcome.clone()), &[], &before);
        // One that is not waited for is stale as ever.
        lead.take(&says_to(0, Verdict::Deny)).unwrap();
        lead.check_refused(&settle(key, outcome), &Refusal::Stale(key));
    }
}
