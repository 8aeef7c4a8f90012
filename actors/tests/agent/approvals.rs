//! Calls that a person has to see: parked, answered once, bound to their call, stale after the end.

use kinfolk_actors::agent::{
    Audited, Command, Key, Outcome, Refusal, RunStanding, Timer, Verdict, Work,
};
use kinfolk_actors::call::{AuditDefault, CallStatus, Gate};
use kinfolk_actors::event::{CallAudited, Decision, Event, FinishReason, Outcome as End, Source};
use kinfolk_actors::family::Family;
use kinfolk_actors::id::{AskId, RunId};
use kinfolk_actors::machine::Demand;
use kinfolk_actors::policy::rule::Need;
use kinfolk_actors::policy::{Dynamic, Intervention, Mode};
use kinfolk_actors::time::{Millis, Timestamp};
use uuid::Uuid;

use crate::bench::{Bench, runs, thinks, waits_for_lease};
use crate::fixture::*;

const REFUSED: &str = "refused by the user and not run: it is not a failure, do without";

fn writes(count: u32) -> Vec<kinfolk_actors::agent::RawCall> {
    (0..count).map(|n| raw_call("write", &format!("{{\"n\":{n}}}"))).collect()
}

/// A lead in manual mode that is parked on its first changes.
fn parked(count: u32) -> Bench {
    Bench::lead(manual()).given(&[start("go"), calls(1, writes(count))])
}

#[test]
fn a_change_in_manual_mode_parks_and_runs_once_it_is_approved() {
    let raw = reply("", writes(1));
    let call = gated(0, &raw.calls[0], WRITE);
    let mut lead = Bench::lead(manual()).given(&[start("go")]);
    let asks = [assistant(1, &raw, std::slice::from_ref(&call)), asked_for(0, &call, NOT_ALLOWED)];
    lead.check(&replied(1, raw), &asks, &vec![]);
    assert_eq!(lead.state.standing(), Some(RunStanding::AwaitingUser));
    let yes = says_to(0, Verdict::Approve);
    lead.check(&yes, &[settled_as(0, Decision::Approved)], &vec![waits_for_lease(&call)]);
    lead.check_refused(&yes, &Refusal::AlreadyAnswered(ask(0)));
    lead.check(&leased(id(0)), &[begun(&call)], &vec![runs(&call)]);
    lead.check_refused(&yes, &Refusal::AlreadyAnswered(ask(0)));
    lead.take(&done(id(0), "written")).unwrap();
    assert_eq!(lead.outstanding(), thinks(2));
}

#[test]
fn h01_approving_one_of_three_runs_that_one_and_the_model_waits_for_all() {
    let raw = writes(3);
    let call = |n: u32| gated(n, &raw[n as usize], WRITE);
    let mut lead = parked(3);
    assert_eq!(lead.outstanding(), vec![]);
    let only_second = vec![waits_for_lease(&call(1))];
    let approved = |n| settled_as(n, Decision::Approved);
    lead.check(&says_to(1, Verdict::Approve), &[approved(1)], &only_second);
    lead.check(&leased(id(1)), &[begun(&call(1))], &vec![runs(&call(1))]);
    lead.take(&done(id(1), "second")).unwrap();
    assert_eq!(lead.outstanding(), vec![], "no request until all are settled");
    let denied = [settled_as(0, Decision::Denied), refused(&call(0), CallStatus::Denied, REFUSED)];
    lead.check(&says_to(0, Verdict::Deny), &denied, &vec![]);
    lead.check(&says_to(2, Verdict::Approve), &[approved(2)], &vec![waits_for_lease(&call(2))]);
    lead.take(&leased(id(2))).unwrap();
    lead.take(&done(id(2), "third")).unwrap();
    assert_eq!(lead.outstanding(), thinks(2));
    let begun = lead.journal.iter().filter(|event| matches!(event, Event::ToolStarted(_)));
    assert_eq!(begun.count(), 2);
    let results = [("call_1_0", REFUSED), ("call_1_1", "second"), ("call_1_2", "third")];
    assert_eq!(lead.results(), results.map(|(id, text)| (id.to_owned(), text.to_owned())));
}

#[test]
fn safe_calls_run_while_dangerous_ones_wait_and_hold_nobody_back() {
    let raw = vec![raw_call("write", "{}"), raw_call("look", "{}")];
    let look = proposed(1, &raw[1], LOOK);
    let mut lead = Bench::lead(manual()).given(&[start("go"), calls(1, raw)]);
    assert_eq!(lead.outstanding(), vec![runs(&look)]);
    lead.take(&done(id(1), "seen")).unwrap();
    assert_eq!(lead.state.standing(), Some(RunStanding::AwaitingUser));
}

#[test]
fn a_change_that_was_approved_late_waits_for_the_reads_that_run_already() {
    let raw = vec![raw_call("write", "{}"), raw_call("look", "{}")];
    let (write, look) = (gated(0, &raw[0], WRITE), proposed(1, &raw[1], LOOK));
    let mut lead = Bench::lead(manual()).given(&[start("go"), calls(1, raw)]);
    let approved = [settled_as(0, Decision::Approved)];
    lead.check(&says_to(0, Verdict::Approve), &approved, &vec![runs(&look)]);
    lead.take(&done(id(1), "seen")).unwrap();
    assert_eq!(lead.outstanding(), vec![waits_for_lease(&write)]);
}

#[test]
fn h02_a_stop_ends_the_wait_and_a_late_yes_is_stale() {
    let mut lead = parked(1);
    lead.take(&cancel()).unwrap();
    let finished = lead.finished();
    assert_eq!(
        (finished.outcome, finished.finish_reason),
        (End::Cancelled, FinishReason::UserRequested)
    );
    assert!(lead.journal.contains(&settled_as(0, Decision::Withdrawn)));
    lead.check_refused(&says_to(0, Verdict::Approve), &Refusal::StaleAnswer(ask(0)));
    lead.next_run(2);
    lead.take(&start("other")).unwrap();
    assert_eq!(lead.outstanding(), thinks(1), "the new turn does not wait");
    lead.check_refused(&says_to(0, Verdict::Approve), &Refusal::StaleAnswer(ask(0)));
    let begun = lead.journal.iter().filter(|event| matches!(event, Event::ToolStarted(_)));
    assert_eq!(begun.count(), 0);
}

#[test]
fn h02_a_new_message_makes_the_open_approvals_stale() {
    let text = "not approved before the user's next message, and not run: it is not a failure";
    let call = gated(0, &writes(1)[0], WRITE);
    let withdrawn = [settled_as(0, Decision::Withdrawn), refused(&call, CallStatus::Denied, text)];
    let mut lead = parked(1);
    let [settled, result] = withdrawn.clone();
    let events = [told(Source::Guidance, "leave it"), settled, result, requested(2)];
    lead.check(&steer("leave it"), &events, &thinks(2));
    lead.check_refused(&says_to(0, Verdict::Approve), &Refusal::StaleAnswer(ask(0)));

    let mut lead = parked(1);
    let events = lead.take(&queue("do this instead")).unwrap();
    assert_eq!(events[1..3], withdrawn);
    assert_eq!(lead.finished().finish_reason, FinishReason::QueuedMessageInterrupt);
}

#[test]
fn a_refusal_says_its_reason_and_may_stop_the_run() {
    let deny = |verdict| {
        let Command::Approve(answer) = says_to(0, verdict) else { unreachable!() };
        Command::Approve(kinfolk_actors::agent::Approve {
            reason: Some("not here".into()),
            ..answer
        })
    };
    let mut lead = parked(1);
    lead.take(&deny(Verdict::Deny)).unwrap();
    let text = "refused by the user and not run, it is not a failure: not here";
    assert_eq!(lead.results(), [("call_1_0".to_owned(), text.to_owned())]);

    let mut lead = parked(2);
    lead.take(&deny(Verdict::DenyAndStop)).unwrap();
    let finished = lead.finished();
    assert_eq!(
        (finished.outcome, finished.finish_reason),
        (End::Cancelled, FinishReason::UserAborted)
    );
    assert_eq!(lead.settled()[&id(1)].status, CallStatus::Cancelled);
    lead.check_refused(&says_to(1, Verdict::Approve), &Refusal::StaleAnswer(ask(1)));
}

#[test]
fn h04_silence_becomes_a_no_only_at_its_own_deadline() {
    let family = Family { approval_timeout: Some(Millis(10_000)), ..manual() };
    let lead = Bench::lead(family).given(&[start("go"), calls(1, writes(1))]);
    let timer = Timer::Ask(ask(0));
    let at = Some(Timestamp(lead.now.0 + 10_000));
    let waits = vec![(Key::Timer(timer), Demand::Run(Work::Timer { timer, at }))];
    assert_eq!(lead.outstanding(), waits);
    // Nobody else ends the wait: after a crash it is still there.
    let mut lead = lead.crashed();
    lead.take(&recovered(2)).unwrap();
    assert_eq!(lead.outstanding(), waits);
    let text = "nobody approved it in time, so it was not run: it is not a failure, do without";
    let call = gated(0, &writes(1)[0], WRITE);
    let expired =
        [settled_as(0, Decision::Expired), refused(&call, CallStatus::Denied, text), requested(2)];
    lead.check(&settle(Key::Timer(timer), Outcome::Fired), &expired, &thinks(2));
    lead.check_refused(&says_to(0, Verdict::Approve), &Refusal::AlreadyAnswered(ask(0)));
}

#[test]
fn h06_a_refused_call_that_comes_back_is_refused_without_asking() {
    // The same call, its arguments written in another way.
    let again = raw_call("write", "{ \"n\" : 0 }");
    let mut lead = parked(1).given(&[says_to(0, Verdict::Deny)]);
    let raw = reply("", vec![again.clone()]);
    let call = gated(1, &again, WRITE);
    let text = "refused by the user before, and not run: it is not a failure, do without";
    let events = [
        assistant(2, &raw, std::slice::from_ref(&call)),
        refused(&call, CallStatus::Denied, text),
        requested(3),
    ];
    lead.check(&replied(2, raw), &events, &thinks(3));
    // After a new message it may be asked again.
    let lead = lead.given(&[steer("you may write"), calls(3, vec![again])]);
    assert_eq!(lead.state.open_asks().map(|(id, _)| id).collect::<Vec<_>>(), [ask(1)]);
}

#[test]
fn answers_to_nothing_are_refused() {
    let mut lead = parked(1);
    lead.check_refused(&says_to(7, Verdict::Approve), &Refusal::UnknownAsk(ask(7)));
    lead.check_refused(&answers(0, "yes"), &Refusal::UnknownAsk(ask(0)));
    let other = AskId { run: RunId(Uuid::from_u128(9)), ..ask(0) };
    let approve = Command::Approve(kinfolk_actors::agent::Approve {
        approval: other,
        verdict: Verdict::Approve,
        by: None,
        reason: None,
        raised: None,
    });
    lead.check_refused(&approve, &Refusal::StaleAnswer(other));
}

#[test]
fn headless_blocks_what_has_to_be_asked_and_nobody_waits() {
    let family = Family { policy: policy(Mode::Headless), ..full() };
    let lead = Bench::lead(family).given(&[start("go"), calls(1, writes(1))]);
    // As in auto-run, what only wants an allowance runs.
    assert_eq!(lead.keys(), [Key::Lease(id(0))]);
}

fn audited(default: Need) -> Family {
    let audit = Dynamic { kind: "watch".to_owned(), default, policy: Need::Always };
    let mut family = family();
    family.policy.tools = [("put".to_owned(), Intervention::Dynamic(audit))].into();
    family
}

#[test]
fn a_dynamic_audit_is_asked_first_and_decides_whether_a_person_is() {
    let family = || Bench::lead(audited(Need::Never)).given(&[start("go")]);
    let put = raw_call("put", "{}");
    let lead = || family().given(&[calls(1, vec![put.clone()])]);
    let Demand::Run(Work::Audit { audit, .. }) = &lead().outstanding()[0].1 else {
        panic!("no audit");
    };
    assert_eq!(&**audit, "watch");
    let asked = lead();
    let gate = &asked.state.turn().unwrap().calls[0].proposed.gate;
    let frozen = Gate::Audit { audit: "watch".into(), default: AuditDefault::Never };
    assert_eq!(*gate, frozen);
    let said = |answer| settle(Key::Audit(id(0)), Outcome::Audited(answer));
    let audited = |intervene| Event::CallAudited(CallAudited { call: id(0), intervene });
    let mut fine = lead();
    assert_eq!(fine.take(&said(Audited::Fine)).unwrap(), [audited(false)]);
    assert_eq!(fine.keys(), [Key::Lease(id(0))]);

    let mut held = lead();
    let events = held.take(&said(Audited::Intervene)).unwrap();
    assert_eq!(events[0], audited(true));
    assert_eq!((events.len(), held.outstanding()), (2, vec![]));
    assert_eq!(held.state.standing(), Some(RunStanding::AwaitingUser));

    // A check that cannot be had is no way around it.
    for outcome in [Outcome::Panicked { message: "oh".into() }, Outcome::Gone] {
        let mut held = lead();
        held.take(&settle(Key::Audit(id(0)), outcome)).unwrap();
        assert_eq!(held.state.open_asks().count(), 1);
    }
}

#[test]
fn a_check_that_nobody_registered_comes_to_its_default_in_every_mode() {
    let asks = |default, mode| {
        let mut family = audited(default);
        family.policy.mode = mode;
        let Some(Intervention::Dynamic(audit)) = family.policy.tools.get_mut("put") else {
            panic!("no audit");
        };
        // What counts when the check asks for a person is not what counts when there is none.
        audit.policy = Need::Required;
        let put = raw_call("put", "{}");
        let mut lead = Bench::lead(family).given(&[start("go"), calls(1, vec![put])]);
        lead.take(&settle(Key::Audit(id(0)), Outcome::Audited(Audited::Unregistered))).unwrap();
        lead.state.open_asks().count() == 1
    };
    for mode in [Mode::AutoRun, Mode::Manual] {
        assert!(asks(Need::Always, mode), "{mode:?}");
    }
    assert!(!asks(Need::Never, Mode::AutoRun));
}

#[test]
fn the_gate_of_a_call_is_frozen_with_its_reply() {
    let lead = parked(1);
    let Some(turn) = lead.state.turn() else { panic!("no turn") };
    assert_eq!(turn.calls[0].proposed.gate, Gate::Ask(NOT_ALLOWED.into()));
    // A change of settings does not let it through.
    let mut freed = lead;
    let machine = &mut freed.machine;
    machine.family = std::sync::Arc::new(family());
    assert_eq!(freed.outstanding(), vec![]);
    freed.take(&says_to(0, Verdict::Deny)).unwrap();
    assert_eq!(freed.settled()[&id(0)].status, CallStatus::Denied);
}
