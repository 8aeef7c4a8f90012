//! The stored form of what a store keeps: framed, checksummed, versioned, and apart from the domain
//! types, so that these can change without a stored byte changing.
//!
//! [`stored`], [`event`] and [`parts`] hold the persisted types that are written, [`v1`] those
//! that are only read any more; [`convert`] takes them to the domain and back, [`number`] holds the
//! numbers that stand for enums, [`frame`] what surrounds every value.
//!
//! What can be added without a new version: a field that a reader may miss, in the list that ends
//! every event and every record ([`parts::MoreV1`]); a kind of usage, an error code, a finish. What
//! has to be understood needs a new variant at the end of an enum, a new number, or a new version:
//! those raise [`FORMAT`]. The rules are in `docs/adr/0002-record-format.md`.

mod convert;
pub(crate) mod event;
pub(crate) mod frame;
mod number;
mod parts;
pub(crate) mod stored;
mod v1;

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use self::frame::{Kind, MAX_BODY};
use self::stored::{FamilyV1, HeadV1, IndexedV1, RecordV2, RunV1};
use self::v1::RecordV1;
use super::index::Fence;
use crate::ports::store::{Record, RunSummary};

/// The format of a whole store: it grows with every version of any stored type, and with every
/// new variant of a stored enum. A store with a larger number is not opened.
pub(crate) const FORMAT: u16 = 2;

/// The most memory that decoding one body may claim: far above what a body of [`MAX_BODY`] bytes
/// needs, and a stop for lengths that are not true.
const DECODE_LIMIT: usize = 1 << 30;

/// A value does not fit a frame.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unwritable {
    /// It is too large.
    #[error("{size} bytes are more than the {MAX_BODY} bytes that one stored value may have")]
    TooLarge {
        /// Its size in bytes.
        size: usize,
    },
    /// The encoder refused it.
    #[error("it cannot be encoded: {0}")]
    Encode(String),
}

/// Stored bytes are not what was written, or not for this version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unreadable {
    /// Fewer or more bytes than the frame says.
    #[error("it has {found} bytes instead of {expected}")]
    Length {
        /// What the frame says.
        expected: usize,
        /// What there is.
        found: usize,
    },
    /// The first byte is not the frame's.
    #[error("it does not start like a stored value (byte {0:#04x})")]
    Magic(u8),
    /// The checksum does not match.
    #[error("its checksum does not match")]
    Checksum,
    /// A value of another kind.
    #[error("it is of kind {found} instead of {expected}")]
    Kind {
        /// The number of the kind that was asked for.
        expected: u8,
        /// The number found.
        found: u8,
    },
    /// A version that this program does not know.
    #[error("it has version {found} and this program reads up to {known}")]
    Version {
        /// The version found.
        found: u16,
        /// The newest version known.
        known: u16,
    },
    /// The body is not that of its type.
    #[error("its body cannot be decoded: {0}")]
    Body(String),
    /// The body decodes before its end.
    #[error("its body has {0} bytes too many")]
    Trailing(usize),
    /// A number stands for nothing that this version knows.
    #[error("{number} is no {what}")]
    Number {
        /// What it should stand for.
        what: &'static str,
        /// The number.
        number: u32,
    },
    /// A text breaks the rules of its type.
    #[error("a stored {what} breaks its rules")]
    Text {
        /// What the text is.
        what: &'static str,
    },
}

/// A session's entry in the index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Head {
    /// Who may append, and where.
    pub fence: Fence,
    /// The global sequence of its newest record.
    pub last: Option<u64>,
    /// Its newest run.
    pub newest: Option<RunSummary>,
}

/// Where a record stands, read without the whole of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The global sequence of the session's record before it.
    pub prev: Option<u64>,
    /// The offset of its first event.
    pub first: u64,
    /// The session, as text.
    pub session: Arc<str>,
}

/// A record with the global sequence of its session's record before it.
pub(crate) fn encode_record(record: &Record, prev: Option<u64>) -> Result<Vec<u8>, Unwritable> {
    seal(Kind::Record, &RecordV2::new(record, prev))
}

/// The inverse of [`encode_record`], for records of every version.
pub(crate) fn decode_record(bytes: &[u8]) -> Result<(Record, Option<u64>), Unreadable> {
    let (version, body) = frame::open(Kind::Record, bytes)?;
    let stored = match version {
        1 => RecordV2::try_from(decode_whole::<RecordV1>(body)?)?,
        _ => decode_whole::<RecordV2>(body)?,
    };
    let prev = stored.prev;
    Ok((Record::try_from(stored)?, prev))
}

/// The place of a stored record. Checks the whole frame, decodes only the body's beginning, which
/// is the same in every version.
pub(crate) fn decode_place(bytes: &[u8]) -> Result<Place, Unreadable> {
    let (_, body) = frame::open(Kind::Record, bytes)?;
    // A struct is stored as its fields in order, so a prefix of the fields reads as a tuple.
    let ((prev, first, session), _) =
        decode_from(body).map_err(|error| Unreadable::Body(error.to_string()))?;
    Ok(Place { prev, first, session })
}

/// A session's entry in the index.
pub(crate) fn encode_head(head: &Head) -> Result<Vec<u8>, Unwritable> {
    seal(Kind::Head, &HeadV1::from(head))
}

/// The inverse of [`encode_head`].
pub(crate) fn decode_head(bytes: &[u8]) -> Result<Head, Unreadable> {
    unseal::<HeadV1>(Kind::Head, bytes)?.try_into()
}

/// A run's entry in the index.
pub(crate) fn encode_run(run: &RunSummary) -> Result<Vec<u8>, Unwritable> {
    seal(Kind::Run, &RunV1::from(run))
}

/// The inverse of [`encode_run`].
pub(crate) fn decode_run(bytes: &[u8]) -> Result<RunSummary, Unreadable> {
    unseal::<RunV1>(Kind::Run, bytes)?.try_into()
}

/// A frozen family as JSON text.
pub(crate) fn encode_family(text: &Arc<str>) -> Result<Vec<u8>, Unwritable> {
    seal(Kind::Family, &FamilyV1 { text: Arc::clone(text) })
}

/// The inverse of [`encode_family`].
pub(crate) fn decode_family(bytes: &[u8]) -> Result<Arc<str>, Unreadable> {
    unseal::<FamilyV1>(Kind::Family, bytes).map(|family| family.text)
}

/// How far the index has come: a global sequence, and the format of the store.
pub(crate) fn encode_indexed(indexed: IndexedV1) -> Result<Vec<u8>, Unwritable> {
    seal(Kind::Indexed, &indexed)
}

/// The inverse of [`encode_indexed`].
pub(crate) fn decode_indexed(bytes: &[u8]) -> Result<IndexedV1, Unreadable> {
    unseal(Kind::Indexed, bytes)
}

fn seal<T: Serialize>(kind: Kind, value: &T) -> Result<Vec<u8>, Unwritable> {
    let mut bytes = frame::begin();
    bincode::serde::encode_into_std_write(value, &mut bytes, bincode::config::standard())
        .map_err(|error| Unwritable::Encode(error.to_string()))?;
    frame::finish(kind, kind.newest(), bytes)
}

/// Opens a frame of a kind that has one version so far.
fn unseal<T: DeserializeOwned>(kind: Kind, bytes: &[u8]) -> Result<T, Unreadable> {
    let (_, body) = frame::open(kind, bytes)?;
    decode_whole(body)
}

fn decode_whole<T: DeserializeOwned>(body: &[u8]) -> Result<T, Unreadable> {
    let (value, consumed) =
        decode_from(body).map_err(|error| Unreadable::Body(error.to_string()))?;
    match body.len() - consumed {
        0 => Ok(value),
        trailing => Err(Unreadable::Trailing(trailing)),
    }
}

fn decode_from<T: DeserializeOwned>(
    body: &[u8],
) -> Result<(T, usize), bincode::error::DecodeError> {
    let config = bincode::config::standard().with_limit::<DECODE_LIMIT>();
    bincode::serde::decode_from_slice(body, config)
}

#[cfg(test)]
mod tests;
