//! The cases of `docs/cases.md` that are about compaction, by their ids.

use std::sync::Arc;

use kinfolk_actors::compaction::cut::{Cut, Room, cut};
use kinfolk_actors::compaction::summary::{Asked, Unusable};
use kinfolk_actors::compaction::trigger::threshold as limit;
use kinfolk_actors::compaction::{ContextFull, NothingToCompact};
use kinfolk_actors::context::{ModelRequest, RequestMessage, messages};
use kinfolk_actors::estimate::RequestSize;
use kinfolk_actors::event::{Event, Finish, Reply};
use kinfolk_actors::failure::{ErrorCode, Failure};
use kinfolk_actors::family::ToolChoice;
use kinfolk_actors::transcript::{Entry, Said, SettledTurn, Transcript};
use serde::Deserialize;

use crate::bench::{Bench, Setting};
use crate::fixture::*;

/// A head of so many tokens beside its tools, in a window of 32,000.
fn full_of_fixed_text(system: u64) -> Setting {
    let (system, tools) = (words(system), vec![tool(10_000)]);
    Setting { system, tools, ..Setting::new(profile(32_000, 0)) }
}

/// A task, and turns whose results have so many tokens each.
fn task(turns: u32, tokens: u64) -> Vec<Entry> {
    let turns = (0..turns).map(|n| turn(n, &[tokens]));
    std::iter::once(user("The task")).chain(turns).collect()
}

#[track_caller]
fn assert_full(bench: &Bench, why: ContextFull) {
    let expected = Failure::new(ErrorCode::ContextFull, why.to_string());
    assert_eq!(bench.error(), Some(&expected));
}

#[test]
fn d01_a_context_that_is_full_of_fixed_text_ends_at_once() {
    let mut bench = Bench::new(&full_of_fixed_text(19_000), []);
    bench.start("Do it");
    assert_full(&bench, ContextFull::NothingLeft);
    assert_eq!(bench.sent.len(), 0);
}

#[test]
fn d01_compactions_that_gain_nothing_end_after_two_and_a_message_re_arms() {
    let mut bench = Bench::new(&full_of_fixed_text(19_000), task(1, 400));
    bench.start("Second");
    assert_full(&bench, ContextFull::NothingLeft);
    assert_eq!((bench.sent.len(), &*bench.compactions), (1, &[Ok(())][..]));

    // A summariser that says nothing, for a request that no provider would take: the history stays,
    // each try counts.
    let mut bench = Bench::new(&full_of_fixed_text(22_000), task(1, 400));
    bench.summarise = |_, _| reply("", Finish::Stop);
    bench.start("Second");
    assert_full(&bench, ContextFull::NoGain { compactions: 2 });
    assert_eq!(bench.compactions, [Err(Unusable::Empty), Err(Unusable::Empty)]);
    let expected = transcript(task(1, 400).into_iter().chain([user("Second")]));
    assert_eq!((bench.sent.len(), &bench.state.transcript), (2, &expected));
    bench.start("Third");
    assert_full(&bench, ContextFull::NoGain { compactions: 2 });
    assert_eq!(bench.sent.len(), 4, "the message re-armed it");
}

#[test]
fn d02_a_compaction_voids_the_usage_that_was_reported_before_it() {
    let setting = Setting { threshold: Some(150_000), ..Setting::new(profile(200_000, 0)) };
    let mut bench = Bench::new(&setting, task(16, 8_000));
    bench.start("Go on");
    bench.reports = Some(170_000);
    bench.reads(8_000);
    assert_eq!(bench.compactions, [Ok(())]);
    // The whole request is estimated anew, by its parts as by its text.
    let estimate = RequestSize::of(&bench.request()).total();
    assert_eq!(bench.estimated(), estimate);
    assert!(estimate < 30_000, "{estimate}");
    let newest = list(&bench.state.transcript).pop().unwrap();
    assert!(matches!(&*newest, Entry::Turn(turn) if turn.calls[0].1.text.len() == 32_000));
    let mut bench = bench.restarted();
    bench.reads(8_000);
    bench.says("done");
    assert_eq!(bench.compactions, [Ok(())], "exactly one");
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
    for (room, summariser) in [(9_000, None), (3_500, Some(("openai:small", profile(4_000, 500))))]
    {
        let model = summariser.as_ref().map_or("openai:large", |(name, _)| *name);
        let setting = Setting { summariser, ..Setting::new(profile(10_000, 1_000)) };
        let mut bench = Bench::new(&setting, task(10, 4_000));
        bench.start("Go on");
        bench.says("done");
        assert_eq!(bench.compactions, [Ok(())], "applied once");
        let [asked, next] = &bench.sent[..] else { panic!("{} requests", bench.sent.len()) };
        assert!(RequestSize::of(asked).total() <= room);
        assert_eq!(&*asked.model, model);
        assert_accepted(&asked.messages);
        assert_eq!(inputs(&asked.messages)[0], "The task");
        assert!(RequestSize::of(next).total() <= 10_000);
    }
}

#[test]
fn d04_where_not_even_the_smallest_request_fits_the_history_is_untouched() {
    let summariser = Some(("openai:tiny", profile(700, 500)));
    let setting = Setting { summariser, ..Setting::new(profile(10_000, 1_000)) };
    let mut bench = Bench::new(&setting, task(10, 4_000));
    bench.start("Go on");
    assert_full(&bench, ContextFull::NoGain { compactions: 2 });
    let reason = bench.journal.iter().find_map(|event| match event {
        Event::CompactionFinished(finished) => finished.error.as_ref(),
        _ => None,
    });
    let reason = &reason.unwrap().message;
    assert!(reason.contains("model takes 200"), "{reason}");
    let expected = transcript(task(10, 4_000).into_iter().chain([user("Go on")]));
    assert_eq!((bench.sent.len(), bench.state.transcript), (0, expected));
}

fn a_bare_call(_: &ModelRequest, asked: Asked) -> Reply {
    match asked {
        Asked::First => Reply { calls: vec![call(1, "{}")], ..reply("", Finish::ToolCalls) },
        Asked::Again => reply("Goal: the task", Finish::Stop),
    }
}

#[test]
fn d05_a_summariser_that_calls_a_tool_is_asked_once_more() {
    let setting = Setting::new(profile(32_000, 4_000));
    let mut bench = Bench::new(&setting, task(4, 7_000));
    bench.summarise = a_bare_call;
    bench.start("Go on");
    bench.says("done");
    assert_eq!(bench.compactions, [Ok(())]);
    let choices: Vec<ToolChoice> = bench.sent.iter().map(|sent| sent.tool_choice).collect();
    assert_eq!(choices, [ToolChoice::None, ToolChoice::None, ToolChoice::Auto]);
    assert_eq!(*bench.sent[0].tools, *setting.tools, "the cached prefix holds the tools");

    let mut bench = Bench::new(&setting, task(4, 7_000));
    bench.summarise = |request, _| a_bare_call(request, Asked::First);
    bench.compact();
    assert_eq!(bench.compactions, [Err(Unusable::CalledTools)]);
    assert_eq!((bench.sent.len(), bench.state.transcript), (2, transcript(task(4, 7_000))));
}

#[test]
fn d06_a_long_turn_is_compacted_within_it_and_keeps_its_task() {
    let mut bench = Bench::new(&Setting::new(profile(20_000, 2_000)), []);
    let task = "Read the six files and compare them";
    bench.start(task);
    (0..6).for_each(|_| bench.reads(4_000));
    bench.says("They differ");
    assert!(!bench.compactions.is_empty());
    assert!(bench.compactions.iter().all(Result::is_ok));
    for sent in &bench.sent {
        assert!(RequestSize::of(sent).total() <= 20_000);
        assert!(inputs(&sent.messages).contains(&task));
        assert_accepted(&sent.messages);
    }
    assert_eq!(bench.state.transcript.last_text().map(|text| &**text), Some("They differ"));
}

#[test]
fn d07_an_overflow_is_compacted_once_and_sent_again_once() {
    let start = |provider_takes| {
        let mut bench = Bench::new(&Setting::new(profile(100_000, 4_000)), task(8, 7_000));
        bench.provider_takes = provider_takes;
        bench.start("Go on");
        bench
    };
    let mut bench = start(50_000);
    bench.says("done");
    let sizes: Vec<u64> = bench.sent.iter().map(|sent| RequestSize::of(sent).total()).collect();
    assert_eq!((sizes.len(), &*bench.compactions), (3, &[Ok(())][..]));
    assert!(sizes[0] > 50_000 && sizes[1..].iter().all(|size| *size <= 50_000), "{sizes:?}");

    let bench = start(100);
    assert_full(&bench, ContextFull::StillRefused);
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
