//! Server-sent events out of a stream of bytes. The parser is `sseer`; nothing else knows it.
//!
//! It never reports an event that the end of the stream cuts off: whoever reads has to look for
//! the end mark of its protocol.

use futures::{Stream, StreamExt};
use sseer::errors::EventStreamError;
use sseer::event::Event;
use sseer::event_stream::EventStream;

/// The most bytes of one event.
pub(super) const MAX_EVENT_BYTES: usize = 4 * 1024 * 1024;

/// One event with data.
#[derive(Clone, Debug)]
pub(super) struct SseEvent(Event);

impl SseEvent {
    /// The event's name; `message` if the server gave none.
    pub fn name(&self) -> &str {
        &self.0.event
    }

    /// The data lines, joined by line feeds.
    pub fn data(&self) -> &str {
        &self.0.data
    }
}

/// The stream gave no event.
#[derive(Debug, thiserror::Error)]
pub(super) enum SseError<E> {
    /// The bytes stopped coming.
    #[error("the connection failed")]
    Transport(E),
    /// One event is larger than [`MAX_EVENT_BYTES`].
    #[error("one event is larger than {MAX_EVENT_BYTES} bytes")]
    TooLong,
    /// A line is not UTF-8.
    #[error("a line is not valid UTF-8")]
    NotUtf8,
}

/// Reads the events of a body. After an error nothing useful comes.
pub(super) fn events<S, E>(body: S) -> impl Stream<Item = Result<SseEvent, SseError<E>>>
where
    S: Stream<Item = Result<Vec<u8>, E>>,
{
    let mut size = EventSize::default();
    let bounded = body.map(move |chunk| match chunk {
        Ok(chunk) if size.fits(&chunk) => Ok(chunk),
        Ok(_) => Err(SseError::TooLong),
        Err(error) => Err(SseError::Transport(error)),
    });
    EventStream::new(bounded).map(|event| match event {
        Ok(event) => Ok(SseEvent(event)),
        Err(EventStreamError::Transport(error)) => Err(error),
        Err(EventStreamError::Utf8Error(_)) => Err(SseError::NotUtf8),
    })
}

/// Counts the bytes since the last blank line. A blank line that a chunk's edge cuts is missed,
/// which only counts too much until the next one.
#[derive(Default)]
struct EventSize {
    since_blank: usize,
}

impl EventSize {
    fn fits(&mut self, chunk: &[u8]) -> bool {
        let blank = |mark: &[u8]| {
            chunk.windows(mark.len()).rposition(|window| window == mark).map(|at| at + mark.len())
        };
        let last = [blank(b"\n\n"), blank(b"\r\n\r\n"), blank(b"\r\r")].into_iter().flatten().max();
        self.since_blank = match last {
            Some(end) => chunk.len() - end,
            None => self.since_blank.saturating_add(chunk.len()),
        };
        self.since_blank <= MAX_EVENT_BYTES && chunk.len() <= MAX_EVENT_BYTES
    }
}

#[cfg(test)]
mod tests;
