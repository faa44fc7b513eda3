//! The issuer's keys: found, fetched rarely, and used while it is away.

use std::time::Duration;

use kit::process::wait_until;
use serde_json::json;

use super::issuer::Issuer;
use super::signer::Signer;
use super::{ME, Scene, pause};

/// Half a minute has to pass between two fetches, in a hurried scene a tenth of it.
const NEXT_FETCH: Duration = Duration::from_secs(90);

/// A token whose key nobody knows.
fn unknown(scene: &Scene, number: usize) -> String {
    let header = json!({"alg": "EdDSA", "kid": format!("unknown-{number}"), "typ": "at+jwt"});
    let claims = scene.issuer.claims(&scene.audience(), &json!({}));
    scene.issuer.signer.sign("EdDSA", &header.to_string(), &claims)
}

#[test]
fn a_flood_of_unknown_keys_makes_at_most_two_fetches() {
    let scene = Scene::new();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let scene = &scene;
            scope.spawn(move || {
                for number in 0..25 {
                    let token = unknown(scene, thread * 25 + number);
                    let answer = match number % 2 {
                        0 => scene.mcp(&token),
                        _ => scene.get(ME, &token),
                    };
                    assert_eq!(answer.status(), 401, "{}", answer.text());
                }
            });
        }
    });
    assert!(scene.issuer.fetches() <= 2, "{}", scene.issuer.fetches());
    assert_eq!(scene.mcp(&scene.token(&json!({}))).status(), 200);
}

#[test]
fn while_the_issuer_is_away_its_last_keys_are_used() {
    let scene = Scene::hurried(Issuer::start());
    assert_eq!(scene.get(ME, &scene.token(&json!({}))).status(), 200);
    scene.issuer.set_away(true);
    for subject in ["alice", "bob"] {
        let token = scene.token(&json!({"sub": subject}));
        assert_eq!(scene.mcp(&token).status(), 200);
        assert_eq!(scene.get(ME, &token).status(), 200);
    }
    // A fetch that fails takes nothing away.
    wait_until("a fetch has failed", NEXT_FETCH, || {
        pause();
        assert_eq!(scene.get(ME, &unknown(&scene, 1)).status(), 401);
        scene.serve.process().stderr().contains("keys cannot be fetched")
    });
    assert_eq!(scene.mcp(&scene.token(&json!({}))).status(), 200);
    assert_eq!(scene.issuer.fetches(), 1);
}

#[test]
fn an_issuer_that_comes_late_is_found_and_new_keys_replace_old_ones() {
    let issuer = Issuer::start();
    issuer.set_away(true);
    let scene = Scene::hurried(issuer);
    let token = scene.token(&json!({}));
    assert_eq!(scene.get(ME, &token).status(), 401);
    scene.issuer.set_away(false);
    wait_until("keys have come", NEXT_FETCH, || {
        pause();
        scene.get(ME, &token).status() == 200
    });

    // A key with a new id is asked for when a token names it; the old one is withdrawn by that.
    let next = Signer::new();
    scene.issuer.publish(next.key_set().replace(r#""kid":"ed""#, r#""kid":"ed-2""#));
    let header = r#"{"alg":"EdDSA","kid":"ed-2"}"#;
    let renewed = next.sign("EdDSA", header, &scene.issuer.claims(&scene.audience(), &json!({})));
    wait_until("new keys have come", NEXT_FETCH, || {
        pause();
        scene.mcp(&renewed).status() == 200
    });
    assert_eq!(scene.get(ME, &renewed).status(), 200);
    assert_eq!(scene.get(ME, &token).status(), 401);
    assert_eq!(scene.mcp(&token).status(), 401);
    assert_eq!(scene.issuer.fetches(), 2);
}

#[test]
fn keys_are_found_by_openid_metadata_and_where_the_operator_says() {
    let oidc = Issuer::described_at("/.well-known/openid-configuration");
    let scene = Scene::with(oidc, &[]);
    assert_eq!(scene.mcp(&scene.token(&json!({}))).status(), 200);

    let silent = Issuer::described_at("/nowhere");
    let at = format!("{}/keys", silent.url());
    let scene = Scene::with(silent, &["--jwks-url", &at]);
    assert_eq!(scene.mcp(&scene.token(&json!({}))).status(), 200);
}
