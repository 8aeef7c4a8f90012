//! The one retry layer of model requests. Nothing above it sends a request again, and below it only
//! an adapter whose kept connection was dead before anybody can have read the request; it counts both.
//!
//! What to do after a failure is pure ([`RetryPolicy::after_failure`]); [`call_with_retries`] does
//! it. Only failures that a retry can help are retried. A stream that failed after something of it
//! was shown is void: the notice says so before the next try begins.

use std::borrow::Cow;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kinfolk_actors::agent::RawReply;
use kinfolk_actors::failure::{ErrorCode, Failure};
use kinfolk_actors::usage::Usage;

use crate::ports::model::{Delta, DeltaSink, ModelCall, ModelError, ModelProvider};

/// How often and after which waits a request is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// How many more times a request is sent: N retries are N + 1 requests.
    pub retries: u32,
    /// The longest wait before the first retry; it doubles with each further one.
    pub first_wait: Duration,
    /// The longest wait before any retry.
    pub longest_wait: Duration,
    /// The longest wait that a provider may ask for. If it asks for more, the request fails at
    /// once and says so: an earlier retry would only be refused again.
    pub longest_asked_wait: Duration,
}

impl Default for RetryPolicy {
    /// 2 retries, waits of up to 0.5 s doubling to 8 s, a provider's wish of up to 60 s.
    fn default() -> Self {
        Self {
            retries: 2,
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(8),
            longest_asked_wait: Duration::from_secs(60),
        }
    }
}

impl RetryPolicy {
    /// Sends each request once.
    #[must_use]
    pub fn never() -> Self {
        Self { retries: 0, ..Self::default() }
    }

    /// What to do after the `tries`-th try (from 1) has failed. `random` is a number from 0 to 1:
    /// it spreads the wait evenly between nothing and the longest (full jitter). A provider's own
    /// wish is kept in full, with up to a tenth more so that its clients do not return at once.
    #[must_use]
    pub fn after_failure(
        &self,
        tries: u32,
        random: f64,
        retry_after: Option<Duration>,
    ) -> AfterFailure {
        if tries > self.retries {
            return AfterFailure::GiveUp;
        }
        let random = random.clamp(0.0, 1.0);
        match retry_after {
            Some(asked) if asked > self.longest_asked_wait => AfterFailure::AskedTooLong(asked),
            Some(asked) => AfterFailure::Wait(asked.saturating_add((asked / 10).mul_f64(random))),
            None => {
                let doubled = 2_u32.saturating_pow(tries.saturating_sub(1));
                let longest = self.first_wait.saturating_mul(doubled).min(self.longest_wait);
                AfterFailure::Wait(longest.mul_f64(random))
            }
        }
    }
}

/// What to do after a failed try that a retry could help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterFailure {
    /// Wait that long, then send again.
    Wait(Duration),
    /// The retries are used up.
    GiveUp,
    /// The provider asks for a longer wait than the policy allows.
    AskedTooLong(Duration),
}

/// Told before the wait for the next try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryNotice {
    /// Why the last try failed.
    pub code: ErrorCode,
    /// Which try comes next; the first was 1.
    pub attempt_no: u32,
    /// The wait before it.
    pub wait: Duration,
    /// Whether parts of the failed reply were shown, which are void now.
    pub void: bool,
}

/// Whether a request may be sent again after tries that used so much: the most output that the
/// next try may have, if it is bounded, or why there is no next one.
pub type Room<'a> = dyn Fn(&Usage) -> Result<Option<u64>, Arc<str>> + Sync + 'a;

/// There is always room: nothing is limited.
///
/// # Errors
/// None.
pub fn unlimited(_used: &Usage) -> Result<Option<u64>, Arc<str>> {
    Ok(None)
}

/// Sends a request until it has a reply, a failure that no retry can help, or no retries left; or
/// until there is no `room` for what the next try may use beside what the failed ones have.
///
/// The usage of failed tries is added to what is returned, in a reply as in an error; every
/// request is counted. If the last failure came after parts of its reply were shown, the caller
/// has to void those itself: no try follows. Safe to drop at any time, also while it waits.
///
/// # Errors
/// The last failure, with the number of tries in its message if there was more than one.
pub async fn call_with_retries(
    provider: &dyn ModelProvider,
    call: ModelCall<'_>,
    policy: &RetryPolicy,
    room: &Room<'_>,
    on_retry: &(dyn Fn(RetryNotice) + Sync),
) -> Result<RawReply, ModelError> {
    let (mut failed, mut tries) = (Usage::default(), 0);
    let mut request = Cow::Borrowed(call.request);
    loop {
        tries += 1;
        let shown = Shown::new(call.deltas);
        let this = ModelCall { request: &request, deltas: &shown, ..call };
        let error = match provider.call(this).await {
            Ok(mut reply) => {
                reply.usage.add(&failed);
                return Ok(reply);
            }
            Err(error) => error,
        };
        failed.add(&error.usage);
        let decision = if error.failure.retryable {
            policy.after_failure(tries, random(), error.retry_after)
        } else {
            AfterFailure::GiveUp
        };
        let AfterFailure::Wait(wait) = decision else {
            return Err(last_failure(error, failed, tries, why_not(decision)));
        };
        if let Err(why) = room(&failed) {
            return Err(last_failure(error, failed, tries, Some(why)));
        }
        on_retry(RetryNotice {
            code: error.failure.code.clone(),
            attempt_no: tries + 1,
            wait,
            void: shown.anything(),
        });
        tokio::time::sleep(wait).await;
        // Others may have taken the room meanwhile.
        match room(&failed) {
            Ok(None) => {}
            Ok(Some(most)) if request.max_output.is_some_and(|now| now <= most) => {}
            Ok(Some(most)) => request.to_mut().max_output = Some(most),
            Err(why) => return Err(last_failure(error, failed, tries, Some(why))),
        }
    }
}

/// What keeps a request from being sent again, if it is more than that its retries are used up.
fn why_not(decision: AfterFailure) -> Option<Arc<str>> {
    let asked = match decision {
        AfterFailure::Wait(_) | AfterFailure::GiveUp => return None,
        // The longest wait stands for all that no number here can tell.
        AfterFailure::AskedTooLong(Duration::MAX) => "for longer than can be told".to_owned(),
        AfterFailure::AskedTooLong(asked) => format!("{asked:?}"),
    };
    Some(format!("the server asks to wait {asked}, which is too long").into())
}

fn last_failure(error: ModelError, usage: Usage, tries: u32, why: Option<Arc<str>>) -> ModelError {
    let mut message = error.failure.message.to_string();
    if let Some(why) = why {
        message.push_str(&format!("; {why}"));
    }
    if tries > 1 {
        message.push_str(&format!(" (after {tries} tries)"));
    }
    let failure = Failure { message: message.into(), ..error.failure };
    ModelError { failure, usage, ..error }
}

/// A number from 0 to 1, without a generator to carry: the standard library's hasher is seeded at
/// random anew each time.
fn random() -> f64 {
    let drawn = RandomState::new().build_hasher().finish() >> 32;
    f64::from(u32::try_from(drawn).unwrap_or(u32::MAX)) / f64::from(u32::MAX)
}

/// Notes whether anything of a reply was shown.
struct Shown<'a> {
    inner: &'a dyn DeltaSink,
    anything: AtomicBool,
}

impl<'a> Shown<'a> {
    fn new(inner: &'a dyn DeltaSink) -> Self {
        Self { inner, anything: AtomicBool::new(false) }
    }

    fn anything(&self) -> bool {
        self.anything.load(Ordering::Relaxed)
    }
}

impl DeltaSink for Shown<'_> {
    fn is_watched(&self) -> bool {
        self.inner.is_watched()
    }

    fn delta(&self, delta: Delta<'_>) {
        self.anything.store(true, Ordering::Relaxed);
        self.inner.delta(delta);
    }
}

#[cfg(test)]
mod tests;
