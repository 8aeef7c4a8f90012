//! Settings: addresses and keys.

use std::convert::Infallible;

use super::*;

fn settings(base_url: &str) -> OpenAiSettings {
    OpenAiSettings::new(base_url)
}

#[test]
fn the_endpoint_is_appended_to_the_path_of_the_base_url() {
    let cases = [
        ("https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions"),
        ("http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080/v1/chat/completions"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080/chat/completions"),
        ("https://x.test/a/b?api-version=7", "https://x.test/a/b/chat/completions?api-version=7"),
    ];
    for (base_url, expected) in cases {
        assert_eq!(endpoint(base_url).unwrap().as_str(), expected);
    }
    for wrong in ["", "api.openai.com", "ftp://x/v1", "file:///v1", "data:text"] {
        assert!(matches!(endpoint(wrong), Err(OpenAiError::BaseUrl { .. })), "{wrong}");
    }
}

#[test]
fn the_key_shows_nowhere() {
    let key = SecretString::from("sk-secret");
    let settings = settings("http://me:pass@127.0.0.1:1/v1?token=t").with_key(key);
    assert!(!format!("{settings:?}").contains("sk-secret"));
    let adapter = OpenAi::new(settings).unwrap();
    let shown = format!("{adapter:?} {:?}", adapter.authorization);
    assert_eq!(
        shown,
        "OpenAi { address: \"http://127.0.0.1:1/v1/chat/completions\", .. } Some(Sensitive)"
    );
    let bad = OpenAiSettings::new("http://127.0.0.1:1").with_key(SecretString::from("a\nb"));
    assert_eq!(OpenAi::new(bad).err(), Some(OpenAiError::BadKey));
}

#[test]
fn only_loopback_addresses_pass_by_a_proxy() {
    let loopback = |url: &str| is_loopback(&url.parse().unwrap());
    assert!(loopback("http://localhost:1/") && loopback("http://127.0.0.2/"));
    assert!(loopback("http://[::1]:8080/"));
    assert!(!loopback("https://api.openai.com/") && !loopback("http://10.0.0.1/"));
}

/// Every byte begins the idle timeout anew, so the body as a whole has a time of its own.
#[tokio::test(start_paused = true)]
async fn the_body_of_an_error_has_an_end_even_if_the_server_knows_none() {
    let drips = futures::stream::repeat(()).then(|()| async {
        tokio::time::sleep(Duration::from_millis(1500)).await;
        Ok::<_, Infallible>(b"x")
    });
    let started = Instant::now();
    assert_eq!(bounded_body(drips).await, b"xxxxxx");
    assert_eq!(started.elapsed(), ERROR_BODY_TIME);
}
