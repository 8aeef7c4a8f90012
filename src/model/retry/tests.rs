//! The policy by itself, and the layer in paused time.

use futures::FutureExt;
use futures::future::BoxFuture;
use kinfolk_actors::context::ModelRequest;
use kinfolk_actors::event::Finish;
use kinfolk_actors::family::ToolChoice;
use kinfolk_actors::id::RequestNo;
use kinfolk_actors::time::Millis;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::*;
use crate::ports::model::{NoDeltas, Purpose};

const HALF: Duration = Duration::from_millis(500);

#[test]
fn waits_double_up_to_the_longest_and_are_spread_over_their_whole_length() {
    let policy = RetryPolicy { retries: 9, ..RetryPolicy::default() };
    let waits: Vec<AfterFailure> =
        (1..=6).map(|tries| policy.after_failure(tries, 1.0, None)).collect();
    let expected = [500, 1000, 2000, 4000, 8000, 8000]
        .map(|millis| AfterFailure::Wait(Duration::from_millis(millis)));
    assert_eq!(waits, expected);
    assert_eq!(policy.after_failure(1, 0.0, None), AfterFailure::Wait(Duration::ZERO));
    let half = AfterFailure::Wait(Duration::from_millis(250));
    assert_eq!(policy.after_failure(1, 0.5, None), half);
    assert_eq!(policy.after_failure(99, 1.0, None), AfterFailure::GiveUp);
}

#[test]
fn a_providers_wish_is_kept_within_the_cap() {
    let policy = RetryPolicy::default();
    let seconds = Duration::from_secs;
    assert_eq!(policy.after_failure(1, 0.0, Some(seconds(3))), AfterFailure::Wait(seconds(3)));
    let spread = AfterFailure::Wait(Duration::from_millis(3300));
    assert_eq!(policy.after_failure(1, 1.0, Some(seconds(3))), spread);
    let asked = seconds(7200);
    assert_eq!(policy.after_failure(1, 0.0, Some(asked)), AfterFailure::AskedTooLong(asked));
    assert_eq!(policy.after_failure(3, 0.0, Some(seconds(1))), AfterFailure::GiveUp);
    let asked = Duration::MAX;
    assert_eq!(policy.after_failure(1, 1.0, Some(asked)), AfterFailure::AskedTooLong(asked));
    let patient = RetryPolicy { longest_asked_wait: Duration::MAX, ..policy };
    assert_eq!(patient.after_failure(1, 1.0, Some(asked)), AfterFailure::Wait(asked));
}

#[test]
fn the_number_drawn_lies_between_zero_and_one_and_changes() {
    let drawn: Vec<f64> = (0..64).map(|_| random()).collect();
    assert!(drawn.iter().all(|n| (0.0..=1.0).contains(n)), "{drawn:?}");
    assert!(drawn.iter().any(|n| *n < 0.5) && drawn.iter().any(|n| *n >= 0.5), "{drawn:?}");
}

/// Fails so often, then replies; notes when each request came.
struct Flaky {
    failures: usize,
    error: ModelError,
    shows: bool,
    asked_at: Mutex<Vec<Instant>>,
    caps: Mutex<Vec<Option<u64>>>,
}

impl Flaky {
    fn new(failures: usize, code: ErrorCode) -> Self {
        let usage = Usage { model_requests: 1, input_tokens: 5, ..Usage::default() };
        let failure = Failure::new(code, "no");
        let error = ModelError { failure, usage, retry_after: None };
        Self { failures, error, shows: false, asked_at: Mutex::default(), caps: Mutex::default() }
    }

    fn requests(&self) -> usize {
        self.asked_at.lock().len()
    }
}

impl ModelProvider for Flaky {
    fn call<'a>(&'a self, call: ModelCall<'a>) -> BoxFuture<'a, Result<RawReply, ModelError>> {
        self.asked_at.lock().push(Instant::now());
        self.caps.lock().push(call.request.max_output);
        if self.shows {
            call.deltas.delta(Delta::Text("half"));
        }
        let usage = Usage { model_requests: 1, input_tokens: 7, ..Usage::default() };
        let reply = RawReply {
            cost: None,
            text: "yes".into(),
            calls: vec![],
            finish: Finish::Stop,
            usage,
            model: "m".into(),
            duration: Millis(0),
            opaque: None,
        };
        let failed = self.requests() <= self.failures;
        std::future::ready(if failed { Err(self.error.clone()) } else { Ok(reply) }).boxed()
    }
}

async fn run(flaky: &Flaky) -> (Result<RawReply, ModelError>, Vec<RetryNotice>) {
    run_in(flaky, &unlimited).await
}

async fn run_in(
    flaky: &Flaky,
    room: &Room<'_>,
) -> (Result<RawReply, ModelError>, Vec<RetryNotice>) {
    let request = ModelRequest {
        model: "test:m".into(),
        system: "".into(),
        messages: vec![],
        tools: [].into(),
        tool_choice: ToolChoice::Auto,
        max_output: None,
    };
    let (agent, purpose, number) = ("lead", Purpose::Reply, RequestNo(1));
    let call = ModelCall { request: &request, agent, purpose, number, deltas: &NoDeltas };
    let notices = Mutex::new(Vec::new());
    let policy = RetryPolicy::default();
    let note = |notice| notices.lock().push(notice);
    let result = call_with_retries(flaky, call, &policy, room, &note).await;
    (result, notices.into_inner())
}

#[tokio::test(start_paused = true)]
async fn a_reply_after_failures_counts_every_request() {
    let flaky = Flaky { shows: true, ..Flaky::new(2, ErrorCode::ModelTruncated) };
    let (result, notices) = run(&flaky).await;
    let used = Usage { model_requests: 3, input_tokens: 17, ..Usage::default() };
    assert_eq!(result.unwrap().usage, used);
    let told: Vec<(u32, bool)> = notices.iter().map(|told| (told.attempt_no, told.void)).collect();
    assert_eq!(told, [(2, true), (3, true)]);
    assert!(notices[0].wait <= HALF && notices[1].wait <= HALF * 2, "{notices:?}");
}

/// Case C09.
#[tokio::test(start_paused = true)]
async fn c09_two_retries_are_three_requests_and_one_error_that_says_so() {
    let flaky = Flaky::new(99, ErrorCode::ModelRateLimited);
    let (result, notices) = run(&flaky).await;
    let error = result.unwrap_err();
    assert_eq!(error.failure, Failure::new(ErrorCode::ModelRateLimited, "no (after 3 tries)"));
    assert_eq!((flaky.requests(), error.usage.model_requests), (3, 3));
    assert_eq!(notices.iter().map(|notice| notice.void).collect::<Vec<_>>(), [false, false]);
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_no_retry_helps_is_returned_at_once() {
    let flaky = Flaky::new(99, ErrorCode::ModelUnauthorized);
    let (result, notices) = run(&flaky).await;
    assert_eq!(result, Err(flaky.error.clone()));
    assert_eq!((flaky.requests(), notices), (1, vec![]));
}

/// Case C08.
#[tokio::test(start_paused = true)]
async fn c08_the_wait_that_a_provider_asks_for_is_kept() {
    let mut flaky = Flaky::new(1, ErrorCode::ModelRateLimited);
    flaky.error.retry_after = Some(Duration::from_secs(3));
    let (result, _) = run(&flaky).await;
    assert!(result.is_ok());
    let asked_at = flaky.asked_at.lock().clone();
    let gap = asked_at[1] - asked_at[0];
    let bounds = Duration::from_secs(3)..=Duration::from_millis(4500);
    assert!(bounds.contains(&gap), "{gap:?}");

    let mut flaky = Flaky::new(1, ErrorCode::ModelRateLimited);
    flaky.error.retry_after = Some(Duration::from_secs(7200));
    let (result, _) = run(&flaky).await;
    let message = "no; the server asks to wait 7200s, which is too long";
    assert_eq!(result.unwrap_err().failure.message.as_ref(), message);
    assert_eq!(flaky.requests(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_request_without_room_for_another_try_fails_with_what_it_used() {
    let flaky = Flaky::new(99, ErrorCode::ModelTruncated);
    let room = |used: &Usage| match used.input_tokens {
        0..=5 => Ok(Some(9)),
        _ => Err("no budget".into()),
    };
    let error = run_in(&flaky, &room).await.0.unwrap_err();
    assert_eq!(error.failure.message.as_ref(), "no; no budget (after 2 tries)");
    assert_eq!((flaky.requests(), error.usage.input_tokens), (2, 10));
    assert_eq!(*flaky.caps.lock(), [None, Some(9)], "the next try has a cap");
}
