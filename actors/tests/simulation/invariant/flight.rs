//! What is in flight stays under the caps, and one change runs at a time with no tool beside it.

use kinfolk_actors::agent::{AgentMachine, Key, Phase};
use kinfolk_actors::call::{CallKind, EffectClass};
use kinfolk_actors::machine::Machine;

use super::{Invariant, hold};
use crate::world::{Step, World};

pub struct Flight;

impl Invariant for Flight {
    fn name(&self) -> &'static str {
        "flight"
    }

    fn step(&mut self, step: &Step, world: &World) -> Result<(), String> {
        let caps = world.setting.family.caps;
        let parallel = usize::try_from(caps.max_parallel.max(1)).unwrap();
        let keys = AgentMachine::outstanding(&step.after);
        let count = |is: fn(&Key) -> bool| keys.keys().filter(|key| is(key)).count();
        hold!(count(|key| matches!(key, Key::Tool(_))) <= 8, "{keys:?}");
        let alone = |key: &Key| matches!(key, Key::Lease(_) | Key::Model(_) | Key::Summary(_));
        hold!(count(alone) <= 1, "{keys:?}");
        hold!(count(|key| matches!(key, Key::Child(_))) <= parallel, "{keys:?}");
        let most = usize::try_from(caps.max_subagents).unwrap();
        hold!(step.after.children.len() <= most, "{} children", step.after.children.len());
        hold!(step.machine.depth() <= caps.max_depth, "too deep");
        let calls = step.after.turn().map_or(0, |turn| turn.calls.len());
        let before = step.before.turn().map_or(0, |turn| turn.calls.len());
        let events = step.events().len();
        hold!(events <= 12 + 4 * (calls + before + 20), "{events} events in one decision");
        let Phase::Acting(turn) = &step.after.phase else { return Ok(()) };
        let tools: Vec<EffectClass> = turn
            .dispatched()
            .filter(|call| call.is_tool())
            .filter_map(|call| call.effect())
            .collect();
        let changes = tools.iter().any(|effect| *effect != EffectClass::ReadOnly);
        hold!(!changes || tools.len() == 1, "a change beside others: {tools:?}");
        let delegates = turn.dispatched().any(|call| call.kind == CallKind::Subagent);
        // A tool that waited for a person may begin beside subagents that began meanwhile.
        let waited = turn.calls.iter().any(|call| call.proposed.gate != Default::default());
        hold!(!delegates || tools.is_empty() || waited, "tools beside subagents");
        Ok(())
    }
}
