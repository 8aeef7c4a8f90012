//! The place of a session in a runtime: at most one family holds it.

use std::sync::{Arc, Weak};

use kinfolk_actors::id::{RunId, SessionId};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::family::activation::Activation;
use crate::hub::Hub;

/// A session in this runtime, whoever holds handles to it.
pub(crate) struct Slot {
    pub session: SessionId,
    pub hub: Arc<Hub>,
    active: Mutex<Option<Active>>,
    /// Whether a run has given way and the next one is about to start by itself.
    following: watch::Sender<bool>,
}

/// The activation that holds the session.
struct Active {
    run: RunId,
    /// Weak: its supervisor holds it while it lives, and a session at rest holds nothing of it.
    family: Weak<Activation>,
    gone: CancellationToken,
    /// Until a family is at work: fires when it is, or when the place is free again.
    decided: Option<CancellationToken>,
}

impl Active {
    /// Has whoever waits for the place look again.
    fn decide(self) {
        if let Some(decided) = self.decided {
            decided.cancel();
        }
    }
}

impl Slot {
    pub fn new(session: SessionId) -> Self {
        let (hub, following) = (Arc::new(Hub::new()), watch::Sender::new(false));
        Self { session, hub, active: Mutex::default(), following }
    }

    /// The living family of a run.
    pub fn family_of(&self, run: RunId) -> Option<Arc<Activation>> {
        let active = self.active.lock();
        active.as_ref().filter(|active| active.run == run)?.family.upgrade()
    }

    /// The run that is alive here. Waits for one that has ended until nothing of it is left, and
    /// for one that starts by itself until it has.
    pub(super) async fn active(&self) -> Option<RunId> {
        loop {
            let mut following = self.following.subscribe();
            // The sender is here, so it is never closed.
            drop(following.wait_for(|following| !following).await);
            let leaving = {
                let active = self.active.lock();
                match active.as_ref().filter(|active| !active.gone.is_cancelled()) {
                    None => return None,
                    Some(Active { decided: Some(decided), .. }) => decided.clone(),
                    Some(other) if self.has_ended(other.run) => other.gone.clone(),
                    Some(other) => return Some(other.run),
                }
            };
            leaving.cancelled().await;
        }
    }

    /// Notes that the next run starts by itself, or has.
    pub fn follow(&self, following: bool) {
        self.following.send_replace(following);
    }

    /// Waits until nothing of a run is left in this runtime.
    pub async fn gone(&self, run: RunId) {
        let gone = {
            let active = self.active.lock();
            active.as_ref().filter(|active| active.run == run).map(|active| active.gone.clone())
        };
        if let Some(gone) = gone {
            gone.cancelled().await;
        }
    }

    /// Takes the session for a run. A run that has ended is waited for; one that has not is an
    /// error. Whoever took the session without having a family at work yet is waited for too: it
    /// may fail, and then nobody would be at work. Cancel-safe.
    pub(super) async fn occupy(self: &Arc<Self>, run: RunId) -> Result<Place, RunId> {
        loop {
            let leaving = {
                let mut active = self.active.lock();
                match active.as_ref().filter(|active| !active.gone.is_cancelled()) {
                    None => {
                        let gone = CancellationToken::new();
                        let decided = Some(CancellationToken::new());
                        *active = Some(Active { run, family: Weak::new(), gone, decided });
                        return Ok(Place { slot: Arc::clone(self), run, kept: false });
                    }
                    Some(Active { decided: Some(decided), .. }) => decided.clone(),
                    Some(other) if self.has_ended(other.run) => other.gone.clone(),
                    Some(other) => return Err(other.run),
                }
            };
            leaving.cancelled().await;
        }
    }

    pub fn has_ended(&self, run: RunId) -> bool {
        self.hub.ends().borrow().as_ref().is_some_and(|end| end.run == run)
    }
}

/// A session taken for a run that is not at work yet. Dropping it frees the session.
pub(super) struct Place {
    slot: Arc<Slot>,
    run: RunId,
    kept: bool,
}

impl Place {
    pub(super) fn keep(mut self, family: &Arc<Activation>, gone: CancellationToken) {
        self.kept = true;
        let family = Arc::downgrade(family);
        let kept = Active { run: self.run, family, gone, decided: None };
        let taken = self.slot.active.lock().replace(kept);
        taken.into_iter().for_each(Active::decide);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.kept {
            let mut active = self.slot.active.lock();
            if let Some(taken) = active.take_if(|active| active.run == self.run) {
                // Whoever waits for the place looks again.
                taken.gone.cancel();
                taken.decide();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[test]
    fn who_asks_for_the_active_run_waits_for_one_that_starts_by_itself() {
        let slot = Arc::new(Slot::new("s".parse().unwrap()));
        assert_eq!(slot.active().now_or_never(), Some(None));
        slot.follow(true);
        assert_eq!(slot.active().now_or_never(), None);
        let run = RunId(uuid::Uuid::from_u128(1));
        let place = slot.occupy(run).now_or_never().unwrap().unwrap();
        slot.follow(false);
        assert_eq!(slot.active().now_or_never(), None, "it has no family yet");
        drop(place);
        assert_eq!(slot.active().now_or_never(), Some(None));
    }
}
