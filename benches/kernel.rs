//! What a decision costs, without a runtime around it: one `decide` and `evolve`, a request of a
//! short and of a long history, the policy, the comparison of arguments. `cargo bench --bench
//! kernel`; `docs/performance.md` says what the figures mean.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use kinfolk_actors::agent::{
    AgentMachine, AgentState, Answer, Command, Key, Member, Outcome, RawCall, RawReply, Start,
};
use kinfolk_actors::brain::PhaseBrain;
use kinfolk_actors::budget::Ledger;
use kinfolk_actors::call::{CallStatus, EffectClass};
use kinfolk_actors::context::model_request;
use kinfolk_actors::event::{Finish, RunKind};
use kinfolk_actors::family::{Family, FamilyHash};
use kinfolk_actors::id::{AgentId, AskId, CallId, Offset, RequestNo, RunId};
use kinfolk_actors::machine::Machine;
use kinfolk_actors::policy::Policy;
use kinfolk_actors::policy::canonical::{CallText, same_call};
use kinfolk_actors::policy::gate::{Audit, CallFacts, Origin, ToolFacts, decide};
use kinfolk_actors::time::{Millis, Timestamp};
use kinfolk_actors::usage::Usage;
use uuid::Uuid;

const RUN: RunId = RunId(Uuid::from_u128(1));

/// An agent at work with a ledger, as a shell holds them.
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
                    "schema": r#"{"type":"object","properties":{"at":{"type":"string"}}}"#,
                    "effect": "read_only",
                }, {
                    "name": "ask_user", "description": "Asks", "schema": "{}",
                    "effect": "read_only",
                }],
            },
            // Nothing is compacted here: the history has to get long.
            "models": { "test:model": { "profile": { "window": 10_000_000, "response": 4_096 } } },
        });
        let family: Arc<Family> = Arc::new(serde_json::from_value(json).expect("a family"));
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
        bench.step(&Command::Start(Start {
            input,
            kind: RunKind::Request,
            parent_run: None,
            prepared_at: None,
        }));
        for n in 0..turns {
            bench.step(&replied(n));
            bench.step(&looked(n));
        }
        bench
    }

    /// A lead that has asked the user so often, was answered, and thinks again.
    fn after_asks(asks: u32) -> Self {
        let mut bench = Self::after(0);
        for n in 0..asks {
            bench.step(&asked(n));
            let question = AskId { run: RUN, agent: AgentId::LEAD, n };
            bench.step(&Command::Answer(Answer { question, text: "Yes.".into(), by: None }));
        }
        bench
    }

    fn step(&mut self, command: &Command) {
        self.now += 1;
        let facts = self.ledger.facts(Timestamp(self.now), Offset(self.now));
        let events = self.machine.decide(&self.state, command, &facts).expect("taken");
        for event in &events {
            AgentMachine::evolve(&mut self.state, event);
            self.ledger.record(RUN, AgentId::LEAD, facts.now, event);
        }
    }
}

/// The reply to request `n + 1`: one call with arguments of its own.
fn replied(n: u32) -> Command {
    called(n, "look", format!(r#"{{"at":"place {n}"}}"#))
}

/// The same with a question to the user.
fn asked(n: u32) -> Command {
    called(n, "ask_user", format!(r#"{{"question":"Shall I look at place {n}?"}}"#))
}

fn called(n: u32, name: &str, arguments: String) -> Command {
    let call = RawCall { provider_id: "".into(), name: name.into(), arguments: arguments.into() };
    let reply = RawReply {
        cost: None,
        text: "I look at the next place.".into(),
        calls: vec![call],
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
    let outcome = Outcome::Tool {
        status: CallStatus::Ok,
        text: "There is a lighthouse, a harbour and a row of white houses.".into(),
        duration: Millis(1),
    };
    let call = CallId { run: RUN, agent: AgentId::LEAD, n };
    Command::Settle { key: Key::Tool(call), outcome }
}

fn decisions(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decide_and_evolve");
    for turns in [10, 100, 1_000] {
        let bench = Bench::after(turns);
        let facts = bench.ledger.facts(Timestamp(1), Offset(1));
        let command = replied(turns);
        group.bench_with_input(BenchmarkId::from_parameter(turns), &turns, |b, _| {
            b.iter_batched(
                || bench.state.clone(),
                |mut state| {
                    let events = bench.machine.decide(&state, &command, &facts).expect("taken");
                    events.iter().for_each(|event| AgentMachine::evolve(&mut state, event));
                    state
                },
                criterion::BatchSize::SmallInput,
            );
        });
    }
    group.finish();
}

fn asks(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decide_after_asks");
    for asks in [1, 100, 5_000] {
        let bench = Bench::after_asks(asks);
        let facts = bench.ledger.facts(Timestamp(1), Offset(1));
        let command = replied(asks);
        group.bench_with_input(BenchmarkId::from_parameter(asks), &asks, |b, _| {
            b.iter(|| bench.machine.decide(&bench.state, &command, &facts).expect("taken"));
        });
    }
    group.finish();
}

fn requests(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("request");
    for turns in [10, 100, 1_000] {
        let bench = Bench::after(turns);
        group.bench_with_input(BenchmarkId::from_parameter(turns), &turns, |b, _| {
            b.iter(|| model_request(black_box(&bench.machine), black_box(&bench.state)));
        });
    }
    group.finish();
}

fn policy(criterion: &mut Criterion) {
    let policy = Policy::default();
    let part = "git status --short && grep -rn 'needle in the haystack' src/ | sort -u; ";
    let command = part.repeat(2_048 / part.len());
    let arguments = serde_json::json!({ "command": command });
    let arguments = arguments.as_object().expect("an object");
    let tool = ToolFacts {
        name: "shell",
        server: None,
        origin: Origin::Host,
        effect: EffectClass::Changing,
        declared: None,
    };
    criterion.bench_function("policy_2kB_command", |b| {
        let call = CallFacts { arguments, audit: Audit::NotAsked };
        b.iter(|| decide(black_box(&policy), &tool, black_box(&call)));
    });
}

fn arguments(criterion: &mut Criterion) {
    let text = |order: bool| {
        let entry = |n: u32| format!(r#""key {n}":"a value of a few words, number {n}""#);
        let mut entries: Vec<String> = (0..40).map(entry).collect();
        if order {
            entries.reverse();
        }
        format!("{{{}}}", entries.join(", "))
    };
    let (one, other) = (text(false), text(true));
    criterion.bench_function("same_arguments_2kB", |b| {
        let call = |arguments| CallText { tool: "look", arguments };
        b.iter(|| same_call(black_box(call(&one)), black_box(call(&other))));
    });
}

fn sizes(_: &mut Criterion) {
    let fresh = Bench::after(0);
    let json = serde_json::to_string(&fresh.state).expect("a state is JSON");
    println!("state of an agent: {} bytes", size_of::<AgentState>());
    println!("a fresh agent as JSON: {} bytes", json.len());
}

criterion_group!(benches, decisions, asks, requests, policy, arguments, sizes);
criterion_main!(benches);
