//! Questions for words: of a call to the user, of a subagent to its parent, of the brain.

use kinfolk_actors::agent::{
    AgentState, Command, Key, Outcome, REMEMBERED, Refusal, RunStanding, Steer, Verdict,
};
use kinfolk_actors::brain::{Brain, StepContext};
use kinfolk_actors::call::{CallKind, CallResult, CallStatus};
use kinfolk_actors::event::{
    ChildMode, Event, Message, QuestionAnswered, QuestionAsked, QuestionKind, Source,
    SubagentStarted, UserMessage,
};
use kinfolk_actors::family::{ASK_PARENT, ASK_USER};
use kinfolk_actors::id::{AgentId, AskId, CallId};
use kinfolk_actors::instruction::Instruction;
use serde_json::json;

use crate::bench::{Bench, has_at_work, runs, thinks};
use crate::fixture::*;

fn asked(question: AskId, kind: QuestionKind, options: &[&str], call: Option<CallId>) -> Event {
    let options = options.iter().map(|option| (*option).into()).collect();
    let text = "which?".into();
    Event::QuestionAsked(QuestionAsked { question, kind, text, options, call })
}

fn answered(question: AskId, answer: &str) -> Event {
    Event::QuestionAnswered(QuestionAnswered { question, answer: answer.into(), by: None })
}

fn question(tool: &str) -> kinfolk_actors::agent::RawCall {
    raw_call(tool, r#"{"question":"which?"}"#)
}

#[test]
fn ask_user_parks_and_the_answer_is_the_result() {
    let choice = raw_call(ASK_USER, r#"{"question":"which?","options":["a","b"]}"#);
    for (raw, kind, options) in [
        (question(ASK_USER), QuestionKind::Text, &[][..]),
        (choice, QuestionKind::Choice, &["a", "b"]),
    ] {
        let mut lead = Bench::lead(full()).given(&[start("go")]);
        let call = proposed(0, &raw, CallKind::AskUser);
        let reply = reply("", vec![raw]);
        let events = [
            assistant(1, &reply, std::slice::from_ref(&call)),
            asked(ask(0), kind, options, Some(id(0))),
        ];
        lead.check(&replied(1, reply), &events, &vec![]);
        assert_eq!(lead.state.standing(), Some(RunStanding::AwaitingUser));
        lead.check_refused(&says_to(0, Verdict::Approve), &Refusal::UnknownAsk(ask(0)));
        let result = CallResult::new(CallStatus::Ok, "b");
        let events = [answered(ask(0), "b"), ended(&call, result, 0), requested(2)];
        lead.check(&answers(0, "b"), &events, &thinks(2));
        lead.check_refused(&answers(0, "a"), &Refusal::AlreadyAnswered(ask(0)));
    }
}

#[test]
fn a_question_survives_a_crash_and_other_calls_go_on_beside_it() {
    let raw = vec![question(ASK_USER), raw_call("look", "{}")];
    let look = proposed(1, &raw[1], LOOK);
    let mut lead = Bench::lead(full()).given(&[start("go"), calls(1, raw)]).crashed();
    lead.take(&recovered(2)).unwrap();
    assert_eq!(lead.outstanding(), vec![runs(&look)]);
    lead.take(&done(id(1), "seen")).unwrap();
    assert_eq!(lead.outstanding(), vec![]);
    lead.take(&answers(0, "this one")).unwrap();
    let results = [("call_1_0", "this one"), ("call_1_1", "seen")];
    assert_eq!(lead.results(), results.map(|(id, text)| (id.to_owned(), text.to_owned())));
}

#[test]
fn a_message_does_not_answer_a_question_and_is_read_after_it() {
    let lead = Bench::lead(full()).given(&[
        start("go"),
        calls(1, vec![question(ASK_USER)]),
        steer("hurry"),
    ]);
    assert_eq!(lead.state.open_asks().count(), 1);
    let lead = lead.given(&[answers(0, "this")]);
    let sent = format!("{:?}", lead.request().messages);
    let (answer, hurry) = (sent.find("\"this\"").unwrap(), sent.find("\"hurry\"").unwrap());
    assert!(answer < hurry, "{sent}");
}

#[test]
fn ask_parent_fails_at_the_root() {
    let lead = Bench::lead(full()).given(&[start("go"), calls(1, vec![question(ASK_PARENT)])]);
    assert_eq!(lead.settled()[&id(0)].status, CallStatus::UnknownTool);
    assert_eq!(lead.outstanding(), thinks(2));
    assert!(lead.request().tools.iter().all(|tool| &*tool.name != ASK_PARENT));
}

fn scout() -> SubagentStarted {
    scout_started(1, &proposed(0, &ask_scout("t"), CallKind::Subagent), "t")
}

const SUB: AskId = AskId { run: RUN, agent: AgentId(1), n: 0 };

#[test]
fn ask_parent_parks_the_subagent_until_its_parent_tells_it_something() {
    let mut child = Bench::subagent(scout(), full()).given(&[recovered(1)]);
    let raw = reply("", vec![question(ASK_PARENT)]);
    child.take(&replied(1, raw)).unwrap();
    assert_eq!(
        child.journal.last(),
        Some(&asked(SUB, QuestionKind::Parent, &[], Some(of_scout(0))))
    );
    assert_eq!(child.outstanding(), vec![]);
    assert_eq!(child.state.standing(), Some(RunStanding::AwaitingParent));
    let tell = Command::Steer(Steer { text: "this".into(), from: Some(id(4)) });
    child.take(&tell).unwrap();
    assert_eq!(child.outstanding(), thinks(2));
    assert_eq!(child.results(), [("call_0_0".to_owned(), "this".to_owned())]);
    // Told twice, after a crash for example, it is taken once.
    assert_eq!(child.take(&tell), Ok(vec![]));
    assert_eq!(child.outstanding(), thinks(2));
}

fn of_scout(n: u32) -> CallId {
    CallId { agent: AgentId(1), ..id(n) }
}

#[test]
fn the_parent_hears_the_question_its_call_returns_and_the_subagent_goes_on_in_the_background() {
    let raw = ask_scout("t");
    let call = proposed(0, &raw, CallKind::Subagent);
    let mut lead = Bench::lead(full()).given(&[start("go"), calls(1, vec![raw])]);
    let asks = Outcome::ChildAsks { question: SUB, text: "which?".into() };
    let words = json!({
        "subagent": "sub-1", "agent": "scout", "status": "awaiting_parent",
        "question_id": SUB.to_string(), "question": "which?",
    });
    let heard = Event::Message(Message::User(UserMessage {
        for_call: Some(id(0)),
        question: Some(SUB),
        ..UserMessage::new(Source::Question, words.to_string())
    }));
    let text = "sub-1 asks something before it can go on; its question follows. Answer it with \
                `message_subagent`; its report comes as a message.";
    let result = ended(&call, CallResult::new(CallStatus::Ok, text), 0);
    let events = lead.take(&settle(Key::Child(id(0)), asks.clone())).unwrap();
    let Event::Message(Message::User(told)) = &events[0] else { panic!("{events:?}") };
    let read: serde_json::Value = serde_json::from_str(&told.text).unwrap();
    assert_eq!(read, words);
    assert_eq!(
        (told.for_call, told.question, told.source),
        (Some(id(0)), Some(SUB), Source::Question)
    );
    assert_eq!(events[1], result);
    assert!(matches!(heard, Event::Message(_)));
    let mut started = scout();
    started.mode = ChildMode::Background;
    let expected = [thinks(2), vec![has_at_work(&started)]].concat();
    assert_eq!(lead.outstanding(), expected);
    lead.check_refused(&settle(Key::Child(id(0)), asks), &Refusal::Stale(Key::Child(id(0))));
    // Its report comes as a message, once, and starts a turn.
    let lead = lead.given(&[
        says(2, "wait"),
        settle(Key::Child(id(0)), reported_by(report(&started, "found it"))),
    ]);
    assert_eq!(lead.outstanding(), thinks(3));
    assert_eq!(format!("{:?}", lead.request().messages).matches("found it").count(), 1);
}

#[test]
fn two_questions_of_one_subagent_are_told_one_after_the_other() {
    let mut lead = Bench::lead(full()).given(&[start("go"), calls(1, vec![ask_scout("t")])]);
    let key = Key::Child(id(0));
    let asks = |n| {
        let question = AskId { n, ..SUB };
        settle(key, Outcome::ChildAsks { question, text: "which?".into() })
    };
    lead.take(&asks(0)).unwrap();
    lead.take(&asks(1)).unwrap();
    for n in [0, 1] {
        lead.check_refused(&asks(n), &Refusal::Stale(key));
    }
}

/// A brain that asks before it does anything.
struct Asks(Instruction);

impl Brain for Asks {
    fn next(&self, context: &StepContext, _state: &AgentState) -> Vec<Instruction> {
        match context {
            StepContext::UserInput => vec![self.0.clone()],
            StepContext::HumanResponse { answer } if &**answer == "again" => vec![self.0.clone()],
            _ => vec![Instruction::CallModel],
        }
    }
}

#[test]
fn a_brain_asks_for_text_or_a_choice_and_is_told_the_answer() {
    let options = || vec!["a".into(), "b".into()];
    let text = || "which?".into();
    for (instruction, kind, options) in [
        (Instruction::AskText { text: text() }, QuestionKind::Text, &[][..]),
        (
            Instruction::AskChoice { text: text(), options: options() },
            QuestionKind::Choice,
            &["a", "b"],
        ),
    ] {
        let mut lead = Bench::lead_with(Asks(instruction), family());
        let events = [run_started("go", &family()), user("go"), asked(ask(0), kind, options, None)];
        lead.check(&start("go"), &events, &vec![]);
        assert_eq!(lead.state.standing(), Some(RunStanding::AwaitingUser));
        let events = [answered(ask(0), "again"), asked(ask(1), kind, options, None)];
        lead.check(&answers(0, "again"), &events, &vec![]);
        lead.check(&answers(1, "a"), &[answered(ask(1), "a"), requested(1)], &thinks(1));
        lead.check_refused(&answers(0, "late"), &Refusal::AlreadyAnswered(ask(0)));
    }
}

#[test]
fn a_parked_brain_is_ended_by_a_cancel_and_its_question_is_withdrawn() {
    let lead = Bench::lead_with(Asks(Instruction::AskText { text: "which?".into() }), family());
    let mut lead = lead.given(&[start("go"), cancel()]);
    assert_eq!(lead.outstanding(), vec![]);
    lead.finished();
    lead.check_refused(&answers(0, "late"), &Refusal::StaleAnswer(ask(0)));
}

/// What stays of many questions: the newest, and how they were settled.
#[test]
fn settled_questions_are_forgotten_and_an_answer_to_an_old_one_is_stale() {
    const MANY: u32 = 600;
    let mut lead = Bench::lead(full()).given(&[start("go")]);
    for n in 0..MANY {
        let question = raw_call(ASK_USER, &json!({ "question": n.to_string() }).to_string());
        lead = lead.given(&[calls(n + 1, vec![question]), answers(n, "yes")]);
    }
    assert_eq!((lead.state.asks.len(), lead.state.run.asked), (0, MANY));
    assert_eq!(lead.state.run.settled.iter().count(), REMEMBERED);
    lead.check_refused(&answers(MANY - 1, "no"), &Refusal::AlreadyAnswered(ask(MANY - 1)));
    lead.check_refused(&answers(0, "no"), &Refusal::StaleAnswer(ask(0)));
    lead.check_refused(&answers(MANY, "no"), &Refusal::UnknownAsk(ask(MANY)));
}
