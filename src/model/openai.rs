//! OpenAI-compatible chat completions, streamed, over any base URL.
//!
//! Sends each request once, and once more only if a kept connection turns out to be dead before
//! anybody can have read it. The key is sent in a header that is marked sensitive and appears in no
//! message. Redirects are not followed, so that it goes nowhere else.

use std::fmt;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{Stream, StreamExt};
use kinfolk_actors::agent::RawReply;
use kinfolk_actors::failure::{ErrorCode, Failure};
use kinfolk_actors::usage::Usage;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, RequestBuilder, Response, Url, redirect};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::{Instant, timeout_at};

use crate::ports::model::{ModelCall, ModelError, ModelProvider};
use failures::Place;
use request::OutputCap;

mod assembly;
mod calls;
mod chunk;
mod classify;
mod failures;
mod request;
mod stream;
mod whole;

/// The base URL of OpenAI itself.
pub const OPENAI_BASE_URL: &str = "https://api.openai.com/v1";

/// The variable that holds the key for OpenAI itself.
pub const OPENAI_KEY_VARIABLE: &str = "OPENAI_API_KEY";

/// The variable that holds another base URL.
pub const OPENAI_URL_VARIABLE: &str = "OPENAI_BASE_URL";

/// The most bytes of the body of an error that are read.
const MAX_ERROR_BODY: usize = 64 * 1024;

/// How long the body of an error may take as a whole. Its status has arrived by then and says most.
const ERROR_BODY_TIME: Duration = Duration::from_secs(10);

/// The most bytes of a name in a reply that are kept: of its model, its finish reason, its tools.
const MAX_NAME: usize = 200;

/// How to reach a server.
#[derive(Clone, Debug)]
pub struct OpenAiSettings {
    /// The address of the API; `/chat/completions` is appended to its path. A query stays.
    pub base_url: String,
    /// The key, sent as a bearer token. Local servers need none.
    pub api_key: Option<SecretString>,
    /// The environment variable that holds the key, named in messages about it.
    pub key_variable: Option<String>,
    /// The most tokens of one reply; none leaves it to the server.
    pub max_output: Option<u64>,
    /// How long making the connection may take. Default 5 s.
    pub connect_timeout: Duration,
    /// How long the server may send no byte at all, comments included. Default 120 s.
    pub idle_timeout: Duration,
    /// How long the server may send without the reply going on. Default 600 s.
    pub progress_timeout: Duration,
}

impl OpenAiSettings {
    /// Settings for a server that needs no key.
    #[must_use]
    pub fn new(base_url: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            api_key: None,
            key_variable: None,
            max_output: None,
            connect_timeout: Duration::from_secs(5),
            idle_timeout: Duration::from_secs(120),
            progress_timeout: Duration::from_secs(600),
        }
    }

    /// The same with a key.
    #[must_use]
    pub fn with_key(self, key: SecretString) -> Self {
        Self { api_key: Some(key), ..self }
    }
}

/// The settings make no adapter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenAiError {
    /// No key is set.
    #[error(
        "the environment variable {variable} is not set; set it to the key of the model server"
    )]
    MissingKey {
        /// The variable.
        variable: String,
    },
    /// The key cannot be sent.
    #[error("the key for the model server holds characters that no HTTP header can carry")]
    BadKey,
    /// The base URL is none.
    #[error("the base URL `{base_url}` cannot be used: {detail}; use one like {OPENAI_BASE_URL}")]
    BaseUrl {
        /// The URL as it was given.
        base_url: String,
        /// What is wrong with it.
        detail: String,
    },
    /// The HTTP client cannot be made.
    #[error("the HTTP client cannot be made: {detail}")]
    Client {
        /// What it said.
        detail: String,
    },
}

/// The adapter. Its requests share their connections; dropping it closes those.
pub struct OpenAi {
    client: Client,
    url: Url,
    authorization: Option<HeaderValue>,
    place: Place,
    cap: OutputCap,
    progress_timeout: Duration,
    /// Whether a request was answered, so that a pooled connection may have died since.
    answered: AtomicBool,
}

impl fmt::Debug for OpenAi {
    /// Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAi").field("address", &self.place.address).finish_non_exhaustive()
    }
}

impl OpenAi {
    /// An adapter for a server. Connects to nothing yet.
    ///
    /// # Errors
    /// [`OpenAiError::BaseUrl`], [`OpenAiError::BadKey`] or [`OpenAiError::Client`].
    pub fn new(settings: OpenAiSettings) -> Result<Self, OpenAiError> {
        let url = endpoint(&settings.base_url)?;
        let authorization = settings.api_key.as_ref().map(authorization).transpose()?;
        let mut builder = Client::builder()
            .connect_timeout(settings.connect_timeout)
            .read_timeout(settings.idle_timeout)
            .redirect(redirect::Policy::none())
            .user_agent(concat!("kinfolk/", env!("CARGO_PKG_VERSION")));
        if is_loopback(&url) {
            // A proxy of the environment cannot reach this machine's own loopback address.
            builder = builder.no_proxy();
        }
        let client =
            builder.build().map_err(|error| OpenAiError::Client { detail: error.to_string() })?;
        Ok(Self {
            client,
            place: Place::new(&url, &settings),
            url,
            authorization,
            cap: OutputCap::new(&settings.base_url, settings.max_output),
            progress_timeout: settings.progress_timeout,
            answered: AtomicBool::new(false),
        })
    }

    /// An adapter from `OPENAI_API_KEY` and, if it is set, `OPENAI_BASE_URL`.
    ///
    /// # Errors
    /// [`OpenAiError::MissingKey`] if neither a key nor another base URL is set, else those of
    /// [`OpenAi::new`].
    pub fn from_env() -> Result<Self, OpenAiError> {
        Self::from_variables(&|name| std::env::var(name).ok())
    }

    /// [`OpenAi::from_env`] with the variables of `read`.
    pub(super) fn from_variables(
        read: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, OpenAiError> {
        let variable = OPENAI_KEY_VARIABLE.to_owned();
        let key = set(read, OPENAI_KEY_VARIABLE).map(SecretString::from);
        let base_url = base_url_of_variables(read);
        if key.is_none() && base_url == OPENAI_BASE_URL {
            return Err(OpenAiError::MissingKey { variable });
        }
        let settings = OpenAiSettings::new(base_url);
        Self::new(OpenAiSettings { api_key: key, key_variable: Some(variable), ..settings })
    }

    async fn ask(&self, call: ModelCall<'_>) -> Result<RawReply, ModelError> {
        let started = Instant::now();
        let body = request::body(call.request, self.cap).map_err(|error| {
            ModelError::from(Failure::new(ErrorCode::ModelBadRequest, error.to_string()))
        })?;
        let mut sent = 1;
        let request = self.request(body);
        // The copy shares the body's bytes.
        let again = request.try_clone();
        let mut answer = request.send().await;
        if let (true, Some(again)) = (self.may_be_a_dead_connection(&answer), again) {
            sent += 1;
            answer = again.send().await;
        }
        let unread = Usage { model_requests: sent, ..Usage::default() };
        let response = answer.map_err(|error| ModelError {
            failure: self.place.transport(&error),
            usage: unread,
            retry_after: None,
        })?;
        self.answered.store(true, Ordering::Relaxed);
        let reply = if response.status().is_success() {
            let name = request::model_name(&call.request.model);
            let reader = stream::Reader {
                place: &self.place,
                deltas: call.deltas,
                model: name,
                started,
                progress_timeout: self.progress_timeout,
            };
            reader.read(response).await
        } else {
            Err(self.refused(response).await)
        };
        let unsent = sent.saturating_sub(1);
        match reply {
            Ok(mut reply) => {
                reply.usage.model_requests += unsent;
                Ok(reply)
            }
            Err(mut error) => {
                error.usage.model_requests += unsent;
                Err(error)
            }
        }
    }

    fn request(&self, body: Vec<u8>) -> RequestBuilder {
        let request = self.client.post(self.url.clone());
        let request = request.header(CONTENT_TYPE, "application/json").body(body);
        match &self.authorization {
            Some(authorization) => request.header(AUTHORIZATION, authorization.clone()),
            None => request,
        }
    }

    /// Whether the request may have met a pooled connection that the server had closed: then
    /// nobody has read it, and it is sent once more on another connection.
    fn may_be_a_dead_connection(&self, answer: &Result<Response, reqwest::Error>) -> bool {
        let died = |error: &reqwest::Error| {
            error.is_request() && !error.is_connect() && !error.is_timeout()
        };
        self.answered.load(Ordering::Relaxed) && answer.as_ref().is_err_and(died)
    }

    /// Reads what a server says with an error status.
    async fn refused(&self, response: Response) -> ModelError {
        let status = response.status().as_u16();
        let retry_after = failures::retry_after(response.headers());
        let body = bounded_body(response.bytes_stream()).await;
        ModelError {
            failure: self.place.status(status, &body),
            usage: Usage { model_requests: 1, ..Usage::default() },
            retry_after,
        }
    }
}

impl ModelProvider for OpenAi {
    fn call<'a>(&'a self, call: ModelCall<'a>) -> BoxFuture<'a, Result<RawReply, ModelError>> {
        Box::pin(self.ask(call))
    }
}

/// The base URL that the environment names, else OpenAI's own.
pub(super) fn base_url_of_variables(read: &dyn Fn(&str) -> Option<String>) -> String {
    set(read, OPENAI_URL_VARIABLE).unwrap_or_else(|| OPENAI_BASE_URL.to_owned())
}

fn set(read: &dyn Fn(&str) -> Option<String>, name: &str) -> Option<String> {
    read(name).filter(|value| !value.trim().is_empty())
}

/// The start of a body; what cannot be read or does not come in time is left out.
async fn bounded_body<B: AsRef<[u8]>, E>(chunks: impl Stream<Item = Result<B, E>>) -> Vec<u8> {
    let mut chunks = pin!(chunks);
    let mut body = Vec::new();
    let deadline = Instant::now() + ERROR_BODY_TIME;
    while let Ok(Some(Ok(chunk))) = timeout_at(deadline, chunks.next()).await {
        let chunk = chunk.as_ref();
        let room = MAX_ERROR_BODY.saturating_sub(body.len());
        body.extend(chunk.iter().take(room));
        if chunk.len() >= room {
            break;
        }
    }
    body
}

fn endpoint(base_url: &str) -> Result<Url, OpenAiError> {
    let unusable = |detail: String| OpenAiError::BaseUrl { base_url: base_url.to_owned(), detail };
    let mut url: Url = base_url.trim().parse().map_err(|error| unusable(format!("{error}")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(unusable("it is not an http or https URL".to_owned()));
    }
    url.path_segments_mut()
        .map_err(|()| unusable("it has no path".to_owned()))?
        .pop_if_empty()
        .extend(["chat", "completions"]);
    Ok(url)
}

fn authorization(key: &SecretString) -> Result<HeaderValue, OpenAiError> {
    let value = format!("Bearer {}", key.expose_secret().trim());
    let mut value = HeaderValue::from_str(&value).map_err(|_| OpenAiError::BadKey)?;
    value.set_sensitive(true);
    Ok(value)
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let address = host.parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests;
