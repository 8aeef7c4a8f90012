//! A bounded queue that outlives the actor which works on it.
//!
//! ractor's mailbox is unbounded and dies with its actor. So commands wait here, and the mailbox
//! gets at most one bell: a message that says "look into the queue".

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

/// Why a queue did not take an item. It gives the item back.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PushRefused<T> {
    /// It holds as many items as it may; try again later.
    #[error("the queue is full: try again when the actor has caught up")]
    Full(T),
    /// Nobody works on it any more.
    #[error("the queue is closed: its actor has ended for good")]
    Closed(T),
}

type Bell = Arc<dyn Fn() + Send + Sync>;

/// A first-in, first-out queue with a bound. Safe to share; no method waits.
pub(crate) struct BoundedQueue<T> {
    capacity: usize,
    // Held for a few instructions and never while a bell rings or an item is dropped.
    inner: Mutex<Inner<T>>,
}

struct Inner<T> {
    items: VecDeque<T>,
    /// Taken but not begun: they may come back, so they still count.
    lent: usize,
    closed: bool,
    bell: Option<Bell>,
    rung: bool,
}

impl<T> BoundedQueue<T> {
    /// An empty queue for at most `capacity` items; 0 counts as 1.
    pub(crate) fn new(capacity: usize) -> Self {
        let inner =
            Inner { items: VecDeque::new(), lent: 0, closed: false, bell: None, rung: false };
        Self { capacity: capacity.max(1), inner: Mutex::new(inner) }
    }

    /// Appends an item and rings, if no bell is under way.
    ///
    /// # Errors
    ///
    /// Gives the item back when the queue is full or closed.
    pub(crate) fn try_push(&self, item: T) -> Result<(), PushRefused<T>> {
        let mut inner = self.inner.lock();
        if inner.closed {
            return Err(PushRefused::Closed(item));
        }
        if inner.items.len() + inner.lent >= self.capacity {
            return Err(PushRefused::Full(item));
        }
        inner.items.push_back(item);
        let bell = inner.bell_to_ring();
        drop(inner);
        ring(bell);
        Ok(())
    }

    /// Appends an item beyond the bound, and rings. For answers to what the actor itself has asked
    /// for: their number is bounded by the questions. A closed queue drops it.
    pub(crate) fn push_reserved(&self, item: T) {
        let mut inner = self.inner.lock();
        if inner.closed {
            return;
        }
        inner.items.push_back(item);
        let bell = inner.bell_to_ring();
        drop(inner);
        ring(bell);
    }

    /// Connects the actor that works on the queue from now on, in place of the one before, and
    /// rings at once if something waits. `bell` sends the actor one message and must not block.
    pub(crate) fn attach(&self, bell: impl Fn() + Send + Sync + 'static) {
        let mut inner = self.inner.lock();
        let old = inner.bell.replace(Arc::new(bell));
        inner.rung = false;
        let bell = inner.bell_to_ring();
        drop(inner);
        drop(old);
        ring(bell);
    }

    /// Takes up to `most` items, in order. The actor calls this for each bell. If more wait, the
    /// bell rings again.
    ///
    /// Items of the batch that were not begun return to the front of the queue when the batch is
    /// dropped, so a panic or a kill loses only the item in hand.
    pub(crate) fn take(&self, most: usize) -> Batch<'_, T> {
        let mut inner = self.inner.lock();
        let count = most.min(inner.items.len());
        let items: VecDeque<T> = inner.items.drain(..count).collect();
        inner.lent += items.len();
        // Cleared under the lock that guards the items: a push after this rings again.
        inner.rung = false;
        let bell = inner.bell_to_ring();
        drop(inner);
        ring(bell);
        Batch { queue: self, items }
    }

    /// Refuses new items from now on, and hands out those that wait, so that their senders can be
    /// told. Items of a batch under way are dropped instead of returned.
    pub(crate) fn close(&self) -> Vec<T> {
        let mut inner = self.inner.lock();
        inner.closed = true;
        let bell = inner.bell.take();
        let items = std::mem::take(&mut inner.items);
        drop(inner);
        drop(bell);
        items.into()
    }

    /// How many items wait.
    pub(crate) fn len(&self) -> usize {
        let inner = self.inner.lock();
        inner.items.len() + inner.lent
    }
}

impl<T> Inner<T> {
    fn bell_to_ring(&mut self) -> Option<Bell> {
        if self.rung || self.items.is_empty() {
            return None;
        }
        let bell = self.bell.clone();
        self.rung = bell.is_some();
        bell
    }
}

fn ring(bell: Option<Bell>) {
    if let Some(bell) = bell {
        bell();
    }
}

/// Items taken from a queue. An iterator: an item that `next` gave out is begun and never returns.
pub(crate) struct Batch<'a, T> {
    queue: &'a BoundedQueue<T>,
    items: VecDeque<T>,
}

impl<T> Iterator for Batch<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        let item = self.items.pop_front()?;
        self.queue.inner.lock().lent -= 1;
        Some(item)
    }
}

impl<T> Drop for Batch<'_, T> {
    fn drop(&mut self) {
        let mut inner = self.queue.inner.lock();
        inner.lent -= self.items.len();
        if inner.closed {
            return;
        }
        while let Some(item) = self.items.pop_back() {
            inner.items.push_front(item);
        }
        let bell = inner.bell_to_ring();
        drop(inner);
        ring(bell);
    }
}
