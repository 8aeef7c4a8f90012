//! How far the journal has come, in a file of its own: the newest sequence that was acknowledged.
//!
//! The engine takes a log whose end is damaged for one that ends earlier, and says nothing. What it
//! shows is held against this mark when the store is opened, so that acknowledged records are never
//! missed in silence. The mark follows the commit, unsynced: a process that dies does not lose it,
//! and after a loss of power it may be behind the journal, never before it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

/// A sequence and its checksum.
const LENGTH: usize = 12;

pub(super) struct Mark {
    file: File,
}

impl Mark {
    /// Opens the mark. Its sequence is none if the file is new, or damaged itself: it is a second
    /// witness and not needed.
    pub fn open(path: &Path) -> io::Result<(Self, Option<u64>)> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = options.open(path.join("mark"))?;
        let mut bytes = [0; LENGTH];
        let sequence = match file.read_exact_at(&mut bytes, 0) {
            Ok(()) => sequence(bytes),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => None,
            Err(error) => return Err(error),
        };
        Ok((Self { file }, sequence))
    }

    /// Moves the mark to the newest acknowledged sequence.
    pub fn set(&self, sequence: u64) -> io::Result<()> {
        self.file.write_all_at(&bytes(sequence), 0)
    }
}

fn bytes(sequence: u64) -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    let (number, check) = bytes.split_at_mut(8);
    number.copy_from_slice(&sequence.to_be_bytes());
    check.copy_from_slice(&crc32fast::hash(number).to_be_bytes());
    bytes
}

fn sequence(read: [u8; LENGTH]) -> Option<u64> {
    let number = read.first_chunk().map(|number| u64::from_be_bytes(*number))?;
    (bytes(number) == read).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_reads_back_and_a_damaged_one_is_none() {
        let directory = tempfile::tempdir().unwrap();
        let (mark, none) = Mark::open(directory.path()).unwrap();
        assert_eq!(none, None);
        mark.set(0x0102_0304_0506_0708).unwrap();
        assert_eq!(Mark::open(directory.path()).unwrap().1, Some(0x0102_0304_0506_0708));
        mark.file.write_all_at(&[9], 3).unwrap();
        assert_eq!(Mark::open(directory.path()).unwrap().1, None);
    }
}
