//! The stored form against random values, old bytes and damage.

mod golden;
mod numbers;
mod random;
mod samples;

use proptest::prelude::*;

use super::*;
use crate::ports::store::Epoch;
use kinfolk_actors::id::Offset;

proptest! {
    #[test]
    fn every_record_reads_back_as_it_was_written(
        stored in random::record(),
        prev in proptest::option::of(any::<u64>()),
    ) {
        let bytes = encode_record(&stored, prev).unwrap();
        let place = decode_place(&bytes).unwrap();
        prop_assert_eq!(place.prev, prev);
        prop_assert_eq!(place.first, stored.first.0);
        prop_assert_eq!(place.session.as_ref(), stored.session.as_str());
        prop_assert_eq!(decode_record(&bytes), Ok((stored, prev)));
    }

    #[test]
    fn every_head_and_run_reads_back_as_it_was_written(
        newest in proptest::option::of(random::run_summary()),
        epoch in any::<u64>(),
        next in any::<u64>(),
        last in proptest::option::of(any::<u64>()),
    ) {
        if let Some(run) = &newest {
            prop_assert_eq!(decode_run(&encode_run(run).unwrap()), Ok(run.clone()));
        }
        let head = Head { fence: Fence { epoch: Epoch(epoch), next: Offset(next) }, last, newest };
        prop_assert_eq!(decode_head(&encode_head(&head).unwrap()), Ok(head));
    }

    #[test]
    fn noise_is_refused_and_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(decode_record(&bytes).is_err());
        prop_assert!(decode_place(&bytes).is_err());
        prop_assert!(decode_head(&bytes).is_err());
    }

    /// A body that a checksum vouches for but that is not of its type.
    #[test]
    fn a_wrong_body_is_refused_and_never_panics(
        body in proptest::collection::vec(any::<u8>(), 0..200),
        version in 1_u16..=2,
    ) {
        let mut bytes = frame::begin();
        bytes.extend(&body);
        let bytes = frame::finish(frame::Kind::Record, version, bytes).unwrap();
        if let Ok((read, prev)) = decode_record(&bytes) {
            // Some numbers have longer forms, so only the value has to be the same again.
            let again = decode_record(&encode_record(&read, prev).unwrap());
            prop_assert_eq!(again, Ok((read, prev)));
        }
    }
}

#[test]
fn every_kind_of_event_is_sampled() {
    let mut seen = std::collections::BTreeSet::new();
    for event in samples::v2::every_event() {
        seen.insert(samples::kind_of(&event));
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), (0..samples::KINDS).collect::<Vec<_>>());
}

#[test]
fn any_changed_byte_and_any_cut_is_refused() {
    let bytes = encode_record(&samples::record(samples::v2::every_event()), Some(41)).unwrap();
    for at in 0..bytes.len() {
        for flip in [0x01, 0x80, 0xFF] {
            let mut damaged = bytes.clone();
            damaged[at] ^= flip;
            assert!(decode_record(&damaged).is_err(), "byte {at} with {flip:#x}");
            assert!(decode_place(&damaged).is_err(), "byte {at} with {flip:#x}");
        }
        assert!(decode_record(&bytes[..at]).is_err(), "cut at {at}");
    }
    let longer = [bytes.as_slice(), &[0]].concat();
    assert_eq!(decode_record(&longer), Err(Unreadable::Checksum));
}

#[test]
fn each_way_of_not_fitting_has_its_error() {
    let head = encode_head(&Head::default()).unwrap();
    assert_eq!(decode_run(&head), Err(Unreadable::Kind { expected: 3, found: 2 }));
    assert_eq!(decode_head(b"x"), Err(Unreadable::Length { expected: 12, found: 1 }));
    assert_eq!(decode_head(b"{\"json\": 1 }"), Err(Unreadable::Magic(b'{')));

    let body = |version, body: &[u8]| {
        let mut bytes = frame::begin();
        bytes.extend(body);
        frame::finish(frame::Kind::Head, version, bytes).unwrap()
    };
    assert_eq!(decode_head(&body(2, b"")), Err(Unreadable::Version { found: 2, known: 1 }));
    assert_eq!(decode_head(&body(0, b"")), Err(Unreadable::Version { found: 0, known: 1 }));
    assert_eq!(decode_head(&body(1, &[0, 0, 0, 0, 9])), Err(Unreadable::Trailing(1)));
    assert!(matches!(decode_head(&body(1, &[0])), Err(Unreadable::Body(_))));

    let mut bytes = frame::begin();
    bytes.push(0);
    let bytes = frame::finish(frame::Kind::Record, 3, bytes).unwrap();
    let unknown = Unreadable::Version { found: 3, known: 2 };
    assert_eq!(decode_record(&bytes), Err(unknown.clone()));
    assert_eq!(decode_place(&bytes), Err(unknown));
}

#[test]
fn a_number_that_stands_for_nothing_is_refused() {
    use super::event::EventV2;
    use super::parts::LimitsV1;
    let resumed = samples::v2::every_event().swap_remove(2);
    let mut stored = RecordV2::new(&samples::record(vec![resumed]), None);
    let EventV2::RunResumed { raised, .. } = &mut stored.events[0].event else {
        panic!("it is {:?}", stored.events[0]);
    };
    // A limit that is not understood is not passed over: it would not bind.
    *raised = Some(LimitsV1(vec![(0, 3), (5, 1)]));
    let bytes = seal(Kind::Record, &stored).unwrap();
    assert_eq!(decode_record(&bytes), Err(Unreadable::Number { what: "limit", number: 5 }));

    stored.events.clear();
    stored.session = "../x".into();
    let bytes = seal(Kind::Record, &stored).unwrap();
    assert_eq!(decode_record(&bytes), Err(Unreadable::Text { what: "session id" }));
}

/// A later version of the program may add fields that this one misses without harm.
#[test]
fn fields_from_the_future_are_passed_over() {
    use super::parts::MoreV1;
    let expected = samples::record(samples::v2::every_event());
    let mut stored = RecordV2::new(&expected, Some(3));
    let plain = seal(Kind::Record, &stored).unwrap();
    for entry in &mut stored.events {
        entry.more = MoreV1(vec![(1, b"new".to_vec()), (900, Vec::new())]);
    }
    stored.more = MoreV1(vec![(7, vec![0xFF; 300])]);
    let longer = seal(Kind::Record, &stored).unwrap();
    assert!(longer.len() > plain.len() + stored.events.len() * 8 + 300);
    assert_eq!(decode_record(&longer), Ok((expected, Some(3))));
}

#[test]
fn a_kind_of_usage_from_the_future_is_passed_over() {
    use super::parts::UsageV1;
    use kinfolk_actors::usage::Usage;
    let stored = UsageV1(vec![(1, 3), (99, 7)]);
    assert_eq!(Usage::from(stored), Usage { turns: 3, ..Usage::default() });
}

#[test]
fn what_is_too_large_to_read_back_is_not_written() {
    let text: Arc<str> = "x".repeat(MAX_BODY).into();
    let Err(Unwritable::TooLarge { size }) = encode_family(&text) else {
        panic!("a text of {} bytes with its length was taken", text.len());
    };
    assert!(size > MAX_BODY);
    let text: Arc<str> = "x".repeat(MAX_BODY - 5).into();
    assert_eq!(decode_family(&encode_family(&text).unwrap()), Ok(text));
}

/// Self-describing attributes make bincode write what it cannot read.
#[test]
fn no_stored_type_describes_itself() {
    let sources = [
        include_str!("event.rs"),
        include_str!("parts.rs"),
        include_str!("stored.rs"),
        include_str!("v1.rs"),
    ];
    for source in sources {
        for line in source.lines() {
            let code = line.split("//").next().unwrap_or_default();
            assert!(!code.contains("#[serde("), "a serde attribute in a stored type: {line}");
            assert!(!code.contains("Value"), "an open value in a stored type: {line}");
            assert!(!code.contains("HashMap"), "an unordered map in a stored type: {line}");
        }
    }
}
