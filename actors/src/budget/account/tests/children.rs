//! Accounts of children: what they draw on, and what binds them.

use super::*;

const MODES: [ChildBudget; 3] = [ChildBudget::Share, ChildBudget::Grant, ChildBudget::Mirror];

#[test]
fn e02_the_limit_of_the_family_binds_the_tree_in_every_mode() {
    for mode in MODES {
        let mut accounts = family(Limits::none().steps(3));
        assert_eq!(work(&mut accounts, LEAD, 1), (1, Ok(())));
        accounts.open(A, LEAD, &opening(Limits::none().steps(50), mode)).unwrap();
        assert_eq!(work(&mut accounts, A, 50), (1, Err(Refusal::AfterClosing(A))), "{mode:?}");
        accounts.close(A).unwrap();
        assert_eq!(work(&mut accounts, LEAD, 50), (1, Err(Refusal::AfterClosing(LEAD))));
        assert_eq!(accounts.book(Scope::Family).unwrap().spent, steps(3));
    }
}

#[test]
fn e02_the_limit_of_a_parent_binds_what_draws_on_it() {
    // Of the lead's four steps one is used, one is its closing turn.
    let table = [
        (ChildBudget::Share, 2, 1, 4),
        (ChildBudget::Grant, 2, 1, 4),
        // The same limit with a counter of its own: the lead's is untouched.
        (ChildBudget::Mirror, 4, 3, 8),
    ];
    for (mode, child, lead, total) in table {
        let own = opening(Limits::none().steps(4), ChildBudget::Share);
        let mut accounts = Accounts::new(&terms(Limits::none()), &own, Timestamp(0));
        assert_eq!(work(&mut accounts, LEAD, 1), (1, Ok(())));
        let limits =
            if mode == ChildBudget::Grant { Limits::none().steps(50) } else { Limits::none() };
        accounts.open(A, LEAD, &opening(limits, mode)).unwrap();
        assert_eq!(work(&mut accounts, A, 50).0, child, "{mode:?}");
        accounts.close(A).unwrap();
        assert_eq!(work(&mut accounts, LEAD, 50).0, lead, "{mode:?}");
        assert_eq!(accounts.book(Scope::Family).unwrap().spent, steps(total));
    }
}

#[test]
fn e02_a_childs_limit_never_cuts_its_parents() {
    for mode in MODES {
        let own = opening(Limits::none().steps(200), ChildBudget::Share);
        let mut accounts = Accounts::new(&terms(Limits::none()), &own, Timestamp(0));
        accounts.open(A, LEAD, &opening(Limits::none().steps(50), mode)).unwrap();
        assert_eq!(accounts.book(Scope::Agent(LEAD)).unwrap().limits, Limits::none().steps(200));
        assert_eq!(work(&mut accounts, A, 300).0, 50, "{mode:?}");
        accounts.close(A).unwrap();
        let (replies, _) = work(&mut accounts, LEAD, 300);
        assert_eq!(replies, if mode == ChildBudget::Mirror { 200 } else { 150 }, "{mode:?}");
    }
    // A child for which nobody set a limit has its parent's, not a smaller default.
    let own = opening(Limits::none().steps(200), ChildBudget::Share);
    for (mode, limits) in [
        (ChildBudget::Share, Limits::none()),
        (ChildBudget::Grant, Limits::none()),
        (ChildBudget::Mirror, Limits::none().steps(200)),
    ] {
        let mut accounts = Accounts::new(&terms(Limits::none()), &own, Timestamp(0));
        accounts.open(A, LEAD, &opening(Limits::none(), mode)).unwrap();
        assert_eq!(accounts.book(Scope::Agent(A)).unwrap().limits, limits);
    }
}

#[test]
fn e06_the_family_has_spent_what_all_its_agents_did() {
    for mode in MODES {
        let mut accounts = family(Limits::none().tokens(10_000));
        let plan = [(A, LEAD, 220, 2_000), (B, A, 330, 900), (C, LEAD, 44, 90)];
        accounts.reserve_request(LEAD, &ASK).unwrap();
        accounts.settle_request(LEAD, &tokens(110)).unwrap();
        for (agent, parent, _, most) in plan {
            let limits = Limits::none().tokens(most);
            accounts.open(agent, parent, &opening(limits, mode)).unwrap();
        }
        for (agent, _, used, _) in plan {
            accounts.reserve_request(agent, &ASK).unwrap();
            if agent == C {
                accounts.fail_request(agent, &tokens(used)).unwrap();
            } else {
                accounts.settle_request(agent, &tokens(used)).unwrap();
            }
        }
        for agent in [C, B, A, LEAD] {
            accounts.close(agent).unwrap();
        }
        let book = accounts.book(Scope::Family).unwrap();
        let spent = Sums { steps: 3, tokens: 704, ..Sums::default() };
        let rest = (Sums::default(), Sums::default());
        assert_eq!((book.spent, (book.held, book.closing)), (spent, rest), "{mode:?}");
        let own = |agent| accounts.book(Scope::Agent(agent)).unwrap().spent.tokens;
        let sums = match mode {
            ChildBudget::Share | ChildBudget::Grant => [704, 550, 330, 44],
            ChildBudget::Mirror => [110, 220, 330, 44],
        };
        assert_eq!([LEAD, A, B, C].map(own), sums, "{mode:?}");
    }
}

#[test]
fn a_grant_is_held_above_until_it_is_used_or_given_back() {
    let mut accounts = family(Limits::none().steps(10));
    accounts.open(A, LEAD, &opening(Limits::none().steps(4), ChildBudget::Grant)).unwrap();
    accounts.open(B, A, &opening(Limits::none().steps(2), ChildBudget::Grant)).unwrap();
    accounts.open(C, B, &opening(Limits::none(), ChildBudget::Share)).unwrap();
    let books = |accounts: &Accounts| {
        let row = |scope| {
            let book: &Book = accounts.book(scope).unwrap();
            (book.spent.steps, book.held.steps, book.closing.steps)
        };
        [Scope::Family, Scope::Agent(LEAD), Scope::Agent(A), Scope::Agent(B), Scope::Agent(C)]
            .map(row)
    };
    assert_eq!(books(&accounts), [(0, 4, 1), (0, 4, 1), (0, 2, 1), (0, 0, 2), (0, 0, 1)]);
    // Both steps of the inner grant are closing turns.
    assert_eq!(work(&mut accounts, C, 9), (1, Err(Refusal::AfterClosing(C))));
    assert_eq!(books(&accounts), [(1, 3, 1), (1, 3, 1), (1, 1, 1), (1, 0, 1), (1, 0, 0)]);
    accounts.close(C).unwrap();
    accounts.close(B).unwrap();
    assert_eq!(books(&accounts), [(1, 3, 1), (1, 3, 1), (1, 0, 1), (1, 0, 0), (1, 0, 0)]);
    assert_eq!(work(&mut accounts, A, 1), (1, Ok(())));
    accounts.close(A).unwrap();
    assert_eq!(books(&accounts), [(2, 0, 1), (2, 0, 1), (2, 0, 0), (1, 0, 0), (1, 0, 0)]);
    assert_eq!(work(&mut accounts, LEAD, 20).0, 8);
}

#[test]
fn a_child_that_uses_more_than_its_grant_takes_nothing_of_its_siblings() {
    let mut accounts = family(Limits::none().tokens(200));
    let grant = opening(Limits::none().tokens(30), ChildBudget::Grant);
    accounts.open(A, LEAD, &grant).unwrap();
    accounts.open(B, LEAD, &grant).unwrap();
    accounts.reserve_request(A, &ASK).unwrap();
    accounts.settle_request(A, &tokens(50)).unwrap();
    accounts.charge(A, &tokens(20)).unwrap();
    for scope in [Scope::Family, Scope::Agent(LEAD)] {
        let book = accounts.book(scope).unwrap();
        assert_eq!((book.spent.tokens, book.held.tokens), (70, 30), "{scope}");
    }
    assert_eq!(accounts.left(B, LimitKind::Tokens), Some(30));
    assert_eq!(accounts.left(LEAD, LimitKind::Tokens), Some(100));
    assert_eq!(accounts.left(LEAD, LimitKind::Cost), None);
    let scopes = [Scope::Family, Scope::Agent(LEAD), Scope::Agent(A), Scope::Agent(B)];
    assert_eq!(accounts.scopes().collect::<Vec<_>>(), scopes);
}

#[test]
fn each_living_agent_keeps_its_closing_turn_whatever_the_others_do() {
    let mut accounts = family(Limits::none().steps(5));
    for agent in [A, B] {
        accounts.open(agent, LEAD, &Opening::default()).unwrap();
    }
    assert_eq!(work(&mut accounts, A, 9), (3, Err(Refusal::AfterClosing(A))));
    assert_eq!(work(&mut accounts, B, 9), (1, Err(Refusal::AfterClosing(B))));
    assert_eq!(work(&mut accounts, LEAD, 9), (1, Err(Refusal::AfterClosing(LEAD))));
}

#[test]
fn a_spawn_is_refused_if_its_closing_turn_has_no_room() {
    let closing = Closing { tokens: 40, cost: Money::from_pico(4), time: Millis(0) };
    let child = |limits, mode| Opening { limits, mode, closing };
    let share = child(Limits::none(), ChildBudget::Share);
    let small = child(Limits::none().tokens(5), ChildBudget::Share);
    let nothing = child(Limits::none().steps(0), ChildBudget::Share);
    let grant = child(Limits::none().steps(9), ChildBudget::Grant);
    let family_full = |kind, of| Err(Refusal::Reached(bound(kind, Scope::Family, 0, of)));
    let child_full = Err(Refusal::Reached(bound(LimitKind::Steps, Scope::Agent(A), 0, 0)));
    let money = |pico| Limits::none().cost(Money::from_pico(pico));
    let table = [
        (OnLimit::Finish, Limits::none().steps(2), share, Ok(())),
        (OnLimit::Finish, Limits::none().steps(1), share, family_full(LimitKind::Steps, 1)),
        (OnLimit::Finish, Limits::none().steps(1), grant, family_full(LimitKind::Steps, 1)),
        (OnLimit::Finish, Limits::none(), nothing, child_full),
        (OnLimit::Finish, Limits::none().tokens(40), share, Ok(())),
        (OnLimit::Finish, Limits::none().tokens(39), share, family_full(LimitKind::Tokens, 39)),
        (OnLimit::Finish, Limits::none().tokens(39), small, Ok(())),
        (OnLimit::Finish, money(4), share, Ok(())),
        (OnLimit::Finish, money(3), share, family_full(LimitKind::Cost, 3)),
        (OnLimit::Stop, Limits::none().steps(1).tokens(1), share, Ok(())),
        (OnLimit::Stop, Limits::none().steps(0), share, family_full(LimitKind::Steps, 0)),
        (OnLimit::Warn, Limits::none().steps(0), share, Ok(())),
    ];
    for (policy, ceiling, opening, expected) in table {
        let mut accounts = under(policy, ceiling);
        let before = accounts.clone();
        let opened = accounts.open(A, LEAD, &opening);
        assert_eq!(opened, expected, "{policy:?} {ceiling:?} {opening:?}");
        assert!(opened.is_ok() || accounts == before);
        // Opened and closed again, nothing is left of it in the family.
        if opened.is_ok() {
            accounts.close(A).unwrap();
            assert_eq!(accounts.book(Scope::Family), before.book(Scope::Family));
        }
    }
}

#[test]
fn the_tree_has_a_size_and_a_depth_and_each_agent_one_account() {
    let caps = Caps { max_subagents: 2, max_parallel: 3, max_depth: 1 };
    for on_limit in [OnLimit::Finish, OnLimit::Warn] {
        let terms = Terms { ceiling: Limits::none(), on_limit, caps };
        let mut accounts = Accounts::new(&terms, &Opening::default(), Timestamp(0));
        let refuse = |accounts: &mut Accounts, agent, parent| {
            refused(accounts, |accounts| accounts.open(agent, parent, &Opening::default()))
        };
        assert_eq!(refuse(&mut accounts, LEAD, LEAD), Refusal::Known(LEAD));
        assert_eq!(refuse(&mut accounts, A, B), Refusal::NoAccount(B));
        accounts.open(A, LEAD, &Opening::default()).unwrap();
        assert_eq!(refuse(&mut accounts, B, A), Refusal::TooDeep(1));
        accounts.open(B, LEAD, &Opening::default()).unwrap();
        accounts.close(B).unwrap();
        assert_eq!(refuse(&mut accounts, C, LEAD), Refusal::TooMany(2), "closed ones count too");
    }
}

#[test]
fn an_account_is_closed_last_of_all_that_hangs_on_it_and_only_once() {
    let mut accounts = family(Limits::none());
    accounts.open(A, LEAD, &Opening::default()).unwrap();
    let close = |accounts: &mut Accounts, agent| refused(accounts, |a| a.close(agent));
    assert_eq!(close(&mut accounts, LEAD), Refusal::Parent(LEAD));
    accounts.reserve_calls(A, 2).unwrap();
    assert_eq!(close(&mut accounts, A), Refusal::Calls { agent: A, held: 2 });
    let too_many = refused(&mut accounts, |accounts| accounts.settle_calls(A, 3));
    assert_eq!(too_many, Refusal::Calls { agent: A, held: 2 });
    accounts.refund_calls(A, 2).unwrap();
    accounts.reserve_request(A, &ASK).unwrap();
    assert_eq!(close(&mut accounts, A), Refusal::Busy(A));
    let busy = refused(&mut accounts, |accounts| accounts.reserve_request(A, &ASK));
    assert_eq!(busy, Refusal::Busy(A));
    accounts.settle_request(A, &tokens(0)).unwrap();
    accounts.close(A).unwrap();
    assert_eq!(close(&mut accounts, A), Refusal::NoAccount(A));
    let late = refused(&mut accounts, |accounts| accounts.reserve_calls(A, 1));
    assert_eq!(late, Refusal::NoAccount(A));
}

#[test]
fn a_closing_agent_starts_nobody() {
    let mut accounts = family(Limits::none().steps(1));
    accounts.reserve_request(LEAD, &ASK).unwrap();
    let refusal = refused(&mut accounts, |a| a.open(A, LEAD, &Opening::default()));
    assert_eq!(refusal, Refusal::AfterClosing(LEAD));
}
