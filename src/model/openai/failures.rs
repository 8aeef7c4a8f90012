//! Errors of the connection and the server as failures: what happened, at which address, what to
//! do. No key, no query and no more than [`MAX_SAID`] bytes of a server's words.

use std::error::Error;
use std::time::Duration;

use jiff::fmt::rfc2822::DateTimeParser;
use kinfolk_actors::failure::{ErrorCode, Failure};
use kinfolk_actors::text::head;
use reqwest::Url;
use reqwest::header::HeaderMap;

use super::OpenAiSettings;
use super::assembly::{AssemblyError, MAX_CALLS, MAX_REPLY_BYTES};
use super::chunk::{ErrorBody, ErrorEnvelope};
use super::classify::Said;

/// The most bytes of a server's own words in a message.
const MAX_SAID: usize = 500;

/// Names the place in messages.
#[derive(Debug)]
pub(super) struct Place {
    /// The address, without user, password and query.
    pub address: String,
    /// The environment variable that holds the key, if one is known.
    pub key_variable: Option<String>,
    has_key: bool,
    connect_timeout: Duration,
    idle_timeout: Duration,
}

impl Place {
    pub fn new(url: &Url, settings: &OpenAiSettings) -> Self {
        let mut shown = url.clone();
        shown.set_query(None);
        shown.set_fragment(None);
        // A URL that cannot have a user has none to hide.
        let _ = shown.set_username("");
        let _ = shown.set_password(None);
        Self {
            address: shown.to_string(),
            key_variable: settings.key_variable.clone(),
            has_key: settings.api_key.is_some(),
            connect_timeout: settings.connect_timeout,
            idle_timeout: settings.idle_timeout,
        }
    }

    /// The connection failed before or in the middle of an answer.
    pub fn transport(&self, error: &reqwest::Error) -> Failure {
        let address = &self.address;
        if error.is_connect() {
            let why = if error.is_timeout() {
                format!("no answer to the connection within {:?}", self.connect_timeout)
            } else {
                root_cause(error)
            };
            let message = format!(
                "cannot reach the model server at {address}: {why}; \
                 start the server or correct the base URL"
            );
            return Failure::new(ErrorCode::ModelUnreachable, message);
        }
        if error.is_timeout() {
            return self.idle();
        }
        let why = root_cause(error);
        if error.is_body() || error.is_decode() {
            let message =
                format!("the connection to {address} broke in the middle of the reply: {why}");
            return Failure::new(ErrorCode::ModelTruncated, message);
        }
        let message = format!("the model server at {address} gave no answer: {why}");
        Failure::new(ErrorCode::ModelUnavailable, message)
    }

    fn idle(&self) -> Failure {
        let message = format!(
            "the model server at {} sent nothing for {:?}; try again, or raise the idle timeout",
            self.address, self.idle_timeout
        );
        Failure::new(ErrorCode::ModelTimeout, message)
    }

    /// The server sends, but nothing of a reply.
    pub fn no_progress(&self, limit: Duration) -> Failure {
        let message = format!(
            "the model server at {} stays connected but its reply did not go on for {limit:?}; \
             try again, or raise the progress timeout",
            self.address
        );
        Failure::new(ErrorCode::ModelTimeout, message)
    }

    /// The server's answer is not a stream of chat completion chunks.
    pub fn protocol(&self, what: &str) -> Failure {
        let message = format!(
            "the reply of the model server at {} cannot be read: {what}; \
             check that the base URL is that of an OpenAI-compatible API",
            self.address
        );
        Failure::new(ErrorCode::ModelProtocol, message)
    }

    /// The server answered with an error status.
    pub fn status(&self, status: u16, body: &[u8]) -> Failure {
        match serde_json::from_slice::<ErrorEnvelope>(body) {
            Ok(envelope) => self.said(&Said::new(Some(status), &envelope.error)),
            Err(_) => {
                let words = String::from_utf8_lossy(body);
                self.said(&Said { status: Some(status), message: &words, ..Said::default() })
            }
        }
    }

    /// The server sent an error inside of an answer that began well.
    pub fn in_stream(&self, body: &ErrorBody) -> Failure {
        self.said(&Said::new(None, body))
    }

    fn said(&self, said: &Said<'_>) -> Failure {
        let code = said.classify();
        let status = said.status.map_or_else(String::new, |status| format!(" (status {status})"));
        let words = match said.message.trim() {
            "" => "without a reason".to_owned(),
            words => format!("with: {}", cut(words)),
        };
        let address = &self.address;
        let advice = self.advice(&code);
        Failure::new(code, format!("{address} refused the request{status} {words}{advice}"))
    }

    /// What to do about the error, for those that a user can mend.
    fn advice(&self, code: &ErrorCode) -> String {
        if *code == ErrorCode::ModelUnauthorized {
            return self.key_advice();
        }
        let known = [
            (
                ErrorCode::ModelNotFound,
                "; check the model's name and the path of the base URL (often `/v1`)",
            ),
            (ErrorCode::ModelQuota, "; raise the account's quota or balance"),
            (ErrorCode::ModelContextOverflow, "; the request is larger than the model's window"),
        ];
        let advice = known.iter().find(|(known, _)| known == code);
        advice.map_or_else(String::new, |(_, advice)| (*advice).to_owned())
    }

    fn key_advice(&self) -> String {
        match (&self.key_variable, self.has_key) {
            (Some(variable), true) => {
                format!("; set {variable} to a key that may use the model")
            }
            (Some(variable), false) => {
                format!("; no key was sent: set {variable} to one that may use the model")
            }
            (None, true) => "; use another key".to_owned(),
            (None, false) => {
                "; no key was sent: name the environment variable that holds one (--api-key-env)"
                    .to_owned()
            }
        }
    }

    /// The chunks make no reply.
    pub fn assembly(&self, error: &AssemblyError) -> Failure {
        match error {
            AssemblyError::Provider(body) => self.in_stream(body),
            AssemblyError::Fragment(error) => self.protocol(&error.to_string()),
            AssemblyError::TooLarge => {
                self.protocol(&format!("it is larger than {MAX_REPLY_BYTES} bytes"))
            }
            AssemblyError::TooManyCalls => {
                self.protocol(&format!("it has more than {MAX_CALLS} tool calls"))
            }
            AssemblyError::Truncated => {
                let message = format!(
                    "the reply of {} ended before its end mark; nothing of it is used",
                    self.address
                );
                Failure::new(ErrorCode::ModelTruncated, message)
            }
        }
    }
}

/// Text for a message: bounded, on one line.
pub(super) fn cut(words: &str) -> String {
    let words = head(words, MAX_SAID);
    words.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The innermost cause says what happened; the outer ones only where.
fn root_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cut(&cause.to_string())
}

/// How long the server asks to wait: `retry-after-ms`, else `retry-after` in seconds or as a date.
/// What cannot be read, is negative or lies in the past is no wish; what is too long to be told is
/// the longest wait.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |text: &str| text.parse::<f64>().ok();
    let millis = text("retry-after-ms").and_then(number).map(|millis| millis / 1000.0);
    let seconds = millis.or_else(|| text("retry-after").and_then(number));
    match seconds {
        Some(seconds) if seconds >= 0.0 => {
            Some(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
        }
        Some(_) => None,
        None => until_date(text("retry-after")?, text("date")),
    }
}

/// The wait until an HTTP date, by the server's own clock if it told the time.
fn until_date(date: &str, now: Option<&str>) -> Option<Duration> {
    const PARSER: DateTimeParser = DateTimeParser::new().relaxed_weekday(true);
    let parse = |text: &str| PARSER.parse_timestamp(text).ok();
    let now = now.and_then(parse).unwrap_or_else(jiff::Timestamp::now);
    match parse(date) {
        Some(date) => Duration::try_from(date.duration_since(now)).ok(),
        None => is_beyond_the_calendar(date).then_some(Duration::MAX),
    }
}

/// Whether it is a date that cannot be read because its year is too large.
fn is_beyond_the_calendar(date: &str) -> bool {
    let words: Vec<&str> = date.split_ascii_whitespace().collect();
    let [_weekday, _day, _month, year, _time, _zone] = words.as_slice() else { return false };
    let year = year.trim_start_matches('0');
    year.bytes().all(|byte| byte.is_ascii_digit()) && (year.len() > 4 || year == "9999")
}

#[cfg(test)]
mod tests {
    use super::*;

    type Fields = &'static [(&'static str, &'static str)];

    fn headers(fields: Fields) -> HeaderMap {
        fields.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    /// Case C08.
    #[test]
    fn c08_the_wait_that_a_server_asks_for() {
        let seconds = |n| Some(Duration::from_secs(n));
        const DATE: &str = "Mon, 21 Sep 2026 14:13:20 GMT";
        const LAST: &str = "Fri, 31 Dec 9999 23:59:59 GMT";
        let cases: [(Fields, Option<Duration>); 18] = [
            (&[("retry-after", "3")], seconds(3)),
            (&[("retry-after", "0.25")], Some(Duration::from_millis(250))),
            (
                &[("retry-after", "9"), ("retry-after-ms", "1500")],
                Some(Duration::from_millis(1500)),
            ),
            (&[("retry-after", DATE), ("date", "Mon, 21 Sep 2026 14:13:16 GMT")], seconds(4)),
            (&[("retry-after", DATE), ("date", "Mon, 21 Sep 2026 14:13:26 GMT")], None),
            (&[("retry-after", "soon")], None),
            (&[("retry-after", "-5")], None),
            (&[("retry-after", "7200")], seconds(7200)),
            (&[("retry-after", "inf")], Some(Duration::MAX)),
            (&[("retry-after", "1e300")], Some(Duration::MAX)),
            (&[("retry-after", "18446744073709551615")], Some(Duration::MAX)),
            (&[("retry-after-ms", "1e300")], Some(Duration::MAX)),
            (&[("retry-after", "-inf")], None),
            (&[("retry-after", "NaN")], None),
            (&[("retry-after", LAST)], Some(Duration::MAX)),
            (&[("retry-after", "Fri, 31 Dec 20260 23:59:59 GMT")], Some(Duration::MAX)),
            (&[("retry-after", "Fri, 31 Dec soon 23:59:59 GMT")], None),
            (&[], None),
        ];
        for (fields, expected) in cases {
            assert_eq!(retry_after(&headers(fields)), expected, "{fields:?}");
        }
    }

    #[test]
    fn words_of_a_server_are_bounded_and_on_one_line() {
        let text = cut(&format!("a\nb{}", "é".repeat(400)));
        assert!(text.starts_with("a bé") && text.len() <= MAX_SAID, "{text}");
    }
}
