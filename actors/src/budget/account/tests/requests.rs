//! Requests and calls of one agent.

use super::*;
use crate::cost::Rates;

/// Which of the replies are closing ones, and why there are no more.
fn replies(accounts: &mut Accounts, agent: AgentId) -> (Vec<bool>, Option<Refusal>) {
    let mut replies = vec![];
    while replies.len() < 5 {
        match accounts.reserve_request(agent, &ASK) {
            Ok(granted) => {
                accounts.settle_request(agent, &tokens(1)).unwrap();
                replies.push(granted.closing.is_some());
            }
            Err(refusal) => return (replies, Some(refusal)),
        }
    }
    (replies, None)
}

#[test]
fn a_limit_of_n_steps_never_makes_more_than_n_replies() {
    let reached = |n| Some(Refusal::Reached(bound(LimitKind::Steps, Scope::Family, n, n)));
    let closed = || Some(Refusal::AfterClosing(LEAD));
    let table = [
        (OnLimit::Finish, 0, vec![], reached(0)),
        (OnLimit::Finish, 1, vec![true], closed()),
        (OnLimit::Finish, 2, vec![false, true], closed()),
        (OnLimit::Finish, 3, vec![false, false, true], closed()),
        (OnLimit::Stop, 0, vec![], reached(0)),
        (OnLimit::Stop, 1, vec![false], reached(1)),
        (OnLimit::Interrupt, 2, vec![false; 2], reached(2)),
        (OnLimit::Ask, 3, vec![false; 3], reached(3)),
        (OnLimit::Warn, 1, vec![false; 5], None),
    ];
    for (policy, most, expected, end) in table {
        let mut accounts = under(policy, Limits::none().steps(most));
        assert_eq!(replies(&mut accounts, LEAD), (expected, end), "{policy:?} {most}");
    }
    assert_eq!(replies(&mut family(Limits::none()), LEAD), (vec![false; 5], None));
}

#[test]
fn e01_of_a_batch_only_as_many_calls_run_as_are_left() {
    let mut accounts = family(Limits::none().tool_calls(6));
    let full = |used| bound(LimitKind::ToolCalls, Scope::Family, used, 6);
    let calls = accounts.reserve_calls(LEAD, 8).unwrap();
    assert_eq!(calls, Calls { allowed: 6, bound: Some(full(0)) });
    let none = accounts.reserve_calls(LEAD, 1).unwrap();
    assert_eq!(none, Calls { allowed: 0, bound: Some(full(6)) });
    accounts.settle_calls(LEAD, 5).unwrap();
    accounts.refund_calls(LEAD, 1).unwrap();
    let last = accounts.reserve_calls(LEAD, 1).unwrap();
    assert_eq!(last, Calls { allowed: 1, bound: None });
    accounts.settle_calls(LEAD, 1).unwrap();
    let granted = accounts.reserve_request(LEAD, &ASK).unwrap();
    assert_eq!(granted, Granted { closing: Some(full(6)), max_output: 10 });
    accounts.settle_request(LEAD, &tokens(1)).unwrap();
    let spent = Sums { steps: 1, tool_calls: 6, tokens: 1, cost: Money::ZERO };
    assert_eq!(accounts.book(Scope::Family).unwrap().spent, spent);
}

#[test]
fn a_hard_stop_at_the_last_call_still_lets_the_model_answer() {
    let mut accounts = under(OnLimit::Stop, Limits::none().tool_calls(1));
    accounts.reserve_calls(LEAD, 1).unwrap();
    accounts.settle_calls(LEAD, 1).unwrap();
    let granted = accounts.reserve_request(LEAD, &ASK).unwrap();
    assert_eq!(granted, Granted { closing: None, max_output: 10 });
}

#[test]
fn a_closing_turn_calls_nothing() {
    let mut accounts = family(Limits::none().steps(1));
    let closing = accounts.reserve_request(LEAD, &ASK).unwrap().closing;
    assert_eq!(closing, Some(bound(LimitKind::Steps, Scope::Family, 0, 1)));
    let calls = accounts.reserve_calls(LEAD, 3).unwrap();
    assert_eq!(calls, Calls { allowed: 0, bound: closing });
}

#[test]
fn the_output_cap_is_what_the_limit_leaves() {
    // Input 10, least output 2: a normal request needs its input twice, its output twice and the
    // least output of the closing turn; the closing one needs each once.
    let family_of = |used, of| Some(bound(LimitKind::Tokens, Scope::Family, used, of));
    let table = [
        (OnLimit::Finish, 1_000, 30, Ok((None, 30))),
        (OnLimit::Finish, 42, 30, Ok((None, 10))),
        (OnLimit::Finish, 26, 30, Ok((None, 2))),
        (OnLimit::Finish, 25, 30, Ok((family_of(0, 25), 15))),
        (OnLimit::Finish, 12, 30, Ok((family_of(0, 12), 2))),
        (OnLimit::Finish, 11, 30, Err(())),
        (OnLimit::Finish, 11, 1, Ok((family_of(0, 11), 1))),
        (OnLimit::Finish, 9, 0, Err(())),
        (OnLimit::Stop, 25, 30, Ok((None, 15))),
        (OnLimit::Stop, 11, 30, Err(())),
        (OnLimit::Warn, 11, 30, Ok((None, 30))),
    ];
    for (policy, most, response_cap, expected) in table {
        let mut accounts = under(policy, Limits::none().tokens(most));
        let ask = Ask { response_cap, ..ASK };
        let granted = accounts.reserve_request(LEAD, &ask);
        let expected = match expected {
            Ok((closing, max_output)) => Ok(Granted { closing, max_output }),
            Err(()) => Err(Refusal::Reached(bound(LimitKind::Tokens, Scope::Family, 0, most))),
        };
        assert_eq!(granted, expected, "{policy:?} {most} {response_cap}");
    }
}

#[test]
fn money_is_held_at_the_highest_price_and_spent_at_the_real_one() {
    let rates = Rates {
        input: Money::from_pico(10),
        cache_write_5m: Some(Money::from_pico(20)),
        output: Money::from_pico(100),
        ..Rates::default()
    };
    let ask = Ask { rates: Some(rates), ..ASK };
    // 200 in, and again in the closing turn, 200 for its least output; each output token is paid
    // for at 100 and, sent again, at 20.
    let mut accounts = family(Limits::none().cost(Money::from_pico(600 + 4 * 120)));
    let granted = accounts.reserve_request(LEAD, &ask).unwrap();
    assert_eq!(granted, Granted { closing: None, max_output: 4 });
    let of = |pico, tokens| Sums { steps: 1, tool_calls: 0, tokens, cost: Money::from_pico(pico) };
    let book = accounts.book(Scope::Family).unwrap();
    assert_eq!((book.held, book.closing), (of(600, 14), of(480, 16)));
    accounts.settle_request(LEAD, &Spend { tokens: 12, cost: Money::from_pico(300) }).unwrap();
    let book = accounts.book(Scope::Family).unwrap();
    assert_eq!((book.spent, book.held), (of(300, 12), Sums::default()));
    assert_eq!(book.closing, of(12 * 20 + 2 * 100, 14));
    let unpriced = accounts.reserve_request(LEAD, &Ask { response_cap: 50, ..ASK }).unwrap();
    assert_eq!(unpriced, Granted { closing: None, max_output: 50 }, "money binds what has a price");
}

#[test]
fn e04_a_retry_costs_tokens_and_no_step() {
    for most in 1..4 {
        let limits = Limits::none().steps(most);
        let mut accounts = family(Limits::none());
        accounts.open(A, LEAD, &opening(limits, ChildBudget::Share)).unwrap();
        for n in 1..=most {
            let granted = accounts.reserve_request(A, &ASK).unwrap();
            assert_eq!(granted.closing.is_some(), n == most, "{n} of {most}");
            assert_eq!(accounts.retry_request(A, &tokens(7)), Ok(granted));
            accounts.settle_request(A, &tokens(5)).unwrap();
        }
        let end = refused(&mut accounts, |accounts| accounts.reserve_request(A, &ASK));
        assert_eq!(end, Refusal::AfterClosing(A));
        let spent = Sums { steps: most, tokens: 12 * most, ..Sums::default() };
        assert_eq!(accounts.book(Scope::Agent(A)).unwrap().spent, spent);
        assert_eq!(accounts.book(Scope::Family).unwrap().spent, spent);
    }
}

#[test]
fn a_retry_without_room_is_refused_and_the_closing_turn_is_still_there() {
    let mut accounts = family(Limits::none().tokens(42));
    assert_eq!(accounts.reserve_request(LEAD, &ASK).unwrap().closing, None);
    let refusal = refused(&mut accounts, |accounts| accounts.retry_request(LEAD, &tokens(20)));
    let full = bound(LimitKind::Tokens, Scope::Family, 20, 42);
    assert_eq!(refusal, Refusal::Reached(full));
    accounts.fail_request(LEAD, &tokens(20)).unwrap();
    let closing = accounts.reserve_request(LEAD, &ASK).unwrap();
    assert_eq!(closing, Granted { closing: Some(full), max_output: 10 });
}

#[test]
fn a_request_ends_in_one_of_three_ways() {
    let ends = [
        ("answered", Sums { steps: 1, tokens: 5, ..Sums::default() }),
        ("failed", Sums { steps: 0, tokens: 5, ..Sums::default() }),
        ("in doubt", Sums { steps: 1, tokens: 20, ..Sums::default() }),
    ];
    for (end, spent) in ends {
        let mut accounts = family(Limits::none().steps(9));
        accounts.reserve_request(LEAD, &ASK).unwrap();
        match end {
            "answered" => accounts.settle_request(LEAD, &tokens(5)).unwrap(),
            "failed" => accounts.fail_request(LEAD, &tokens(5)).unwrap(),
            _ => accounts.void_request(LEAD).unwrap(),
        }
        let book = accounts.book(Scope::Family).unwrap();
        assert_eq!((book.spent, book.held), (spent, Sums::default()), "{end}");
        let idle = refused(&mut accounts, |accounts| accounts.void_request(LEAD));
        assert_eq!(idle, Refusal::Idle(LEAD));
    }
}

#[test]
fn a_closing_turn_that_failed_may_be_tried_again() {
    let mut accounts = family(Limits::none().steps(2));
    let mut before = accounts.clone();
    assert_eq!(work(&mut accounts, LEAD, 1), (1, Ok(())));
    let rested = accounts.clone();
    for _ in 0..3 {
        assert!(accounts.reserve_request(LEAD, &ASK).unwrap().closing.is_some());
        assert!(accounts.closing(LEAD).is_some());
        accounts.fail_request(LEAD, &tokens(0)).unwrap();
        assert_eq!(accounts, rested);
    }
    before.reserve_request(LEAD, &ASK).unwrap();
    before.void_request(LEAD).unwrap();
    before.reserve_request(LEAD, &ASK).unwrap();
    before.void_request(LEAD).unwrap();
    let end = refused(&mut before, |accounts| accounts.reserve_request(LEAD, &ASK));
    assert_eq!(end, Refusal::AfterClosing(LEAD), "in doubt, the closing turn is used");
}

#[test]
fn a_summary_is_no_step_and_leaves_the_closing_turn_alone() {
    let summary = Ask { purpose: Purpose::Summary, ..ASK };
    let mut accounts = family(Limits::none().steps(1).tokens(30));
    let closing = Closing { tokens: 12, ..Closing::default() };
    let lead = Opening { closing, ..Opening::default() };
    let mut poor = Accounts::new(&terms(Limits::none().tokens(23)), &lead, Timestamp(0));
    let granted = accounts.reserve_request(LEAD, &summary).unwrap();
    assert_eq!(granted, Granted { closing: None, max_output: 10 });
    accounts.settle_request(LEAD, &tokens(11)).unwrap();
    assert_eq!(accounts.book(Scope::Family).unwrap().spent, tokens_alone(11));
    assert!(accounts.reserve_request(LEAD, &ASK).unwrap().closing.is_some());
    let full = Refusal::Reached(bound(LimitKind::Tokens, Scope::Family, 0, 23));
    assert_eq!(refused(&mut poor, |poor| poor.reserve_request(LEAD, &summary)), full);
}

fn tokens_alone(tokens: u64) -> Sums {
    Sums { tokens, ..Sums::default() }
}

#[test]
fn what_a_provider_counted_wrong_is_spent_and_nothing_more_is_given() {
    let mut accounts = family(Limits::none().tokens(50));
    accounts.reserve_request(LEAD, &ASK).unwrap();
    accounts.settle_request(LEAD, &tokens(70)).unwrap();
    accounts.charge(LEAD, &tokens(1)).unwrap();
    assert_eq!(accounts.book(Scope::Family).unwrap().spent.tokens, 71);
    let full = Refusal::Reached(bound(LimitKind::Tokens, Scope::Family, 71, 50));
    assert_eq!(refused(&mut accounts, |accounts| accounts.reserve_request(LEAD, &ASK)), full);
}
