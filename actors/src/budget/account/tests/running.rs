//! Time, warnings, and limits that are raised when a run goes on.

use super::*;

fn again(accounts: &Accounts) -> Accounts {
    serde_json::from_str(&serde_json::to_string(accounts).unwrap()).unwrap()
}

#[test]
fn e03_a_resumed_run_goes_on_counting() {
    let mut accounts = under(OnLimit::Stop, Limits::none().tokens(1_000).time(Millis(1_000)));
    let ask = Ask { input_estimate: 60, response_cap: 40, ..ASK };
    for round in 0..10 {
        if round == 7 {
            accounts.seen_at(Timestamp(500));
            accounts = again(&accounts);
            accounts.resume_at(Timestamp(90_000));
            assert_eq!(accounts.elapsed(Scope::Family), Millis(500));
        }
        accounts.reserve_request(LEAD, &ask).unwrap();
        accounts.settle_request(LEAD, &tokens(100)).unwrap();
    }
    let full = Refusal::Reached(bound(LimitKind::Tokens, Scope::Family, 1_000, 1_000));
    assert_eq!(refused(&mut accounts, |accounts| accounts.reserve_request(LEAD, &ask)), full);
}

#[test]
fn a_raised_limit_is_never_below_what_is_used_held_and_set_aside() {
    // Four steps are used, one is the closing turn.
    for (most, expected) in [(0, 5), (4, 5), (5, 5), (6, 6), (40, 40)] {
        let mut accounts = family(Limits::none().steps(9));
        assert_eq!(work(&mut accounts, LEAD, 4), (4, Ok(())));
        accounts.raise(Scope::Family, &Limits::none().steps(most)).unwrap();
        assert_eq!(accounts.book(Scope::Family).unwrap().limits, Limits::none().steps(expected));
        assert_eq!(work(&mut accounts, LEAD, 99).0, expected - 4, "{most}");
    }
    let mut accounts = family(Limits::none().time(Millis(50)));
    accounts.seen_at(Timestamp(40));
    accounts.raise(Scope::Family, &Limits::none().time(Millis(30)).tokens(7)).unwrap();
    let limits = Limits::none().time(Millis(40)).tokens(7);
    assert_eq!(accounts.book(Scope::Family).unwrap().limits, limits);
}

#[test]
fn an_agent_at_its_limit_goes_on_when_that_one_is_raised() {
    let mut accounts = family(Limits::none().steps(2).tokens(9_000));
    assert_eq!(work(&mut accounts, LEAD, 9), (2, Err(Refusal::AfterClosing(LEAD))));
    accounts.raise(Scope::Family, &Limits::none().tokens(10_000)).unwrap();
    assert_eq!(work(&mut accounts, LEAD, 9), (0, Err(Refusal::AfterClosing(LEAD))));
    accounts.raise(Scope::Family, &Limits::none().steps(5)).unwrap();
    assert_eq!(work(&mut accounts, LEAD, 9), (3, Err(Refusal::AfterClosing(LEAD))));

    let mut asking = under(OnLimit::Ask, Limits::none());
    asking.open(A, LEAD, &opening(Limits::none().steps(1), ChildBudget::Share)).unwrap();
    assert_eq!(work(&mut asking, A, 9).0, 1);
    asking.raise(Scope::Agent(A), &Limits::none().steps(3)).unwrap();
    assert_eq!(work(&mut asking, A, 9).0, 2);
    let nobody = refused(&mut asking, |a| a.raise(Scope::Agent(B), &Limits::none().steps(3)));
    assert_eq!(nobody, Refusal::NoAccount(B));
}

#[test]
fn a_raised_grant_is_cut_out_of_what_the_parent_has_left() {
    // Of ten steps the lead has used one and keeps one for its closing turn.
    for (most, expected) in [(1, 2), (5, 5), (50, 8)] {
        let mut accounts = under(OnLimit::Finish, Limits::none().steps(10));
        assert_eq!(work(&mut accounts, LEAD, 1), (1, Ok(())));
        accounts.open(A, LEAD, &opening(Limits::none().steps(2), ChildBudget::Grant)).unwrap();
        accounts.raise(Scope::Agent(A), &Limits::none().steps(most)).unwrap();
        let limits = accounts.book(Scope::Agent(A)).unwrap().limits;
        assert_eq!(limits, Limits::none().steps(expected));
        assert_eq!(accounts.book(Scope::Family).unwrap().held, steps(expected));
        assert_eq!(work(&mut accounts, A, 99).0, expected);
        assert_eq!(accounts.book(Scope::Family).unwrap().held, steps(0));
    }
}

#[test]
fn what_was_used_beyond_a_grant_is_not_cut_out_again() {
    for (most, limit) in [(40, 70), (100, 100)] {
        let mut accounts = family(Limits::none().tokens(200));
        let grant = opening(Limits::none().tokens(30), ChildBudget::Grant);
        accounts.open(A, LEAD, &grant).unwrap();
        accounts.charge(A, &tokens(70)).unwrap();
        accounts.raise(Scope::Agent(A), &Limits::none().tokens(most)).unwrap();
        let limits = accounts.book(Scope::Agent(A)).unwrap().limits;
        assert_eq!(limits, Limits::none().tokens(limit));
        assert_eq!(accounts.book(Scope::Family).unwrap().held.tokens, limit - 70);
        accounts.close(A).unwrap();
        assert_eq!(accounts.book(Scope::Family).unwrap().held.tokens, 0);
    }
}

#[test]
fn each_warning_is_told_once_and_again_only_near_a_raised_limit() {
    let limits = Limits::none().steps(4);
    let mut accounts = family(Limits::none().steps(10).time(Millis(100)));
    accounts.open(A, LEAD, &opening(limits, ChildBudget::Share)).unwrap();
    assert_eq!(work(&mut accounts, A, 3), (3, Ok(())));
    assert_eq!(accounts.warnings_due(), []);
    assert_eq!(work(&mut accounts, A, 1), (1, Ok(())));
    assert_eq!(work(&mut accounts, LEAD, 4), (4, Ok(())));
    accounts.seen_at(Timestamp(80));
    let family_steps = bound(LimitKind::Steps, Scope::Family, 8, 10);
    let family_time = bound(LimitKind::Time, Scope::Family, 80, 100);
    let child_steps = bound(LimitKind::Steps, Scope::Agent(A), 4, 4);
    assert_eq!(accounts.warnings_due(), [family_steps, family_time, child_steps]);
    accounts.told(&family_steps);
    assert_eq!(again(&accounts).warnings_due(), [family_time, child_steps]);
    accounts.told(&family_time);
    accounts.told(&child_steps);
    assert_eq!(accounts.warnings_due(), []);
    accounts.raise(Scope::Family, &Limits::none().steps(12).time(Millis(100))).unwrap();
    assert_eq!(accounts.warnings_due(), []);
    assert_eq!(work(&mut accounts, LEAD, 2), (2, Ok(())));
    let again = bound(LimitKind::Steps, Scope::Family, 10, 12);
    assert_eq!(accounts.warnings_due(), [again]);
}

#[test]
fn under_warn_nothing_is_refused_and_all_is_counted() {
    let ceiling = Limits::none().steps(1).tool_calls(1).tokens(1).time(Millis(1));
    let mut accounts = under(OnLimit::Warn, ceiling);
    accounts.seen_at(Timestamp(5));
    let tight = opening(Limits::none().steps(1).tokens(1), ChildBudget::Grant);
    accounts.open(A, LEAD, &tight).unwrap();
    for agent in [LEAD, A] {
        for _ in 0..2 {
            let granted = accounts.reserve_request(agent, &ASK).unwrap();
            assert_eq!(granted, Granted { closing: None, max_output: 10 });
            accounts.settle_request(agent, &tokens(15)).unwrap();
        }
        let calls = accounts.reserve_calls(agent, 3).unwrap();
        assert_eq!(calls, Calls { allowed: 3, bound: None });
        accounts.settle_calls(agent, 3).unwrap();
    }
    let spent = Sums { steps: 4, tool_calls: 6, tokens: 60, cost: Money::ZERO };
    assert_eq!(accounts.book(Scope::Family).unwrap().spent, spent);
    let kinds: Vec<LimitKind> = accounts
        .warnings_due()
        .iter()
        .filter(|warning| warning.scope == Scope::Family)
        .map(|warning| warning.kind)
        .collect();
    let expected = [LimitKind::Steps, LimitKind::ToolCalls, LimitKind::Tokens, LimitKind::Time];
    assert_eq!(kinds, expected);
}

#[test]
fn time_ends_with_a_closing_turn_begun_ahead_or_with_a_stop() {
    let closing = Closing { time: Millis(20), ..Closing::default() };
    let lead = Opening { closing, ..Opening::default() };
    let late = |used| bound(LimitKind::Time, Scope::Family, used, 100);
    let table = [
        (OnLimit::Finish, 79, Ok(None)),
        (OnLimit::Finish, 80, Ok(Some(late(80)))),
        (OnLimit::Finish, 150, Ok(Some(late(150)))),
        (OnLimit::Stop, 99, Ok(None)),
        (OnLimit::Stop, 100, Err(Refusal::Reached(late(100)))),
        (OnLimit::Warn, 100, Ok(None)),
    ];
    for (on_limit, now, expected) in table {
        let terms = Terms { on_limit, ..terms(Limits::none().time(Millis(100))) };
        let mut accounts = Accounts::new(&terms, &lead, Timestamp(0));
        accounts.seen_at(Timestamp(now));
        let closing = accounts.reserve_request(LEAD, &ASK).map(|granted| granted.closing);
        assert_eq!(closing, expected, "{on_limit:?} {now}");
    }
}

#[test]
fn an_agents_time_begins_with_it_and_down_time_is_nobodys() {
    let mut accounts = family(Limits::none().time(Millis(1_000)));
    accounts.seen_at(Timestamp(100));
    accounts.open(A, LEAD, &opening(Limits::none().time(Millis(50)), ChildBudget::Share)).unwrap();
    accounts.open(B, A, &opening(Limits::none(), ChildBudget::Share)).unwrap();
    accounts.open(C, A, &opening(Limits::none(), ChildBudget::Mirror)).unwrap();
    accounts.seen_at(Timestamp(120));
    accounts.resume_at(Timestamp(9_120));
    accounts.seen_at(Timestamp(9_130));
    accounts.seen_at(Timestamp(9_000));
    let scopes = [Scope::Family, Scope::Agent(A), Scope::Agent(B)];
    assert_eq!(scopes.map(|scope| accounts.elapsed(scope)), [130, 30, 30].map(Millis));
    let left = [LEAD, A, B, C].map(|agent| accounts.time_left(agent));
    assert_eq!(left, [870, 20, 20, 20].map(|left| Some(Millis(left))));
    assert_eq!(family(Limits::none()).time_left(LEAD), None);
}

#[test]
fn refusals_say_what_was_met_and_what_to_do() {
    let cost = bound(LimitKind::Cost, Scope::Agent(A), 500_000_000_000, 1_000_000_000_000);
    let table = [
        (Refusal::Reached(cost), "sub-1 has used 0.5 USD of 1 USD; raise the limit to go on"),
        (
            Refusal::Reached(bound(LimitKind::Steps, Scope::Family, 3, 3)),
            "the family has used 3 steps of 3 steps; raise the limit to go on",
        ),
        (Refusal::AfterClosing(LEAD), "lead had its closing turn, so it must end now"),
    ];
    for (refusal, text) in table {
        assert_eq!(refusal.to_string(), text);
    }
    let text = r#"{"limit":"cost","scope":"sub-1","used":500000000000,"of":1000000000000}"#;
    assert_eq!(serde_json::to_string(&cost).unwrap(), text);
    for scope in [Scope::Family, Scope::Agent(LEAD), Scope::Agent(B)] {
        assert_eq!(scope.to_string().parse(), Ok(scope));
    }
}
