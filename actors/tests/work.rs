//! What a decision costs, counted and not timed: the memory that it asks for.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use kinfolk_actors::agent::{
    AgentMachine, AgentState, Command, Key, Member, Outcome, RawCall, RawReply, Start,
};
use kinfolk_actors::brain::PhaseBrain;
use kinfolk_actors::budget::Ledger;
use kinfolk_actors::call::CallStatus;
use kinfolk_actors::context::model_request;
use kinfolk_actors::event::{Event, Finish, RunKind};
use kinfolk_actors::family::{Family, FamilyHash};
use kinfolk_actors::id::{AgentId, CallId, Offset, RequestNo, RunId};
use kinfolk_actors::machine::Machine;
use kinfolk_actors::time::{Millis, Timestamp};
use kinfolk_actors::usage::Usage;
use uuid::Uuid;

/// Counts what the thread asks for. Tests run beside each other, so each thread counts for itself.
struct Counting;

thread_local! {
    static ASKED: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

// SAFETY: every call goes on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ASKED.with(|asked| {
            let (times, bytes) = asked.get();
            asked.set((times + 1, bytes + u64::try_from(layout.size()).unwrap_or(u64::MAX)));
        });
        // SAFETY: the caller's promises are those that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer came from `alloc`, and so from the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often memory is asked for, and how many bytes.
fn work<T>(of: impl FnOnce() -> T) -> (u64, u64) {
    let before = ASKED.get();
    drop(of());
    let after = ASKED.get();
    (after.0 - before.0, after.1 - before.1)
}

const RUN: RunId = RunId(Uuid::from_u128(1));

struct Bench {
    machine: AgentMachine,
    state: AgentState,
    ledger: Ledger,
    now: u64,
}

impl Bench {
    /// A lead that has called a tool in so many turns and thinks again.
    fn after(turns: u32) -> Self {
        let json = serde_json::json!({
            "lead": {
                "prompt": "You answer in short sentences.",
                "model": "test:model",
                "tools": [{
                    "name": "look", "description": "Looks at a place",
                    "schema": "{}", "effect": "read_only",
                }],
            },
            // Nothing is compacted here: the history has to get long.
            "models": { "test:model": { "profile": { "window": 10_000_000, "response": 4_096 } } },
        });
        let family: Arc<Family> = Arc::new(serde_json::from_value(json).unwrap());
        let machine = AgentMachine {
            run: RUN,
            member: Member::Lead,
            family: Arc::clone(&family),
            family_hash: FamilyHash([0; 32]),
            brain: Arc::new(PhaseBrain),
        };
        let (state, ledger) = (AgentState::default(), Ledger::new(family));
        let mut bench = Self { machine, state, ledger, now: 0 };
        let input = "Look at all places.".into();
        bench.take(&Command::Start(Start {
            input,
            kind: RunKind::Request,
            parent_run: None,
            prepared_at: None,
        }));
        for n in 0..turns {
            bench.take(&replied(n));
            bench.take(&looked(n));
        }
        bench
    }

    fn decide(&self, command: &Command) -> Vec<Event> {
        let facts = self.ledger.facts(Timestamp(self.now), Offset(self.now));
        self.machine.decide(&self.state, command, &facts).unwrap()
    }

    fn take(&mut self, command: &Command) {
        self.now += 1;
        for event in &self.decide(command) {
            AgentMachine::evolve(&mut self.state, event);
            self.ledger.record(RUN, AgentId::LEAD, Timestamp(self.now), event);
        }
    }
}

/// The reply to request `n + 1`: one call with arguments of its own.
fn replied(n: u32) -> Command {
    let arguments = format!(r#"{{"at":"place {n:05}"}}"#).into();
    let reply = RawReply {
        cost: None,
        text: "I look at the next place.".into(),
        calls: vec![RawCall { provider_id: "".into(), name: "look".into(), arguments }],
        finish: Finish::ToolCalls,
        usage: Usage { model_requests: 1, output_tokens: 20, ..Usage::default() },
        model: "model".into(),
        duration: Millis(1),
        opaque: None,
    };
    let key = Key::Model(RequestNo(n + 1));
    Command::Settle { key, outcome: Outcome::Replied(reply) }
}

fn looked(n: u32) -> Command {
    let text = "There is a lighthouse and a row of white houses.".into();
    let outcome = Outcome::Tool { status: CallStatus::Ok, text, duration: Millis(1) };
    Command::Settle { key: Key::Tool(CallId { run: RUN, agent: AgentId::LEAD, n }), outcome }
}

#[test]
fn a_fresh_agent_is_smaller_than_two_kilobytes() {
    let fresh = Bench::after(0);
    assert!(size_of::<AgentState>() < 2_000, "{} bytes", size_of::<AgentState>());
    let json = serde_json::to_string(&fresh.state).unwrap();
    assert!(json.len() < 2_000, "{} bytes: {json}", json.len());
    // What it holds beside itself, counted when it is copied: it shares its texts.
    let (_, bytes) = work(|| fresh.state.clone());
    println!("state {}, JSON {}, copied {bytes} bytes", size_of::<AgentState>(), json.len());
    assert!(bytes < 2_000, "{bytes} bytes");
}

#[test]
fn a_decision_costs_the_same_after_a_thousand_turns_as_after_ten() {
    let cost = |turns| {
        let bench = Bench::after(turns);
        let command = replied(turns);
        work(|| bench.decide(&command))
    };
    let (early, late) = (cost(10), cost(1_000));
    println!("a decision: {early:?} after 10 turns, {late:?} after 1,000 (allocations, bytes)");
    let near = |late: u64, early: u64| late <= early + early / 10;
    assert!(near(late.0, early.0) && near(late.1, early.1), "{late:?} after {early:?}");
}

#[test]
fn a_request_costs_in_proportion_to_its_history() {
    let cost = |turns| {
        let bench = Bench::after(turns);
        work(|| model_request(&bench.machine, &bench.state))
    };
    let (hundred, thousand) = (cost(100), cost(1_000));
    println!("a request: {hundred:?} after 100 turns, {thousand:?} after 1,000");
    let linear = |more: u64, less: u64| more <= 11 * less;
    assert!(
        linear(thousand.0, hundred.0) && linear(thousand.1, hundred.1),
        "{thousand:?} after {hundred:?}"
    );
}
