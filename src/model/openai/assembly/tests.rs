//! Replies out of chunks, with the quirks of many servers.

use kinfolk_actors::agent::RawCall;
use parking_lot::Mutex;

use super::*;
use crate::ports::model::NoDeltas;

/// Notes every delta.
#[derive(Default)]
struct Watcher(Mutex<Vec<String>>);

impl DeltaSink for Watcher {
    fn is_watched(&self) -> bool {
        true
    }

    fn delta(&self, delta: Delta<'_>) {
        self.0.lock().push(match delta {
            Delta::Text(text) => format!("text {text}"),
            Delta::Reasoning(text) => format!("reasoning {text}"),
            Delta::Call(name) => format!("call {name}"),
        });
    }
}

fn assemble(chunks: &[&str]) -> Result<RawReply, AssemblyError> {
    let mut assembly = Assembly::default();
    for chunk in chunks {
        assembly.take(serde_json::from_str(chunk).unwrap(), &NoDeltas)?;
    }
    assembly.done();
    assembly.finish("asked", Millis(0))
}

/// The calls of chunks that hold these `tool_calls`.
fn calls(fragments: &[&str]) -> Result<Vec<RawCall>, AssemblyError> {
    let chunk = |fragment: &&str| {
        format!(r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":{fragment}}}}}]}}"#)
    };
    let chunks: Vec<String> = fragments.iter().map(chunk).collect();
    let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
    assemble(&chunks).map(|reply| reply.calls)
}

fn call(id: &str, name: &str, arguments: &str) -> RawCall {
    RawCall { provider_id: id.into(), name: name.into(), arguments: arguments.into() }
}

#[test]
fn a_plain_reply_with_usage_in_a_chunk_without_choices() {
    let reply = assemble(&[
        r#"{"model":"m-2","choices":[{"index":0,"delta":{"role":"assistant","content":null}}]}"#,
        r#"{"model":"m-2","choices":[{"index":0,"delta":{"content":"Hi"}}]}"#,
        r#"{"choices":[{"index":1,"delta":{"content":"another answer"}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":" \"you\""},"finish_reason":null}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":43,"completion_tokens":7,"total_tokens":50,
            "prompt_tokens_details":{"cached_tokens":40},
            "completion_tokens_details":{"reasoning_tokens":2}}}"#,
    ]);
    let usage = Usage {
        model_requests: 1,
        input_tokens: 43,
        output_tokens: 7,
        cached_input_tokens: 40,
        reasoning_tokens: 2,
        ..Usage::default()
    };
    let expected = RawReply {
        cost: None,
        text: "Hi \"you\"".into(),
        calls: vec![],
        finish: Finish::Length,
        usage,
        model: "m-2".into(),
        duration: Millis(0),
        opaque: None,
    };
    assert_eq!(reply, Ok(expected));
}

#[test]
fn reasoning_is_shown_and_never_part_of_the_text() {
    let watcher = Watcher::default();
    let mut assembly = Assembly::default();
    let chunks = [
        r#"{"choices":[{"delta":{"reasoning_content":"Hm."}}]}"#,
        r#"{"choices":[{"delta":{"reasoning":"So."}}]}"#,
        r#"{"choices":[{"delta":{"content":"A"}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"look"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
    ];
    for chunk in chunks {
        assembly.take(serde_json::from_str(chunk).unwrap(), &watcher).unwrap();
    }
    assert!(assembly.is_finished());
    let reply = assembly.finish("m", Millis(0)).unwrap();
    assert_eq!((reply.text.as_ref(), reply.calls), ("A", vec![call("c", "look", "{}")]));
    assert_eq!(*watcher.0.lock(), ["reasoning Hm.", "reasoning So.", "text A", "call look"]);
}

/// Case B01.
#[test]
fn b01_two_fragments_of_one_index_in_one_chunk_are_one_call() {
    let got = calls(&[
        r#"[{"index":0,"id":"c","function":{"name":"tide","arguments":""}},
            {"index":0,"function":{"arguments":"{\"p\":"}}]"#,
        r#"[{"index":0,"function":{"arguments":"1}"}}]"#,
    ]);
    assert_eq!(got, Ok(vec![call("c", "tide", "{\"p\":1}")]));
}

/// Case B02.
#[test]
fn b02_an_index_that_is_used_twice_shifted_or_missing() {
    let used_twice = calls(&[
        r#"[{"index":0,"id":"p1","function":{"name":"a","arguments":"{\"n\":"}}]"#,
        r#"[{"index":0,"function":{"arguments":"1}"}}]"#,
        r#"[{"index":0,"id":"p2","function":{"name":"a","arguments":"{\"n\":"}}]"#,
        r#"[{"index":0,"function":{"arguments":"2}"}}]"#,
    ]);
    let two = vec![call("p1", "a", "{\"n\":1}"), call("p2", "a", "{\"n\":2}")];
    assert_eq!(used_twice, Ok(two.clone()));

    let shifted = calls(&[
        r#"[{"index":0,"id":"q","function":{"name":"a","arguments":""}}]"#,
        r#"[{"index":1,"function":{"arguments":"{\"n\""}}]"#,
        r#"[{"index":2,"id":"q","function":{"arguments":":7}"}}]"#,
    ]);
    assert_eq!(shifted, Ok(vec![call("q", "a", "{\"n\":7}")]));

    let missing = calls(&[
        r#"[{"id":"p1","function":{"name":"a","arguments":"{\"n\":"}}]"#,
        r#"[{"function":{"arguments":"1}"}}]"#,
        r#"[{"id":"p2","function":{"name":"a","arguments":"{\"n\":"}}]"#,
        r#"[{"id":"p2","function":{"name":"a","arguments":"2}"}}]"#,
    ]);
    assert_eq!(missing, Ok(two));
}

/// Case B02, its last sentence.
#[test]
fn b02_a_fragment_that_could_belong_to_two_calls_is_an_error() {
    let open = r#"[{"index":0,"id":"x","function":{"name":"a","arguments":"{\"n\":"}},
                   {"index":1,"id":"y","function":{"name":"a","arguments":"{\"n\":"}}]"#;
    for stray in [r#"[{"function":{"arguments":"1}"}}]"#, r#"[{"index":7,"function":{}}]"#] {
        let got = calls(&[open, stray]);
        assert_eq!(got, Err(AssemblyError::Fragment(FragmentError::Ambiguous)), "{stray}");
    }
    let twice = r#"[{"index":0,"id":"x","function":{"name":"a","arguments":"{"}},
                    {"index":0,"id":"y","function":{"name":"a","arguments":"{"}}]"#;
    let got = calls(&[twice, r#"[{"index":0,"function":{"arguments":"}"}}]"#]);
    assert_eq!(got, Err(AssemblyError::Fragment(FragmentError::Ambiguous)));
    let got = calls(&[r#"[{"index":0,"function":{"arguments":"}"}}]"#]);
    assert_eq!(got, Err(AssemblyError::Fragment(FragmentError::Orphan)));
    let got = calls(&[r#"[{"index":0,"id":"x"}]"#]);
    assert_eq!(got, Err(AssemblyError::Fragment(FragmentError::Nameless)));
}

/// Cases B03 and B04: what the model wrote stays as it is.
#[test]
fn b03_b04_arguments_may_be_missing_empty_or_cut() {
    let got = calls(&[r#"[{"index":0,"id":"a","function":{"name":"list"}},
            {"index":1,"id":"b","function":{"name":"list","arguments":""}},
            {"index":2,"id":"c","function":{"name":"list","arguments":"{\"half"}}]"#]);
    let expected = [call("a", "list", ""), call("b", "list", ""), call("c", "list", "{\"half")];
    assert_eq!(got, Ok(expected.to_vec()));
}

/// Cases B07 and B08.
#[test]
fn b07_b08_ids_that_are_repeated_empty_or_late_and_names_that_come_again() {
    let same = r#"{"id":"s","function":{"name":"a","arguments":"{}"}"#;
    let got = calls(&[&format!(r#"[{same},"index":0}},{same},"index":1}}]"#)]);
    assert_eq!(got, Ok(vec![call("s", "a", "{}"), call("s", "a", "{}")]));

    let got = calls(&[
        r#"[{"index":0,"id":"","function":{"name":"read","arguments":"{\"n\":1}"}},
            {"index":1,"id":"","function":{"name":"read","arguments":"{\"n\":"}}]"#,
        r#"[{"index":1,"id":"","function":{"name":"","arguments":"2}"}}]"#,
    ]);
    assert_eq!(got, Ok(vec![call("", "read", "{\"n\":1}"), call("", "read", "{\"n\":2}")]));

    let repeated_and_late = calls(&[
        r#"[{"index":0,"function":{"name":"read","arguments":"{\"n\":"}}]"#,
        r#"[{"index":0,"function":{"name":"read","arguments":"2"}}]"#,
        r#"[{"index":0,"id":"late","function":{"arguments":"}"}}]"#,
    ]);
    assert_eq!(repeated_and_late, Ok(vec![call("late", "read", "{\"n\":2}")]));

    let one_index_without_ids = calls(&[
        r#"[{"index":0,"function":{"name":"read","arguments":"{\"n\":1}"}}]"#,
        r#"[{"index":0,"function":{"name":"read","arguments":"{\"n\":2}"}}]"#,
    ]);
    let expected = vec![call("", "read", "{\"n\":1}"), call("", "read", "{\"n\":2}")];
    assert_eq!(one_index_without_ids, Ok(expected));
}

#[test]
fn the_end_needs_a_finish_reason_or_the_end_mark() {
    let chunk = r#"{"choices":[{"delta":{"content":"Hel"}}]}"#;
    let mut assembly = Assembly::default();
    assembly.take(serde_json::from_str(chunk).unwrap(), &NoDeltas).unwrap();
    let cut = assembly.clone().finish("m", Millis(0));
    assert_eq!(cut, Err(AssemblyError::Truncated));
    assembly.done();
    let whole = assembly.finish("m", Millis(0)).unwrap();
    assert_eq!((whole.text.as_ref(), whole.finish), ("Hel", Finish::Stop));
}

#[test]
fn an_error_in_the_stream_is_no_reply() {
    let failed = assemble(&[r#"{"choices":[{"delta":{},"finish_reason":"error"}]}"#]);
    assert!(matches!(failed, Err(AssemblyError::Provider(_))), "{failed:?}");
    let failed = assemble(&[r#"{"error":"busy"}"#]);
    assert_eq!(failed, Err(AssemblyError::Provider(ErrorBody::Words("busy".to_owned()))));
}

#[test]
fn a_reply_without_end_is_stopped_at_the_limit() {
    let text = "x".repeat(1024 * 1024);
    let chunk = format!(r#"{{"choices":[{{"delta":{{"content":"{text}"}}}}]}}"#);
    let mut assembly = Assembly::default();
    let mut take = || assembly.take(serde_json::from_str(&chunk).unwrap(), &NoDeltas);
    for _ in 0..16 {
        assert_eq!(take(), Ok(true));
    }
    assert_eq!(take(), Err(AssemblyError::TooLarge));
}

#[test]
fn a_reply_with_calls_without_end_is_stopped_at_the_limit() {
    let fragment = |n: usize| format!(r#"[{{"index":{n},"id":"c{n}","function":{{"name":"f"}}}}]"#);
    let fragments: Vec<String> = (0..=MAX_CALLS).map(fragment).collect();
    let fragments: Vec<&str> = fragments.iter().map(String::as_str).collect();
    assert_eq!(calls(&fragments[..MAX_CALLS]).map(|calls| calls.len()), Ok(MAX_CALLS));
    assert_eq!(calls(&fragments), Err(AssemblyError::TooManyCalls));
}

/// A fragment without index and id looks for the only open call. With 3 MB of open arguments, each
/// look has to cost no more than the fragment: read anew, these would be 60 GB.
#[test]
fn many_small_fragments_of_a_large_call_are_cheap() {
    let large = format!("{{\"a\":\"{}", "x".repeat(3_000_000));
    let first = format!(
        r#"[{{"index":0,"id":"a","function":{{"name":"f","arguments":{large:?}}}}},
            {{"index":1,"id":"b","function":{{"name":"g","arguments":"{{}}"}}}}]"#
    );
    let many = vec![r#"{"function":{"arguments":"x"}}"#; 1_000].join(",");
    let many = format!("[{many}]");
    let last = r#"[{"function":{"arguments":"\"}"}}]"#;
    let mut chunks = vec![first.as_str()];
    chunks.extend([many.as_str(); 20]);
    chunks.push(last);
    let expected = format!("{large}{}\"}}", "x".repeat(20_000));
    let calls = calls(&chunks).unwrap();
    assert!(calls == vec![call("a", "f", &expected), call("b", "g", "{}")]);
}

#[test]
fn names_in_a_reply_are_cut() {
    let long = "é".repeat(150);
    let reply = assemble(&[
        &format!(
            r#"{{"model":"{long}","choices":[{{"delta":{{"tool_calls":
                [{{"id":"a","function":{{"name":"{long}","arguments":"{{}}"}}}}]}}}}]}}"#
        ),
        &format!(r#"{{"choices":[{{"delta":{{}},"finish_reason":"{long}"}}]}}"#),
    ])
    .unwrap();
    let cut = "é".repeat(100);
    assert_eq!(reply.model.as_ref(), cut);
    assert_eq!(reply.finish, Finish::Other(cut.as_str().into()));
    assert_eq!(reply.calls, vec![call("a", &cut, "{}")]);
}
