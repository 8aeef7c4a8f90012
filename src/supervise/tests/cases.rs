//! The cases K01 to K04, and the order of a result and the end of its actor.

use tokio::sync::oneshot;

use super::*;
use crate::supervise::queue::BoundedQueue;

struct Command {
    n: u32,
    done: oneshot::Sender<u32>,
}

type Commands = Arc<BoundedQueue<Command>>;

/// Works on the queue in batches and panics on the first command that it ever sees.
struct Worker {
    commands: Commands,
    handled: Log<u32>,
}

enum WorkerMsg {
    Bell,
}

impl Actor for Worker {
    type Msg = WorkerMsg;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<WorkerMsg>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn handle(
        &self,
        _: ActorRef<WorkerMsg>,
        WorkerMsg::Bell: WorkerMsg,
        (): &mut (),
    ) -> Result<(), ActorProcessingErr> {
        for command in self.commands.take(16) {
            self.handled.push(command.n);
            assert!(command.n != 1, "cannot do 1");
            tokio::task::yield_now().await;
            let _ = command.done.send(command.n);
        }
        Ok(())
    }
}

fn work(commands: &Commands, handled: &Log<u32>) -> Play {
    let (commands, handled) = (Arc::clone(commands), handled.clone());
    Play::new(move |_, scope| {
        let (commands, handled) = (Arc::clone(&commands), handled.clone());
        async move {
            let worker = Worker { commands: Arc::clone(&commands), handled };
            scope.spawn("child", Puppet::PLAIN, keep(())).await?;
            let worker = scope.spawn("worker", worker, ()).await?;
            commands.attach(move || drop(worker.cast(WorkerMsg::Bell)));
            Ok(())
        }
    })
}

fn send(commands: &Commands, n: u32) -> oneshot::Receiver<u32> {
    let (done, answer) = oneshot::channel();
    assert!(commands.try_push(Command { n, done }).is_ok());
    answer
}

#[tokio::test(start_paused = true)]
async fn k01_commands_behind_the_one_that_panics_are_handled_in_order_once() {
    let (root, handled) = (root(), Log::default());
    let commands = Arc::new(BoundedQueue::new(16));
    let mut answers: Vec<_> = (1..=10).map(|n| send(&commands, n)).collect();
    let mut status = add(root.supervisor(), "family", work(&commands, &handled));
    assert!(answers.remove(0).await.is_err(), "the sender of 1 is told");
    let answers = futures::future::try_join_all(answers).await;
    assert_eq!(answers, Ok((2..=10).collect()));
    reach(&mut status, &running(2)).await;
    assert_eq!(handled.entries(), (1..=10).collect::<Vec<_>>());

    // A stop and a new start instead of a panic; the commands arrive while nobody is there.
    root.supervisor().stop_unit(&"family".into(), Duration::from_secs(1)).await;
    let answers: Vec<_> = (11..=13).map(|n| send(&commands, n)).collect();
    add(root.supervisor(), "family", work(&commands, &handled));
    assert_eq!(futures::future::try_join_all(answers).await, Ok(vec![11, 12, 13]));
    assert_eq!(handled.entries(), (1..=13).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn k03_a_panic_is_told_with_its_text_and_the_next_generation_works() {
    let root = root();
    let (unit, lead) = solo(&Census::default());
    let hooks = unit.hooks.clone();
    let mut status = add(root.supervisor(), "family", unit);
    reach(&mut status, &running(1)).await;
    act(&lead, Act::Panic("boom"));
    reach(&mut status, &running(2)).await;
    let lock = Arc::new(Mutex::new(0));
    act(&lead, Act::PanicWithLock(Arc::clone(&lock)));
    reach(&mut status, &running(3)).await;
    assert_eq!(*lock.lock(), 1);
    act(&lead, Act::Fail("no luck"));
    reach(&mut status, &running(4)).await;
    let failures = [
        exit(1, "lead", ExitClass::Panic, "boom"),
        exit(2, "lead", ExitClass::Panic, "with a lock"),
        exit(3, "lead", ExitClass::Error, "no luck"),
    ];
    let told = failures.map(|failure| {
        let halted = Hook::Halted(failure.generation.0);
        [Hook::Failed(failure), halted]
    });
    assert_eq!(hooks.entries(), told.concat());
}

#[tokio::test(start_paused = true)]
async fn k03_a_panic_in_a_helper_task_fails_the_generation() {
    let root = root();
    let unit = Play::new(|generation, scope| async move {
        scope.spawn("lead", Puppet::PLAIN, keep(())).await?;
        scope.spawn_task("helper", async move {
            assert!(generation > Generation::FIRST, "helper panics");
            Ok(())
        })?;
        Ok(())
    });
    let hooks = unit.hooks.clone();
    let mut status = add(root.supervisor(), "family", unit);
    reach(&mut status, &running(2)).await;
    root.shutdown(Duration::from_secs(1)).await;
    let expected = [
        Hook::Failed(exit(1, "helper", ExitClass::Panic, "helper panics")),
        Hook::Halted(1),
        Hook::Exited(exit(2, "helper", ExitClass::Normal, "")),
        Hook::Stop(2),
        Hook::Exited(exit(2, "lead", ExitClass::Normal, "")),
        Hook::Halted(2),
        Hook::Ended(UnitStatus::Stopped),
    ];
    assert_eq!(hooks.entries(), expected);
}

#[tokio::test(start_paused = true)]
async fn k04_children_end_without_the_lead_and_with_it_and_can_tell_why() {
    let (root, endings) = (root(), Log::default());
    let lead = Slot::default();
    let (log, slot) = (endings.clone(), Arc::clone(&lead));
    let unit = Play::new(move |_, scope| {
        let (log, slot) = (log.clone(), Arc::clone(&slot));
        async move {
            *slot.lock() = Some(scope.spawn("lead", Puppet::PLAIN, keep(())).await?);
            let acts = [Some(Act::Quit), Some(Act::Kill), Some(Act::Panic("child")), None];
            for (name, act) in ["ends", "killed", "panics", "stays"].into_iter().zip(acts) {
                let kept = keep(AsksWhy(scope.clone(), log.clone()));
                let child = scope.spawn_alone(name, Puppet::PLAIN, kept).await?;
                act.map(|act| child.cast(act));
            }
            Ok(())
        }
    });
    let hooks = unit.hooks.clone();
    let mut status = add(root.supervisor(), "family", unit);
    reach(&mut status, &running(1)).await;
    while hooks.entries().len() < 3 {
        tokio::task::yield_now().await;
    }
    let record = [
        Hook::Exited(exit(1, "ends", ExitClass::Normal, "")),
        Hook::Exited(exit(1, "killed", ExitClass::Killed, "")),
        Hook::Exited(exit(1, "panics", ExitClass::Panic, "child")),
    ];
    assert_eq!(hooks.entries(), record);
    assert_eq!(endings.entries(), [None, None, None]);
    assert_eq!(*status.borrow(), running(1));

    act(&lead, Act::Panic("lead"));
    reach(&mut status, &running(2)).await;
    assert_eq!(endings.entries()[3..4], [Some(Ending::Failed)]);
    let told = [Hook::Failed(exit(1, "lead", ExitClass::Panic, "lead")), Hook::Halted(1)];
    assert_eq!(hooks.entries()[3..5], told);
}

#[tokio::test(start_paused = true)]
async fn k03_the_generation_is_over_before_the_actor_that_failed_is_gone() {
    let (root, endings, lead) = (root(), Log::default(), Slot::default());
    let (log, slot) = (endings.clone(), Arc::clone(&lead));
    let unit = Play::new(move |_, scope| {
        let (slot, kept) = (Arc::clone(&slot), keep(AsksWhy(scope.clone(), log.clone())));
        async move {
            *slot.lock() = Some(scope.spawn("lead", Puppet::PLAIN, kept).await?);
            Ok(())
        }
    });
    let mut status = add(root.supervisor(), "family", unit);
    reach(&mut status, &running(1)).await;
    act(&lead, Act::Panic("boom"));
    reach(&mut status, &running(2)).await;
    assert_eq!(endings.entries(), [Some(Ending::Failed)]);
}

#[tokio::test]
async fn a_result_arrives_before_the_end_of_its_actor() {
    struct Lead(Log<&'static str>);
    impl Actor for Lead {
        type Msg = &'static str;
        type State = ();
        type Arguments = ();
        async fn pre_start(
            &self,
            _: ActorRef<Self::Msg>,
            (): (),
        ) -> Result<(), ActorProcessingErr> {
            Ok(())
        }
        async fn handle(
            &self,
            _: ActorRef<Self::Msg>,
            message: Self::Msg,
            (): &mut (),
        ) -> Result<(), ActorProcessingErr> {
            self.0.push(message);
            Ok(())
        }
    }
    #[derive(Default)]
    struct Family(Log<&'static str>, Mutex<Option<ActorRef<&'static str>>>);
    impl Unit for Family {
        fn start(&self, _: Generation, scope: Scope) -> BoxFuture<'_, Started> {
            Box::pin(async move {
                let lead = scope.spawn("lead", Lead(self.0.clone()), ()).await?;
                *self.1.lock() = Some(lead.clone());
                for _ in 0..200 {
                    let child = scope.spawn("sub-1", Puppet::PLAIN, keep(())).await?;
                    let lead = lead.clone();
                    drop(child.cast(Act::Call(Box::new(move || drop(lead.cast("result"))))));
                    drop(child.cast(Act::Quit));
                }
                Ok(())
            })
        }
        fn exited(&self, _: &Exit) {
            self.1.lock().as_ref().map(|lead| lead.cast("down"));
        }
    }
    let root = root();
    let family = Arc::new(Family::default());
    let log = family.0.clone();
    root.supervisor().add("family".into(), RestartPolicy::default(), family).unwrap();
    let all = async {
        while log.entries().len() < 400 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), all).await.unwrap();
    let (mut results, mut downs) = (0, 0);
    for entry in log.entries() {
        results += usize::from(entry == "result");
        downs += usize::from(entry == "down");
        assert!(downs <= results, "{downs} ends after {results} results");
    }
    assert_eq!((results, downs), (200, 200));
    root.shutdown(Duration::from_secs(10)).await;
}
