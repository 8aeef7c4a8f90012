//! The laws of the machine over random histories of a family. Each test holds one of them.

use std::collections::{BTreeMap, BTreeSet};

use kinfolk_actors::agent::{
    AgentMachine, AgentState, Command, Key, Outcome, Phase, Refusal, failed,
};
use kinfolk_actors::call::{CallKind, CallStatus};
use kinfolk_actors::context::{RequestMessage, model_request};
use kinfolk_actors::event::{Event, Message};
use kinfolk_actors::failure::{ErrorCode, Failure};
use kinfolk_actors::id::{AgentId, CallId, Offset, RequestNo, RunId};
use kinfolk_actors::machine::Machine;
use kinfolk_actors::usage::Usage;
use proptest::prelude::*;

use crate::bench::fold;
use crate::fixture::*;
use crate::runs::assert_paired;
use crate::script::script;
use crate::world::{Line, Step, World, refold};

fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// A chain of events: an agent's of one run; the lead's goes through all of them.
type Chain = (Option<RunId>, AgentId);

fn chain(machine: &AgentMachine) -> Chain {
    let id = machine.id();
    ((!id.is_lead()).then_some(machine.run), id)
}

pub fn by_run(world: &World) -> BTreeMap<RunId, Vec<&Line>> {
    let mut runs: BTreeMap<RunId, Vec<&Line>> = BTreeMap::new();
    world.journal.iter().for_each(|line| runs.entry(line.run).or_default().push(line));
    runs
}

/// Outcomes of which each key can have some.
fn outcomes() -> Vec<Outcome> {
    let error = Failure::new(ErrorCode::ModelTimeout, "slow");
    let call = proposed(0, &ask_scout("t"), CallKind::Subagent);
    vec![
        Outcome::Replied(reply("text", vec![])),
        Outcome::Replied(reply("", vec![raw_call("write", "{}"), ask_scout("t")])),
        Outcome::ModelFailed { error, usage: Usage::default() },
        tool_ok("r"),
        Outcome::Leased,
        reported_by(report(&scout_started(1, &call, "t"), "r")),
        Outcome::Panicked { message: "oh".into() },
        Outcome::Gone,
    ]
}

fn fits(key: Key, outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Replied(_) | Outcome::ModelFailed { .. } => matches!(key, Key::Model(_)),
        Outcome::Tool { .. } => matches!(key, Key::Tool(_)),
        Outcome::Leased => matches!(key, Key::Lease(_)),
        Outcome::Child { .. } => matches!(key, Key::Child(_)),
        Outcome::Panicked { .. } | Outcome::Gone => true,
    }
}

fn keys(state: &AgentState) -> BTreeSet<Key> {
    AgentMachine::outstanding(state).into_keys().collect()
}

/// What would follow if the agent took this command now.
fn follow(step: &Step, command: &Command) -> Result<AgentState, Refusal> {
    let events = step.machine.decide(&step.after, command, &step.facts)?;
    let mut state = step.after.clone();
    events.iter().for_each(|event| AgentMachine::evolve(&mut state, event));
    Ok(state)
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn replay_folding_the_events_gives_the_live_state(script in script()) {
        let world = World::play(&script);
        let mut chains: BTreeMap<Chain, Vec<Event>> = BTreeMap::new();
        for step in &world.steps {
            let events = chains.entry(chain(&step.machine)).or_default();
            prop_assert_eq!(&fold(events), &step.before);
            events.extend_from_slice(step.events());
            prop_assert_eq!(&fold(events), &step.after);
        }
        prop_assert_eq!(refold(&world.journal), world.ledger);
    }

    #[test]
    fn stillness_a_refusal_changes_nothing_and_a_decision_is_a_function(script in script()) {
        let world = World::play(&script);
        for step in &world.steps {
            let again = step.machine.decide(&step.before, &step.command, &step.facts);
            prop_assert_eq!(&again, &step.result);
            if step.result.is_err() {
                prop_assert_eq!(&step.before, &step.after);
            }
        }
    }

    #[test]
    fn bounds_what_is_in_flight_stays_under_the_caps(script in script()) {
        let world = World::play(&script);
        let caps = world.family.caps;
        let parallel = caps.max_parallel.max(1) as usize;
        for step in &world.steps {
            let keys = keys(&step.after);
            let count = |is: fn(&Key) -> bool| keys.iter().filter(|key| is(key)).count();
            prop_assert!(count(|key| matches!(key, Key::Tool(_))) <= 8);
            prop_assert!(count(|key| matches!(key, Key::Lease(_) | Key::Model(_))) <= 1);
            prop_assert!(count(|key| matches!(key, Key::Child(_))) <= parallel);
            prop_assert!(step.after.children.len() <= caps.max_subagents as usize);
            prop_assert!(step.machine.depth() <= caps.max_depth);
            let calls = step.events().iter().map(calls_of).sum::<usize>();
            let open = step.before.calls as usize + calls;
            prop_assert!(step.events().len() <= 4 + 3 * open, "{:?}", step.events());
        }
        for lines in by_run(&world).values() {
            let numbers: Vec<u32> = lines.iter().filter_map(|line| started(&line.event)).collect();
            let expected: Vec<u32> = (1..).take(numbers.len()).collect();
            prop_assert_eq!(&numbers, &expected, "subagents are numbered without gaps");
            prop_assert!(numbers.len() <= caps.max_subagents as usize);
        }
    }

    #[test]
    fn one_change_runs_at_a_time_and_nothing_beside_it(script in script()) {
        let world = World::play(&script);
        for step in &world.steps {
            let Phase::Acting(turn) = &step.after.phase else { continue };
            let running: Vec<CallKind> = turn.dispatched().map(|call| call.kind).collect();
            let alone = running.iter().any(|kind| *kind != LOOK && *kind != CallKind::Subagent);
            prop_assert!(!alone || running.len() == 1, "{running:?}");
            let children = running.contains(&CallKind::Subagent);
            prop_assert!(!children || !running.contains(&LOOK), "{running:?}");
        }
    }

    #[test]
    fn quiescence_once_the_model_asks_for_nothing_the_family_comes_to_rest(script in script()) {
        let world = World::play(&script);
        prop_assert!(world.healed);
    }

    #[test]
    fn finality_each_run_has_one_end_and_it_is_the_last_event(script in script()) {
        let world = World::play(&script);
        for lines in by_run(&world).values() {
            let is_end = |line: &&&Line| matches!(line.event, Event::RunFinished(_));
            prop_assert_eq!(lines.iter().filter(is_end).count(), 1);
            prop_assert!(lines.last().as_ref().is_some_and(is_end));
        }
    }

    #[test]
    fn finality_each_call_has_one_result_and_begins_at_most_once(script in script()) {
        let world = World::play(&script);
        let (mut proposed, mut begun, mut ended) = (vec![], vec![], vec![]);
        for line in &world.journal {
            match &line.event {
                Event::Message(Message::Assistant(reply)) => {
                    proposed.extend(reply.calls.iter().map(|call| call.call));
                }
                Event::ToolStarted(started) => begun.push(started.call),
                Event::ToolFinished(finished) => ended.push(finished.call),
                _ => {}
            }
        }
        let unique: BTreeSet<CallId> = proposed.iter().copied().collect();
        prop_assert_eq!(unique.len(), proposed.len());
        prop_assert_eq!(begun.iter().collect::<BTreeSet<_>>().len(), begun.len());
        ended.sort();
        prop_assert_eq!(ended, unique.into_iter().collect::<Vec<_>>());
    }

    #[test]
    fn finality_each_subagent_reports_once_and_says_nothing_after(script in script()) {
        let world = World::play(&script);
        for lines in by_run(&world).values() {
            let mut begun: Vec<u32> =
                lines.iter().filter_map(|line| started(&line.event)).collect();
            let mut reported = vec![];
            for line in lines {
                prop_assert!(!reported.contains(&line.agent.0), "{} goes on", line.agent);
                if let Event::SubagentFinished(finished) = &line.event {
                    prop_assert_eq!(finished.subagent, line.agent);
                    reported.push(line.agent.0);
                }
            }
            begun.sort_unstable();
            reported.sort_unstable();
            prop_assert_eq!(begun, reported);
        }
    }

    #[test]
    fn the_tree_is_dead_before_an_agent_ends(script in script()) {
        let world = World::play(&script);
        for step in &world.steps {
            if step.before.is_active() && !step.after.is_active() {
                prop_assert!(keys(&step.after).is_empty());
                let children = step.before.children.values();
                let living: Vec<AgentId> = children
                    .filter(|child| child.settled.is_none())
                    .map(|child| child.started.subagent)
                    .collect();
                // The step that ends an agent may settle its last subagent, not more.
                prop_assert!(living.len() <= 1, "{living:?}");
            }
        }
    }

    #[test]
    fn a_change_is_never_run_again_after_a_crash(script in script()) {
        let world = World::play(&script);
        for step in &world.steps {
            let Command::Recovered(_) = step.command else { continue };
            let (Phase::Acting(turn), after) = (&step.before.phase, keys(&step.after)) else {
                continue;
            };
            for call in turn.dispatched().filter(|call| [BOOK, WRITE].contains(&call.kind)) {
                prop_assert!(!after.contains(&Key::Tool(call.call)));
                let unknown = step.events().iter().any(|event| match event {
                    Event::ToolFinished(finished) => {
                        finished.call == call.call
                            && finished.result.status == CallStatus::UnknownOutcome
                    }
                    _ => false,
                });
                prop_assert!(unknown);
            }
        }
    }

    #[test]
    fn pairing_every_request_answers_every_call_once_in_place(script in script()) {
        let world = World::play(&script);
        for step in &world.steps {
            if let Phase::Thinking { .. } = step.after.phase {
                assert_paired(&model_request(&step.machine, &step.after).messages);
            }
        }
    }

    #[test]
    fn requests_grow_only_at_their_end(script in script()) {
        let world = World::play(&script);
        let mut sent: BTreeMap<Chain, Vec<RequestMessage>> = BTreeMap::new();
        for step in &world.steps {
            let messages = model_request(&step.machine, &step.after).messages;
            let before = sent.entry(chain(&step.machine)).or_default();
            prop_assert!(messages.starts_with(before));
            *before = messages;
        }
    }

    #[test]
    fn the_sums_of_a_run_are_those_of_its_whole_family(script in script()) {
        let world = World::play(&script);
        for lines in by_run(&world).values() {
            let mut sum = Usage::default();
            lines.iter().for_each(|line| sum.add(&used(&line.event)));
            let Some(Event::RunFinished(finished)) = lines.last().map(|line| &line.event) else {
                prop_assert!(false, "no end");
                continue;
            };
            prop_assert_eq!(finished.usage, sum);
            let agents: Vec<u32> = finished.agents.iter().map(|sums| sums.agent.0).collect();
            let begun = lines.iter().filter(|line| started(&line.event).is_some()).count();
            prop_assert_eq!(agents, (0..).take(begun + 1).collect::<Vec<u32>>());
            let first = lines.first().map_or(finished.duration_ms.0, |line| line.at.0);
            let last = lines.last().map_or(0, |line| line.at.0);
            prop_assert_eq!(finished.duration_ms.0, last - first);
        }
    }

    #[test]
    fn a_resumed_run_says_where_it_goes_on(script in script()) {
        let world = World::play(&script);
        for (at, line) in world.journal.iter().enumerate() {
            if let Event::RunResumed(resumed) = &line.event {
                prop_assert_eq!(resumed.from_offset, Offset(at as u64));
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn passport_a_state_survives_json_at_every_step(script in script()) {
        let world = World::play(&script);
        for step in &world.steps {
            let text = serde_json::to_string(&step.after).unwrap();
            prop_assert_eq!(&serde_json::from_str::<AgentState>(&text).unwrap(), &step.after);
        }
    }

    #[test]
    fn progress_every_fitting_outcome_is_taken_and_removes_its_key(script in script()) {
        let world = World::play(&script);
        for step in &world.steps {
            for key in keys(&step.after) {
                for outcome in outcomes() {
                    let followed = follow(step, &settle(key, outcome.clone()));
                    if fits(key, &outcome) {
                        let state = followed.unwrap();
                        prop_assert!(!keys(&state).contains(&key), "{key:?} {outcome:?}");
                    } else {
                        prop_assert_eq!(followed.unwrap_err(), Refusal::Misfit(key));
                    }
                }
            }
        }
    }

    #[test]
    fn fencing_an_outcome_of_what_is_not_in_flight_is_stale(script in script()) {
        let world = World::play(&script);
        let mut seen: BTreeMap<Chain, BTreeSet<Key>> = BTreeMap::new();
        for step in &world.steps {
            let seen = seen.entry(chain(&step.machine)).or_default();
            let living = keys(&step.after);
            seen.extend(&living);
            for key in seen.difference(&living) {
                for outcome in outcomes() {
                    let refusal = follow(step, &settle(*key, outcome)).unwrap_err();
                    prop_assert_eq!(refusal, Refusal::Stale(*key));
                }
            }
        }
    }

    #[test]
    fn no_command_in_any_state_panics_or_leaves_an_agent_between_decisions(script in script()) {
        let world = World::play(&script);
        for step in &world.steps {
            let call = CallId { run: step.machine.run, agent: step.machine.id(), n: 0 };
            let mut keys = keys(&step.after);
            let any = [Key::Model(RequestNo(1)), Key::Tool(call), Key::Lease(call), Key::Child(call)];
            keys.extend(any);
            let crashed = failed(Failure::new(ErrorCode::AgentCrashed, "too often"));
            let mut commands =
                vec![start("again"), cancel(), recovered(9), recovered_to_end(9, crashed)];
            for key in keys {
                commands.extend(outcomes().into_iter().map(|outcome| settle(key, outcome)));
            }
            for command in &commands {
                if let Ok(state) = follow(step, command) {
                    prop_assert_ne!(&state.phase, &Phase::Deciding, "{:?}", command);
                    assert_paired(&model_request(&step.machine, &state).messages);
                }
            }
        }
    }
}

fn calls_of(event: &Event) -> usize {
    match event {
        Event::Message(Message::Assistant(reply)) => reply.calls.len(),
        _ => 0,
    }
}

fn started(event: &Event) -> Option<u32> {
    match event {
        Event::SubagentStarted(started) => Some(started.subagent.0),
        _ => None,
    }
}

fn used(event: &Event) -> Usage {
    match event {
        Event::Message(Message::Assistant(reply)) => {
            let tool_calls = reply.calls.len() as u64;
            let mut used = Usage { turns: 1, tool_calls, ..Usage::default() };
            used.add(&reply.usage);
            used
        }
        Event::ModelFailed(failed) => failed.usage,
        _ => Usage::default(),
    }
}
