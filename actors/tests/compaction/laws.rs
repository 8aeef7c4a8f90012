//! The laws of compaction over random histories and windows. Each test holds one of them.

use std::sync::Arc;

use kinfolk_actors::compaction::ContextFull;
use kinfolk_actors::compaction::cut::{Room, cut};
use kinfolk_actors::compaction::digest::digest;
use kinfolk_actors::compaction::summary::{self, Asked, Plan};
use kinfolk_actors::context::{ModelRequest, RequestMessage, messages};
use kinfolk_actors::estimate::{self, RequestSize};
use kinfolk_actors::family::ToolChoice;
use kinfolk_actors::transcript::{Entry, Said, SettledTurn, Transcript, newest_input};
use proptest::prelude::*;

use crate::cases_of_laws::cases;
use crate::fixture::{self, *};

/// Words, encoded data, wrapped lines, escapes, scripts of several bytes.
fn any_text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => (1_usize..200).prop_map(|n| "abc ".repeat(n)),
        2 => (1_usize..900).prop_map(|n| "Qa9+/".repeat(n)),
        1 => (1_usize..9).prop_map(|n| format!("{}\n", "0123456789abcdef".repeat(4)).repeat(n)),
        1 => (1_usize..99).prop_map(|n| "汉é ".repeat(n)),
        1 => Just("\\n\\u00e9\\".to_owned()),
        1 => Just(String::new()),
    ];
    prop::collection::vec(part, 0..3).prop_map(|parts| parts.concat())
}

fn any_opaque() -> impl Strategy<Value = Option<Arc<str>>> {
    prop::option::of((0_u32..99).prop_map(|n| format!(r#"[{{"signature":"s{n}"}}]"#).into()))
}

fn any_said() -> impl Strategy<Value = Said> {
    (any_text(), any_opaque()).prop_map(|(text, opaque)| Said { text: text.into(), opaque })
}

fn any_entry() -> impl Strategy<Value = Entry> {
    let arguments = any_text().prop_map(|text| serde_json::json!({ "a": text }).to_string());
    let calls = prop::collection::vec((arguments, any_text()), 1..4);
    prop_oneof![
        2 => any_text().prop_map(user),
        1 => any_said().prop_map(Entry::Text),
        3 => (any_said(), calls).prop_map(|(said, calls)| {
            let calls = calls.into_iter().map(|(arguments, text)| {
                (call(0, &arguments), result(text))
            });
            Entry::Turn(SettledTurn { said, calls: calls.collect() })
        }),
    ]
}

/// A history that begins with input or a summary, as every history does, with unique call ids.
fn any_history() -> impl Strategy<Value = Transcript> {
    let first = prop_oneof![
        any_text().prop_map(user),
        any_text().prop_map(|text| Entry::Summary(text.into())),
    ];
    let rest = prop::collection::vec(any_entry(), 0..14);
    (first, rest).prop_map(|(first, rest)| {
        let mut n = 0;
        let number = |mut entry: Entry| {
            if let Entry::Turn(turn) = &mut entry {
                for (call, _) in &mut turn.calls {
                    n += 1;
                    call.call.n = n;
                    call.alias = format!("c{n}").into();
                }
            }
            entry
        };
        transcript(std::iter::once(first).chain(rest).map(number))
    })
}

fn size(entries: &[Arc<Entry>]) -> u64 {
    entries.iter().map(|entry| estimate::entry(entry)).sum()
}

/// Whether a text holds a run of 256 bytes of base64, found in the plainest way.
fn has_blob(text: &str) -> bool {
    let encoded = |c: char| c.is_ascii_alphanumeric() || "+/=-_".contains(c);
    text.split(|c| !encoded(c)).any(|run| run.len() >= 256 + 5)
}

fn texts(message: &RequestMessage) -> Vec<&str> {
    match message {
        RequestMessage::User(text) | RequestMessage::ToolResult { text, .. } => vec![&**text],
        RequestMessage::Assistant { text, calls, .. } => {
            std::iter::once(&**text).chain(calls.iter().map(|call| &*call.arguments)).collect()
        }
    }
}

proptest! {
    #![proptest_config(cases(10_000))]

    #[test]
    fn a_cut_keeps_whole_groups_within_the_room_and_summarises_something(
        history in any_history(), keep in 0_u64..4_000, most in 0_u64..6_000,
    ) {
        let entries = list(&history);
        let newest = newest_input(&history);
        let counts = |at: usize| !matches!(*entries[at], Entry::Summary(_)) && newest != Some(at);
        match cut(&history, Room::new(keep, most)) {
            Ok(cut) => {
                let (summarised, kept) = entries.split_at(cut.kept_from);
                prop_assert_eq!(&[summarised, kept].concat(), &entries, "all, in order");
                prop_assert!((0..summarised.len()).any(counts), "more than nothing is summarised");
                let one = kept.len() == 1 && size(kept) <= most;
                prop_assert!(size(kept) <= keep.min(most) || one, "{} kept", size(kept));
                prop_assert!(kept.iter().all(|entry| !matches!(**entry, Entry::Summary(_))));
            }
            Err(_) => {
                let from = (0..entries.len()).find(|at| counts(*at)).unwrap_or(entries.len());
                prop_assert!(size(&entries[from..]) <= keep, "it could have gone");
            }
        }
    }

    #[test]
    fn a_compacted_history_is_paired_and_holds_the_newest_input(
        history in any_history(), kept_from in 0_usize..16,
    ) {
        let compacted = history.compacted(kept_from, "Goal: all");
        let next = messages(&compacted);
        assert_accepted(&next);
        let newest = |history: &Transcript| {
            newest_input(history).map(|at| Arc::clone(&list(history)[at]))
        };
        prop_assert_eq!(newest(&compacted), newest(&history));
        let kept = history.len().saturating_sub(kept_from);
        let doubled = newest_input(&history).is_some_and(|at| at < kept_from);
        prop_assert_eq!(compacted.len(), 1 + kept + usize::from(doubled));
        let opaque = next.iter().any(|message| {
            matches!(message, RequestMessage::Assistant { opaque: Some(_), .. })
        });
        prop_assert!(!opaque, "blocks of an older prefix");
    }

    #[test]
    fn estimates_lie_between_prose_and_encoded_data(text in any_text()) {
        let bytes = text.len() as u64;
        let (prose, json) = (estimate::prose(&text), estimate::json(&text));
        prop_assert!(bytes.div_ceil(4) <= prose && prose <= json);
        prop_assert!(json <= (bytes * 2).div_ceil(3));
    }
}

// These build whole requests and texts: more cases would take most of the crate's time.
proptest! {
    #![proptest_config(cases(2_500))]

    #[test]
    fn a_summary_request_fits_or_the_context_is_full(
        history in any_history(), room in 0_u64..9_000, other: bool, again: bool,
    ) {
        let ordinary = fixture::request(&history);
        let model: Arc<str> = if other { "openai:small".into() } else { ordinary.model.clone() };
        let asked = if again { Asked::Again } else { Asked::First };
        let smallest = summary::request(&ordinary, &Plan { model: &model, room: 0, asked });
        let Err(ContextFull::SummaryTooLarge { tokens, .. }) = smallest else {
            return Err(TestCaseError::fail("a request of nothing"));
        };
        match summary::request(&ordinary, &Plan { model: &model, room, asked }) {
            Err(full) => {
                prop_assert_eq!(full, ContextFull::SummaryTooLarge { tokens, room });
                prop_assert!(tokens > room);
            }
            Ok(request) => {
                prop_assert!(RequestSize::of(&request).total() <= room);
                assert_accepted(&request.messages);
                check_summary_request(&ordinary, &request)?;
            }
        }
    }

    #[test]
    fn a_digest_holds_no_encoded_data_and_stays_near_its_cap(
        history in any_history(), cap in 500_u64..4_000,
    ) {
        let digest = digest(&list(&history), cap);
        prop_assert!(!has_blob(&digest));
        prop_assert!(estimate::text(&digest) <= cap + 200, "{} of {cap}", digest.len());
    }
}

fn check_summary_request(
    ordinary: &ModelRequest,
    request: &ModelRequest,
) -> Result<(), TestCaseError> {
    prop_assert_eq!(&request.system, &ordinary.system);
    let (asked, kept) = request.messages.split_last().unwrap();
    prop_assert!(matches!(asked, RequestMessage::User(_)));
    let all_inputs = (inputs(kept).len(), inputs(&ordinary.messages).len());
    prop_assert_eq!(all_inputs.0, all_inputs.1, "input stays");
    for text in kept.iter().flat_map(texts) {
        prop_assert!(!has_blob(text), "{text}");
    }
    for message in kept {
        let RequestMessage::Assistant { calls, .. } = message else { continue };
        for call in calls {
            prop_assert!(serde_json::from_str::<serde_json::Value>(&call.arguments).is_ok());
        }
    }
    let calls = kept.iter().any(|message| matches!(message, RequestMessage::ToolResult { .. }));
    prop_assert!(!calls || request.tools == ordinary.tools, "calls without a list of tools");
    let choice = if request.tools.is_empty() { ToolChoice::Auto } else { ToolChoice::None };
    prop_assert_eq!(request.tool_choice, choice);
    let blocks = |message: &RequestMessage| {
        matches!(message, RequestMessage::Assistant { opaque: Some(_), .. })
    };
    let untouched = kept == ordinary.messages && request.model == ordinary.model;
    prop_assert!(untouched || !kept.iter().any(blocks), "blocks under another prefix");
    Ok(())
}
