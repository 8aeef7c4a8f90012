//! Work that is answered from outside: tools and subagents of the host or a client, and tools that
//! answer later. It holds nothing meanwhile, survives a crash, and is delivered once.

use kinfolk_actors::agent::{Command, Deliver, Key, Outcome, Refusal, RunStanding};
use kinfolk_actors::call::{CallKind, CallResult, CallStatus, EffectClass};
use kinfolk_actors::event::{CallDeferred, Event, Outcome as End};
use kinfolk_actors::id::CallId;

use crate::bench::{Bench, runs, thinks, waits_for_lease};
use crate::fixture::*;

fn deliver(call: CallId, text: &str) -> Command {
    Command::Deliver(Deliver { call, status: CallStatus::Ok, text: text.into() })
}

#[test]
fn a_client_tool_parks_and_takes_its_result_once() {
    let fetch = raw_call("fetch", "{}");
    let call = proposed(0, &fetch, CallKind::Client(EffectClass::ReadOnly));
    let raw = reply("", vec![fetch]);
    let mut lead = Bench::lead(full()).given(&[start("go")]);
    let events = [assistant(1, &raw, std::slice::from_ref(&call)), begun(&call)];
    lead.check(&replied(1, raw), &events, &vec![]);
    assert_eq!(lead.state.standing(), Some(RunStanding::AwaitingTool));
    let mut lead = lead.crashed();
    lead.take(&recovered(2)).unwrap();
    assert_eq!(lead.outstanding(), vec![], "it is not run here after a crash");
    let result = CallResult::new(CallStatus::Ok, "fetched");
    lead.check(&deliver(id(0), "fetched"), &[ended(&call, result, 0), requested(2)], &thinks(2));
    lead.check_refused(&deliver(id(0), "again"), &Refusal::NotAwaited(id(0)));
}

#[test]
fn client_calls_hold_nobody_back_and_the_model_waits_for_all() {
    let raw = vec![raw_call("order", "{}"), raw_call("write", "{}"), raw_call("look", "{}")];
    let write = proposed(1, &raw[1], WRITE);
    let mut lead = Bench::lead(full()).given(&[start("go"), calls(1, raw)]);
    assert_eq!(lead.outstanding(), vec![waits_for_lease(&write)]);
    lead.take(&leased(id(1))).unwrap();
    lead.take(&done(id(1), "written")).unwrap();
    lead.take(&deliver(id(0), "ordered")).unwrap();
    assert_eq!(lead.keys(), [Key::Tool(id(2))]);
    lead.take(&done(id(2), "seen")).unwrap();
    assert_eq!(lead.outstanding(), thinks(2));
}

#[test]
fn a_tool_that_answers_later_is_parked_and_no_lease_or_crash_touches_it() {
    let raw = vec![raw_call("write", "{}"), raw_call("look", "{}")];
    let look = proposed(1, &raw[1], LOOK);
    let mut lead = Bench::lead(full()).given(&[start("go"), calls(1, raw), leased(id(0))]);
    let deferred = Event::CallDeferred(CallDeferred { call: id(0) });
    let later = settle(Key::Tool(id(0)), Outcome::Deferred);
    lead.check(&later, &[deferred, begun(&look)], &vec![runs(&look)]);
    lead.check_refused(&later, &Refusal::Stale(Key::Tool(id(0))));
    let mut lead = lead.given(&[done(id(1), "seen")]).crashed();
    lead.take(&recovered(2)).unwrap();
    assert_eq!(lead.state.standing(), Some(RunStanding::AwaitingTool));
    assert_eq!(lead.settled().get(&id(0)), None, "its outcome is not unknown: it is awaited");
    lead.take(&deliver(id(0), "paid")).unwrap();
    assert_eq!(lead.outstanding(), thinks(2));
    lead.check_refused(&deliver(id(0), "paid"), &Refusal::NotAwaited(id(0)));
}

#[test]
fn a_client_subagent_parks_and_its_result_is_delivered() {
    for tool in ["call_subagent", "spawn_subagent"] {
        let raw = raw_call(tool, r#"{"agent":"agency","task":"t"}"#);
        let call = proposed(0, &raw, CallKind::ClientSubagent);
        let raw = reply("", vec![raw]);
        let mut lead = Bench::lead(full()).given(&[start("go")]);
        let events = [assistant(1, &raw, std::slice::from_ref(&call)), begun(&call)];
        lead.check(&replied(1, raw), &events, &vec![]);
        assert_eq!(lead.state.standing(), Some(RunStanding::AwaitingTool));
        lead.take(&deliver(id(0), "found")).unwrap();
        assert_eq!(lead.results(), [("call_1_0".to_owned(), "found".to_owned())]);
        assert!(lead.state.children.is_empty());
    }
}

#[test]
fn a_cancel_does_not_wait_for_what_is_elsewhere_and_says_that_it_may_have_happened() {
    let mut lead =
        Bench::lead(full()).given(&[start("go"), calls(1, vec![raw_call("order", "{}")])]);
    lead.take(&cancel()).unwrap();
    assert_eq!(lead.finished().outcome, End::Cancelled);
    let text = "cancelled before its answer came; whether it happened is not known";
    assert_eq!(lead.settled()[&id(0)], CallResult::new(CallStatus::Cancelled, text));
    lead.check_refused(&deliver(id(0), "late"), &Refusal::NotAwaited(id(0)));
}
