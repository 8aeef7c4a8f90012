//! Encoded data in texts: found by its long unbroken runs, and replaced by a mark that says how
//! much it was. A summary of base64 is base64 again, at the price of tokens.

use std::ops::Range;
use std::sync::Arc;

use crate::estimate::is_encoded;

/// From how many bytes on encoded data is left out. Shorter is mostly a key, a hash or a path,
/// which a summary may need.
const LEAST: usize = 256;

/// From how many bytes on a line may go on in the next one: base64 is wrapped at 60 to 76.
const LINE: usize = 60;

/// The text without encoded data, or nothing if it holds none.
pub(super) fn without(text: &str) -> Option<Arc<str>> {
    let mut kept = String::new();
    let mut from = 0;
    for blob in find(text) {
        kept.push_str(text.get(from..blob.start)?);
        kept.push_str(&format!("[left out: {} bytes of encoded data]", blob.len()));
        from = blob.end;
    }
    if from == 0 {
        return None;
    }
    kept.push_str(text.get(from..)?);
    Some(kept.into())
}

/// The runs of encoded data, in order. They are ASCII, so their ends are character boundaries.
fn find(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if !encoded_at(bytes, at) {
            at += 1;
            continue;
        }
        let start = at + escape(bytes, at);
        at = end_of_run(bytes, start);
        if at - start >= LEAST {
            found.push(start..at);
        }
    }
    found
}

fn encoded_at(bytes: &[u8], at: usize) -> bool {
    bytes.get(at).copied().is_some_and(is_encoded)
}

/// The end of a run, over the ends of its lines. At least `start`.
fn end_of_run(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    loop {
        let line = at;
        while encoded_at(bytes, at) {
            at += 1;
        }
        let next = at + line_end(bytes, at);
        if at - line < LINE || next == at || !encoded_at(bytes, next) {
            return at;
        }
        at = next;
    }
}

/// The length of a line's end, as it is or as JSON writes it.
fn line_end(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    let ends = [&b"\r\n"[..], b"\n", br"\r\n", br"\n"];
    ends.iter().find(|end| rest.starts_with(end)).map_or(0, |end| end.len())
}

/// How much at the start of a run belongs to a JSON escape before it, as in `\n` or `\u00e9`.
fn escape(bytes: &[u8], at: usize) -> usize {
    if at == 0 || bytes.get(at - 1) != Some(&b'\\') {
        return 0;
    }
    let most = if bytes.get(at) == Some(&b'u') { 5 } else { 1 };
    (0..most).take_while(|n| encoded_at(bytes, at + n)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(without(text).as_deref(), expected, "{text}");
    }

    #[test]
    fn long_runs_are_replaced_and_all_else_stays() {
        let run = "Qa9+/".repeat(60);
        check(
            &format!("é data:image/png;base64,{run}= then"),
            Some("é data:image/png;base64,[left out: 301 bytes of encoded data] then"),
        );
        check(&"a".repeat(255), None);
        check(&"a".repeat(256), Some("[left out: 256 bytes of encoded data]"));
        check("", None);
        check(&"words and words ".repeat(100), None);
        check(&"日本語".repeat(200), None);
    }

    #[test]
    fn wrapped_lines_are_one_run_plain_or_as_json() {
        let line = "0123456789abcdef".repeat(4);
        for (end, bytes) in [("\n", 4), ("\r\n", 8), (r"\n", 8), (r"\r\n", 16)] {
            let text = format!("<{}QQ==>", format!("{line}{end}").repeat(4));
            let size = 4 * 64 + bytes + 4;
            check(&text, Some(&format!("<[left out: {size} bytes of encoded data]>")));
        }
        // Short lines are a list, not wrapped data.
        check(&"0123456789\n".repeat(100), None);
    }

    #[test]
    fn an_escape_before_a_run_stays_whole() {
        for escape in [r"\n", r"\u00e9", r"\t"] {
            let json = format!("{{\"a\":\"{escape}{}\"}}", "Q".repeat(300));
            let kept = without(&json).unwrap();
            let expected = format!("{{\"a\":\"{escape}[left out: 300 bytes of encoded data]\"}}");
            assert_eq!(*kept, *expected);
            assert!(serde_json::from_str::<serde_json::Value>(&kept).is_ok());
        }
    }
}
