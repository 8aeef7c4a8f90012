//! Limits: what each policy makes of one that is used up, and that they bind the whole tree.

use kinfolk_actors::agent::{Approve, Command, Key, Outcome, RawCall, Refusal, Timer, Verdict};
use kinfolk_actors::budget::account::Scope;
use kinfolk_actors::call::{CallKind, CallStatus};
use kinfolk_actors::event::{
    ApprovalSubject, Event, FinishReason, Outcome as End, SubagentStarted,
};
use kinfolk_actors::failure::ErrorCode;
use kinfolk_actors::family::Family;
use kinfolk_actors::id::{AgentId, RequestNo};
use kinfolk_actors::limits::{LimitKind, Limits, OnLimit};
use kinfolk_actors::money::Money;
use kinfolk_actors::time::Millis;
use kinfolk_actors::usage::Usage;

use crate::bench::{Bench, thinks};
use crate::fixture::*;

fn looks(count: u32) -> Vec<RawCall> {
    (0..count).map(|n| raw_call("look", &format!("{{\"n\":{n}}}"))).collect()
}

fn steps(steps: u64) -> Limits {
    Limits { max_steps: Some(steps), ..Limits::none() }
}

/// A lead that has made its one free round under a limit of two replies.
fn at_its_limit(on_limit: OnLimit) -> Bench {
    let commands = [start("go"), calls(1, looks(1)), done(id(0), "seen")];
    Bench::lead(limited(steps(2), on_limit)).given(&commands)
}

#[test]
fn finish_makes_the_last_reply_a_closing_one_without_tools() {
    let mut lead = at_its_limit(OnLimit::Finish);
    assert_eq!(lead.outstanding(), thinks(2));
    let closing = lead.journal.iter().rev().find_map(|event| match event {
        Event::ModelRequest(requested) => requested.closing,
        _ => None,
    });
    assert_eq!(closing, Some(LimitKind::Steps));
    let request = lead.request();
    assert!(request.tools.is_empty());
    assert!(format!("{:?}", request.messages).contains("this is your last reply"));
    lead.take(&says(2, "this far")).unwrap();
    let finished = lead.finished();
    let end = (finished.outcome, finished.finish_reason, &*finished.text);
    assert_eq!(end, (End::Completed, FinishReason::MaxStepsCompleted, "this far"));
}

/// A result that is larger than what was set aside for the last answer does not cost the answer.
#[test]
fn a_history_that_leaves_no_room_for_the_last_answer_is_replaced_by_a_digest() {
    let limits = Limits { max_tokens: Some(6_000), ..Limits::none() };
    let mut lead = Bench::lead(limited(limits, OnLimit::Finish)).given(&[
        start("name the colour"),
        calls(1, looks(1)),
        done(id(0), &"blue ".repeat(8_000)),
    ]);
    let closing = lead.journal.iter().rev().find_map(|event| match event {
        Event::ModelRequest(requested) => requested.closing,
        _ => None,
    });
    assert_eq!(closing, Some(LimitKind::Tokens));
    let asked = format!("{:?}", lead.request().messages);
    assert!(asked.contains("name the colour"));
    assert!(asked.len() < 4_000, "{}", asked.len());
    lead.take(&says(2, "this far")).unwrap();
    let finished = lead.finished();
    let end = (finished.outcome, &*finished.text);
    assert_eq!(end, (End::Completed, "this far"));
}

#[test]
fn e04_one_step_is_one_answer_without_tools_and_a_call_in_it_never_runs() {
    let lead = Bench::lead(limited(steps(1), OnLimit::Finish)).given(&[start("go")]);
    assert!(lead.request().tools.is_empty());
    let lead = lead.given(&[replied(1, reply("I would look", looks(1)))]);
    let finished = lead.finished();
    assert_eq!(finished.finish_reason, FinishReason::MaxStepsCompleted);
    assert_eq!((&*finished.text, finished.usage.turns), ("I would look", 1));
    assert_eq!(lead.settled()[&id(0)].status, CallStatus::Limit);
}

#[test]
fn stop_fails_with_the_limits_code_and_no_text_of_a_tool() {
    let lead = Bench::lead(limited(steps(1), OnLimit::Stop));
    let lead = lead.given(&[start("go"), calls(1, looks(1)), done(id(0), "raw bytes")]);
    let finished = lead.finished();
    let end = (finished.outcome, finished.finish_reason, &*finished.text);
    assert_eq!(end, (End::Failed, FinishReason::MaxStepsExceeded, ""));
    assert_eq!(finished.error.map(|error| error.code), Some(ErrorCode::LimitSteps));
}

#[test]
fn ask_parks_and_a_person_raises_the_limit_or_ends_it() {
    let parked = || {
        Bench::lead(limited(steps(1), OnLimit::Ask)).given(&[
            start("go"),
            calls(1, looks(1)),
            done(id(0), "seen"),
        ])
    };
    assert_eq!(parked().outstanding(), vec![]);
    let lead = parked().given(&[says_to(0, Verdict::Approve)]);
    assert_eq!((lead.outstanding(), lead.ledger.limits()), (thinks(2), steps(2)));
    let Command::Approve(yes) = says_to(0, Verdict::Approve) else { unreachable!() };
    let raised = Limits { max_steps: Some(9), max_tool_calls: Some(1), ..Limits::none() };
    let lead = parked().given(&[Command::Approve(Approve { raised: Some(raised), ..yes })]);
    assert_eq!(lead.ledger.limits(), steps(9), "an answer puts no limit where there was none");
    let lead = parked().given(&[says_to(0, Verdict::Deny)]);
    assert_eq!(lead.finished().error.map(|error| error.code), Some(ErrorCode::LimitSteps));
    let lead = parked().given(&[says_to(0, Verdict::DenyAndStop)]);
    assert_eq!(lead.finished().finish_reason, FinishReason::UserAborted);
}

#[test]
fn warn_says_so_once_and_goes_on() {
    let mut lead = Bench::lead(limited(steps(2), OnLimit::Warn)).given(&[start("go")]);
    for n in 0..6 {
        let look = vec![raw_call("look", &format!("{{\"n\":{n}}}"))];
        lead = lead.given(&[calls(n + 1, look), done(id(n), &n.to_string())]);
    }
    let warnings = lead.journal.iter().filter(|event| matches!(event, Event::LimitWarning(_)));
    assert_eq!(warnings.count(), 1);
    assert_eq!(lead.outstanding(), thinks(7));
}

#[test]
fn e01_a_batch_of_eight_under_a_limit_of_six_runs_six_and_answers_all() {
    let six = Limits { max_tool_calls: Some(6), ..Limits::none() };
    let mut lead = Bench::lead(limited(six, OnLimit::Finish)).given(&[start("go")]);
    lead.take(&calls(1, looks(8))).unwrap();
    assert_eq!(lead.keys(), (0..6).map(|n| Key::Tool(id(n))).collect::<Vec<_>>());
    for n in 0..6 {
        lead.take(&done(id(n), "seen")).unwrap();
    }
    let statuses: Vec<_> = lead.settled().values().map(|result| result.status).collect();
    assert_eq!(statuses[..6], [CallStatus::Ok; 6]);
    assert_eq!(statuses[6..], [CallStatus::Limit; 2]);
    assert!(lead.results()[7].1.contains("tool calls"), "{:?}", lead.results()[7]);
    let lead = lead.given(&[says(2, "six of eight")]);
    assert_eq!(lead.finished().finish_reason, FinishReason::MaxStepsCompleted);
}

fn scout(number: u32) -> SubagentStarted {
    scout_started(number, &proposed(0, &ask_scout("t"), CallKind::Subagent), "t")
}

#[test]
fn e02_the_parents_limit_binds_its_children() {
    let family = || limited(steps(3), OnLimit::Stop);
    let lead = Bench::lead(family()).given(&[start("go"), calls(1, vec![ask_scout("t")])]);
    let mut child = Bench::subagent(scout(1), family());
    child.ledger = lead.ledger.clone();
    let mut child = child.given(&[recovered(1)]);
    let mut replies = 1;
    for n in 0..50 {
        if child.state.report().is_some() {
            break;
        }
        replies += 1;
        let call = vec![raw_call("look", &format!("{{\"n\":{n}}}"))];
        child = child.given(&[calls(n + 1, call)]);
        if let [Key::Tool(call)] = child.keys()[..] {
            child = child.given(&[done(call, "seen")]);
        }
    }
    assert!(replies <= 3, "{replies} replies");
    let report = child.state.report().unwrap();
    assert_eq!(report.error.as_ref().map(|error| error.code.clone()), Some(ErrorCode::LimitSteps));
    assert_eq!(child.ledger.total_usage().turns, 3);
}

#[test]
fn e04_a_subagents_own_limit_counts_replies_and_hands_over_what_there_is() {
    let mut family = full();
    family.subagents[0].invocation.limits = steps(2);
    let lead = Bench::lead(family.clone()).given(&[start("go"), calls(1, vec![ask_scout("t")])]);
    let mut child = Bench::subagent(scout(1), family);
    child.ledger = lead.ledger.clone();
    // The first reply needed a second request: it is one turn and costs two.
    let retried =
        kinfolk_actors::agent::RawReply { usage: usage(2, 20, 10), ..reply("", looks(1)) };
    let child = child.given(&[recovered(1), replied(1, retried)]);
    let [Key::Tool(look)] = child.keys()[..] else { panic!("{:?}", child.keys()) };
    let child = child.given(&[done(look, "seen")]);
    assert!(child.request().tools.is_empty(), "the second reply is the last");
    let child = child.given(&[says(2, "what I have")]);
    let report = child.state.report().unwrap();
    assert_eq!(report.finish_reason, FinishReason::MaxStepsCompleted);
    assert_eq!(&*report.summary, "what I have");
    assert_eq!((report.usage.turns, report.usage.model_requests), (2, 3));
}

#[test]
fn e06_the_total_holds_children_grandchildren_and_failed_ones() {
    let spend = |input, output| kinfolk_actors::agent::RawReply {
        usage: usage(1, input, output),
        ..reply("said", vec![])
    };
    let family = Family {
        caps: kinfolk_actors::family::Caps { max_depth: 3, ..Default::default() },
        ..full()
    };
    let lead = Bench::lead(family).given(&[
        start("go"),
        replied(
            1,
            kinfolk_actors::agent::RawReply {
                calls: vec![ask_scout("a"), ask_scout("b")],
                ..spend(100, 10)
            },
        ),
    ]);
    let mut lead = lead;
    let mut record = |agent: u32, event: Event| {
        lead.ledger.record(RUN, AgentId(agent), lead.now, &event);
    };
    record(1, assistant(1, &spend(200, 20), &[]));
    record(1, Event::SubagentStarted(SubagentStarted { depth: 2, ..scout(3) }));
    record(3, assistant(1, &spend(300, 30), &[]));
    let error = kinfolk_actors::failure::Failure::new(ErrorCode::ModelQuota, "no money");
    record(2, model_failed(1, error, usage(1, 40, 4)));
    let lead = lead.given(&[
        cancel(),
        settle(Key::Child(id(0)), Outcome::Gone),
        settle(Key::Child(id(1)), Outcome::Gone),
    ]);
    let finished = lead.finished();
    assert_eq!((finished.usage.input_tokens, finished.usage.output_tokens), (640, 64));
    let by_agent: Vec<u64> = finished.agents.iter().map(|sums| sums.usage.input_tokens).collect();
    assert_eq!(by_agent, [100, 200, 40, 300]);
    let sum = finished.agents.iter().fold(Usage::default(), |mut sum, agent| {
        sum.add(&agent.usage);
        sum
    });
    assert_eq!(sum, finished.usage);
}

fn timed(on_limit: OnLimit) -> Bench {
    let minute = Limits { max_time: Some(Millis(60_000)), ..Limits::none() };
    Bench::lead(limited(minute, on_limit)).given(&[start("go")])
}

const CLOSING: Key = Key::Timer(Timer::Closing);
const DEADLINE: Key = Key::Timer(Timer::Deadline);

fn fires(key: Key) -> Command {
    settle(key, Outcome::Fired)
}

/// The lead after so much time at work.
fn after(mut lead: Bench, seconds: u64) -> Bench {
    lead.now.0 += seconds * 1_000;
    lead
}

#[test]
fn near_the_end_of_its_time_what_runs_makes_room_for_the_closing_turn() {
    let lead = timed(OnLimit::Finish).given(&[calls(1, looks(1))]);
    assert_eq!(lead.keys(), [Key::Tool(id(0)), CLOSING, DEADLINE]);
    let mut lead = after(lead, 55).given(&[fires(CLOSING)]);
    assert_eq!(lead.keys(), [Key::Tool(id(0)), DEADLINE]);
    lead.take(&settle(Key::Tool(id(0)), Outcome::Gone)).unwrap();
    assert_eq!(lead.settled()[&id(0)].status, CallStatus::Timeout);
    assert!(lead.request().tools.is_empty());
    assert_eq!(lead.keys(), [Key::Model(RequestNo(2)), DEADLINE]);
    let lead = lead.given(&[says(2, "this far")]);
    assert_eq!(lead.finished().finish_reason, FinishReason::BudgetCompleted);
    assert_eq!(lead.outstanding(), vec![]);
}

#[test]
fn a_call_that_waits_for_a_person_when_time_runs_out_cannot_be_approved_any_more() {
    let minute = Limits { max_time: Some(Millis(60_000)), ..Limits::none() };
    let family = Family { limits: minute, on_limit: OnLimit::Finish, ..manual() };
    let raw = vec![raw_call("write", "{}"), raw_call("look", "{}")];
    let lead = Bench::lead(family).given(&[start("go"), calls(1, raw)]);
    let mut lead = after(lead, 55).given(&[fires(CLOSING)]);
    lead.check_refused(&says_to(0, Verdict::Approve), &Refusal::StaleAnswer(ask(0)));
    lead.take(&settle(Key::Tool(id(1)), Outcome::Gone)).unwrap();
    assert_eq!(lead.keys(), [Key::Model(RequestNo(2)), DEADLINE]);
    lead.check_refused(&says_to(0, Verdict::Approve), &Refusal::StaleAnswer(ask(0)));
    let lead = lead.given(&[says(2, "this far")]);
    assert_eq!(&*lead.finished().text, "this far");
}

#[test]
fn a_request_that_was_stopped_for_time_is_followed_by_the_closing_one() {
    let lead = after(timed(OnLimit::Finish), 55).given(&[fires(CLOSING)]);
    let lead = lead.given(&[settle(Key::Model(RequestNo(1)), Outcome::Gone)]);
    assert_eq!(lead.keys(), [Key::Model(RequestNo(2)), DEADLINE]);
    assert!(lead.state.is_sealed());
}

#[test]
fn at_the_end_of_its_time_a_run_fails_as_timed_out() {
    let lead = after(timed(OnLimit::Finish), 60).given(&[fires(DEADLINE)]);
    let lead = lead.given(&[settle(Key::Model(RequestNo(1)), Outcome::Gone)]);
    let finished = lead.finished();
    assert_eq!((finished.outcome, finished.finish_reason), (End::Failed, FinishReason::Timeout));
    assert_eq!(finished.error.map(|error| error.code), Some(ErrorCode::LimitTime));
}

#[test]
fn time_passes_while_a_change_waits_for_the_workspace() {
    let lead = timed(OnLimit::Finish).given(&[calls(1, vec![raw_call("write", "{}")])]);
    assert_eq!(lead.keys(), [Key::Lease(id(0)), CLOSING, DEADLINE]);
    let before = lead.ledger.time_left(lead.now).unwrap().to_deadline;
    let lead = after(lead, 40);
    let left = lead.ledger.time_left(lead.now).unwrap().to_deadline;
    assert_eq!(before.0 - left.0, 40_000);
}

#[test]
fn a_run_that_rests_or_asks_at_a_limit_is_not_failed_for_want_of_time() {
    for on_limit in [OnLimit::Interrupt, OnLimit::Ask] {
        let lead = after(timed(on_limit), 60).given(&[fires(DEADLINE)]);
        let lead = lead.given(&[settle(Key::Model(RequestNo(1)), Outcome::Gone)]);
        assert!(lead.state.standing().unwrap().is_blocked(), "{:?}", lead.state.phase);
    }
}

#[test]
fn a_limit_that_only_warns_sets_no_timer() {
    assert_eq!(timed(OnLimit::Warn).outstanding(), thinks(1));
}

#[test]
fn h04_a_run_that_waits_for_a_person_holds_no_timer_and_is_charged_no_time() {
    let question = raw_call("ask_user", r#"{"question":"which?"}"#);
    let lead = timed(OnLimit::Finish).given(&[calls(1, vec![question])]);
    assert_eq!(lead.outstanding(), vec![]);
    let lead = after(lead, 1_000_000).given(&[answers(0, "this")]);
    assert_eq!(lead.keys(), [Key::Model(RequestNo(2)), CLOSING, DEADLINE]);
    let left = lead.ledger.time_left(lead.now).unwrap();
    assert!(left.to_deadline.0 > 59_000, "{left:?}");
}

#[test]
fn h04_a_timer_that_comes_too_early_changes_nothing_and_is_set_again() {
    // The subagent of the lead waits for a person, so that nobody works.
    let mut lead = timed(OnLimit::Finish).given(&[calls(1, vec![ask_scout("t")])]);
    lead.now.0 += 1_000_000;
    for key in [CLOSING, DEADLINE] {
        let before = lead.outstanding();
        lead.check(&fires(key), &[], &before);
    }
}

#[test]
fn the_leads_own_limit_is_asked_for_and_raised_where_it_was_met() {
    let own = |on_limit| {
        let mut family = limited(steps(50), on_limit);
        family.lead.limits = steps(1);
        Bench::lead(family).given(&[start("go"), calls(1, looks(1)), done(id(0), "seen")])
    };
    let lead_scope = Scope::Agent(AgentId::LEAD);
    let parked = own(OnLimit::Ask);
    let asked = parked.journal.iter().find_map(|event| match event {
        Event::ApprovalRequested(asked) => Some(asked.subject.clone()),
        _ => None,
    });
    let subject = ApprovalSubject::Limit { limit: LimitKind::Steps, scope: lead_scope };
    assert_eq!(asked, Some(subject));
    let lead = parked.given(&[says_to(0, Verdict::Approve)]);
    assert_eq!(lead.outstanding(), thinks(2));
    let limits = (lead.ledger.limits(), lead.ledger.limits_of(lead_scope));
    assert_eq!(limits, (steps(50), steps(2)), "only what was met");
    let resume = Command::Resume { raised: Some(steps(100)) };
    let lead = own(OnLimit::Interrupt).given(&[resume]);
    assert_eq!(lead.outstanding(), thinks(2));
    let limits = (lead.ledger.limits(), lead.ledger.limits_of(lead_scope));
    assert_eq!(limits, (steps(100), steps(100)));
}

#[test]
fn what_the_host_says_that_a_request_cost_counts_and_binds_once_it_is_known() {
    let dollar = Money::from_dollars(1);
    let family = |on_limit| limited(Limits::none().cost(dollar), on_limit);
    let dear = kinfolk_actors::agent::RawReply { cost: Some(dollar), ..reply("", looks(1)) };
    let spent = |on_limit| {
        let lead = Bench::lead(family(on_limit));
        lead.given(&[start("go"), replied(1, dear.clone()), done(id(0), "seen")])
    };
    let finished = spent(OnLimit::Stop).finished();
    assert_eq!(finished.error.map(|error| error.code), Some(ErrorCode::LimitCost));
    assert_eq!(finished.cost_usd, Some(dollar), "its model has no price that is known");
    let mut lead = spent(OnLimit::Finish);
    assert!(lead.request().tools.is_empty(), "the last answer is still had");
    lead.take(&says(2, "this far")).unwrap();
    assert_eq!(lead.finished().finish_reason, FinishReason::BudgetCompleted);
}
