//! A future as a task of its own that ends with its owner.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::task::JoinError;
use tokio_util::task::AbortOnDropHandle;

/// What the task works on, until it is done or dropped.
type Slot<T> = Arc<Mutex<Option<BoxFuture<'static, T>>>>;

/// A running future. Dropping this drops the future at once if it waits, so that what it holds is
/// given back before its owner goes on; if a thread is in it just then, that thread drops it when
/// it comes out. The owner never waits for it.
pub(super) struct OwnTask<T> {
    slot: Slot<T>,
    handle: AbortOnDropHandle<T>,
}

impl<T: Send + 'static> OwnTask<T> {
    /// Starts the future on the runtime of the caller.
    pub fn start(work: impl Future<Output = T> + Send + 'static) -> Self {
        let slot: Slot<T> = Arc::new(Mutex::new(Some(Box::pin(work))));
        let handle = AbortOnDropHandle::new(tokio::spawn(InSlot(Arc::clone(&slot))));
        Self { slot, handle }
    }

    /// Waits for the end. Can be dropped and asked again, until it has answered.
    ///
    /// # Errors
    /// The future panicked, or the runtime shuts down.
    pub async fn end(&mut self) -> Result<T, JoinError> {
        (&mut self.handle).await
    }
}

impl<T> Drop for OwnTask<T> {
    fn drop(&mut self) {
        // A held lock means that a thread is in the future. The abort of the handle ends it then.
        let waiting = self.slot.try_lock().and_then(|mut slot| slot.take());
        // What the future holds may panic when it is dropped; that is not the owner's failure.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(waiting)));
    }
}

/// Polls what is in a slot. The lock is held while it is polled, never while it waits.
struct InSlot<T>(Slot<T>);

impl<T> Future for InSlot<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let mut slot = self.0.lock();
        // Nothing is left for a task that was dropped; its abort ends it.
        let Some(work) = slot.as_mut() else { return Poll::Pending };
        let polled = work.as_mut().poll(context);
        if polled.is_ready() {
            *slot = None;
        }
        polled
    }
}
