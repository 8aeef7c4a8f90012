//! The summary request, its judgement, and the summary as the next request shows it.

use std::sync::Arc;

use kinfolk_actors::compaction::summary::{Asked, Judged, Plan, Unusable, judge, request, room};
use kinfolk_actors::context::{ModelRequest, RequestMessage};
use kinfolk_actors::event::{Finish, Reply};
use kinfolk_actors::family::ToolChoice;
use kinfolk_actors::transcript::{Entry, Said, SettledTurn};

use crate::fixture::{self, *};

fn plan(model: &Arc<str>, room: u64) -> Plan<'_> {
    Plan { model, room, asked: Asked::First }
}

fn history() -> ModelRequest {
    let old = transcript([user("Old"), turn(1, &[9])]).compacted(2, "Goal: the old one");
    let said = Said { text: "".into(), opaque: Some("[7]".into()) };
    let mut history = old;
    [user("New"), turn(2, &[900]), text("Said"), turn(3, &[500]), Entry::Text(said)]
        .into_iter()
        .for_each(|entry| history.push(entry));
    fixture::request(&history)
}

#[test]
fn a_summary_request_is_the_next_request_and_one_instruction() {
    let ordinary = history();
    let asked = request(&ordinary, &plan(&ordinary.model, 100_000)).unwrap();
    let (last, prefix) = asked.messages.split_last().unwrap();
    let expected = ModelRequest {
        messages: asked.messages.clone(),
        tool_choice: ToolChoice::None,
        ..ordinary.clone()
    };
    assert_eq!(asked, expected);
    assert_eq!(prefix, ordinary.messages);
    let RequestMessage::User(text) = last else { panic!("{last:?}") };
    for heading in [
        "Goal",
        "Done",
        "To do",
        "Constraints",
        "Decisions",
        "Paths",
        "Open risks",
        "Current work and next step",
    ] {
        assert!(text.contains(&format!("\n{heading}: ")), "{heading}");
    }
    assert!(text.contains("Carry over from earlier notes"));
    assert!(!text.contains("could not be used") && !text.contains("not shown"));
    let again = Plan { asked: Asked::Again, ..plan(&ordinary.model, 100_000) };
    let again = request(&ordinary, &again).unwrap();
    assert!(inputs(&again.messages).last().unwrap().contains("could not be used"));

    let no_tools = ModelRequest { tools: Arc::from([]), ..ordinary };
    let asked = request(&no_tools, &plan(&no_tools.model, 100_000)).unwrap();
    assert_eq!(asked.tool_choice, ToolChoice::Auto, "a choice without tools is refused");
}

#[test]
fn another_model_does_not_get_blocks_that_are_not_its_own() {
    let ordinary = history();
    let asked = request(&ordinary, &plan(&"openai:small".into(), 100_000)).unwrap();
    assert_eq!(&*asked.model, "openai:small");
    assert_eq!(asked.messages.len(), ordinary.messages.len(), "the empty reply went");
    assert_accepted(&asked.messages);
}

#[test]
fn the_oldest_exchanges_go_first_then_replies_then_the_tools() {
    let ordinary = history();
    let names = |room| {
        let asked = request(&ordinary, &plan(&ordinary.model, room)).unwrap();
        assert_accepted(&asked.messages);
        let marked = inputs(&asked.messages).last().unwrap().contains("not shown");
        let name = |message: &RequestMessage| match message {
            RequestMessage::User(text) if text.starts_with("[Notes") => "notes",
            RequestMessage::User(text) if text.starts_with("Stop here") => "ask",
            RequestMessage::User(_) => "input",
            RequestMessage::Assistant { calls, .. } if calls.is_empty() => "reply",
            RequestMessage::Assistant { .. } => "calls",
            RequestMessage::ToolResult { .. } => "result",
        };
        let names: Vec<&str> = asked.messages.iter().map(name).collect();
        (names.join(" "), marked, asked.tools.len())
    };
    let is = |names: &str, marked, tools| (names.to_owned(), marked, tools);
    let kept = "notes input input";
    assert_eq!(
        names(2_200),
        is(&format!("{kept} calls result reply calls result reply ask"), false, 1)
    );
    assert_eq!(names(1_500), is(&format!("{kept} reply calls result ask"), true, 1));
    assert_eq!(names(520), is(&format!("{kept} reply ask"), true, 1));
    assert_eq!(names(390), is(&format!("{kept} ask"), true, 1));
    assert_eq!(names(370), is(&format!("{kept} ask"), true, 0));
    let full = request(&ordinary, &plan(&ordinary.model, 100)).unwrap_err();
    assert!(full.to_string().contains("takes 100"), "{full}");
}

#[test]
fn encoded_data_never_enters() {
    let blob = "Qa9+/".repeat(100);
    let arguments = format!(r#"{{"data":"{blob}","n":1}}"#);
    let number = format!(r#"{{"n":{}}}"#, "1".repeat(300));
    let calls = vec![
        (call(1, &arguments), result(format!("saved {blob}"))),
        (call(2, &number), result("ok")),
    ];
    let said = Said { text: "Saving.".into(), opaque: Some("[1]".into()) };
    let turn = Entry::Turn(SettledTurn { said, calls });
    let ordinary = fixture::request(&transcript([user(format!("Save {blob}.")), turn]));
    let asked = request(&ordinary, &plan(&ordinary.model, 100_000)).unwrap();
    let mark = "[left out: 500 bytes of encoded data]";
    let wire = |id: &str, arguments: String| kinfolk_actors::context::RequestCall {
        id: id.into(),
        name: "read".into(),
        arguments: arguments.into(),
    };
    let left_out = format!(r#"{{"left_out_bytes":{}}}"#, number.len());
    let answer = |id: &str, text: String| RequestMessage::ToolResult {
        id: id.into(),
        name: "read".into(),
        text: text.into(),
        is_error: false,
    };
    let expected = [
        RequestMessage::User(format!("Save {mark}.").into()),
        RequestMessage::Assistant {
            text: "Saving.".into(),
            calls: vec![wire("c1", format!(r#"{{"data":"{mark}","n":1}}"#)), wire("c2", left_out)],
            opaque: None,
        },
        answer("c1", format!("saved {mark}")),
        answer("c2", "ok".to_owned()),
    ];
    assert_eq!(asked.messages[..4], expected);
}

#[test]
fn answers_are_judged() {
    let said = |text: &str, finish: &str| reply(text, Finish::from(finish));
    let called = Reply { calls: vec![call(1, "{}")], ..said("Let me look", "stop") };
    let good = Judged::Summary("Goal: all".into());
    let (again, failed) = (Judged::AskAgain, Judged::Failed);
    for (reply, first, second) in [
        (said(" Goal: all\n", "stop"), good.clone(), good.clone()),
        (said("Goal: all", "end_turn"), good.clone(), good),
        (said("", "stop"), failed(Unusable::Empty), failed(Unusable::Empty)),
        (said(" \n", "stop"), failed(Unusable::Empty), failed(Unusable::Empty)),
        (called, again.clone(), failed(Unusable::CalledTools)),
        (said("", "tool_calls"), again.clone(), failed(Unusable::CalledTools)),
        (said("Goal: a", "length"), again, failed(Unusable::CutOff)),
        (said("Goal", "content_filter"), failed(Unusable::Filtered), failed(Unusable::Filtered)),
    ] {
        assert_eq!(judge(&reply, Asked::First), first, "{reply:?}");
        assert_eq!(judge(&reply, Asked::Again), second, "{reply:?}");
    }
    let blob = said(&format!("Goal: {}", "Q".repeat(300)), "stop");
    let clean = "Goal: [left out: 300 bytes of encoded data]".into();
    assert_eq!(judge(&blob, Asked::First), Judged::Summary(clean));
}

#[test]
fn the_room_of_a_summary_is_its_models_own() {
    let mut profile = profile(10_000, 2_000);
    assert_eq!(room(&profile, None), 8_000);
    (profile.summary_reserve, profile.safety_buffer) = (1_000, 500);
    assert_eq!(room(&profile, None), 8_500);
    assert_eq!((room(&profile, Some(8_000)), room(&profile, Some(80_000))), (6_000, 8_500));
}

#[test]
fn a_summary_stands_as_the_models_own_notes_before_the_newest_message() {
    let history = transcript([user("Old"), text("Fine"), user("New"), turn(1, &[9])]);
    let compacted = history.compacted(4, "Goal: new");
    let mut expected = transcript([]);
    let Entry::Summary(notes) = &*list(&compacted)[0] else { panic!("no summary") };
    assert!(notes.ends_with("]\n\nGoal: new"), "{notes}");
    assert!(notes.contains("your own notes") && notes.contains("observe them again"), "{notes}");
    expected.push(Entry::Summary(Arc::clone(notes)));
    expected.push(user("New"));
    assert_eq!(compacted, expected);
    let tokens: u64 = expected.entries().map(|entry| kinfolk_actors::estimate::entry(entry)).sum();
    assert_eq!(compacted.tokens(), tokens, "it is counted anew");
    // What is past the end keeps nothing; a newest message that is kept is not doubled.
    assert_eq!(history.compacted(9, "Goal: new"), expected);
    assert_eq!(history.compacted(2, "Goal: new").len(), 3);
}
