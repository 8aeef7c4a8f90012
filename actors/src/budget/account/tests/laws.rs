//! The laws of the account tree over random histories of a family.

use proptest::prelude::*;

use super::*;
use crate::cost::Rates;

const PRICES: Rates = Rates {
    input: Money::from_pico(3),
    cached_input: Some(Money::from_pico(1)),
    cache_write_5m: None,
    cache_write_1h: None,
    output: Money::from_pico(7),
    reasoning: None,
};

/// One wish. Agents are picked by number among those that were opened.
#[derive(Clone, Debug)]
enum Op {
    Open(usize, Opening),
    Ask(usize, Ask),
    /// The request is settled with so many quarters of the output it may have.
    Settle(usize, u64),
    Fail(usize, u64),
    Void(usize),
    Retry(usize, u64),
    Calls(usize, u64),
    Ran(usize, u64),
    NeverRan(usize, u64),
    Close(usize),
    Raise(Option<usize>, Limits),
    Seen(u64),
    Resume(u64),
}

fn limit(most: u64) -> impl Strategy<Value = Option<u64>> {
    prop_oneof![2 => Just(None), 3 => (1..most).prop_map(Some)]
}

fn limits() -> impl Strategy<Value = Limits> {
    let kinds = (limit(12), limit(12), limit(400), limit(2_000), limit(100));
    kinds.prop_map(|(steps, calls, tokens, cost, time)| {
        let mut limits = Limits::none();
        for (kind, most) in LimitKind::ALL.into_iter().zip([steps, calls, tokens, cost, time]) {
            limits.set(kind, most);
        }
        limits
    })
}

fn an_opening() -> impl Strategy<Value = Opening> {
    let mode = prop::sample::select(vec![
        ChildBudget::Share,
        ChildBudget::Share,
        ChildBudget::Grant,
        ChildBudget::Mirror,
    ]);
    (limits(), mode, 0..30u64, 0..60u64, 0..9u64).prop_map(|(limits, mode, tokens, pico, time)| {
        let closing = Closing { tokens, cost: Money::from_pico(pico), time: Millis(time) };
        Opening { limits, mode, closing }
    })
}

fn an_ask() -> impl Strategy<Value = Ask> {
    (0..8u8, 0..40u64, 0..40u64, 0..6u64, any::<bool>()).prop_map(
        |(purpose, input_estimate, response_cap, least_output, priced)| Ask {
            purpose: if purpose == 0 { Purpose::Summary } else { Purpose::Turn },
            input_estimate,
            response_cap,
            least_output,
            rates: priced.then_some(PRICES),
        },
    )
}

fn op() -> impl Strategy<Value = Op> {
    let who = || 0..7usize;
    prop_oneof![
        3 => (who(), an_opening()).prop_map(|(who, opening)| Op::Open(who, opening)),
        6 => (who(), an_ask()).prop_map(|(who, ask)| Op::Ask(who, ask)),
        6 => (who(), 0..5u64).prop_map(|(who, part)| Op::Settle(who, part)),
        1 => (who(), 0..5u64).prop_map(|(who, part)| Op::Fail(who, part)),
        1 => who().prop_map(Op::Void),
        1 => (who(), 0..5u64).prop_map(|(who, part)| Op::Retry(who, part)),
        3 => (who(), 0..9u64).prop_map(|(who, calls)| Op::Calls(who, calls)),
        3 => (who(), 0..9u64).prop_map(|(who, calls)| Op::Ran(who, calls)),
        1 => (who(), 0..9u64).prop_map(|(who, calls)| Op::NeverRan(who, calls)),
        2 => who().prop_map(Op::Close),
        1 => (prop::option::of(who()), limits()).prop_map(|(who, limits)| Op::Raise(who, limits)),
        1 => (0..150u64).prop_map(Op::Seen),
        1 => (0..150u64).prop_map(Op::Resume),
    ]
}

#[derive(Clone, Debug)]
struct Script {
    terms: Terms,
    lead: Opening,
    ops: Vec<Op>,
}

fn script() -> impl Strategy<Value = Script> {
    let policy = prop::sample::select(vec![
        OnLimit::Finish,
        OnLimit::Finish,
        OnLimit::Finish,
        OnLimit::Stop,
        OnLimit::Warn,
    ]);
    let ops = prop::collection::vec(op(), 0..40);
    (limits(), policy, an_opening(), ops).prop_map(|(ceiling, on_limit, lead, ops)| Script {
        terms: Terms { on_limit, ..terms(ceiling) },
        lead,
        ops,
    })
}

/// The accounts beside a plain record of what each agent used itself.
struct World {
    accounts: Accounts,
    /// By number: its parent, its mode, and its own sums.
    agents: Vec<(Option<usize>, ChildBudget, Sums)>,
    /// By number, the closing turn after the agent's last reply: it sends what that one took.
    next: BTreeMap<usize, Ask>,
}

impl World {
    fn new(script: &Script) -> Self {
        let accounts = Accounts::new(&script.terms, &script.lead, Timestamp(0));
        let agents = vec![(None, ChildBudget::Share, Sums::default())];
        Self { accounts, agents, next: BTreeMap::new() }
    }

    fn pick(&self, who: usize) -> usize {
        who % self.agents.len()
    }

    fn play(&mut self, op: &Op) -> Result<(), Refusal> {
        match op {
            Op::Open(who, opening) => {
                let (parent, next) = (self.pick(*who), self.agents.len());
                self.accounts.open(id(next), id(parent), opening)?;
                self.agents.push((Some(parent), opening.mode, Sums::default()));
            }
            Op::Ask(who, ask) => {
                self.accounts.reserve_request(id(self.pick(*who)), ask)?;
            }
            Op::Settle(who, part) => {
                let (who, used, steps) = self.used(*who, *part)?;
                let ask = self.accounts.agents[&id(who)].pending.unwrap().ask;
                self.accounts.settle_request(id(who), &used)?;
                self.count(who, steps, &used);
                if ask.purpose == Purpose::Turn {
                    let least = ask.least();
                    let input_estimate = used.tokens;
                    let next =
                        Ask { input_estimate, response_cap: least, least_output: least, ..ask };
                    self.next.insert(who, next);
                }
            }
            Op::Fail(who, part) => {
                let (who, used, _) = self.used(*who, *part)?;
                self.accounts.fail_request(id(who), &used)?;
                self.next.remove(&who);
                self.count(who, 0, &used);
            }
            Op::Retry(who, part) => {
                let (who, used, _) = self.used(*who, *part)?;
                self.accounts.retry_request(id(who), &used)?;
                self.count(who, 0, &used);
            }
            Op::Void(who) => {
                let (who, used, steps) = self.used(*who, 4)?;
                self.accounts.void_request(id(who))?;
                self.next.remove(&who);
                self.count(who, steps, &used);
            }
            Op::Calls(who, calls) => {
                self.accounts.reserve_calls(id(self.pick(*who)), *calls)?;
            }
            Op::Ran(who, calls) => {
                let who = self.pick(*who);
                self.accounts.settle_calls(id(who), *calls)?;
                self.agents[who].2.tool_calls += calls;
            }
            Op::NeverRan(who, calls) => {
                self.accounts.refund_calls(id(self.pick(*who)), *calls)?;
            }
            Op::Close(who) => self.accounts.close(id(self.pick(*who)))?,
            Op::Raise(None, limits) => self.accounts.raise(Scope::Family, limits)?,
            Op::Raise(Some(who), limits) => {
                self.accounts.raise(Scope::Agent(id(self.pick(*who))), limits)?;
            }
            Op::Seen(now) => self.accounts.seen_at(Timestamp(*now)),
            Op::Resume(now) => self.accounts.resume_at(Timestamp(*now)),
        }
        Ok(())
    }

    /// What the request in flight used: its input and so many quarters of its output.
    fn used(&self, who: usize, part: u64) -> Result<(usize, Spend, u64), Refusal> {
        let who = self.pick(who);
        let pending = self.accounts.agents[&id(who)].pending.ok_or(Refusal::Idle(id(who)))?;
        let (input, output) = (pending.ask.input_estimate, pending.max_output * part / 4);
        let rates = pending.ask.rates.unwrap_or_default();
        let cost = rates.input.times(input).plus(rates.output.times(output));
        let used = Spend { tokens: input + output, cost };
        Ok((who, used, u64::from(pending.ask.purpose == Purpose::Turn)))
    }

    fn count(&mut self, who: usize, steps: u64, used: &Spend) {
        let own = &mut self.agents[who].2;
        own.steps += steps;
        own.tokens += used.tokens;
        own.cost = own.cost.plus(used.cost);
    }

    /// What a scope must have spent: its own sums and those of all that draw on it.
    fn expected(&self, scope: Scope) -> Sums {
        let mut sum = Sums::default();
        for number in 0..self.agents.len() {
            if self.draws_on(number, scope) {
                for kind in LimitKind::COUNTED {
                    sum.increase(kind, self.agents[number].2.get(kind));
                }
            }
        }
        sum
    }

    fn draws_on(&self, mut number: usize, scope: Scope) -> bool {
        loop {
            match (scope, self.agents[number]) {
                (Scope::Family, _) => return true,
                (Scope::Agent(agent), _) if agent == id(number) => return true,
                (_, (_, ChildBudget::Mirror, _) | (None, ..)) => return false,
                (_, (Some(parent), ..)) => number = parent,
            }
        }
    }

    fn scopes(&self) -> impl Iterator<Item = Scope> {
        let agents = 0..self.agents.len();
        std::iter::once(Scope::Family).chain(agents.map(|number| Scope::Agent(id(number))))
    }
}

fn id(number: usize) -> AgentId {
    AgentId(u32::try_from(number).unwrap())
}

/// All sums of a world that matter to others than one agent.
fn books(accounts: &Accounts, agents: usize) -> Vec<Book> {
    let agents = (0..agents).map(|number| Scope::Agent(id(number)));
    std::iter::once(Scope::Family)
        .chain(agents)
        .map(|scope| accounts.book(scope).unwrap().clone())
        .collect()
}

/// What an operation took comes back whole if it is undone.
fn undone(before: &Accounts, world: &World, op: &Op) -> Result<(), TestCaseError> {
    let mut after = world.accounts.clone();
    match op {
        Op::Calls(who, _) => {
            let agent = id(world.pick(*who));
            let calls = after.agents[&agent].calls - before.agents[&agent].calls;
            after.refund_calls(agent, calls).unwrap();
            prop_assert_eq!(&after, before);
        }
        Op::Open(..) => {
            let newest = world.agents.len() - 1;
            after.close(id(newest)).unwrap();
            prop_assert_eq!(books(&after, newest), books(before, newest));
        }
        Op::Ask(who, _) => {
            let agent = id(world.pick(*who));
            after.fail_request(agent, &Spend::default()).unwrap();
            // Of what was set aside another agent may have got a part meanwhile.
            let kept = before.agents[&agent].reserve;
            let left = after.agents[&agent].reserve;
            prop_assert_eq!(left.at_most(&kept), left);
            after.set_reserve(agent, kept);
            prop_assert_eq!(&after, before);
        }
        _ => {}
    }
    Ok(())
}

/// Each agent that is not closing yet can still do so with all that it has sent and received, all
/// of them one after the other.
fn all_can_close(world: &World) -> Result<(), TestCaseError> {
    let mut accounts = world.accounts.clone();
    let empty = Ask { input_estimate: 0, response_cap: 0, least_output: 0, ..ASK };
    for number in 0..world.agents.len() {
        let account = &accounts.agents[&id(number)];
        let waits = account.stage == Stage::Open && account.pending.is_none();
        if waits && account.reserve.steps == 1 {
            let ask = world.next.get(&number).unwrap_or(&empty);
            let granted = accounts.reserve_request(id(number), ask);
            prop_assert!(granted.is_ok(), "{number}: {granted:?}");
        }
    }
    Ok(())
}

fn check(world: &World) -> Result<(), TestCaseError> {
    for scope in world.scopes() {
        let book = world.accounts.book(scope).unwrap();
        prop_assert_eq!(book.spent, world.expected(scope), "{}", scope);
        for kind in LimitKind::COUNTED {
            let most = book.limits.get(kind).unwrap_or(u64::MAX);
            let fits = book.committed(kind) <= most || !world.accounts.on_limit.binds();
            prop_assert!(fits, "{scope} is over its {kind}: {book:?}");
        }
    }
    all_can_close(world)
}

/// Everything in flight is settled and every account closed, the youngest first.
fn wind_up(world: &mut World) -> Result<(), TestCaseError> {
    for number in (0..world.agents.len()).rev() {
        let account = &world.accounts.agents[&id(number)];
        if account.stage == Stage::Closed {
            continue;
        }
        let calls = account.calls;
        if account.pending.is_some() {
            world.play(&Op::Settle(number, 3)).unwrap();
        }
        world.play(&Op::Ran(number, calls)).unwrap();
        world.play(&Op::Close(number)).unwrap();
        check(world)?;
    }
    for scope in world.scopes() {
        let book = world.accounts.book(scope).unwrap();
        let rest = (book.spent, book.held, book.closing);
        let expected = (world.expected(scope), Sums::default(), Sums::default());
        prop_assert_eq!(rest, expected, "{}", scope);
    }
    Ok(())
}

proptest! {
    #![proptest_config(crate::laws::cases(10_000))]

    #[test]
    fn nothing_is_overspent_or_minted_whatever_the_agents_do(script in script()) {
        let mut world = World::new(&script);
        check(&world)?;
        for op in &script.ops {
            let before = world.accounts.clone();
            match world.play(op) {
                Ok(()) => undone(&before, &world, op)?,
                Err(refusal) => prop_assert_eq!(&world.accounts, &before, "{}", refusal),
            }
            check(&world)?;
        }
        let text = serde_json::to_string(&world.accounts).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Accounts>(&text).unwrap(), &world.accounts);
        wind_up(&mut world)?;
    }
}
