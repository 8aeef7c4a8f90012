//! Subagents beside their parent: started, awaited, told, stopped, and each heard exactly once.

use kinfolk_actors::agent::{Key, Outcome, RawCall, RunStanding, Timer, Work};
use kinfolk_actors::call::{CallKind, CallResult, CallStatus};
use kinfolk_actors::estimate::RequestSize;
use kinfolk_actors::event::{
    ChildMode, Event, FinishReason, Message, Outcome as End, Source, SubagentFinished,
    SubagentStarted,
};
use kinfolk_actors::failure::{ErrorCode, Failure};
use kinfolk_actors::family::{Caps, Family, ModelEndpoint};
use kinfolk_actors::id::AgentId;
use kinfolk_actors::machine::Demand;
use kinfolk_actors::profile::ModelProfile;
use kinfolk_actors::time::Timestamp;
use serde_json::{Value, json};

use crate::bench::{Bench, has_at_work, runs, stops_child, thinks};
use crate::fixture::*;

fn spawn(task: &str) -> RawCall {
    raw_call("spawn_subagent", &json!({ "agent": "scout", "task": task }).to_string())
}

fn spawned(number: u32, n: u32, task: &str) -> SubagentStarted {
    let call = proposed(n, &spawn(task), CallKind::Spawn);
    SubagentStarted { mode: ChildMode::Background, ..scout_started(number, &call, task) }
}

fn reports(n: u32, started: &SubagentStarted, summary: &str) -> kinfolk_actors::agent::Command {
    settle(Key::Child(id(n)), reported_by(report(started, summary)))
}

fn about(tool: &str, subagent: u32) -> RawCall {
    let subagent = AgentId(subagent);
    raw_call(tool, &json!({ "subagent": subagent, "message": "hi" }).to_string())
}

fn stop(subagent: u32) -> RawCall {
    raw_call("stop_subagent", &json!({ "subagent": AgentId(subagent) }).to_string())
}

/// How often the next request holds these words.
fn heard(lead: &Bench, words: &str) -> usize {
    format!("{:?}", lead.request().messages).matches(words).count()
}

/// A lead with one subagent in the background and a request in flight.
fn with_scout() -> Bench {
    Bench::lead(full()).given(&[start("go"), calls(1, vec![spawn("t")])])
}

#[test]
fn a_spawn_returns_at_once_with_the_subagents_id() {
    let raw = reply("", vec![spawn("t")]);
    let call = proposed(0, &raw.calls[0], CallKind::Spawn);
    let mut lead = Bench::lead(full()).given(&[start("go")]);
    let result = CallResult::new(CallStatus::Ok, r#"{"subagent":"sub-1"}"#);
    let started = spawned(1, 0, "t");
    let events = [
        assistant(1, &raw, std::slice::from_ref(&call)),
        begun(&call),
        Event::SubagentStarted(started.clone()),
        ended(&call, result, 0),
        requested(2),
    ];
    let going = [thinks(2), vec![has_at_work(&started)]].concat();
    lead.check(&replied(1, raw), &events, &going);
}

#[test]
fn f03_i_a_report_during_a_round_is_in_the_next_request_once() {
    let look = raw_call("look", "{}");
    let started = spawned(1, 0, "t");
    let mut lead = with_scout().given(&[calls(2, vec![look.clone()])]);
    let events = lead.take(&reports(0, &started, "found it")).unwrap();
    let [Event::Message(Message::User(notice))] = &events[..] else { panic!("{events:?}") };
    assert_eq!((notice.source, notice.for_call), (Source::Notice, Some(id(0))));
    assert_eq!(notice.ended, Some((End::Completed, FinishReason::Completed)));
    assert_eq!(lead.outstanding(), vec![runs(&proposed(1, &look, LOOK))]);
    let lead = lead.given(&[done(id(1), "seen")]);
    assert_eq!(heard(&lead, "found it"), 1);
    let lead = lead.given(&[calls(3, vec![raw_call("look", "[]")])]);
    assert_eq!(heard(&lead, "found it"), 1, "and never again");
}

#[test]
fn f03_ii_a_report_wakes_a_lead_that_has_said_its_word() {
    let started = spawned(1, 0, "t");
    let mut lead = with_scout().given(&[says(2, "I wait")]);
    assert_eq!(lead.outstanding(), vec![has_at_work(&started)]);
    assert_eq!(lead.state.standing(), Some(RunStanding::Acting));
    // A crash between loses neither the wait nor the subagent.
    lead = lead.crashed().given(&[recovered(2)]);
    assert_eq!(lead.outstanding(), vec![has_at_work(&started)]);
    lead.take(&reports(0, &started, "found it")).unwrap();
    assert_eq!((lead.outstanding(), heard(&lead, "found it")), (thinks(3), 1));
    lead.take(&says(3, "all done")).unwrap();
    assert_eq!(&*lead.finished().text, "all done");
}

#[test]
fn f03_iv_each_of_two_subagents_is_told_once() {
    let batch = vec![spawn("a"), spawn("b")];
    let mut lead = Bench::lead(full()).given(&[start("go"), calls(1, batch)]);
    lead.take(&reports(0, &spawned(1, 0, "a"), "first")).unwrap();
    let late = reports(0, &spawned(1, 0, "a"), "first");
    let stale = kinfolk_actors::agent::Refusal::Stale(Key::Child(id(0)));
    lead.check_refused(&late, &stale);
    let lead = lead.given(&[reports(1, &spawned(2, 1, "b"), "second"), says(2, "more?")]);
    assert_eq!((heard(&lead, "first"), heard(&lead, "second")), (1, 1));
}

#[test]
fn f04_four_ends_have_four_statuses_and_each_wakes_the_lead() {
    let failed = |reason, error: Failure| SubagentFinished {
        status: End::Failed,
        finish_reason: reason,
        error: Some(error),
        ..report(&spawned(1, 0, "t"), "")
    };
    let code = |code| Failure::new(code, "over");
    let ends = [
        (failed(FinishReason::ErrorRecovery, code(ErrorCode::ModelQuota)), "failed"),
        (failed(FinishReason::CostLimitExceeded, code(ErrorCode::LimitTokens)), "budget"),
        (failed(FinishReason::Timeout, code(ErrorCode::LimitTime)), "timeout"),
        (report(&spawned(1, 0, "t"), ""), "completed"),
    ];
    for (report, status) in ends {
        let mut lead = with_scout().given(&[says(2, "I wait")]);
        lead.take(&settle(Key::Child(id(0)), reported_by(report))).unwrap();
        assert_eq!(lead.outstanding(), thinks(3));
        let notice = lead.journal.iter().rev().find_map(|event| match event {
            Event::Message(Message::User(message)) => Some(message.text.clone()),
            _ => None,
        });
        let notice: Value = serde_json::from_str(&notice.unwrap()).unwrap();
        assert_eq!(notice["status"], status);
    }
    // The refused one answers its own call.
    let mut family = full();
    family.caps = Caps { max_parallel: 1, ..Caps::default() };
    let batch = vec![spawn("a"), spawn("b")];
    let lead = Bench::lead(family).given(&[start("go"), calls(1, batch)]);
    let text = "1 subagents are at work, which is as many as may be at once; wait for one to end";
    assert_eq!(lead.settled()[&id(1)], CallResult::new(CallStatus::Limit, text));
}

#[test]
fn a_wait_returns_with_all_reports_in_it_and_none_of_them_beside() {
    let wait = raw_call("wait_subagents", "{}");
    let call = proposed(1, &wait, CallKind::Wait);
    let started = spawned(1, 0, "t");
    let mut lead = with_scout().given(&[calls(2, vec![wait])]);
    assert_eq!(lead.outstanding(), vec![has_at_work(&started)]);
    lead.take(&reports(0, &started, "found it")).unwrap();
    assert_eq!((lead.outstanding(), heard(&lead, "found it")), (thinks(3), 1));
    let result: Value = serde_json::from_str(&lead.settled()[&call.call].text).unwrap();
    assert_eq!(result["reported"][0]["summary"], "found it");
    assert_eq!(result["at_work"], json!([]));
    // A second wait has nothing to wait for and nothing new to say.
    let lead = lead.given(&[calls(3, vec![raw_call("wait_subagents", "{}")])]);
    let nothing = r#"{"reported":[],"at_work":[]}"#;
    assert_eq!(&*lead.settled()[&id(2)].text, nothing);
}

#[test]
fn a_wait_gives_up_at_its_time_and_the_report_comes_later() {
    let wait = raw_call("wait_subagents", r#"{"subagents":["sub-1"],"timeout":30}"#);
    let started = spawned(1, 0, "t");
    let mut lead = with_scout().given(&[calls(2, vec![wait])]);
    let timer = Timer::Call(id(1));
    let at = Some(Timestamp(lead.now.0 + 30_000));
    let waits = (Key::Timer(timer), Demand::Run(Work::Timer { timer, at }));
    assert_eq!(lead.outstanding(), vec![has_at_work(&started), waits]);
    lead.take(&settle(Key::Timer(timer), Outcome::Fired)).unwrap();
    let text = r#"{"reported":[],"at_work":["sub-1"]}"#;
    assert_eq!(lead.settled()[&id(1)], CallResult::new(CallStatus::Timeout, text));
    let lead = lead.given(&[reports(0, &started, "found it"), says(3, "and?")]);
    assert_eq!(heard(&lead, "found it"), 1);
}

#[test]
fn a_wait_for_nobody_is_an_error() {
    let wait = raw_call("wait_subagents", r#"{"subagents":["sub-9"]}"#);
    let lead = with_scout().given(&[calls(2, vec![wait])]);
    let text = "no subagent sub-9 was started in this run";
    assert_eq!(lead.settled()[&id(1)], CallResult::new(CallStatus::Error, text));
}

#[test]
fn a_message_goes_to_a_living_subagent() {
    let mut lead = with_scout().given(&[calls(2, vec![about("message_subagent", 1)])]);
    let key = Key::Tell(id(1));
    let work = Work::Tell { call: id(1), subagent: AgentId(1), message: "hi".into() };
    assert_eq!(lead.outstanding()[1], (key, Demand::Run(work)));
    let mut refusing = with_scout().given(&[calls(2, vec![about("message_subagent", 1)])]);
    lead.take(&settle(key, Outcome::Told { refused: None })).unwrap();
    assert_eq!(lead.settled()[&id(1)], CallResult::new(CallStatus::Ok, "told"));
    let why = Some("it is ending".into());
    refusing.take(&settle(key, Outcome::Told { refused: why })).unwrap();
    assert_eq!(refusing.settled()[&id(1)], CallResult::new(CallStatus::Error, "it is ending"));
}

#[test]
fn f05_finished_killed_and_unknown_subagents_are_told_apart() {
    let started = spawned(1, 0, "t");
    let finished = with_scout().given(&[reports(0, &started, "found")]);
    let gone = settle(Key::Child(id(0)), Outcome::Gone);
    let killed = with_scout().given(&[calls(2, vec![stop(1)]), gone]);
    let unknown = Bench::lead(full()).given(&[start("go")]);
    let text = |mut lead: Bench| {
        let request = lead.state.run.requests;
        let n = lead.state.run.calls;
        lead.take(&calls(request, vec![about("message_subagent", 1)])).unwrap();
        let result = lead.settled().remove(&id(n)).unwrap();
        assert_eq!(result.status, CallStatus::Error);
        result.text.to_string()
    };
    let texts = [text(finished), text(killed), text(unknown)];
    let expected = [
        "sub-1 has finished and hears nothing more; start another with what it reported",
        "sub-1 was stopped and hears nothing more; start another",
        "no subagent sub-1 was started in this run",
    ];
    assert_eq!(texts, expected);
}

#[test]
fn f06_a_stop_returns_with_how_it_ended_and_a_second_one_says_the_same() {
    let started = spawned(1, 0, "t");
    let mut lead = with_scout().given(&[calls(2, vec![stop(1)])]);
    assert_eq!(lead.outstanding(), vec![stops_child(&started)]);
    // It reacted to nothing and was killed.
    lead.take(&settle(Key::Child(id(0)), Outcome::Gone)).unwrap();
    let killed = CallResult::new(CallStatus::Ok, r#"{"status":"cancelled","subagent":"sub-1"}"#);
    assert_eq!(lead.settled()[&id(1)], killed);
    assert_eq!(lead.outstanding(), thinks(3));
    lead.take(&calls(3, vec![stop(1)])).unwrap();
    assert_eq!(lead.settled()[&id(2)], killed);
    assert_eq!(lead.outstanding(), thinks(4));
}

#[test]
fn a_report_that_was_faster_than_the_stop_is_not_lost() {
    let started = spawned(1, 0, "t");
    let mut lead = with_scout().given(&[calls(2, vec![stop(1)])]);
    lead.take(&reports(0, &started, "found it")).unwrap();
    let text = r#"{"status":"completed","subagent":"sub-1"}"#;
    assert_eq!(lead.settled()[&id(1)], CallResult::new(CallStatus::Ok, text));
    assert_eq!(heard(&lead, "found it"), 1);
}

#[test]
fn f07_i_many_large_reports_never_make_a_request_larger_than_the_window() {
    let mut family = full();
    family.caps = Caps { max_subagents: 7, max_parallel: 7, ..Caps::default() };
    let profile = ModelProfile { window: 20_000, response: 1_000, ..ModelProfile::unknown() };
    let endpoint = ModelEndpoint { profile, ..ModelEndpoint::default() };
    family.models = [(MODEL.to_owned(), endpoint)].into();
    let batch: Vec<RawCall> = (0..7).map(|n| ask_scout(&format!("part {n}"))).collect();
    let mut lead = Bench::lead(family).given(&[start("go"), calls(1, batch.clone())]);
    for n in 0..7 {
        let call = proposed(n, &batch[n as usize], CallKind::Subagent);
        let report = report(&scout_started(n + 1, &call, "t"), &"word ".repeat(6_000));
        lead.take(&settle(Key::Child(id(n)), reported_by(report))).unwrap();
        let result = &lead.settled()[&id(n)];
        assert_eq!(result.full_size, Some(30_000));
        assert!(result.text.contains("[cut: the first "));
    }
    assert_eq!(lead.keys(), [Key::Summary(1)], "they are summed up before they are sent");
    let summarised = kinfolk_actors::agent::Summarised {
        result: Ok("Goal: all".into()),
        fallback: None,
        cost: None,
        usage: usage(1, 10, 5),
        duration: Default::default(),
    };
    lead.take(&settle(Key::Summary(1), Outcome::Summarised(summarised))).unwrap();
    assert!(RequestSize::of(&lead.request()).total() <= 20_000);
}

#[test]
fn f07_iii_depth_ends_where_it_should() {
    let family = Family { caps: Caps { max_depth: 2, ..Caps::default() }, ..full() };
    let two = || vec![ask_scout("a"), ask_scout("b")];
    let lead = Bench::lead(family.clone()).given(&[start("go"), calls(1, two())]);
    assert_eq!(lead.keys().len(), 2);
    let call = proposed(0, &ask_scout("t"), CallKind::Subagent);
    let at_depth = |depth| {
        let started = SubagentStarted { depth, ..scout_started(1, &call, "t") };
        Bench::subagent(started, family.clone()).given(&[recovered(1), calls(1, two())])
    };
    assert_eq!(at_depth(1).keys().len(), 2);
    let deepest = at_depth(2);
    assert_eq!(deepest.outstanding(), thinks(2));
    let statuses: Vec<_> = deepest.settled().values().map(|result| result.status).collect();
    assert_eq!(statuses, [CallStatus::Limit; 2]);
}

#[test]
fn f07_iii_a_storm_of_spawns_stays_within_the_caps() {
    let family =
        Family { caps: Caps { max_subagents: 6, max_parallel: 3, max_depth: 1 }, ..full() };
    let storm = |n: u32| calls(n, (0..20).map(|part| spawn(&format!("{n}.{part}"))).collect());
    let mut lead = Bench::lead(family).given(&[start("go")]);
    for (request, expected) in [(1, 3), (2, 3), (3, 0)] {
        lead.take(&storm(request)).unwrap();
        let at_work = lead.keys().into_iter().filter(|key| matches!(key, Key::Child(_)));
        let at_work: Vec<Key> = at_work.collect();
        assert_eq!(at_work.len(), expected);
        for key in at_work {
            let started = lead.journal.iter().find_map(|event| match event {
                Event::SubagentStarted(started) if Key::Child(started.for_call) == key => {
                    Some(report(started, "done"))
                }
                _ => None,
            });
            lead.take(&settle(key, reported_by(started.unwrap()))).unwrap();
        }
    }
    let results = lead.settled();
    let refused = results.values().filter(|result| result.status == CallStatus::Limit).count();
    assert_eq!((refused, results.len()), (54, 60));
}
