//! The queue that outlives its actor.

use super::*;
use crate::supervise::queue::{BoundedQueue, PushRefused};

fn belled(queue: &BoundedQueue<u32>) -> Arc<AtomicUsize> {
    let rings = Arc::new(AtomicUsize::new(0));
    let bell = Arc::clone(&rings);
    queue.attach(move || {
        bell.fetch_add(1, Ordering::SeqCst);
    });
    rings
}

#[test]
fn items_come_out_in_order_and_a_full_queue_gives_the_item_back() {
    let queue = BoundedQueue::new(2);
    assert_eq!(queue.try_push(1), Ok(()));
    assert_eq!(queue.try_push(2), Ok(()));
    assert_eq!(queue.try_push(3), Err(PushRefused::Full(3)));
    assert_eq!(queue.take(9).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(queue.try_push(3), Ok(()));
    assert_eq!(queue.len(), 1);
}

#[test]
fn at_most_one_bell_is_under_way_and_none_is_missed() {
    let queue = BoundedQueue::new(9);
    queue.try_push(1).unwrap();
    let rings = belled(&queue);
    assert_eq!(rings.load(Ordering::SeqCst), 1, "something waited already");
    queue.try_push(2).unwrap();
    queue.try_push(3).unwrap();
    assert_eq!(rings.load(Ordering::SeqCst), 1);
    assert_eq!(queue.take(2).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(rings.load(Ordering::SeqCst), 2, "one is left");
    assert_eq!(queue.take(2).collect::<Vec<_>>(), [3]);
    assert_eq!(rings.load(Ordering::SeqCst), 2);
    queue.try_push(4).unwrap();
    assert_eq!(rings.load(Ordering::SeqCst), 3);
    // The next actor, while the bell of the one before lies unread in a dead mailbox.
    let rings = belled(&queue);
    assert_eq!(rings.load(Ordering::SeqCst), 1);
}

#[test]
fn what_was_taken_but_not_begun_returns_to_the_front_and_counts_meanwhile() {
    let queue = BoundedQueue::new(4);
    (1..=3).for_each(|n| queue.try_push(n).unwrap());
    let rings = belled(&queue);
    let mut batch = queue.take(9);
    assert_eq!(batch.next(), Some(1));
    assert_eq!(queue.try_push(4), Ok(()));
    assert_eq!(queue.try_push(5), Ok(()));
    assert_eq!(queue.try_push(6), Err(PushRefused::Full(6)));
    let before = rings.load(Ordering::SeqCst);
    drop(batch);
    assert_eq!(rings.load(Ordering::SeqCst), before, "a bell was under way already");
    assert_eq!(queue.take(9).collect::<Vec<_>>(), [2, 3, 4, 5]);
    queue.try_push(7).unwrap();
    let rings = belled(&queue);
    drop(queue.take(9));
    assert_eq!(rings.load(Ordering::SeqCst), 2, "it came back, so somebody has to look again");
}

#[test]
fn a_closed_queue_hands_out_what_waits_and_takes_nothing() {
    let queue = BoundedQueue::new(4);
    (1..=3).for_each(|n| queue.try_push(n).unwrap());
    let batch = queue.take(1);
    assert_eq!(queue.close(), [2, 3]);
    drop(batch);
    assert_eq!(queue.try_push(4), Err(PushRefused::Closed(4)));
    assert_eq!(queue.take(9).collect::<Vec<_>>(), [0_u32; 0]);
    assert_eq!(queue.close(), [0_u32; 0]);
}
