//! What the parser has to do, whatever the sizes of the reads.

use std::convert::Infallible;

use futures::StreamExt;

use super::*;

/// Every event as `name|data`, or the error.
async fn read(body: &[u8], chunk: usize) -> Vec<String> {
    let chunks: Vec<Result<Vec<u8>, Infallible>> =
        body.chunks(chunk).map(|chunk| Ok(chunk.to_vec())).collect();
    events(futures::stream::iter(chunks))
        .map(|event| match event {
            Ok(event) => format!("{}|{}", event.name(), event.data()),
            Err(error) => format!("error: {error}"),
        })
        .collect()
        .await
}

#[tokio::test]
async fn the_same_events_come_out_at_every_chunk_size() {
    let cases: [(&str, &[u8], &[&str]); 14] = [
        ("LF", b"data: a\n\ndata: b\n\n", &["message|a", "message|b"]),
        ("CRLF", b"data: a\r\n\r\ndata: b\r\n\r\n", &["message|a", "message|b"]),
        ("CR", b"data: a\r\rdata: b\r\r", &["message|a", "message|b"]),
        ("mixed ends", b"data: a\n\r\ndata: b\r\n\n", &["message|a", "message|b"]),
        ("multi-line", b"data: a\ndata: b\n\n", &["message|a\nb"]),
        ("comments", b": hello\n\n: there\ndata: a\n: bye\n\n", &["message|a"]),
        ("BOM", b"\xEF\xBB\xBFdata: a\n\n", &["message|a"]),
        ("split UTF-8", "data: æ🫐朝\n\n".as_bytes(), &["message|æ🫐朝"]),
        ("id and retry", b"id: 7\nretry: 3000\ndata: a\n\n", &["message|a"]),
        ("named", b"event: ping\ndata: {}\n\n", &["ping|{}"]),
        ("bad UTF-8", b"data: a\n\ndata: \xFF\n\n", &["message|a", NOT_UTF8]),
        ("no data", b"event: ping\n\nretry: 1\n\ndata: a\n\n", &["message|a"]),
        ("empty data", b"data:\n\ndata: a\n\n", &["message|", "message|a"]),
        ("cut end", b"data: a\n\ndata: b", &["message|a"]),
    ];
    for (name, body, expected) in cases {
        for chunk in [1, 3, 4096] {
            assert_eq!(read(body, chunk).await, expected, "{name} in chunks of {chunk}");
        }
    }
}

const NOT_UTF8: &str = "error: a line is not valid UTF-8";

#[tokio::test]
async fn an_event_over_the_limit_is_an_error_and_comments_are_not_an_event() {
    let mut body = b"data: ".to_vec();
    body.resize(MAX_EVENT_BYTES + 1, b'x');
    let told = read(&body, 64 * 1024).await;
    let expected = format!("error: one event is larger than {MAX_EVENT_BYTES} bytes");
    assert_eq!(told.first(), Some(&expected));

    let mut body = b": keep-alive\n\n".repeat(MAX_EVENT_BYTES / 13);
    body.extend_from_slice(b"data: a\n\n");
    assert_eq!(read(&body, 64 * 1024).await, ["message|a"]);
}
