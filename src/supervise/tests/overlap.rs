//! Generations never overlap, whatever holds the old one up and whoever dies.

use std::sync::mpsc;

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn an_actor_that_blocks_its_thread_is_waited_for() {
    let (root, census) = (root(), Census::default());
    let (slot, blocked) = (Slot::default(), Slot::default());
    let (lead, tool, living) = (Arc::clone(&slot), Arc::clone(&blocked), census.clone());
    let unit = Play::new(move |_, scope| {
        let (lead, tool, instance) = (Arc::clone(&lead), Arc::clone(&tool), living.enter());
        async move {
            *lead.lock() = Some(scope.spawn("lead", Puppet::PLAIN, keep(())).await?);
            *tool.lock() = Some(scope.spawn("tool", Puppet::PLAIN, keep(instance)).await?);
            Ok(())
        }
    });
    let mut status = add(root.supervisor(), "family", unit);
    reach(&mut status, &running(1)).await;

    let (gate, blocks) = mpsc::channel();
    act(&blocked, Act::Block(blocks));
    act(&slot, Act::Panic("boom"));
    let halting = UnitStatus::Halting { generation: Generation::FIRST };
    reach(&mut status, &halting).await;
    // Longer than the wait before a restart and the time to the first report of a stuck actor: a
    // restart that comes too early shows here.
    let early = tokio::time::timeout(Duration::from_millis(1_500), status.changed()).await;
    assert!(early.is_err(), "went on to {:?}", *status.borrow());
    assert_eq!(census.living(), 1);

    drop(gate);
    reach(&mut status, &running(2)).await;
    assert_eq!((census.living(), census.most()), (1, 1));
    root.shutdown(Duration::from_secs(10)).await;
    assert_eq!(census.living(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_shutdown_out_of_time_waits_for_an_actor_that_blocks_its_thread() {
    let (root, census) = (root(), Census::default());
    let (unit, lead) = solo(&census);
    let mut status = add(root.supervisor(), "family", unit);
    reach(&mut status, &running(1)).await;
    let (gate, blocks) = mpsc::channel::<()>();
    let (inside, entered) = tokio::sync::oneshot::channel();
    act(
        &lead,
        Act::Call(Box::new(move || {
            let _ = inside.send(());
            let _ = blocks.recv();
        })),
    );
    entered.await.unwrap();
    let shutdown = root.shutdown(Duration::ZERO);
    let early = tokio::time::timeout(Duration::from_millis(300), shutdown).await;
    assert!(early.is_err(), "returned while an actor lives");
    assert_eq!(census.living(), 1);
    drop(gate);
    root.shutdown(Duration::ZERO).await;
    assert_eq!(*status.borrow(), UnitStatus::Stopped);
    assert_eq!(census.living(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_a_killed_actor_held_is_dropped_before_the_next_generation_starts() {
    let (root, census) = (root(), Census::default());
    let (lead, living) = (Slot::default(), census.clone());
    let filled = Arc::clone(&lead);
    let unit = Play::new(move |_, scope| {
        // A crowd, since a single one may be dropped in time by luck.
        let lead = Arc::clone(&filled);
        let crowd: Vec<Instance> = (0..50).map(|_| living.enter()).collect();
        async move {
            for (n, instance) in crowd.into_iter().enumerate() {
                let hangs =
                    scope.spawn(&*format!("sub-{n}"), Puppet::PLAIN, keep(instance)).await?;
                drop(hangs.cast(Act::Hang));
            }
            *lead.lock() = Some(scope.spawn("lead", Puppet::PLAIN, keep(())).await?);
            Ok(())
        }
    });
    let mut policy = RestartPolicy::default();
    policy.base_backoff.0 = 0;
    let mut status = root.supervisor().add("family".into(), policy, Arc::new(unit)).unwrap();
    for generation in 1..=5 {
        reach(&mut status, &running(generation)).await;
        act(&lead, Act::Panic("boom"));
    }
    reach(&mut status, &running(6)).await;
    assert_eq!((census.living(), census.most()), (50, 50));
}

#[tokio::test(start_paused = true)]
async fn a_draining_actor_and_one_in_post_stop_are_not_orphaned_by_a_restart() {
    let (root, census) = (root(), Census::default());
    let (lead, living) = (Slot::default(), census.clone());
    let filled = Arc::clone(&lead);
    let unit = Play::new(move |_, scope| {
        let (lead, kept) = (Arc::clone(&filled), [living.enter(), living.enter()]);
        async move {
            let [one, two] = kept;
            let drains = scope.spawn("drains", Puppet::PLAIN, keep(one)).await?;
            drop(drains.cast(Act::Hang));
            drop(drains.drain());
            let clings = scope.spawn("clings", Puppet::CLINGS, keep(two)).await?;
            clings.stop(None);
            *lead.lock() = Some(scope.spawn("lead", Puppet::PLAIN, keep(())).await?);
            Ok(())
        }
    });
    let mut status = add(root.supervisor(), "family", unit);
    reach(&mut status, &running(1)).await;
    act(&lead, Act::Panic("boom"));
    reach(&mut status, &running(2)).await;
    assert_eq!((census.living(), census.most()), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn a_supervisor_that_panics_comes_back_with_its_units_and_nothing_overlaps() {
    let root = root();
    let shard = Supervisor::new(StopOrder::Together);
    let policy = RestartPolicy::default();
    let mut shard_status =
        root.supervisor().add("shard".into(), policy, Arc::new(shard.clone())).unwrap();
    let (census, endings) = (Census::default(), Log::default());
    let (living, log) = (census.clone(), endings.clone());
    let mut status = add(
        &shard,
        "family",
        Play::new(move |_, scope| {
            let kept = keep((living.enter(), AsksWhy(scope.clone(), log.clone())));
            async move {
                drop(scope.spawn("lead", Puppet::CLINGS, kept).await?.cast(Act::Hang));
                Ok(())
            }
        }),
    );
    for generation in 1..=3 {
        reach(&mut shard_status, &running(generation)).await;
        reach(&mut status, &running(generation)).await;
        shard.panic_now();
    }
    reach(&mut status, &running(4)).await;
    assert_eq!(endings.entries(), [Some(Ending::SupervisorDied); 3]);
    root.supervisor().panic_now();
    reach(&mut status, &running(5)).await;
    assert_eq!((census.living(), census.most()), (1, 1));
    root.shutdown(Duration::from_secs(1)).await;
    assert_eq!(census.living(), 0);
    assert_eq!(*status.borrow(), UnitStatus::Stopped);
}

#[tokio::test(start_paused = true)]
async fn the_units_of_a_supervisor_that_failed_for_good_are_stopped() {
    let policy = RestartPolicy { max_restarts: 0, ..RestartPolicy::default() };
    let root = Root::start(policy, StopOrder::Reverse);
    let census = Census::default();
    let mut status = add(root.supervisor(), "family", solo(&census).0);
    reach(&mut status, &running(1)).await;
    root.supervisor().panic_now();
    reach(&mut status, &UnitStatus::Stopped).await;
    let reason =
        "more than 0 failures within 60s; the last one, of `supervisor`: the supervisor panics";
    reach(&mut root.status(), &UnitStatus::Failed { reason: reason.into() }).await;
    assert_eq!(census.living(), 0);
    let late = root.supervisor().add("late".into(), policy, Arc::new(solo(&census).0));
    assert_eq!(
        late.err().map(|error| error.to_string()).as_deref(),
        Some("unit `late` was not added: its supervisor is shutting down")
    );
}
