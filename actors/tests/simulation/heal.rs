//! The end of a story: everything in flight ends well, whoever is asked answers, and the family has
//! to come to rest by itself; one that circles is cancelled, and then it has to.

use kinfolk_actors::agent::{Phase, Verdict};
use kinfolk_actors::id::{AgentId, AskId};

use crate::invariant::Fault;
use crate::outcome;
use crate::world::{Ready, World};

/// More steps than any healing of these small families needs.
const HEALING: usize = 600;

impl World {
    pub fn heal(&mut self) {
        let by_itself = self.drain();
        if !by_itself {
            if self.setting.honest {
                let why = format!("it does not end by itself: {:?}", self.lead().phase);
                self.faults.push(Fault { law: "rest", why });
            }
            self.cancel(AgentId::LEAD);
            self.reconcile();
            if !self.drain() {
                let why = format!("it does not end when cancelled: {:?}", self.lead().phase);
                self.faults.push(Fault { law: "rest", why });
            }
        }
    }

    /// Lets things end until the family is at rest; whether it is.
    fn drain(&mut self) -> bool {
        let mut resumed = 0;
        for _ in 0..HEALING {
            if !self.loaded.values().any(|loaded| loaded.state.is_active()) {
                return true;
            }
            if !self.faults.is_empty() {
                return true;
            }
            let asks: Vec<AskId> = self
                .loaded
                .values()
                .flat_map(|loaded| loaded.state.open_asks().map(|(id, _)| id))
                .collect();
            let ready: Vec<Ready> = self.in_flight();
            let ready: Vec<Ready> = ready.into_iter().filter(|one| self.can_end(one)).collect();
            let deferred = self.deferred();
            if let Some(one) = ready.last().cloned() {
                self.settle(&one, outcome::well);
            } else if let Some(call) = deferred.first() {
                self.deliver(*call);
            } else if let Some(id) = asks.first() {
                let before = self.steps;
                self.answer(*id);
                self.approve(*id, Verdict::Deny);
                assert!(self.steps > before);
            } else if self.lead().phase == Phase::Interrupted && resumed < 1 {
                resumed += 1;
                self.resume();
            } else if self.lead().phase == Phase::Interrupted {
                self.cancel(AgentId::LEAD);
            } else {
                return false;
            }
            self.reconcile();
        }
        false
    }

    /// Whether something in flight ends while a family heals: timers do not fire.
    fn can_end(&self, ready: &Ready) -> bool {
        use kinfolk_actors::agent::{Key, Work};
        use kinfolk_actors::machine::Demand;
        let (Demand::Run(work) | Demand::Stop(work)) = &ready.demand;
        match work {
            Work::Child { started } => {
                let Key::Child(call) = ready.key else { return false };
                let children = self.state(ready.agent).map(|state| &state.children);
                let asked = children.and_then(|children| children.get(&call)?.asked);
                self.lost.contains(&started.subagent)
                    || self.told_by(started.subagent, asked).is_some()
            }
            Work::Timer { .. } => false,
            Work::Model { .. }
            | Work::Tool { .. }
            | Work::Lease { .. }
            | Work::Audit { .. }
            | Work::Tell { .. }
            | Work::Summary { .. } => true,
        }
    }
}
