//! Finds the adapter of a model by its full name, `provider:name`.

use std::sync::Arc;

use kinfolk_actors::family::ModelEndpoint;
use secrecy::SecretString;

use super::explorer::Explorer;
use super::openai::{OpenAi, OpenAiError, OpenAiSettings};
use super::scripted::{ScriptError, Scripted};
use crate::ports::model::ModelProvider;

/// The forms of names that are known, for messages.
const KNOWN: &str = "`openai:NAME`, `scripted:FILE` and `scripted:explorer`";

/// A model's name leads to no adapter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelNameError {
    /// The name is not of the form `provider:name`.
    #[error("`{name}` is not a model's name; known are {KNOWN}")]
    NotAName {
        /// The name as it was given.
        name: String,
    },
    /// No adapter has that provider.
    #[error("`{name}` names the provider `{provider}`, which is not known; known are {KNOWN}")]
    UnknownProvider {
        /// The name as it was given.
        name: String,
        /// Its provider.
        provider: String,
    },
    /// The adapter cannot be made.
    #[error("the model `{name}` cannot be used: {error}")]
    OpenAi {
        /// The name as it was given.
        name: String,
        /// Why.
        error: OpenAiError,
    },
    /// The script cannot be used.
    #[error("the model `{name}` cannot be used: {error}")]
    Script {
        /// The name as it was given.
        name: String,
        /// Why.
        error: ScriptError,
    },
}

/// The adapter of the model with that full name. Reads the environment and a script's file, but
/// connects to nothing.
///
/// A server at a base URL of its own is sent the key of `api_key_env` and no other: the key for
/// OpenAI goes to OpenAI only, unless it is named.
///
/// # Errors
/// [`ModelNameError`], with the name.
pub fn resolve(
    name: &str,
    endpoint: &ModelEndpoint,
) -> Result<Arc<dyn ModelProvider>, ModelNameError> {
    resolve_with(name, endpoint, &|variable| std::env::var(variable).ok())
}

fn resolve_with(
    name: &str,
    endpoint: &ModelEndpoint,
    read: &dyn Fn(&str) -> Option<String>,
) -> Result<Arc<dyn ModelProvider>, ModelNameError> {
    let not_a_name = || ModelNameError::NotAName { name: name.to_owned() };
    let (provider, model) = name.split_once(':').ok_or_else(not_a_name)?;
    match (provider, model) {
        (_, "") => Err(not_a_name()),
        ("openai", _) => {
            let adapter = openai(endpoint, read)
                .map_err(|error| ModelNameError::OpenAi { name: name.to_owned(), error })?;
            Ok(Arc::new(adapter))
        }
        ("scripted", "explorer") => Ok(Arc::new(Explorer)),
        ("scripted", file) => {
            let adapter = Scripted::from_file(file)
                .map_err(|error| ModelNameError::Script { name: name.to_owned(), error })?;
            Ok(Arc::new(adapter))
        }
        (provider, _) => {
            let provider = provider.to_owned();
            Err(ModelNameError::UnknownProvider { name: name.to_owned(), provider })
        }
    }
}

fn openai(
    endpoint: &ModelEndpoint,
    read: &dyn Fn(&str) -> Option<String>,
) -> Result<OpenAi, OpenAiError> {
    let ModelEndpoint { base_url, api_key_env, profile: _ } = endpoint;
    if let (None, None) = (base_url, api_key_env) {
        return OpenAi::from_variables(read);
    }
    let key = match api_key_env {
        None => None,
        Some(variable) => {
            let value = read(variable).filter(|value| !value.trim().is_empty());
            let missing = || OpenAiError::MissingKey { variable: variable.clone() };
            Some(SecretString::from(value.ok_or_else(missing)?))
        }
    };
    let base_url = match base_url {
        Some(base_url) => base_url.clone(),
        None => super::openai::base_url_of_variables(read),
    };
    let settings = OpenAiSettings::new(base_url);
    OpenAi::new(OpenAiSettings { api_key: key, key_variable: api_key_env.clone(), ..settings })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(name: &str, endpoint: &ModelEndpoint) -> String {
        resolve_with(name, endpoint, &|_| None).err().unwrap().to_string()
    }

    fn resolves(endpoint: &ModelEndpoint, variables: &[(&str, &str)]) -> bool {
        let read = |name: &str| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        resolve_with("openai:m", endpoint, &read).is_ok()
    }

    #[test]
    fn a_wrong_name_is_told_with_the_known_ones() {
        let none = ModelEndpoint::default();
        assert_eq!(
            error("gpt", &none),
            "`gpt` is not a model's name; known are `openai:NAME`, `scripted:FILE` and \
             `scripted:explorer`"
        );
        assert_eq!(
            error("acme:x", &none),
            "`acme:x` names the provider `acme`, which is not known; known are `openai:NAME`, \
             `scripted:FILE` and `scripted:explorer`"
        );
        assert!(error("openai:", &none).contains("is not a model's name"));
        assert!(error("scripted:/no/such/file.toml", &none).contains("/no/such/file.toml"));
    }

    #[test]
    fn a_missing_key_is_told_by_the_name_of_its_variable() {
        assert_eq!(
            error("openai:m", &ModelEndpoint::default()),
            "the model `openai:m` cannot be used: the environment variable OPENAI_API_KEY is not \
             set; set it to the key of the model server"
        );
        let named = ModelEndpoint {
            base_url: Some("http://127.0.0.1:1/v1".to_owned()),
            api_key_env: Some("MY_KEY".to_owned()),
            ..ModelEndpoint::default()
        };
        assert!(error("openai:m", &named).contains("MY_KEY is not set"));
        assert!(!resolves(&named, &[("OPENAI_API_KEY", "k")]));
        assert!(resolves(&named, &[("MY_KEY", "k")]));
    }

    #[test]
    fn a_base_url_needs_no_key_and_openai_itself_does() {
        let at = |url: &str| ModelEndpoint {
            base_url: Some(url.to_owned()),
            ..ModelEndpoint::default()
        };
        let local = at("http://[::1]:1/v1");
        assert!(resolves(&local, &[]));
        let none = ModelEndpoint::default();
        assert!(resolves(&none, &[("OPENAI_API_KEY", "k")]));
        assert!(resolves(&none, &[("OPENAI_BASE_URL", "http://127.0.0.1:1")]));
        assert!(!resolves(&none, &[("OPENAI_API_KEY", " ")]));
        let broken = at("ftp://x");
        assert!(error("openai:m", &broken).contains("it is not an http or https URL"));
    }

    #[test]
    fn the_explorer_needs_nothing() {
        let found = resolve_with("scripted:explorer", &ModelEndpoint::default(), &|_| None);
        assert!(found.is_ok());
    }
}
