//! Bytes that a released version wrote, checked in under `tests/golden/`. They have to decode to
//! what they meant then, and as long as a version is the newest, be what is written today.
//!
//! To add the file of a new version, run the tests with `KINFOLK_WRITE_GOLDEN=1`: files that are
//! there are never written over.

use std::path::PathBuf;

use super::*;
use kinfolk_actors::id::{Offset, RunId};
use kinfolk_actors::time::Timestamp;

/// The bytes of a golden file of a version that is not written any more.
fn released(name: &str) -> Vec<u8> {
    std::fs::read(path(name)).unwrap()
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

/// The bytes of a golden file, which has to hold what is encoded today.
fn golden(name: &str, today: &[u8]) -> Vec<u8> {
    let path = path(name);
    if std::env::var_os("KINFOLK_WRITE_GOLDEN").is_some() && !path.exists() {
        std::fs::write(&path, today).unwrap();
    }
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(today, bytes, "today's encoding of {name} is another one");
    bytes
}

fn run() -> RunSummary {
    RunSummary {
        run: RunId(uuid::Uuid::from_u128(0x0199_7c0f_fee0_7000_8000_0000_0000_0001)),
        session: "trip-42".parse().unwrap(),
        first: Offset(7),
        started: Timestamp(1_790_000_000_123),
        finished: Some(Offset(300)),
    }
}

#[test]
fn records_of_version_1() {
    let bytes = released("record-v1.bin");
    let expected = samples::record(samples::v1::every_event());
    let place = Place { prev: Some(70_000), first: 7, session: "trip-42".into() };
    assert_eq!(decode_place(&bytes), Ok(place));
    assert_eq!(decode_record(&bytes), Ok((expected, Some(70_000))));
}

#[test]
fn records_of_version_2() {
    let expected = samples::record(samples::v2::every_event());
    let bytes = golden("record-v2.bin", &encode_record(&expected, Some(70_000)).unwrap());
    assert_eq!(decode_record(&bytes), Ok((expected, Some(70_000))));
}

#[test]
fn heads_of_version_1() {
    let fence = Fence { epoch: Epoch(3), next: Offset(301) };
    let expected = Head { fence, last: Some(70_001), newest: Some(run()) };
    let bytes = golden("head-v1.bin", &encode_head(&expected).unwrap());
    assert_eq!(decode_head(&bytes), Ok(expected));
}

#[test]
fn runs_of_version_1() {
    let bytes = golden("run-v1.bin", &encode_run(&run()).unwrap());
    assert_eq!(decode_run(&bytes), Ok(run()));
}

#[test]
fn families_of_version_1() {
    let expected: Arc<str> = r#"{"lead":{"prompt":"Plan."}}"#.into();
    let bytes = golden("family-v1.bin", &encode_family(&expected).unwrap());
    assert_eq!(decode_family(&bytes), Ok(expected));
}

#[test]
fn the_progress_of_the_index_of_version_1() {
    let expected = IndexedV1 { format: 1, sequence: Some(70_001) };
    let bytes = golden("indexed-v1.bin", &encode_indexed(expected).unwrap());
    assert_eq!(decode_indexed(&bytes), Ok(expected));
}

/// The one byte string that is checked by hand: what it says is what the documents say.
#[test]
fn a_frame_is_laid_out_as_documented() {
    let bytes = encode_indexed(IndexedV1 { format: 1, sequence: None }).unwrap();
    let checksum = crc32fast::hash(&[0xF5, 5, 0, 1, 0, 0, 0, 2, 1, 0]).to_be_bytes();
    let expected = [&[0xF5, 5, 0, 1, 0, 0, 0, 2], &checksum[..], &[1, 0]].concat();
    assert_eq!(bytes, expected);
}
