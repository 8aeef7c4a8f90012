//! What each kind of proposed call becomes when a reply is taken.

use kinfolk_actors::agent::MAX_CALLS;
use kinfolk_actors::agent::RawCall;
use kinfolk_actors::call::{CallKind, CallStatus};
use kinfolk_actors::event::Finish;
use kinfolk_actors::family::{CALL_SUBAGENT, Family, SubagentSpec};

use crate::bench::{Bench, runs, thinks, waits_for_lease};
use crate::fixture::*;

/// One call that can't run: its one result is recorded with the reply, and the model asked again.
#[track_caller]
fn check_refusal(family: Family, raw: RawCall, status: CallStatus, text: &str) {
    let mut lead = Bench::lead(family).given(&[start("go")]);
    let call = proposed(0, &raw, CallKind::Invalid);
    let raw = reply("", vec![raw]);
    let events = [
        assistant(1, &raw, std::slice::from_ref(&call)),
        refused(&call, status, text),
        requested(2),
    ];
    lead.check(&replied(1, raw), &events, &thinks(2));
    assert_eq!(lead.results(), [("call_1_0".to_owned(), text.to_owned())]);
}

#[test]
fn a_read_only_call_runs_at_once_in_every_mode() {
    for family in [manual(), family()] {
        let mut lead = Bench::lead(family).given(&[start("go")]);
        let raw = reply("I look", vec![raw_call("look", r#"{"p":1}"#)]);
        let call = proposed(0, &raw.calls[0], LOOK);
        let events = [assistant(1, &raw, std::slice::from_ref(&call)), begun(&call)];
        lead.check(&replied(1, raw), &events, &vec![runs(&call)]);
    }
}

#[test]
fn a_changing_call_under_auto_run_waits_for_the_lease_before_it_begins() {
    for (name, kind) in [("put", PUT), ("book", BOOK), ("write", WRITE)] {
        let mut lead = Bench::lead(family()).given(&[start("go")]);
        let raw = reply("", vec![raw_call(name, "{}")]);
        let call = proposed(0, &raw.calls[0], kind);
        let taken = [assistant(1, &raw, std::slice::from_ref(&call))];
        lead.check(&replied(1, raw), &taken, &vec![waits_for_lease(&call)]);
        lead.check(&leased(id(0)), &[begun(&call)], &vec![runs(&call)]);
    }
}

#[test]
fn an_unknown_tool_is_answered_with_the_tools_that_are_offered() {
    let text = "there is no tool `fly`; the tools are: look, put, book, write, call_subagent";
    check_refusal(family(), raw_call("fly", "{}"), CallStatus::UnknownTool, text);
    let text = "there is no tool `fly`; the tools are: look, put, book, write";
    check_refusal(capped(6, 3, 0), raw_call("fly", "{}"), CallStatus::UnknownTool, text);
}

#[test]
fn b04_malformed_arguments_never_run_and_go_back_as_valid_json() {
    let cut = r#"{"path":"a"#;
    let text = "the arguments are not valid JSON: EOF while parsing a string at line 1 column 10";
    check_refusal(family(), raw_call("write", cut), CallStatus::Malformed, text);

    let lead = Bench::lead(family()).given(&[start("go"), calls(1, vec![raw_call("write", cut)])]);
    let messages = lead.request().messages;
    let sent = format!("{messages:?}");
    assert!(sent.contains("unreadable_arguments"), "{sent}");
    let text = "the arguments must be one JSON object";
    for not_an_object in ["[1]", "null", "\"x\"", "3"] {
        check_refusal(family(), raw_call("look", not_an_object), CallStatus::Malformed, text);
    }
}

#[test]
fn b03_empty_arguments_are_an_empty_object() {
    for nothing in ["", "  \n"] {
        let mut lead = Bench::lead(family()).given(&[start("go")]);
        let raw = reply("", vec![raw_call("look", nothing)]);
        let call = proposed(0, &raw.calls[0], LOOK);
        assert_eq!(&*call.arguments, "{}");
        let events = [assistant(1, &raw, std::slice::from_ref(&call)), begun(&call)];
        lead.check(&replied(1, raw), &events, &vec![runs(&call)]);
    }
}

#[test]
fn b07_one_provider_id_with_the_same_content_is_one_call_and_with_other_content_two() {
    let mut lead = Bench::lead(family()).given(&[start("go")]);
    let same = with_id("x", "look", r#"{"n":1}"#);
    let other = with_id("x", "look", r#"{"n":2}"#);
    let raw = reply("", vec![same.clone(), same.clone(), other.clone(), same.clone()]);
    let (first, second) = (proposed(0, &same, LOOK), proposed(1, &other, LOOK));
    let events =
        [assistant(1, &raw, &[first.clone(), second.clone()]), begun(&first), begun(&second)];
    lead.check(&replied(1, raw), &events, &vec![runs(&first), runs(&second)]);
}

#[test]
fn b07_a_provider_id_that_comes_back_in_a_later_round_is_a_new_call() {
    let lead = Bench::lead(family()).given(&[
        start("go"),
        calls(1, vec![with_id("call_0", "look", r#"{"n":1}"#)]),
        done(id(0), "one"),
        calls(2, vec![with_id("call_0", "look", r#"{"n":2}"#)]),
        done(id(1), "two"),
    ]);
    let results = [("call_1_0", "one"), ("call_1_1", "two")];
    assert_eq!(lead.results(), results.map(|(id, text)| (id.to_owned(), text.to_owned())));
}

#[test]
fn b08_calls_with_empty_ids_are_distinct_even_if_they_are_equal() {
    let mut lead = Bench::lead(family()).given(&[start("go")]);
    let raw = reply("", vec![raw_call("look", "{}"), raw_call("look", "{}")]);
    let (first, second) = (proposed(0, &raw.calls[0], LOOK), proposed(1, &raw.calls[1], LOOK));
    let events =
        [assistant(1, &raw, &[first.clone(), second.clone()]), begun(&first), begun(&second)];
    lead.check(&replied(1, raw), &events, &vec![runs(&first), runs(&second)]);
}

#[test]
fn no_call_of_a_reply_that_was_cut_by_its_length_runs() {
    let mut lead = Bench::lead(family()).given(&[start("go")]);
    let mut raw = reply("", vec![raw_call("look", "{}"), raw_call("write", r#"{"a"#)]);
    raw.finish = Finish::Length;
    let cut = [0, 1].map(|n| proposed(n, &raw.calls[n as usize], CallKind::Invalid));
    let text = "the reply was cut by its output limit; the call was not run, make it again";
    let result = |call| refused(call, CallStatus::Malformed, text);
    let events = [assistant(1, &raw, &cut), result(&cut[0]), result(&cut[1]), requested(2)];
    lead.check(&replied(1, raw), &events, &thinks(2));
}

#[test]
fn a_subagent_call_that_names_nobody_or_does_not_fit_gets_its_result() {
    let nobody = raw_call(CALL_SUBAGENT, r#"{"agent":"ghost","task":"t"}"#);
    let text = "there is no subagent `ghost`; the subagents are: scout";
    check_refusal(family(), nobody, CallStatus::Error, text);
    let text = "the arguments of `call_subagent` do not fit: missing field `task`";
    let no_task = raw_call(CALL_SUBAGENT, r#"{"agent":"scout"}"#);
    check_refusal(family(), no_task, CallStatus::Malformed, text);
}

#[test]
fn the_error_of_an_unknown_subagent_names_what_the_prompt_names_and_no_more() {
    let mut family = family();
    let scout = family.subagents[0].clone();
    family.subagents.push(SubagentSpec { name: "worker".into(), ..scout.clone() });
    let hidden = SubagentSpec { name: "hidden".into(), internal: true, ..scout };
    family.subagents.push(hidden);
    family.caps.max_depth = 2;
    let nobody = raw_call(CALL_SUBAGENT, r#"{"agent":"ghost","task":"t"}"#);
    let text = "there is no subagent `ghost`; the subagents are: scout, worker";
    check_refusal(family.clone(), nobody.clone(), CallStatus::Error, text);
    // A scout is not told of itself.
    let started = scout_started(1, &proposed(0, &ask_scout("t"), CallKind::Subagent), "t");
    let child = Bench::subagent(started, family).given(&[recovered(1), calls(1, vec![nobody])]);
    let told = &child.results()[0].1;
    assert_eq!(told, "there is no subagent `ghost`; the subagents are: worker");
}

#[test]
fn f07_a_subagent_below_the_greatest_depth_is_refused() {
    let text = "subagents may be at most 0 deep and this agent is at depth 0; do the task yourself";
    check_refusal(capped(6, 3, 0), ask_scout("t"), CallStatus::Limit, text);

    let call = proposed(0, &ask_scout("t"), CallKind::Subagent);
    let mut scout = Bench::subagent(scout_started(1, &call, "t"), family()).given(&[recovered(1)]);
    assert!(scout.request().tools.iter().all(|tool| &*tool.name != CALL_SUBAGENT));
    scout.take(&calls(1, vec![ask_scout("deeper")])).unwrap();
    let statuses: Vec<CallStatus> = scout.settled().values().map(|result| result.status).collect();
    assert_eq!(statuses, [CallStatus::Limit]);
}

#[test]
fn the_calls_that_can_run_run_beside_those_that_cannot() {
    let mut lead = Bench::lead(family()).given(&[start("go")]);
    let raw = reply("", vec![raw_call("fly", "{}"), raw_call("look", "{}")]);
    let bad = proposed(0, &raw.calls[0], CallKind::Invalid);
    let good = proposed(1, &raw.calls[1], LOOK);
    let text = "there is no tool `fly`; the tools are: look, put, book, write, call_subagent";
    let events = [
        assistant(1, &raw, &[bad.clone(), good.clone()]),
        refused(&bad, CallStatus::UnknownTool, text),
        begun(&good),
    ];
    lead.check(&replied(1, raw), &events, &vec![runs(&good)]);
}

#[test]
fn calls_beyond_the_bound_of_one_reply_get_a_result_that_says_so() {
    let bound = usize::try_from(MAX_CALLS).unwrap();
    let raw: Vec<_> =
        (0..bound + 2).map(|n| raw_call("nothing", &format!("{{\"n\":{n}}}"))).collect();
    let lead = Bench::lead(family()).given(&[start("go"), calls(1, raw)]);
    let results = lead.results();
    assert_eq!(results.len(), bound + 2);
    assert!(results[bound - 1].1.starts_with("there is no tool `nothing`"));
    for (_, text) in &results[bound..] {
        assert_eq!(text, "one reply may make at most 128 calls; make the others next");
    }
}
