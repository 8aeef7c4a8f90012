//! Restarts: their gaps, their end, and who decides.

use super::*;
use crate::supervise::scope::SpawnRefused;

fn millis_since(start: Instant) -> u128 {
    start.elapsed().as_millis()
}

async fn restarts(unit: impl Fn(Log<u128>) -> Play) -> (Vec<u128>, UnitStatus, UnitStatus) {
    let root = root();
    let sibling = add(root.supervisor(), "sibling", solo(&Census::default()).0);
    let starts = Log::default();
    let mut status = add(root.supervisor(), "failing", unit(starts.clone()));
    let last = status.wait_for(UnitStatus::is_final);
    assert!(
        tokio::time::timeout(Duration::from_secs(600), last).await.is_ok(),
        "restarts for ever"
    );
    tokio::time::sleep(Duration::from_secs(60)).await;
    let outcome = (starts.entries(), status.borrow().clone(), sibling.borrow().clone());
    root.shutdown(Duration::ZERO).await;
    outcome
}

fn failed(text: &str) -> UnitStatus {
    UnitStatus::Failed {
        reason: format!("more than 5 failures within 60s; the last one, {text}").into(),
    }
}

#[tokio::test(start_paused = true)]
async fn k02_a_unit_that_fails_in_its_start_restarts_five_times_with_growing_gaps_then_fails() {
    let began = Instant::now();
    let outcome = restarts(|starts| {
        Play::new(move |_, _| {
            starts.push(millis_since(began));
            async { Err(UnitFailure::new("no disk")) }
        })
    })
    .await;
    let starts = vec![0, 100, 300, 700, 1_500, 3_100];
    assert_eq!(outcome, (starts, failed("of `unit`: no disk"), running(1)));
}

#[tokio::test(start_paused = true)]
async fn k02_a_unit_that_starts_well_and_dies_each_time_restarts_five_times_then_fails() {
    let began = Instant::now();
    let outcome = restarts(|starts| {
        Play::new(move |_, scope| {
            starts.push(millis_since(began));
            async move {
                let lead = scope.spawn("lead", Puppet::PLAIN, keep(())).await?;
                scope.spawn_task("fate", async move {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    lead.cast(Act::Panic("again")).map_err(UnitFailure::new)
                })?;
                Ok(())
            }
        })
    })
    .await;
    let starts = vec![0, 150, 400, 850, 1_700, 3_350];
    assert_eq!(outcome, (starts, failed("of `lead`: again"), running(1)));
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_start_is_a_failure_of_the_unit() {
    let root = root();
    let unit = Play::new(|generation, _| async move {
        assert!(generation > Generation::FIRST, "not yet");
        Ok(())
    });
    let hooks = unit.hooks.clone();
    let mut status = add(root.supervisor(), "shy", unit);
    reach(&mut status, &running(2)).await;
    let failure = exit(1, "unit", ExitClass::Panic, "not yet");
    assert_eq!(hooks.entries(), [Hook::Failed(failure), Hook::Halted(1)]);
}

#[tokio::test(start_paused = true)]
async fn a_failed_start_of_an_actor_names_its_panic_and_leaves_the_generation_to_the_caller() {
    struct Stillborn;
    impl Actor for Stillborn {
        type Msg = ();
        type State = ();
        type Arguments = ();
        async fn pre_start(&self, _: ActorRef<()>, (): ()) -> Result<(), ActorProcessingErr> {
            panic!("no start")
        }
    }
    let (root, seen) = (root(), Log::default());
    let log = seen.clone();
    let mut status = add(
        root.supervisor(),
        "unit",
        Play::new(move |_, scope| {
            let log = log.clone();
            async move {
                log.push(scope.spawn("sub-1", Stillborn, ()).await.err());
                Ok(())
            }
        }),
    );
    reach(&mut status, &running(1)).await;
    let (who, class, text) = ("sub-1".into(), ExitClass::Panic, "no start".into());
    assert_eq!(seen.entries(), [Some(SpawnRefused::StartFailed { who, class, text })]);
}

#[tokio::test(start_paused = true)]
async fn a_unit_can_give_up_by_itself_and_its_last_status_reaches_it() {
    let (root, census) = (root(), Census::default());
    let (mut unit, lead) = solo(&census);
    unit.disposition = Disposition::GiveUp("the lead panics".into());
    let hooks = unit.hooks.clone();
    let mut status = add(root.supervisor(), "family", unit);
    reach(&mut status, &running(1)).await;
    act(&lead, Act::Panic("boom"));
    let last = UnitStatus::Failed { reason: "the lead panics".into() };
    reach(&mut status, &last).await;
    let failure = exit(1, "lead", ExitClass::Panic, "boom");
    assert_eq!(hooks.entries(), [Hook::Failed(failure), Hook::Halted(1), Hook::Ended(last)]);
    assert_eq!(census.living(), 0);
}

#[tokio::test(start_paused = true)]
async fn restarts_that_a_unit_asks_for_do_not_count() {
    let root = root();
    let (mut unit, lead) = solo(&Census::default());
    unit.disposition = Disposition::RestartAfter(Duration::from_millis(20));
    let mut status = add(root.supervisor(), "family", unit);
    for generation in 1..=10 {
        reach(&mut status, &running(generation)).await;
        act(&lead, Act::Fail("once more"));
    }
    reach(&mut status, &running(11)).await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_any_other_hook_neither_stops_nor_fails_more_than_it_must() {
    struct Rude(Census);
    impl Unit for Rude {
        fn start(&self, generation: Generation, scope: Scope) -> BoxFuture<'_, Started> {
            Box::pin(async move {
                let lead = scope.spawn("lead", Puppet::PLAIN, keep(self.0.enter())).await?;
                if generation == Generation::FIRST {
                    drop(lead.cast(Act::Quit));
                }
                Ok(())
            })
        }
        fn stop(&self, _: Generation, _: Instant) -> BoxFuture<'_, ()> {
            panic!("stop")
        }
        fn halted(&self, _: Generation) -> BoxFuture<'_, ()> {
            panic!("halted")
        }
        fn on_failure(&self, _: &Exit) -> Disposition {
            panic!("on_failure")
        }
        fn exited(&self, _: &Exit) {
            panic!("exited")
        }
        fn ended(&self, _: &UnitStatus) {
            panic!("ended")
        }
    }
    let (root, census) = (root(), Census::default());
    let unit = Arc::new(Rude(census.clone()));
    let mut status = root.supervisor().add("rude".into(), RestartPolicy::default(), unit).unwrap();
    // `exited` panicked in the first generation: a failure of the unit.
    reach(&mut status, &running(2)).await;
    root.supervisor().stop_unit(&"rude".into(), Duration::from_secs(1)).await;
    assert_eq!(*status.borrow(), UnitStatus::Stopped);
    assert_eq!((census.living(), census.most()), (0, 1));
}
