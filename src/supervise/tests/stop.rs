//! Stops: in order first, by force at the deadline, and complete in both cases.

use super::*;
use crate::supervise::scope::SpawnRefused;

#[tokio::test(start_paused = true)]
async fn a_stop_in_order_lets_actors_finish_and_then_nothing_is_left() {
    let (root, census) = (root(), Census::default());
    let (unit, lead) = solo(&census);
    let hooks = unit.hooks.clone();
    let mut status = add(root.supervisor(), "family", unit);
    reach(&mut status, &running(1)).await;
    let (handled, log) = (Log::default(), hooks.clone());
    let done = handled.clone();
    act(&lead, Act::Call(Box::new(move || done.push(log.entries()))));
    let began = Instant::now();
    root.supervisor().stop_unit(&"family".into(), Duration::from_secs(10)).await;
    assert_eq!(began.elapsed(), Duration::ZERO);
    assert_eq!(handled.entries(), [vec![]]);
    assert_eq!(
        hooks.entries(),
        [
            Hook::Stop(1),
            Hook::Exited(exit(1, "lead", ExitClass::Normal, "")),
            Hook::Halted(1),
            Hook::Ended(UnitStatus::Stopped)
        ]
    );
    assert_eq!(census.living(), 0);
    assert!(root.supervisor().status(&"family".into()).is_none());
}

#[tokio::test(start_paused = true)]
async fn who_does_not_stop_in_time_is_killed_at_the_deadline() {
    let (root, census, endings) = (root(), Census::default(), Log::default());
    let (living, log) = (census.clone(), endings.clone());
    let unit = Play::new(move |_, scope| {
        let why = AsksWhy(scope.clone(), log.clone());
        let kept = [living.enter(), living.enter(), living.enter()];
        async move {
            let [one, two, three] = kept;
            scope.spawn("clings", Puppet::CLINGS, keep((one, why))).await?;
            let hangs = scope.spawn("hangs", Puppet::PLAIN, keep(two)).await?;
            drop(hangs.cast(Act::Hang));
            scope.spawn_task("task", async move {
                let _three = three;
                std::future::pending().await
            })?;
            Ok(())
        }
    });
    let hooks = unit.hooks.clone();
    let mut status = add(root.supervisor(), "family", unit);
    reach(&mut status, &running(1)).await;
    let began = Instant::now();
    root.supervisor().stop_unit(&"family".into(), Duration::from_secs(10)).await;
    assert_eq!(began.elapsed(), Duration::from_secs(10));
    assert_eq!(census.living(), 0);
    assert_eq!(endings.entries(), [Some(Ending::Stopped)]);
    // Those who were killed for the stop did not fail.
    assert_eq!(hooks.entries(), [Hook::Stop(1), Hook::Halted(1), Hook::Ended(UnitStatus::Stopped)]);
}

#[tokio::test(start_paused = true)]
async fn a_failure_during_a_stop_ends_it_at_once_and_restarts_nothing() {
    let (root, census) = (root(), Census::default());
    let (lead, living) = (Slot::default(), census.clone());
    let filled = Arc::clone(&lead);
    let unit = Play::new(move |_, scope| {
        let (slot, kept) = (Arc::clone(&filled), keep(living.enter()));
        async move {
            scope.spawn("clings", Puppet::CLINGS, kept).await?;
            *slot.lock() = Some(scope.spawn("lead", Puppet::PLAIN, keep(())).await?);
            scope.spawn_task("fate", async {
                tokio::time::sleep(Duration::from_secs(3)).await;
                Err(UnitFailure::new("meanwhile"))
            })?;
            Ok(())
        }
    });
    let mut status = add(root.supervisor(), "family", unit);
    reach(&mut status, &running(1)).await;
    let began = Instant::now();
    root.supervisor().stop_unit(&"family".into(), Duration::from_secs(10)).await;
    assert_eq!(began.elapsed(), Duration::from_secs(3));
    assert_eq!((*status.borrow()).clone(), UnitStatus::Stopped);
    assert_eq!((census.living(), census.most()), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_stop_while_a_start_hangs_or_a_unit_backs_off_comes_at_once() {
    let (root, census) = (root(), Census::default());
    let living = census.clone();
    let mut hanging = add(
        root.supervisor(),
        "hanging",
        Play::new(move |_, scope| {
            let kept = keep(living.enter());
            async move {
                scope.spawn("lead", Puppet::PLAIN, kept).await?;
                std::future::pending().await
            }
        }),
    );
    let mut failing =
        add(root.supervisor(), "failing", Play::new(|_, _| async { Err(UnitFailure::new("no")) }));
    let (next, wait) = (Generation(2), Duration::from_millis(100));
    reach(&mut failing, &UnitStatus::BackingOff { next, wait }).await;
    reach(&mut hanging, &UnitStatus::Starting { generation: Generation::FIRST }).await;
    let began = Instant::now();
    root.shutdown(Duration::from_secs(10)).await;
    assert_eq!(began.elapsed(), Duration::ZERO);
    assert_eq!(*failing.borrow(), UnitStatus::Stopped);
    assert_eq!(*hanging.borrow(), UnitStatus::Stopped);
    assert_eq!(census.living(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_goes_through_the_tree_in_reverse_and_leaves_nothing() {
    let (root, census, order) = (root(), Census::default(), Log::default());
    let shard = Supervisor::new(StopOrder::Together);
    let policy = RestartPolicy::default();
    let solo = |name: &'static str| {
        let (living, order) = (census.clone(), order.clone());
        Play::new(move |_, scope| {
            struct Leaves(Log<&'static str>, &'static str, #[expect(dead_code)] Instance);
            impl Drop for Leaves {
                fn drop(&mut self) {
                    self.0.push(self.1);
                }
            }
            let kept = keep(Leaves(order.clone(), name, living.enter()));
            async move { scope.spawn("lead", Puppet::PLAIN, kept).await.map(drop).map_err(Into::into) }
        })
    };
    let mut statuses = vec![
        add(root.supervisor(), "writer", solo("writer")),
        add(root.supervisor(), "gateway", solo("gateway")),
        add(&shard, "family", solo("family")),
    ];
    root.supervisor().add("shard".into(), policy, Arc::new(shard.clone())).unwrap();
    for status in &mut statuses {
        reach(status, &running(1)).await;
    }
    root.shutdown(Duration::from_secs(1)).await;
    assert_eq!(order.entries(), ["family", "gateway", "writer"]);
    let last: Vec<UnitStatus> = statuses.iter().map(|status| status.borrow().clone()).collect();
    assert_eq!(last, vec![UnitStatus::Stopped; 3]);
    assert_eq!(*root.status().borrow(), UnitStatus::Stopped);
    assert_eq!(census.living(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_that_runs_out_of_time_is_complete_all_the_same() {
    let (root, census) = (root(), Census::default());
    let shard = Supervisor::new(StopOrder::Reverse);
    root.supervisor()
        .add("shard".into(), RestartPolicy::default(), Arc::new(shard.clone()))
        .unwrap();
    let mut statuses = Vec::new();
    for name in ["a", "b", "c"] {
        let living = census.clone();
        statuses.push(add(
            &shard,
            name,
            Play::new(move |_, scope| {
                let kept = keep(living.enter());
                async move {
                    scope.spawn("lead", Puppet::CLINGS, kept).await.map(drop).map_err(Into::into)
                }
            }),
        ));
    }
    for status in &mut statuses {
        reach(status, &running(1)).await;
    }
    let began = Instant::now();
    root.shutdown(Duration::from_secs(4)).await;
    assert_eq!(began.elapsed(), Duration::from_secs(4));
    assert_eq!((census.living(), census.most()), (0, 3));
}

#[tokio::test(start_paused = true)]
async fn nothing_starts_in_a_generation_that_is_over() {
    let (root, scopes) = (root(), Log::default());
    let log = scopes.clone();
    let mut status = add(
        root.supervisor(),
        "family",
        Play::new(move |_, scope| {
            log.push(scope);
            async { Ok(()) }
        }),
    );
    reach(&mut status, &running(1)).await;
    let scope = scopes.entries().remove(0);
    assert!(!scope.is_over());
    root.supervisor().stop_unit(&"family".into(), Duration::ZERO).await;
    scope.over().await;
    let over = SpawnRefused::Over { unit: "family".into(), generation: Generation::FIRST };
    let actor = scope.spawn("late", Puppet::PLAIN, keep(())).await.map(drop);
    assert_eq!(actor, Err(over.clone()));
    assert_eq!(scope.spawn_task("late", async { Ok(()) }), Err(over));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_root_kills_its_tree() {
    let (root, census) = (root(), Census::default());
    let (gone, told) = tokio::sync::oneshot::channel::<()>();
    let once = Mutex::new(Some((gone, census.enter())));
    let mut status = add(
        root.supervisor(),
        "family",
        Play::new(move |_, scope| {
            let kept = keep(once.lock().take());
            async move { scope.spawn("lead", Puppet::CLINGS, kept).await.map(drop).map_err(Into::into) }
        }),
    );
    reach(&mut status, &running(1)).await;
    drop(root);
    let told = tokio::time::timeout(Duration::from_secs(60), told).await;
    assert!(told.is_ok_and(|sender| sender.is_err()), "the actor lives on");
    tokio::task::yield_now().await;
    assert_eq!(census.living(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_name_is_taken_until_its_unit_is_stopped() {
    let (root, census) = (root(), Census::default());
    add(root.supervisor(), "family", solo(&census).0);
    let again = Arc::new(solo(&census).0);
    let policy = RestartPolicy::default();
    let refused = root.supervisor().add("family".into(), policy, again.clone()).err();
    assert_eq!(refused, Some(crate::supervise::supervisor::AddRefused::Exists("family".into())));
    root.supervisor().stop_unit(&"family".into(), Duration::from_secs(1)).await;
    let mut status = root.supervisor().add("family".into(), policy, again).unwrap();
    reach(&mut status, &running(1)).await;
    assert_eq!((census.living(), census.most()), (1, 1));
}
