//! What a command wrote, kept within bounds.

use std::collections::VecDeque;
use std::pin::pin;

use tokio::io::{AsyncRead, AsyncReadExt};

/// The most bytes of stdout that are kept: its beginning.
pub(super) const STDOUT_CAP: usize = 256 * 1024;

/// The most bytes of stderr that are kept: its end, where the reason for a failure stands.
pub(super) const STDERR_CAP: usize = 16 * 1024;

/// What a command wrote.
#[derive(Debug, Default)]
pub(super) struct Output {
    pub(super) head: Head,
    pub(super) tail: Tail,
}

impl Output {
    /// The beginning of stdout as text, with a mark if there was more.
    pub(super) fn stdout(&self) -> String {
        let Head { kept, full } = &self.head;
        let mut text = String::from_utf8_lossy(kept).into_owned();
        if *full > kept.len() {
            text.push_str(&format!("\n[cut: the first {} of {full} bytes are shown]", kept.len()));
        }
        text
    }

    /// The end of stderr as text, with a mark if there was more.
    pub(super) fn stderr(&self) -> String {
        let Tail { kept, full } = &self.tail;
        let bytes: Vec<u8> = kept.iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        if *full > kept.len() {
            return format!("[cut: the last {} of {full} bytes are shown]\n{text}", kept.len());
        }
        text.into_owned()
    }
}

/// Takes everything, keeps some.
pub(super) trait Keep {
    fn keep(&mut self, bytes: &[u8]);
}

/// The first bytes of a stream.
#[derive(Debug, Default)]
pub(super) struct Head {
    kept: Vec<u8>,
    full: usize,
}

impl Keep for Head {
    fn keep(&mut self, bytes: &[u8]) {
        let room = STDOUT_CAP - self.kept.len();
        self.kept.extend_from_slice(&bytes[..room.min(bytes.len())]);
        self.full = self.full.saturating_add(bytes.len());
    }
}

/// The last bytes of a stream.
#[derive(Debug, Default)]
pub(super) struct Tail {
    kept: VecDeque<u8>,
    full: usize,
}

impl Keep for Tail {
    fn keep(&mut self, bytes: &[u8]) {
        self.kept.extend(bytes);
        let surplus = self.kept.len().saturating_sub(STDERR_CAP);
        self.kept.drain(..surplus);
        self.full = self.full.saturating_add(bytes.len());
    }
}

/// Reads a pipe to its end, so that its writer never blocks. Cancel-safe: what was read is kept.
pub(super) async fn drain(pipe: Option<impl AsyncRead>, keep: &mut impl Keep) {
    let Some(pipe) = pipe else { return };
    let mut pipe = pin!(pipe);
    let mut chunk = vec![0; 8 * 1024];
    // A pipe that cannot be read any more has ended, for whatever reason.
    while let Ok(read @ 1..) = pipe.read(&mut chunk).await {
        keep.keep(&chunk[..read]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_of_stdout_and_the_tail_of_stderr_are_kept_with_marks() {
        let mut output = Output::default();
        output.head.keep(&vec![b'a'; STDOUT_CAP - 1]);
        output.head.keep(b"bc");
        output.tail.keep(b"xy");
        output.tail.keep(&vec![b'z'; STDERR_CAP - 1]);
        let head = format!("{}b", "a".repeat(STDOUT_CAP - 1));
        let mark = "\n[cut: the first 262144 of 262145 bytes are shown]";
        assert_eq!(output.stdout(), format!("{head}{mark}"));
        let tail = format!("y{}", "z".repeat(STDERR_CAP - 1));
        let mark = "[cut: the last 16384 of 16385 bytes are shown]\n";
        assert_eq!(output.stderr(), format!("{mark}{tail}"));
    }
}
