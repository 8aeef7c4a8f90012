//! What surrounds every stored value: `[magic u8][kind u8][version u16][len u32][crc32 u32][body]`,
//! numbers big-endian. The checksum covers everything but itself; `len` is that of the body.

use super::{Unreadable, Unwritable};

/// The first byte of every stored value: no letter, no digit, no byte of UTF-8 text.
const MAGIC: u8 = 0xF5;

const HEADER: usize = 12;
const CHECKSUM: std::ops::Range<usize> = 8..12;

/// The most bytes of one body, 64 MiB: more than any record of bounded results needs.
pub(crate) const MAX_BODY: usize = 64 << 20;

/// What a stored value is. The numbers are stored; new ones come at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// The events of one append.
    Record = 1,
    /// A session's entry in the index.
    Head = 2,
    /// A run's entry in the index.
    Run = 3,
    /// A frozen family.
    Family = 4,
    /// How far the index has come.
    Indexed = 5,
}

impl Kind {
    /// The newest version of its body, the one that is written. All from 1 to here are read.
    pub(crate) const fn newest(self) -> u16 {
        match self {
            Self::Record => 2,
            Self::Head | Self::Run | Self::Family | Self::Indexed => 1,
        }
    }
}

/// An empty frame, to whose end the body is written.
pub(crate) fn begin() -> Vec<u8> {
    let mut bytes = Vec::with_capacity(256);
    bytes.resize(HEADER, 0);
    bytes
}

/// Fills in the header of a frame that has its body.
pub(crate) fn finish(kind: Kind, version: u16, mut bytes: Vec<u8>) -> Result<Vec<u8>, Unwritable> {
    let size = bytes.len() - HEADER;
    let len = u32::try_from(size).ok().filter(|_| size <= MAX_BODY);
    let len = len.ok_or(Unwritable::TooLarge { size })?;
    bytes[0] = MAGIC;
    bytes[1] = kind as u8;
    bytes[2..4].copy_from_slice(&version.to_be_bytes());
    bytes[4..8].copy_from_slice(&len.to_be_bytes());
    let checksum = checksum(&bytes);
    bytes[CHECKSUM].copy_from_slice(&checksum.to_be_bytes());
    Ok(bytes)
}

/// The version and the body of a whole, undamaged frame of that kind, of a version up to the
/// kind's newest.
pub(crate) fn open(kind: Kind, bytes: &[u8]) -> Result<(u16, &[u8]), Unreadable> {
    let Some((header, body)) = bytes.split_first_chunk::<HEADER>() else {
        return Err(Unreadable::Length { expected: HEADER, found: bytes.len() });
    };
    let [magic, found, v0, v1, l0, l1, l2, l3, c0, c1, c2, c3] = *header;
    if magic != MAGIC {
        return Err(Unreadable::Magic(magic));
    }
    if checksum(bytes) != u32::from_be_bytes([c0, c1, c2, c3]) {
        return Err(Unreadable::Checksum);
    }
    let len = usize::try_from(u32::from_be_bytes([l0, l1, l2, l3])).unwrap_or(usize::MAX);
    if len != body.len() {
        return Err(Unreadable::Length { expected: len, found: body.len() });
    }
    if found != kind as u8 {
        return Err(Unreadable::Kind { expected: kind as u8, found });
    }
    let known = kind.newest();
    match u16::from_be_bytes([v0, v1]) {
        version if (1..=known).contains(&version) => Ok((version, body)),
        found => Err(Unreadable::Version { found, known }),
    }
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&bytes[..CHECKSUM.start]);
    hasher.update(&bytes[CHECKSUM.end..]);
    hasher.finalize()
}
