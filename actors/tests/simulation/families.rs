//! The families of one test run, and the tests that read their verdicts.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::OnceLock;

use crate::coverage::hand_over;
use crate::dice::Dice;
use crate::invariant::{Fault, all};
use crate::world::World;

/// Families in one test run.
const COUNT: u64 = 10_000;

/// Threads that play them.
const PLAYERS: u64 = 2;

/// A family that broke a law.
struct Broken {
    seed: u64,
    fault: Fault,
}

pub struct Verdict {
    count: u64,
    broken: Vec<Broken>,
    pub contended: u64,
    steps: u64,
}

impl Verdict {
    /// Whether enough families were played that all should have been reached.
    pub fn whole(&self) -> bool {
        self.count >= COUNT
    }
}

fn setting(name: &str, default: u64) -> u64 {
    #[expect(clippy::disallowed_methods, reason = "the seed of a test run is given from outside")]
    let text = std::env::var(name);
    text.map_or(default, |text| text.parse().unwrap())
}

pub fn verdict() -> &'static Verdict {
    static VERDICT: OnceLock<Verdict> = OnceLock::new();
    VERDICT.get_or_init(|| {
        let (first, count) = (setting("KINFOLK_SEED", 1), setting("KINFOLK_COUNT", COUNT));
        println!("families: KINFOLK_SEED={first} KINFOLK_COUNT={count}");
        let mut verdict = Verdict { count, broken: vec![], contended: 0, steps: 0 };
        #[expect(clippy::disallowed_methods, reason = "the players share nothing")]
        std::thread::scope(|scope| {
            let players: Vec<_> = (0..PLAYERS)
                .map(|player| scope.spawn(move || play((first + player..first + count).step_by(2))))
                .collect();
            for player in players {
                let part = player.join().unwrap();
                verdict.broken.extend(part.broken);
                verdict.contended += part.contended;
                verdict.steps += part.steps;
            }
        });
        verdict
    })
}

fn play(seeds: impl Iterator<Item = u64>) -> Verdict {
    let mut verdict = Verdict { count: 0, broken: vec![], contended: 0, steps: 0 };
    for seed in seeds {
        let played = std::panic::catch_unwind(|| one(seed));
        match played {
            Ok((faults, contended, steps)) => {
                verdict.contended += contended;
                verdict.steps += steps;
                let broken = faults.into_iter().map(|fault| Broken { seed, fault });
                verdict.broken.extend(broken);
            }
            Err(_) => {
                let fault = Fault { law: "no panic", why: "see above".to_owned() };
                verdict.broken.push(Broken { seed, fault });
            }
        }
    }
    hand_over();
    verdict
}

/// Plays one family to its end.
fn one(seed: u64) -> (Vec<Fault>, u64, u64) {
    let mut world = World::new(seed, all());
    let happenings = 5 + Dice::new(seed ^ 0xfa).below(45);
    world.start();
    world.reconcile();
    for _ in 0..happenings {
        if world.faults.is_empty() {
            world.happen();
            world.reconcile();
        }
    }
    if world.faults.is_empty() {
        world.heal();
    }
    if world.faults.is_empty() {
        world.close();
    }
    tell(&world);
    (world.faults, world.contended, world.steps)
}

/// Writes the story of a family, if it is asked for.
fn tell(world: &World) {
    if setting("KINFOLK_STORY", 0) == 0 {
        return;
    }
    for line in &world.journal {
        println!("{} {} {:?}", line.run.0.as_u128(), line.agent, line.event);
    }
}

#[test]
fn every_law_holds_in_every_family() {
    let verdict = verdict();
    let mut by_law: BTreeMap<&str, Vec<&Broken>> = BTreeMap::new();
    for broken in &verdict.broken {
        by_law.entry(broken.fault.law).or_default().push(broken);
    }
    let mut report = String::new();
    for (law, broken) in &by_law {
        let first = broken[0];
        let why: String = first.fault.why.chars().take(6_000).collect();
        writeln!(
            report,
            "{law}: {} families, the first KINFOLK_SEED={}\n{why}\n",
            broken.len(),
            first.seed
        )
        .unwrap();
    }
    println!("{} steps, {} contended", verdict.steps, verdict.contended);
    assert!(by_law.is_empty(), "{report}");
}
