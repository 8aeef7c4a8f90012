//! The cases of the catalogue that pure functions decide, by their numbers.

use std::sync::Arc;

use kinfolk_actors::compaction::cut::{Cut, Room, cut};
use kinfolk_actors::compaction::summary::{Asked, Unusable};
use kinfolk_actors::compaction::trigger::{is_due, threshold as limit};
use kinfolk_actors::compaction::{ContextFull, NothingToCompact, Trigger};
use kinfolk_actors::context::{ModelRequest, RequestMessage, messages};
use kinfolk_actors::estimate::RequestSize;
use kinfolk_actors::event::{Finish, Reply};
use kinfolk_actors::family::ToolChoice;
use kinfolk_actors::transcript::{Entry, Said, SettledTurn, Transcript};
use kinfolk_actors::usage::Usage;
use serde::Deserialize;

use crate::bench::Bench;
use crate::fixture::*;

fn full_of_fixed_text() -> Bench {
    let mut bench = Bench::new(profile(32_000, 0));
    bench.base.system = words(19_000);
    bench.base.tools = Arc::from([tool(10_000)]);
    bench
}

#[test]
fn d01_a_context_that_is_full_of_fixed_text_ends_at_once() {
    let mut bench = full_of_fixed_text();
    bench.add(user("Do it"));
    assert_eq!(bench.go(text("done")), Err(ContextFull::NothingLeft));
    assert_eq!(bench.sent.len(), 0);
}

#[test]
fn d01_compactions_that_gain_nothing_end_after_two_and_a_message_re_arms() {
    let mut bench = full_of_fixed_text();
    let said = |text: &str, n: u32| [user(text), turn(n, &[400])];
    said("First", 1).into_iter().chain(said("Second", 2)).for_each(|entry| bench.add(entry));
    assert_eq!(bench.go(text("done")), Err(ContextFull::NothingLeft));
    assert_eq!((bench.sent.len(), &*bench.compactions), (1, &[Ok(())][..]));

    // A summariser that says nothing: the history stays, each try counts.
    let mut bench = full_of_fixed_text();
    bench.summarise = |_, _| reply("", Finish::Stop);
    said("First", 1).into_iter().chain(said("Second", 2)).for_each(|entry| bench.add(entry));
    let before = bench.transcript.clone();
    let ended = Err(ContextFull::NoGain { compactions: 2 });
    assert_eq!(bench.go(text("done")), ended);
    assert_eq!(bench.compactions, [Err(Unusable::Empty), Err(Unusable::Empty)]);
    assert_eq!((bench.sent.len(), &bench.transcript), (2, &before));
    assert_eq!(bench.go(text("done")), ended, "it stays so");
    assert_eq!(bench.sent.len(), 2);
    bench.add(user("Third"));
    assert_eq!(bench.go(text("done")), ended);
    assert_eq!(bench.sent.len(), 4, "the message re-armed it");
}

#[test]
fn d02_a_compaction_voids_the_usage_that_was_reported_before_it() {
    let mut bench = Bench::new(profile(200_000, 0));
    bench.settings = threshold(150_000);
    bench.add(user("Task"));
    (0..17).for_each(|n| bench.add(turn(n, &[8_000])));
    let usage = Usage { input_tokens: 170_000, output_tokens: 0, ..Usage::default() };
    bench.size.replied(&usage);
    assert_eq!(bench.next_size(), 170_000);
    let kept = list(&bench.transcript)[16..].to_vec();
    assert_eq!(bench.go(text("done")), Ok(()));
    assert_eq!(bench.compactions, [Ok(())], "exactly one");
    assert_eq!(list(&bench.transcript)[2..4], kept[..], "what is kept is intact");
    // The same after a restart: state is stored and read back.
    let mut bench = Bench::new(profile(200_000, 0));
    bench.settings = threshold(150_000);
    bench.add(user("Task"));
    (0..17).for_each(|n| bench.add(turn(n, &[8_000])));
    bench.size.replied(&usage);
    bench.compact(Trigger::Threshold).unwrap();
    let json = serde_json::to_string(&bench.size).unwrap();
    bench.size = serde_json::from_str(&json).unwrap();
    let estimate = RequestSize::of(&bench.request()).total();
    assert_eq!(bench.next_size(), estimate);
    assert!(estimate < 30_000, "{estimate}");
    assert!(!is_due(bench.next_size(), limit(&bench.profile, &bench.settings)));
}

#[derive(Deserialize)]
struct D03 {
    keep_recent_tokens: u64,
    window: u64,
    estimates: Vec<(String, u64)>,
}

/// The history of the file: a message of calls and the results after it are one entry.
fn d03() -> (D03, Transcript) {
    let file: D03 = serde_json::from_str(include_str!("D03.json")).unwrap();
    let mut entries: Vec<Entry> = vec![];
    let mut n = 0;
    for (role, tokens) in &file.estimates {
        match (role.split(':').next().unwrap(), entries.last_mut()) {
            ("user", _) => entries.push(user(words(*tokens))),
            ("assistant+calls", _) => {
                let said = Said { text: words(*tokens), opaque: None };
                entries.push(Entry::Turn(SettledTurn { said, calls: vec![] }));
            }
            ("tool", Some(Entry::Turn(turn))) => {
                n += 1;
                turn.calls.push((call(n, "{}"), result(words(*tokens))));
            }
            other => panic!("unexpected: {other:?}"),
        }
    }
    (file, transcript(entries))
}

#[test]
fn d03_the_cut_falls_between_groups_even_if_the_last_is_over_the_budget() {
    let (file, history) = d03();
    let entries = list(&history);
    let most = limit(&profile(file.window, 0), &Default::default());
    let room = Room::new(file.keep_recent_tokens, most);
    assert_eq!(cut(&history, room), Ok(Cut { kept_from: 4 }), "before the last turn");
    let summarised = messages(&transcript(entries[..4].iter().map(|entry| (**entry).clone())));
    assert_eq!(summarised.len(), 6, "six messages are summarised");
    let next = messages(&history.compacted(4, "Goal: all"));
    assert_accepted(&next);
    let newest: Arc<str> = words(200);
    assert_eq!(inputs(&next)[1], &*newest, "the newest message stays");
    assert!(matches!(next[2], RequestMessage::Assistant { .. }));
    assert_eq!(next.len(), 7);

    // No room for the last turn: only the newest message stays.
    assert_eq!(cut(&history, Room::new(20_000, 23_000)), Ok(Cut { kept_from: 5 }));
    let next = messages(&history.compacted(5, "Goal: all"));
    assert_eq!((next.len(), inputs(&next)[1]), (2, &*newest));
}

#[test]
fn d03_corners_of_the_cut() {
    let old = || Entry::Summary("old notes".into());
    let room = Room::new(1_000, 5_000);
    let nothing = Err(NothingToCompact);
    let at = |kept_from| Ok(Cut { kept_from });
    for (what, entries, expected) in [
        ("no history", vec![], nothing),
        ("one message", vec![user("a")], nothing),
        ("one great message", vec![user(words(9_000))], nothing),
        ("all is recent", vec![user("a"), turn(1, &[500])], nothing),
        ("all since the summary is recent", vec![old(), user("a"), turn(1, &[500])], nothing),
        ("the summary alone", vec![Entry::Summary(words(9_000))], nothing),
        ("only the task is older", vec![old(), user(words(2_000)), turn(1, &[500])], nothing),
        ("one great turn", vec![user("a"), turn(1, &[2_000])], at(2)),
        ("one greater turn", vec![user("a"), turn(1, &[9_000])], at(2)),
        ("a great turn after another", vec![user("a"), turn(1, &[9]), turn(2, &[2_000])], at(2)),
        ("a greater turn after another", vec![user("a"), turn(1, &[9]), turn(2, &[9_000])], at(3)),
        ("recent ones after a great one", vec![user("a"), turn(1, &[2_000]), turn(2, &[9])], at(2)),
        ("an older task", vec![user("a"), turn(1, &[9]), user("b"), turn(2, &[990])], at(3)),
        (
            "a great turn and its task",
            vec![user(words(900)), turn(1, &[9]), turn(2, &[4_500])],
            at(3),
        ),
        ("a great last message", vec![user("a"), text("b"), user(words(2_000))], at(2)),
    ] {
        assert_eq!(cut(&transcript(entries), room), expected, "{what}");
    }
}

#[test]
fn d04_every_summary_request_fits_its_own_model() {
    for (summariser, model) in [(10_000, None), (4_000, Some("openai:small"))] {
        let mut bench = Bench::new(profile(10_000, 1_000));
        bench.summariser = profile(summariser, 500);
        bench.settings.model = model.map(Arc::from);
        bench.add(user("The task"));
        (0..10).for_each(|n| bench.add(turn(n, &[4_000])));
        assert_eq!(bench.go(text("done")), Ok(()));
        assert_eq!(bench.compactions, [Ok(())], "applied once");
        let [asked, next] = &bench.sent[..] else { panic!("{} requests", bench.sent.len()) };
        assert!(RequestSize::of(asked).total() <= summariser - 500);
        assert_eq!(&*asked.model, model.unwrap_or("openai:large"));
        assert_accepted(&asked.messages);
        assert_eq!(inputs(&asked.messages)[0], "The task");
        assert!(RequestSize::of(next).total() <= 10_000);
    }
}

#[test]
fn d04_where_not_even_the_smallest_request_fits_the_history_is_untouched() {
    let mut bench = Bench::new(profile(10_000, 1_000));
    bench.summariser = profile(700, 500);
    bench.settings.model = Some("openai:tiny".into());
    bench.add(user("The task"));
    (0..10).for_each(|n| bench.add(turn(n, &[4_000])));
    let before = bench.transcript.clone();
    let ended = bench.go(text("done"));
    assert!(matches!(ended, Err(ContextFull::SummaryTooLarge { room: 200, .. })), "{ended:?}");
    assert_eq!((bench.sent.len(), bench.transcript), (0, before));
}

fn a_bare_call(_: &ModelRequest, asked: Asked) -> Reply {
    match asked {
        Asked::First => Reply { calls: vec![call(1, "{}")], ..reply("", Finish::ToolCalls) },
        Asked::Again => reply("Goal: the task", Finish::Stop),
    }
}

#[test]
fn d05_a_summariser_that_calls_a_tool_is_asked_once_more() {
    let mut bench = Bench::new(profile(32_000, 4_000));
    bench.summarise = a_bare_call;
    bench.add(user("The task"));
    (0..4).for_each(|n| bench.add(turn(n, &[7_000])));
    assert_eq!(bench.go(text("done")), Ok(()));
    assert_eq!(bench.compactions, [Ok(())]);
    let choices: Vec<ToolChoice> = bench.sent.iter().map(|sent| sent.tool_choice).collect();
    assert_eq!(choices, [ToolChoice::None, ToolChoice::None, ToolChoice::Auto]);
    assert_eq!(bench.sent[0].tools, bench.base.tools, "the cached prefix holds the tools");

    let mut bench = Bench::new(profile(32_000, 4_000));
    bench.summarise = |request, _| a_bare_call(request, Asked::First);
    bench.add(user("The task"));
    (0..4).for_each(|n| bench.add(turn(n, &[7_000])));
    let before = bench.transcript.clone();
    bench.compact(Trigger::Manual).unwrap();
    assert_eq!(bench.compactions, [Err(Unusable::CalledTools)]);
    assert_eq!((bench.sent.len(), bench.transcript), (2, before));
}

#[test]
fn d06_a_long_turn_is_compacted_within_it_and_keeps_its_task() {
    let mut bench = Bench::new(profile(20_000, 2_000));
    let task = "Read the six files and compare them";
    bench.add(user(task));
    for n in 0..6 {
        assert_eq!(bench.go(turn(n, &[4_000])), Ok(()));
    }
    assert_eq!(bench.go(text("They differ")), Ok(()));
    assert!(!bench.compactions.is_empty());
    assert!(bench.compactions.iter().all(Result::is_ok));
    for sent in &bench.sent {
        assert!(RequestSize::of(sent).total() <= 20_000);
        assert!(inputs(&sent.messages).contains(&task));
        assert_accepted(&sent.messages);
    }
    assert_eq!(bench.transcript.last_text().map(|text| &**text), Some("They differ"));
}

#[test]
fn d07_an_overflow_is_compacted_once_and_sent_again_once() {
    let build = |provider_takes| {
        let mut bench = Bench::new(profile(100_000, 4_000));
        bench.provider_takes = provider_takes;
        bench.add(user("The task"));
        (0..8).for_each(|n| bench.add(turn(n, &[7_000])));
        bench
    };
    let mut bench = build(50_000);
    assert_eq!(bench.go(text("done")), Ok(()));
    let sizes: Vec<u64> = bench.sent.iter().map(|sent| RequestSize::of(sent).total()).collect();
    assert_eq!((sizes.len(), &*bench.compactions), (3, &[Ok(())][..]));
    assert!(sizes[0] > 50_000 && sizes[1..].iter().all(|size| *size <= 50_000), "{sizes:?}");

    let mut bench = build(100);
    assert_eq!(bench.go(text("done")), Err(ContextFull::StillRefused));
    assert_eq!((bench.sent.len(), bench.compactions.len()), (3, 1));
}

fn signed(n: u32) -> Entry {
    let block: Arc<str> = format!(r#"[{{"type":"thinking","signature":"s{n}"}}]"#).into();
    match turn(n, &[5]) {
        Entry::Turn(turn) => {
            let said = Said { opaque: Some(block), ..turn.said };
            Entry::Turn(SettledTurn { said, ..turn })
        }
        other => other,
    }
}

/// The opaque blocks of the replies, oldest first.
fn blocks(messages: &[RequestMessage]) -> Vec<Option<&str>> {
    let replies = messages.iter().filter_map(|message| match message {
        RequestMessage::Assistant { opaque, .. } => Some(opaque.as_deref()),
        RequestMessage::User(_) | RequestMessage::ToolResult { .. } => None,
    });
    replies.collect()
}

#[test]
fn d08_signed_blocks_of_before_a_compaction_go_and_later_ones_stay_byte_equal() {
    let opening = std::iter::once(user("The task"));
    let history = transcript(opening.chain((0..5).map(signed)));
    assert_eq!(blocks(&messages(&history)).iter().flatten().count(), 5);
    let mut compacted = history.compacted(4, "Goal: the task");
    let mut before = messages(&compacted);
    assert_eq!(blocks(&before), [None, None]);
    let block = |n: u32| format!(r#"[{{"type":"thinking","signature":"s{n}"}}]"#);
    for n in 5..8 {
        compacted.push(signed(n));
        // The same after a restart: the history is stored and read back.
        let json = serde_json::to_string(&compacted).unwrap();
        compacted = serde_json::from_str(&json).unwrap();
        let now = messages(&compacted);
        assert_eq!(now[..before.len()], before[..], "requests grow at their end only");
        assert_eq!(blocks(&now).last(), Some(&Some(&*block(n))));
        assert_accepted(&now);
        before = now;
    }
    assert_eq!(blocks(&before).iter().flatten().count(), 3);
}

#[test]
fn d08_a_reply_that_was_only_a_signed_block_leaves_no_empty_message() {
    let only_block = Entry::Text(Said { text: "".into(), opaque: Some("[1]".into()) });
    let history = transcript([user("a"), text("b"), only_block, user("c")]);
    let next = messages(&history.compacted(2, "Goal: c"));
    assert_accepted(&next);
    assert_eq!((next.len(), inputs(&next)[1]), (2, "c"));
}
