//! Whatever bytes come and however reads cut them: one answer, no panic.

use futures::executor::block_on;
use proptest::prelude::*;

use super::super::OpenAiSettings;
use super::*;
use crate::ports::model::NoDeltas;

const WHOLE: &str = concat!(
    ": hello\n\n",
    "data: {\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Blå 🫐\"}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":",
    "{\"name\":\"look\",\"arguments\":\"{\\\"at\\\":\"}}]}}]}\r\n\r\n",
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":",
    "{\"arguments\":\"1}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\n",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4}}\n\n",
    "data: [DONE]\n\n",
);

/// Reads a body in reads of that size.
fn read(body: &[u8], size: usize) -> Result<RawReply, ModelError> {
    let settings = OpenAiSettings::new("http://127.0.0.1:1");
    let place = Place::new(&"http://127.0.0.1:1/x".parse().unwrap(), &settings);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let reader = Reader {
            place: &place,
            deltas: &NoDeltas,
            model: "m",
            started: Instant::now(),
            progress_timeout: Duration::from_secs(1),
        };
        let chunks: Vec<_> = body.chunks(size).map(|chunk| Ok(chunk.to_vec())).collect();
        reader.assemble(futures::stream::iter(chunks)).await
    })
}

#[test]
fn a_stream_reads_the_same_split_at_every_byte() {
    let whole = read(WHOLE.as_bytes(), WHOLE.len()).unwrap();
    assert_eq!(whole.text.as_ref(), "Blå 🫐");
    assert_eq!(whole.calls[0].arguments.as_ref(), "{\"at\":1}");
    for at in 1..WHOLE.len() {
        let (head, tail) = WHOLE.as_bytes().split_at(at);
        let chunks = [Ok(head.to_vec()), Ok(tail.to_vec())];
        let events =
            crate::model::sse::events::<_, std::convert::Infallible>(futures::stream::iter(chunks));
        let data: Vec<String> = block_on(events.map(|e| e.unwrap().data().to_owned()).collect());
        assert_eq!(data.len(), 5, "split at {at}");
    }
    assert_eq!(read(WHOLE.as_bytes(), 1).unwrap(), whole);
}

#[test]
fn a_stream_cut_anywhere_before_its_finish_reason_is_no_reply() {
    let finish = WHOLE.find("data: {\"choices\":[],").unwrap();
    for end in 0..WHOLE.len() {
        let reply = read(&WHOLE.as_bytes()[..end], 4096);
        match reply {
            Ok(_) => assert!(end >= finish, "cut at {end}"),
            Err(error) => {
                assert_eq!(error.failure.code.as_str(), "model.truncated", "cut at {end}");
                assert!(end < finish, "cut at {end}");
            }
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_give_one_answer(body in prop::collection::vec(any::<u8>(), 0..600), size in 1..50_usize) {
        prop_assert_eq!(read(&body, size), read(&body, 4096));
    }

    #[test]
    fn a_damaged_stream_gives_one_answer(
        at in 0..WHOLE.len(),
        with in prop::collection::vec(any::<u8>(), 0..8),
        size in 1..50_usize,
    ) {
        let mut body = WHOLE.as_bytes().to_vec();
        let end = body.len().min(at + with.len() / 2);
        body.splice(at..end, with);
        prop_assert_eq!(read(&body, size), read(&body, 4096));
    }
}
