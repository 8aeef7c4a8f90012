//! The random histories have to reach what the laws speak of, or the laws would hold for nothing.

use std::collections::BTreeMap;

use kinfolk_actors::call::CallStatus;
use kinfolk_actors::event::Event;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use crate::laws::by_run;
use crate::script::script;
use crate::world::{Line, Step, World};

#[test]
fn the_histories_reach_every_corner() {
    let mut runner = TestRunner::deterministic();
    let mut reached: BTreeMap<&str, usize> = BTreeMap::new();
    for _ in 0..256 {
        let world = World::play(&script().new_tree(&mut runner).unwrap().current());
        let mut count = |what, times| *reached.entry(what).or_default() += times;
        let has = |is: fn(&Line) -> bool| world.journal.iter().filter(|line| is(line)).count();
        count("a race for a subagent's place", world.contended);
        count("a second run", by_run(&world).len() - 1);
        count("a resumed run", has(|line| matches!(line.event, Event::RunResumed(_))));
        count("an end from outside", has(|line| matches!(line.event, Event::Ending(_))));
        count(
            "a subagent of a subagent",
            has(
                |line| matches!(&line.event, Event::SubagentStarted(started) if started.depth == 2),
            ),
        );
        for status in CallStatus::ALL {
            let finished = world.steps.iter().flat_map(Step::events).filter(
                |event| matches!(event, Event::ToolFinished(end) if end.result.status == status),
            );
            count(status_name(status), finished.count());
        }
    }
    // Nobody denies a call yet.
    reached.remove("denied");
    let missing: Vec<_> = reached.iter().filter(|(_, times)| **times == 0).collect();
    assert!(missing.is_empty(), "never reached: {missing:?}");
}

fn status_name(status: CallStatus) -> &'static str {
    match status {
        CallStatus::Ok => "ok",
        CallStatus::Error => "error",
        CallStatus::Timeout => "timeout",
        CallStatus::Cancelled => "cancelled",
        CallStatus::Denied => "denied",
        CallStatus::Blocked => "blocked",
        CallStatus::Malformed => "malformed",
        CallStatus::UnknownTool => "unknown_tool",
        CallStatus::UnknownOutcome => "unknown_outcome",
        CallStatus::Limit => "limit",
    }
}
