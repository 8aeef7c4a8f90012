//! What an error of the server means: by status and code first, by words last.
//!
//! Words are read here and nowhere else, and only to tell an overflow of the context from another
//! bad request: most servers have no code for it.

use kinfolk_actors::failure::ErrorCode;

use super::chunk::{ErrorBody, ErrorTag};

/// What a server said, reduced to what decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Said<'a> {
    /// The HTTP status, or the one that an error inside of a stream names.
    pub status: Option<u16>,
    /// The error's `code`, if it is a word.
    pub code: &'a str,
    /// The error's `type`.
    pub kind: &'a str,
    /// The error's words, or the whole body.
    pub message: &'a str,
}

impl<'a> Said<'a> {
    /// Reads an error object. `status` is the response's own, if it was not 200.
    pub fn new(status: Option<u16>, body: &'a ErrorBody) -> Self {
        match body {
            ErrorBody::Words(words) => Self { status, message: words, ..Self::default() },
            ErrorBody::Object { message, kind, code } => {
                let (number, word) = match code {
                    Some(ErrorTag::Number(number)) => (Some(*number), ""),
                    Some(ErrorTag::Word(word)) => (word.parse().ok(), word.as_str()),
                    None => (None, ""),
                };
                Self {
                    status: status.or(number),
                    code: word,
                    kind: kind.as_deref().unwrap_or_default(),
                    message: message.as_deref().unwrap_or_default(),
                }
            }
        }
    }

    /// The error's code.
    pub fn classify(&self) -> ErrorCode {
        let tagged = by_tag(self.code).or_else(|| by_tag(self.kind));
        match (tagged, self.status) {
            // A plain "invalid request" is all that most servers call an overflow.
            (Some(ErrorCode::ModelBadRequest), _) => self.by_words(ErrorCode::ModelBadRequest),
            (Some(code), _) => code,
            (None, Some(401 | 403)) => ErrorCode::ModelUnauthorized,
            (None, Some(402)) => ErrorCode::ModelQuota,
            (None, Some(404)) => ErrorCode::ModelNotFound,
            (None, Some(408)) => ErrorCode::ModelTimeout,
            (None, Some(413)) => ErrorCode::ModelContextOverflow,
            (None, Some(429)) => ErrorCode::ModelRateLimited,
            (None, Some(409)) => ErrorCode::ModelUnavailable,
            (None, Some(300..=499)) => self.by_words(ErrorCode::ModelBadRequest),
            (None, Some(_) | None) => self.by_words(ErrorCode::ModelUnavailable),
        }
    }

    fn by_words(&self, otherwise: ErrorCode) -> ErrorCode {
        let words = self.message.to_ascii_lowercase();
        let says = |patterns: &[&str]| patterns.iter().any(|pattern| words.contains(pattern));
        if says(RATE_LIMIT_WORDS) {
            ErrorCode::ModelRateLimited
        } else if says(OVERFLOW_WORDS) {
            ErrorCode::ModelContextOverflow
        } else {
            otherwise
        }
    }
}

/// The words of codes and types that servers send, as far as they say more than the status.
fn by_tag(tag: &str) -> Option<ErrorCode> {
    match tag {
        "context_length_exceeded" | "exceed_context_size_error" | "string_above_max_length" => {
            Some(ErrorCode::ModelContextOverflow)
        }
        "insufficient_quota" | "credit_balance_exhausted" | "billing_hard_limit_reached" => {
            Some(ErrorCode::ModelQuota)
        }
        "rate_limit_exceeded" | "rate_limit_error" | "slow_down" | "too_many_requests" => {
            Some(ErrorCode::ModelRateLimited)
        }
        "overloaded_error" | "server_is_overloaded" | "server_error" | "api_error" => {
            Some(ErrorCode::ModelUnavailable)
        }
        "invalid_api_key" | "authentication_error" | "permission_error" => {
            Some(ErrorCode::ModelUnauthorized)
        }
        "model_not_found" | "not_found_error" => Some(ErrorCode::ModelNotFound),
        "invalid_request_error" | "invalid_prompt" => Some(ErrorCode::ModelBadRequest),
        _ => None,
    }
}

/// Words of rate limits. They are looked for first: "too many tokens" occurs in both.
const RATE_LIMIT_WORDS: &[&str] =
    &["rate limit", "too many requests", "tokens per minute", "throttl", "please wait before"];

/// How servers without a code for it say that a request is larger than the window, in lower case.
const OVERFLOW_WORDS: &[&str] = &[
    "exceeds the context window",
    "maximum context length",
    "exceeds the available context size",
    "prompt is too long",
    "input token count",
    "input is too long",
    "maximum prompt length is",
    "reduce the length of the messages",
    "too large for model with",
    "greater than the context length",
    "exceeds the limit of",
    "exceeded model token limit",
    "context window exceeded",
    "context length exceeded",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn classify(status: u16, body: &str) -> ErrorCode {
        let body: ErrorBody = serde_json::from_str(body).unwrap();
        Said::new((status != 200).then_some(status), &body).classify()
    }

    #[test]
    fn codes_and_statuses_decide_before_words() {
        let cases = [
            (401, r#"{"message":"no"}"#, ErrorCode::ModelUnauthorized),
            (403, r#""no""#, ErrorCode::ModelUnauthorized),
            (402, r#""pay""#, ErrorCode::ModelQuota),
            (
                404,
                r#"{"message":"no such model","code":"model_not_found"}"#,
                ErrorCode::ModelNotFound,
            ),
            (400, r#"{"code":"model_not_found"}"#, ErrorCode::ModelNotFound),
            (408, r#""slow""#, ErrorCode::ModelTimeout),
            (413, r#""""#, ErrorCode::ModelContextOverflow),
            (429, r#"{"message":"slow down"}"#, ErrorCode::ModelRateLimited),
            (429, r#"{"type":"insufficient_quota"}"#, ErrorCode::ModelQuota),
            (429, r#"{"message":"maximum context length"}"#, ErrorCode::ModelRateLimited),
            (500, r#"{"message":"oops"}"#, ErrorCode::ModelUnavailable),
            (529, r#"{"type":"overloaded_error"}"#, ErrorCode::ModelUnavailable),
            (422, r#"{"message":"bad field"}"#, ErrorCode::ModelBadRequest),
            (200, r#"{"code":502,"message":"upstream went away"}"#, ErrorCode::ModelUnavailable),
            (200, r#"{"code":"429","message":"x"}"#, ErrorCode::ModelRateLimited),
            (
                200,
                r#"{"type":"invalid_request_error","message":"bad"}"#,
                ErrorCode::ModelBadRequest,
            ),
            (200, r#""busy""#, ErrorCode::ModelUnavailable),
        ];
        for (status, body, expected) in cases {
            assert_eq!(classify(status, body), expected, "{status} {body}");
        }
    }

    #[test]
    fn d07_an_overflow_is_known_by_code_or_by_the_words_of_each_provider() {
        let bodies = [
            ("by code", 400, r#"{"code":"context_length_exceeded","message":"x"}"#),
            ("by type", 400, r#"{"code":400,"type":"exceed_context_size_error","message":"x"}"#),
            ("by status", 413, r#"{"type":"request_too_large","message":"too large"}"#),
            (
                "a proxy dropped the code",
                400,
                r#"{"message":"maximum context length","code":null}"#,
            ),
            ("within a stream", 200, r#"{"message":"prompt is too long: 9 > 8","code":400}"#),
        ];
        for (row, status, body) in bodies {
            assert_eq!(classify(status, body), ErrorCode::ModelContextOverflow, "D07: {row}");
        }
        let words = [
            "Your input exceeds the context window of this model",
            "This model's maximum context length is 8192 tokens. However, you requested 9000",
            "prompt is too long: 210000 tokens > 200000 maximum",
            "The input token count (9) exceeds the maximum number of tokens allowed (8)",
            "This model's maximum prompt length is 131072",
            "Please reduce the length of the messages or completion",
            "Prompt contains 9 tokens, too large for model with 8 maximum context length",
            "the number of tokens to keep is greater than the context length",
            "exceeded model token limit: 8192",
        ];
        for message in words {
            let said = Said { status: Some(400), message, ..Said::default() };
            assert_eq!(said.classify(), ErrorCode::ModelContextOverflow, "{message}");
            let said = Said { kind: "invalid_request_error", ..said };
            assert_eq!(said.classify(), ErrorCode::ModelContextOverflow, "{message}");
        }
        let message = "Rate limit reached: too many tokens, maximum context length is 10";
        let said = Said { status: Some(400), message, ..Said::default() };
        assert_eq!(said.classify(), ErrorCode::ModelRateLimited);
    }
}
