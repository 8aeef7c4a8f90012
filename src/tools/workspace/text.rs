//! Text for results and from files, within bounds.

use std::io::{self, BufRead, Read};
use std::path::Path;

use tokio_util::sync::CancellationToken;

/// A path as results show it: with `/`, invalid UTF-8 replaced, control characters escaped.
pub(super) fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    if !text.chars().any(char::is_control) {
        return text.into_owned();
    }
    let escaped = |c: char| {
        let control = c.is_control().then(|| c.escape_default());
        let plain = (!c.is_control()).then_some(c);
        control.into_iter().flatten().chain(plain)
    };
    text.chars().flat_map(escaped).collect()
}

/// A reader that fails once its call is cancelled, so that no library reads on.
pub(super) struct Watched<'a, R> {
    pub(super) inner: R,
    pub(super) cancelled: &'a CancellationToken,
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancelled.is_cancelled() {
            return Err(io::Error::other("the call was cancelled"));
        }
        self.inner.read(buffer)
    }
}

/// One line of a file, without its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// The first bytes of it, as many as were asked for.
    pub(super) kept: Vec<u8>,
    /// Its length in bytes, as far as it was read.
    pub(super) full: usize,
    /// Whether it was read to its end.
    pub(super) ended: bool,
}

/// Reads the next line and keeps at most `cap` bytes of it; nothing at the end of the file. Gives up
/// on a line soon after `most` bytes.
pub(super) fn next_line(
    reader: &mut impl BufRead,
    cap: usize,
    most: usize,
) -> io::Result<Option<Line>> {
    let mut line = Line::default();
    let mut read_any = false;
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            line.ended = true;
            return Ok(read_any.then_some(line));
        }
        read_any = true;
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let part = &buffer[..end.unwrap_or(buffer.len())];
        let room = cap - line.kept.len();
        line.kept.extend_from_slice(&part[..room.min(part.len())]);
        line.full += part.len();
        let used = part.len() + usize::from(end.is_some());
        reader.consume(used);
        line.ended = end.is_some();
        if line.ended || line.full > most {
            return Ok(Some(line));
        }
    }
}

/// Whether the beginning of a file looks like something other than text.
pub(super) fn is_binary(beginning: &[u8]) -> bool {
    beginning.contains(&0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_kept_up_to_their_cap_over_any_buffer_size() {
        for size in 1..8 {
            let mut reader = io::BufReader::with_capacity(size, &b"abcdef\n\nxy"[..]);
            let mut lines = Vec::new();
            while let Some(line) = next_line(&mut reader, 3, 100).unwrap() {
                lines.push(line);
            }
            let line = |kept: &str, full| Line { kept: kept.into(), full, ended: true };
            assert_eq!(lines, [line("abc", 6), line("", 0), line("xy", 2)], "buffer of {size}");
        }
    }

    #[test]
    fn a_line_without_end_is_given_up() {
        let mut reader = io::BufReader::with_capacity(4, io::repeat(b'x'));
        let line = next_line(&mut reader, 3, 9).unwrap();
        assert_eq!(line, Some(Line { kept: b"xxx".into(), full: 12, ended: false }));
    }

    #[test]
    fn a_path_cannot_break_the_line_that_it_stands_in() {
        assert_eq!(shown(Path::new("a\nb/ü\u{1b}")), "a\\nb/ü\\u{1b}");
    }
}
