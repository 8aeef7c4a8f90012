//! The brain's side: all phases in which it is asked, all fourteen instructions that it can
//! answer, and answers that do not fit.

use std::sync::{Arc, Mutex};

use kinfolk_actors::agent::{AgentState, Command, Key, Outcome, RawCall, Summarised, Verdict};
use kinfolk_actors::brain::{Brain, PhaseBrain, StepContext};
use kinfolk_actors::call::{CallKind, CallStatus, EffectClass};
use kinfolk_actors::event::{Event, FinishReason, Outcome as End, QuestionKind};
use kinfolk_actors::failure::{ErrorCode, Failure};
use kinfolk_actors::family::Family;
use kinfolk_actors::id::{CallId, RequestNo};
use kinfolk_actors::instruction::{FinishInstruction, Instruction, InstructionKind};
use kinfolk_actors::limits::{Limits, OnLimit};
use kinfolk_actors::policy::Mode;
use kinfolk_actors::time::Millis;

use crate::bench::{Bench, runs, thinks, waits_for_lease};
use crate::fixture::*;

/// The default brain, and what it was asked.
#[derive(Clone, Default)]
struct Watched(Arc<Mutex<Vec<&'static str>>>);

impl Brain for Watched {
    fn next(&self, context: &StepContext, state: &AgentState) -> Vec<Instruction> {
        self.0.lock().unwrap().push(context.name());
        PhaseBrain.next(context, state)
    }
}

/// What the brain of a lead was asked by these commands.
fn asked(family: Family, commands: &[Command]) -> Vec<&'static str> {
    let watched = Watched::default();
    let lead = Bench::lead_with(watched.clone(), family).given(commands);
    drop(lead);
    watched.0.lock().unwrap().clone()
}

fn look(n: u32) -> RawCall {
    raw_call("look", &format!("{{\"n\":{n}}}"))
}

fn one_step(on_limit: OnLimit) -> Family {
    limited(Limits { max_steps: Some(1), ..Limits::none() }, on_limit)
}

fn notes() -> Summarised {
    Summarised {
        result: Ok("notes".into()),
        fallback: None,
        cost: None,
        usage: usage(1, 1, 1),
        duration: Millis(1),
    }
}

#[test]
fn the_brain_is_asked_in_each_phase_and_not_about_an_approved_call() {
    let scout = scout_started(1, &proposed(0, &ask_scout("t"), CallKind::Subagent), "t");
    let found = reported_by(report(&scout, "found"));
    let overflow = Failure::new(ErrorCode::ModelContextOverflow, "too large");
    let overflow = Outcome::ModelFailed { error: overflow, usage: usage(1, 0, 0), cost: None };
    let summary = notes();
    let two = vec![look(0), look(1)];
    let mixed = vec![ask_scout("t"), look(1)];
    let write = vec![raw_call("write", "{}")];
    let begun = |more: &[&'static str]| [&["user_input", "model_result"], more].concat();
    let cases: Vec<(Family, Vec<Command>, Vec<&'static str>)> = vec![
        (family(), vec![start("go"), says(1, "hi")], begun(&[])),
        (
            family(),
            vec![start("go"), calls(1, vec![look(0)]), done(id(0), "r")],
            begun(&["tool_result"]),
        ),
        (
            family(),
            vec![start("go"), calls(1, two), done(id(0), "r"), done(id(1), "r")],
            begun(&["tools_batch_result"]),
        ),
        (
            family(),
            vec![
                start("go"),
                calls(1, vec![ask_scout("t")]),
                settle(Key::Child(id(0)), found.clone()),
            ],
            begun(&["subagent_result"]),
        ),
        (
            family(),
            vec![start("go"), calls(1, mixed), done(id(1), "r"), settle(Key::Child(id(0)), found)],
            begun(&["subagents_batch_result"]),
        ),
        (
            manual(),
            vec![start("go"), calls(1, write.clone()), says_to(0, Verdict::Approve)],
            begun(&[]),
        ),
        (manual(), vec![start("go"), calls(1, write), cancel()], begun(&["human_abort"])),
        (
            one_step(OnLimit::Ask),
            vec![
                start("go"),
                calls(1, vec![look(0)]),
                done(id(0), "r"),
                says_to(0, Verdict::Approve),
            ],
            begun(&["tool_result", "init"]),
        ),
        (
            family(),
            vec![
                start("go"),
                calls(1, vec![look(0)]),
                done(id(0), &"abc ".repeat(4_000)),
                settle(Key::Model(RequestNo(2)), overflow),
                settle(Key::Summary(1), Outcome::Summarised(summary)),
            ],
            begun(&["tool_result", "error", "compaction_result"]),
        ),
    ];
    let mut reached: Vec<&str> = vec!["human_response"];
    for (family, commands, expected) in cases {
        assert_eq!(asked(family, &commands), expected);
        reached.extend(expected);
    }
    // The default brain asks nobody for words; `questions` shows the answer to a brain that does.
    assert!(StepContext::PHASES.iter().all(|phase| reached.contains(phase)));
}

/// A brain that answers one phase in its own way.
struct Answers {
    phase: &'static str,
    answer: Vec<Instruction>,
}

impl Brain for Answers {
    fn next(&self, context: &StepContext, state: &AgentState) -> Vec<Instruction> {
        if context.name() == self.phase {
            return self.answer.clone();
        }
        PhaseBrain.next(context, state)
    }
}

/// A lead whose brain answers its first reply like this.
fn to_reply(family: Family, batch: Vec<RawCall>, answer: Vec<Instruction>) -> Bench {
    let brain = Answers { phase: "model_result", answer };
    Bench::lead_with(brain, family).given(&[start("go"), calls(1, batch)])
}

fn statuses(lead: &Bench) -> Vec<CallStatus> {
    lead.settled().values().map(|result| result.status).collect()
}

#[test]
fn each_of_fourteen_instructions_does_what_it_says() {
    let mut seen = vec![];
    let mut one = |family, batch, answer: Instruction| {
        seen.push(answer.kind());
        to_reply(family, batch, vec![answer])
    };
    let (look0, look1) = (look(0), look(1));
    let call = proposed(0, &look0, LOOK);
    let running = |n: u32, raw: &RawCall| runs(&proposed(n, raw, LOOK));

    let lead = one(full(), vec![look0.clone()], Instruction::CallTool { call: id(0) });
    assert_eq!(lead.outstanding(), vec![runs(&call)]);
    let both = vec![look0.clone(), look1.clone()];
    let lead = one(full(), both.clone(), Instruction::CallTools { calls: vec![id(0), id(1)] });
    assert_eq!(lead.outstanding(), vec![running(0, &look0), running(1, &look1)]);
    let lead = one(full(), both.clone(), Instruction::ResolveBlocked { calls: vec![id(0), id(1)] });
    assert_eq!((statuses(&lead), lead.outstanding()), (vec![CallStatus::Blocked; 2], thinks(2)));
    let lead = one(full(), both.clone(), Instruction::ResolveAborted { calls: vec![id(0), id(1)] });
    assert_eq!((statuses(&lead), lead.outstanding()), (vec![CallStatus::Cancelled; 2], thinks(2)));
    let lead = one(full(), vec![ask_scout("t")], Instruction::StartSubagent { call: id(0) });
    assert_eq!(lead.keys(), [Key::Child(id(0))]);
    let scouts = vec![ask_scout("a"), ask_scout("b")];
    let lead = one(full(), scouts, Instruction::StartSubagents { calls: vec![id(0), id(1)] });
    assert_eq!(lead.keys(), [Key::Child(id(0)), Key::Child(id(1))]);
    let agency = || raw_call("call_subagent", r#"{"agent":"agency","task":"t"}"#);
    let lead = one(full(), vec![agency()], Instruction::StartClientSubagent { call: id(0) });
    assert_eq!(lead.state.turn().unwrap().deferred().count(), 1);
    let agencies = vec![agency(), agency()];
    let lead =
        one(full(), agencies, Instruction::StartClientSubagents { calls: vec![id(0), id(1)] });
    assert_eq!(lead.state.turn().unwrap().deferred().count(), 2);
    let lead = one(full(), both.clone(), Instruction::CallModel);
    assert_eq!(lead.outstanding(), thinks(2));
    let lead = one(full(), both.clone(), Instruction::AskText { text: "which?".into() });
    assert_question(&lead, QuestionKind::Text);
    let choice = Instruction::AskChoice { text: "which?".into(), options: vec!["a".into()] };
    assert_question(&one(full(), both.clone(), choice), QuestionKind::Choice);
    let lead = one(full(), vec![look0.clone()], Instruction::AskApproval { calls: vec![id(0)] });
    assert_eq!(lead.state.open_asks().count(), 1);
    assert_eq!(lead.given(&[says_to(0, Verdict::Approve)]).outstanding(), vec![runs(&call)]);
    let mut old = Bench::lead(full()).given(&[start("old"), says(1, &"abc ".repeat(9_000))]);
    old.next_run(2);
    old.machine.brain =
        Arc::new(Answers { phase: "user_input", answer: vec![Instruction::Compact] });
    seen.push(InstructionKind::Compact);
    assert_eq!(old.given(&[start("new")]).keys(), [Key::Summary(1)]);
    let mut one = |answer: Instruction| {
        seen.push(answer.kind());
        to_reply(full(), both.clone(), vec![answer])
    };
    let finish = Instruction::Finish(FinishInstruction {
        outcome: End::PartialSuccess,
        reason: FinishReason::AgentDecision,
        text: "part".into(),
        error: None,
        detail: Some("two calls were left".into()),
    });
    let finished = one(finish).finished();
    let end = (finished.outcome, finished.finish_reason, finished.detail.as_deref());
    assert_eq!(
        end,
        (End::PartialSuccess, FinishReason::AgentDecision, Some("two calls were left"))
    );
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), InstructionKind::ALL.len());
}

/// The calls that the brain left for its question are settled first, and nothing else goes on.
#[track_caller]
fn assert_question(lead: &Bench, kind: QuestionKind) {
    let Some(Event::QuestionAsked(asked)) = lead.journal.last() else { panic!("no question") };
    assert_eq!((asked.kind, asked.call), (kind, None));
    assert_eq!(statuses(lead), [CallStatus::Blocked; 2]);
    assert_eq!(lead.outstanding(), vec![]);
}

#[test]
fn instructions_run_in_order_up_to_the_first_that_blocks() {
    let answer = vec![
        Instruction::CallTool { call: id(1) },
        Instruction::AskText { text: "which?".into() },
        Instruction::CallModel,
    ];
    // A call that runs comes first: the question would have to wait, so it is not asked.
    let lead = to_reply(full(), vec![look(0), look(1)], answer);
    assert_eq!(lead.keys(), [Key::Tool(id(1))]);
    assert_eq!(lead.state.open_asks().count(), 0);
    let brain = Answers {
        phase: "user_input",
        answer: vec![Instruction::AskText { text: "which?".into() }, Instruction::CallModel],
    };
    let lead = Bench::lead_with(brain, full()).given(&[start("go")]);
    assert_eq!(lead.outstanding(), vec![]);
}

#[test]
fn a_brain_cannot_run_or_open_what_the_policy_holds_back() {
    let write = || vec![raw_call("write", "{}")];
    let run = |calls: &[CallId]| vec![Instruction::CallTools { calls: calls.to_vec() }];
    let lead = to_reply(manual(), write(), run(&[id(0)]));
    assert_eq!((lead.outstanding(), lead.state.open_asks().count()), (vec![], 1));
    let mut denied = family();
    denied.policy = policy(Mode::AutoRun);
    denied.policy.deny = vec![serde_json::from_str(r#""write""#).unwrap()];
    for answer in [run(&[id(0)]), vec![Instruction::AskApproval { calls: vec![id(0)] }]] {
        let lead = to_reply(denied.clone(), write(), answer);
        assert_eq!(statuses(&lead), [CallStatus::Blocked]);
        assert_eq!(lead.state.open_asks().count(), 0);
    }
}

#[test]
fn a_brain_that_asks_for_the_model_twice_sends_one_request() {
    let answer = vec![Instruction::Compact, Instruction::CallModel, Instruction::CallModel];
    let lead = to_reply(full(), vec![look(0)], answer);
    assert_eq!(lead.outstanding(), thinks(2));
    let requests = lead.journal.iter().filter(|event| matches!(event, Event::ModelRequest(_)));
    assert_eq!(requests.count(), 2);
}

#[test]
fn a_brain_that_goes_round_in_one_decision_is_stuck() {
    // There is nothing to compact, and it wishes for nothing else.
    let brain = Answers { phase: "compaction_result", answer: vec![Instruction::Compact] };
    let mut lead = Bench::lead_with(brain, full());
    lead.machine.brain = Arc::new(Circles);
    let lead = lead.given(&[start("go")]);
    assert_eq!(lead.finished().error.map(|error| error.code), Some(ErrorCode::BrainStuck));
}

struct Circles;

impl Brain for Circles {
    fn next(&self, _context: &StepContext, _state: &AgentState) -> Vec<Instruction> {
        vec![Instruction::Compact]
    }
}

#[test]
fn an_abort_ends_whatever_the_brain_answers() {
    let again = vec![Instruction::CallModel, Instruction::CallTools { calls: vec![id(0)] }];
    let brain = Answers { phase: "human_abort", answer: again };
    let write = raw_call("write", "{}");
    let lead = Bench::lead_with(brain, family());
    let lead = lead.given(&[start("go"), calls(1, vec![write.clone()])]);
    assert_eq!(lead.outstanding(), vec![waits_for_lease(&proposed(0, &write, WRITE))]);
    let lead = lead.given(&[cancel()]);
    assert_eq!((lead.finished().outcome, lead.outstanding()), (End::Cancelled, vec![]));
    assert_eq!(statuses(&lead), [CallStatus::Cancelled]);
}

#[test]
fn a_client_tool_among_others_is_placed_by_the_frozen_family() {
    let fetch = raw_call("fetch", "{}");
    let lead = to_reply(full(), vec![fetch], vec![Instruction::CallTool { call: id(0) }]);
    let turn = lead.state.turn().unwrap();
    assert_eq!(turn.calls[0].proposed.kind, CallKind::Client(EffectClass::ReadOnly));
    assert_eq!((turn.deferred().count(), lead.outstanding()), (1, vec![]));
}
