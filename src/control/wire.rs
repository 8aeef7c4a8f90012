//! Lines of JSON over a stream, each of a bounded length.

use std::io;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWrite, AsyncWriteExt};

use super::{ControlError, Reply};

/// The most bytes of one part of a long text, before it is written as JSON.
pub(super) const PART: usize = 32 * 1024;

/// The most bytes of an answer's line: all that can wait for people, each with a large argument.
pub(super) const MAX_ANSWER: usize = 64 * 1024 * 1024;

/// One line of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    /// A part of a long text.
    Part(String),
    /// The end of an answer.
    Ok(Reply),
    /// The end of an answer that is a no.
    Error(ControlError),
}

/// What reading a line gave.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Read {
    /// A whole line without its break.
    Line(Vec<u8>),
    /// The other side has closed.
    End,
    /// The line is longer than it may be.
    TooLong,
}

/// Reads one line of at most `most` bytes. Nothing beyond them is kept in memory.
pub(super) async fn read(from: &mut (impl AsyncBufRead + Unpin), most: usize) -> io::Result<Read> {
    let mut line = Vec::new();
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    from.take(limit).read_until(b'\n', &mut line).await?;
    match line.pop() {
        Some(b'\n') => Ok(Read::Line(line)),
        Some(_) if line.len() >= most => Ok(Read::TooLong),
        // A line that was cut off is no request.
        Some(_) | None => Ok(Read::End),
    }
}

/// Reads the rest of a line, at most so many bytes, and keeps nothing of it.
pub(super) async fn drain(from: &mut (impl AsyncBufRead + Unpin), most: u64) -> io::Result<()> {
    let mut left = most;
    while left > 0 {
        let buffer = from.fill_buf().await?;
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(buffer.len(), |at| at + 1);
        from.consume(taken);
        if end.is_some() || taken == 0 {
            break;
        }
        left = left.saturating_sub(u64::try_from(taken).unwrap_or(u64::MAX));
    }
    Ok(())
}

/// Writes one line.
pub(super) async fn write(
    to: &mut (impl AsyncWrite + Unpin),
    value: &impl Serialize,
) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    to.write_all(&line).await?;
    to.flush().await
}
