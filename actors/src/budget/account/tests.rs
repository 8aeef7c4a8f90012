//! The account tree by example.

use super::*;

mod children;
mod laws;
mod requests;
mod running;

const LEAD: AgentId = AgentId::LEAD;
const A: AgentId = AgentId(1);
const B: AgentId = AgentId(2);
const C: AgentId = AgentId(3);

/// A small request: with it 100 tokens of limit are a lot.
const ASK: Ask = Ask {
    purpose: Purpose::Turn,
    input_estimate: 10,
    response_cap: 10,
    least_output: 2,
    rates: None,
};

fn terms(ceiling: Limits) -> Terms {
    let caps = Caps { max_subagents: 6, max_parallel: 3, max_depth: 3 };
    Terms { ceiling, on_limit: OnLimit::Finish, caps }
}

fn opening(limits: Limits, mode: ChildBudget) -> Opening {
    Opening { limits, mode, closing: Closing::default() }
}

fn family(ceiling: Limits) -> Accounts {
    Accounts::new(&terms(ceiling), &Opening::default(), Timestamp(0))
}

fn under(on_limit: OnLimit, ceiling: Limits) -> Accounts {
    Accounts::new(&Terms { on_limit, ..terms(ceiling) }, &Opening::default(), Timestamp(0))
}

fn tokens(tokens: u64) -> Spend {
    Spend { tokens, cost: Money::ZERO }
}

fn steps(steps: u64) -> Sums {
    Sums { steps, ..Sums::default() }
}

fn bound(kind: LimitKind, scope: Scope, used: u64, of: u64) -> Bound {
    Bound { kind, scope, used, of }
}

/// The agent asks as often as it may. Returns its replies, the closing one last.
fn work(accounts: &mut Accounts, agent: AgentId, most: u64) -> (u64, Result<(), Refusal>) {
    for replies in 0..most {
        match accounts.reserve_request(agent, &ASK) {
            Ok(_) => accounts.settle_request(agent, &tokens(0)).unwrap(),
            Err(refusal) => return (replies, Err(refusal)),
        }
    }
    (most, Ok(()))
}

/// A refusal changes nothing.
#[track_caller]
fn refused<T: std::fmt::Debug>(
    accounts: &mut Accounts,
    operation: impl FnOnce(&mut Accounts) -> Result<T, Refusal>,
) -> Refusal {
    let before = accounts.clone();
    let refusal = operation(accounts).unwrap_err();
    assert_eq!(*accounts, before, "{refusal}");
    refusal
}
