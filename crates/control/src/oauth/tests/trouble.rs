//! Issuers and stores that are down, slow, or say too much.

use std::time::Duration;

use super::world::{LIFE, SERVER, World, listener, loopback_only};
use crate::net::Limits;
use crate::net::fake::Answer;
use crate::oauth::{LoginError, NoToken, OAuth};

/// Long enough that no test outlasts it.
fn down() -> Answer {
    Answer::with(503, &[("Retry-After", "60")], "")
}

#[tokio::test]
async fn while_the_issuer_is_down_the_old_token_does_as_long_as_it_is_valid() {
    let world = World::new().await;
    world.log_in().await;
    world.instead("/token", down());
    world.pass(LIFE - 10);
    for _ in 0..5 {
        assert_eq!(world.token().await.unwrap(), "access-2");
        world.settle().await;
    }
    // So it does for a process that starts now.
    let token = world.another().access_token(SERVER, &world.url()).await.unwrap();
    assert_eq!(token.value.reveal(), "access-2");
    assert_eq!(world.refreshes().len(), 2);
    world.pass(10);
    for _ in 0..5 {
        let no = world.token().await.unwrap_err();
        assert!(
            matches!(&no, NoToken::Unavailable { why, retry_in: Some(_) } if why.contains("503")),
            "{no}"
        );
    }
    assert_eq!(world.refreshes().len(), 2, "it is left alone for a while");
}

#[tokio::test]
async fn when_it_is_back_the_grant_goes_on() {
    let world = World::new().await;
    world.log_in().await;
    world.instead("/token", down());
    world.pass(LIFE);
    world.token().await.unwrap_err();
    world.issuer.lock().instead.clear();
    // Another process has not promised to wait.
    let token = world.another().access_token(SERVER, &world.url()).await.unwrap();
    assert_eq!(token.value.reveal(), "access-3");
}

#[tokio::test]
async fn answers_that_are_slow_or_large_or_nonsense_or_lead_elsewhere_are_no_tokens() {
    let (elsewhere, heard) = listener().await;
    let location = elsewhere.url("/token");
    for (answer, words) in [
        (Answer::Silence, "did not answer within"),
        (Answer::json(200, &"x".repeat(100_000)), "larger than 65536 bytes"),
        (Answer::json(200, "{}"), "holds no access token"),
        (Answer::with(200, &[], "<html>"), "not JSON"),
        (Answer::with(307, &[("Location", &location)], ""), "it answered 307"),
        (Answer::Bytes(Vec::new()), "malformed"),
    ] {
        let world = World::new().await;
        world.log_in().await;
        world.pass(LIFE);
        world.instead("/token", answer.clone());
        let mut settings = world.oauth.shared.settings.clone();
        if matches!(answer, Answer::Silence) {
            settings.limits = Limits { deadline: Duration::from_millis(100), ..settings.limits };
        }
        let oauth = OAuth::new(loopback_only(), world.vault.clone(), settings);
        let no = oauth.access_token(SERVER, &world.url()).await.unwrap_err();
        let NoToken::Unavailable { why, retry_in: Some(_) } = &no else { panic!("{no}") };
        assert!(why.contains(words), "{why}");
    }
    assert_eq!(*heard.lock(), 0);
}

#[tokio::test]
async fn without_the_store_a_valid_token_does() {
    let world = World::new().await;
    world.log_in().await;
    *world.vault.refuses_to_load.lock() = true;
    assert_eq!(world.token().await.unwrap(), "access-2");
    world.pass(LIFE - 10);
    assert_eq!(world.token().await.unwrap(), "access-2");
    world.settle().await;
    world.pass(10);
    let no = world.token().await.unwrap_err();
    assert!(
        matches!(&no, NoToken::Unavailable { why, .. } if why.contains("store is gone")),
        "{no}"
    );
    assert!(world.refreshes().is_empty(), "what comes could not be kept");
}

#[tokio::test]
async fn a_login_that_cannot_be_kept_has_not_happened() {
    let world = World::new().await;
    let started = world.begin().await.unwrap();
    *world.vault.refuses_to_save.lock() = true;
    let error = world.oauth.finish(&world.agree(&started)).await.unwrap_err();
    assert!(matches!(error, LoginError::Vault(_)), "{error}");
    assert!(world.token().await.is_err());
}

#[tokio::test]
async fn troubles_of_a_login_say_what_they_are() {
    for (path, answer, words) in [
        ("/meta", Answer::with(404, &[], ""), "does not say which authorization server"),
        ("/meta", Answer::json(200, &format!("\"{}\"", "x".repeat(100_000))), "larger than"),
        (
            "/.well-known/oauth-authorization-server/tenant",
            Answer::with(500, &[], ""),
            "no metadata",
        ),
        (
            "/register",
            Answer::json(400, r#"{"error":"invalid_redirect_uri"}"#),
            "invalid_redirect_uri",
        ),
        ("/register", Answer::json(201, "{}"), "no client that can be used"),
    ] {
        let world = World::new().await;
        world.instead(path, answer);
        let error = world.begin().await.unwrap_err().to_string();
        assert!(error.contains(words), "{path}: {error}");
    }
}
