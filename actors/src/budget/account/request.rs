//! Model requests: what one may take, and what has to stay for the closing turn after it.
//!
//! A request holds its input and its whole output cap. Its agent's reserve then becomes what the
//! next request would need if it were the closing one: all that this one sends and may receive,
//! and the least output. Where that no longer fits, this request is the closing one itself. What
//! tools will answer is not known in advance: the closing turn finds room for it in what is free.

use serde::{Deserialize, Serialize};

use super::ask::{Ask, Purpose, Shape};
use super::book::{Bound, Scope, Sums};
use super::{Accounts, Refusal, Stage};
use crate::id::AgentId;
use crate::limits::LimitKind;
use crate::money::Money;

/// A request that may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Granted {
    /// The limit that makes it the closing one, if it is: announced, without tools.
    pub closing: Option<Bound>,
    /// The output cap to send.
    pub max_output: u64,
}

/// What a request really took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spend {
    /// Input and output tokens together.
    pub tokens: u64,
    /// Money; zero if the model has no prices.
    pub cost: Money,
}

/// A request in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pending {
    pub(super) ask: Ask,
    pub(super) max_output: u64,
    held: Sums,
    /// What was set aside before, for a request that comes to nothing.
    reserve_before: Sums,
}

impl Accounts {
    /// Reserves a request. It is the closing one if a normal one would not leave room for that.
    ///
    /// # Errors
    /// [`Refusal::Reached`] if not even the closing one fits, or the policy has none;
    /// [`Refusal::AfterClosing`], [`Refusal::Busy`], [`Refusal::NoAccount`].
    pub fn reserve_request(&mut self, agent: AgentId, ask: &Ask) -> Result<Granted, Refusal> {
        let account = self.active(agent)?;
        if account.pending.is_some() {
            return Err(Refusal::Busy(agent));
        }
        if let Stage::Closing(_) = account.stage {
            return Err(Refusal::AfterClosing(agent));
        }
        let granted = self.quote(agent, ask).map_err(Refusal::Reached)?;
        self.take(agent, ask, &granted);
        Ok(granted)
    }

    /// The request is answered: a step, and what it took.
    ///
    /// # Errors
    /// [`Refusal::Idle`] without a request in flight; [`Refusal::NoAccount`].
    pub fn settle_request(&mut self, agent: AgentId, used: &Spend) -> Result<(), Refusal> {
        let pending = self.land(agent)?;
        self.spend(agent, LimitKind::Steps, pending.held.steps);
        self.pay(agent, used);
        // The closing turn sends what was sent and received, no longer what might have been.
        if let Purpose::Turn = pending.ask.purpose {
            let mut reserve = self.active(agent)?.reserve;
            let least = pending.ask.least();
            reserve.tokens = reserve.tokens.min(used.tokens.saturating_add(least));
            let next = pending.ask.amounts(used.tokens, least).cost;
            reserve.cost = reserve.cost.min(next);
            self.set_reserve(agent, reserve);
        }
        Ok(())
    }

    /// The request failed for good without an answer: no step, but what it took. A closing turn
    /// that failed may be tried again.
    ///
    /// # Errors
    /// As [`Self::settle_request`].
    pub fn fail_request(&mut self, agent: AgentId, used: &Spend) -> Result<(), Refusal> {
        let pending = self.land(agent)?;
        self.pay(agent, used);
        let account = self.active(agent)?;
        let mut reserve = account.reserve;
        match account.stage {
            Stage::Closing(_) => {
                // Only what the request held is surely still there.
                let back = Sums {
                    steps: pending.held.steps,
                    tool_calls: 0,
                    tokens: pending.held.tokens.saturating_sub(used.tokens),
                    cost: pending.held.cost.minus(used.cost),
                };
                reserve = back.at_most(&pending.reserve_before);
                self.change(agent, |account| account.stage = Stage::Open);
            }
            Stage::Open | Stage::Closed => reserve = reserve.at_most(&pending.reserve_before),
        }
        self.set_reserve(agent, reserve);
        Ok(())
    }

    /// What became of the request is not known, so it is charged in full, its step too.
    ///
    /// # Errors
    /// As [`Self::settle_request`].
    pub fn void_request(&mut self, agent: AgentId) -> Result<(), Refusal> {
        let held = self.land(agent)?.held;
        self.spend(agent, LimitKind::Steps, held.steps);
        self.pay(agent, &Spend { tokens: held.tokens, cost: held.cost });
        Ok(())
    }

    /// An attempt failed and the same request is sent again: it is charged for what it took, and is
    /// no step. The output cap may be lower now.
    ///
    /// # Errors
    /// [`Refusal::Reached`] if there is no room for another attempt: fail the request with what the
    /// attempt took, and ask anew. [`Refusal::Idle`], [`Refusal::NoAccount`].
    pub fn retry_request(&mut self, agent: AgentId, used: &Spend) -> Result<Granted, Refusal> {
        let mut after = self.clone();
        let closing = after.closing(agent);
        let ask = after.active(agent)?.pending.ok_or(Refusal::Idle(agent))?.ask;
        after.fail_request(agent, used)?;
        let shape = match closing {
            Some(_) => Shape::Closing,
            None => after.shape(&ask),
        };
        let max_output = after.measure(agent, &ask, shape).map_err(Refusal::Reached)?;
        let granted = Granted { closing, max_output };
        after.take(agent, &ask, &granted);
        *self = after;
        Ok(granted)
    }

    /// Counts what was not reserved, for example a tool's own price.
    ///
    /// # Errors
    /// [`Refusal::NoAccount`].
    pub fn charge(&mut self, agent: AgentId, used: &Spend) -> Result<(), Refusal> {
        self.active(agent)?;
        self.pay(agent, used);
        Ok(())
    }

    fn quote(&self, agent: AgentId, ask: &Ask) -> Result<Granted, Bound> {
        match self.measure(agent, ask, self.shape(ask)) {
            Ok(max_output) => Ok(Granted { closing: None, max_output }),
            Err(bound) if self.on_limit.closes() && ask.purpose == Purpose::Turn => {
                let max_output = self.measure(agent, ask, Shape::Closing)?;
                Ok(Granted { closing: Some(bound), max_output })
            }
            Err(bound) => Err(bound),
        }
    }

    /// The shape of a request that is not the closing one.
    fn shape(&self, ask: &Ask) -> Shape {
        match ask.purpose {
            Purpose::Turn if self.on_limit.closes() => Shape::Normal,
            Purpose::Turn | Purpose::Summary => Shape::Plain,
        }
    }

    /// The output cap of a request of this shape, or the limit that leaves no room for it.
    fn measure(&self, agent: AgentId, ask: &Ask, shape: Shape) -> Result<u64, Bound> {
        let mut most = ask.response_cap;
        if !self.on_limit.binds() {
            return Ok(most);
        }
        let Some(account) = self.agents.get(&agent) else { return Ok(most) };
        let room = |kind: LimitKind| match shape {
            Shape::Normal | Shape::Closing => self.room(agent, kind, account.reserve.get(kind)),
            Shape::Plain => self.room(agent, kind, 0),
        };
        for (kind, places) in ask.places(shape) {
            if let Some((free, bound)) = room(kind)
                && free < places
            {
                return Err(bound);
            }
        }
        for (kind, price) in ask.prices() {
            if let Some((free, bound)) = room(kind) {
                // What a request costs may be known only afterwards: what is used up by then
                // binds all the same, but for the closing turn.
                if free == 0 && bound.used >= bound.of && bound.used > 0 && shape != Shape::Closing
                {
                    return Err(bound);
                }
                let output = price.most_output(free, ask, shape);
                most = most.min(output.filter(|output| *output >= ask.least()).ok_or(bound)?);
            }
        }
        match self.late(agent, shape) {
            Some(bound) => Err(bound),
            None => Ok(most),
        }
    }

    /// The limit on time that forbids a request, if one does. A closing turn comes when time is up,
    /// so it is not forbidden.
    fn late(&self, agent: AgentId, shape: Shape) -> Option<Bound> {
        let ahead = match shape {
            Shape::Normal => self.agents.get(&agent)?.closing_time.0,
            Shape::Plain => 0,
            Shape::Closing => return None,
        };
        let kind = LimitKind::Time;
        let late = |scope: Scope| {
            let of = self.book(scope)?.limits.get(kind)?;
            let used = self.elapsed(scope).0;
            (used.saturating_add(ahead) >= of).then_some(Bound { kind, scope, used, of })
        };
        self.open_scopes(agent, kind).into_iter().find_map(late)
    }

    fn take(&mut self, agent: AgentId, ask: &Ask, granted: &Granted) {
        let reserve_before =
            self.agents.get(&agent).map(|account| account.reserve).unwrap_or_default();
        let held = ask.amounts(ask.input_estimate, granted.max_output);
        let reserve = match (granted.closing, self.shape(ask)) {
            (Some(_), _) => Sums::default(),
            (None, Shape::Normal) => ask.closing_need(granted.max_output),
            (None, Shape::Plain | Shape::Closing) => reserve_before,
        };
        self.set_reserve(agent, reserve);
        for kind in LimitKind::COUNTED {
            self.hold(agent, kind, held.get(kind));
        }
        let max_output = granted.max_output;
        self.change(agent, |account| {
            account.pending = Some(Pending { ask: *ask, max_output, held, reserve_before });
            if let Some(bound) = granted.closing {
                account.stage = Stage::Closing(bound);
            }
        });
    }

    /// The request is not in flight any more: what it held is free.
    fn land(&mut self, agent: AgentId) -> Result<Pending, Refusal> {
        let pending = self.active(agent)?.pending.ok_or(Refusal::Idle(agent))?;
        self.change(agent, |account| account.pending = None);
        for kind in LimitKind::COUNTED {
            self.release(agent, kind, pending.held.get(kind));
        }
        Ok(pending)
    }

    fn pay(&mut self, agent: AgentId, used: &Spend) {
        self.spend(agent, LimitKind::Tokens, used.tokens);
        self.spend(agent, LimitKind::Cost, used.cost.pico());
    }
}
