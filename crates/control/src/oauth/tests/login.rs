//! Logins that work, each way a client can be known.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::world::{BACK, LIFE, SERVER, World, fields_of};
use crate::net::fake::Answer;
use crate::oauth::{Challenge, Login, LoginError, NoToken, Reason, Registered, Secret};

fn query_of(link: &str) -> HashMap<String, String> {
    trunkline_http::read_form(link.split_once('?').unwrap().1).unwrap().into_iter().collect()
}

#[tokio::test]
async fn a_login_from_a_refusal_to_a_token() {
    let world = World::new().await;
    let never = NoToken::NeedsAuth { reason: Reason::Never };
    assert_eq!(world.token().await, Err(never));

    let started = world.begin().await.unwrap();
    assert!(started.authorization_url.starts_with(&format!("{}/authorize?", world.base())));
    let query = query_of(&started.authorization_url);
    assert_eq!(query["client_id"], "dynamic-1");
    assert_eq!(query["resource"], world.url());
    assert_eq!(query["scope"], "r w");
    assert_eq!(query["redirect_uri"], BACK);
    assert_eq!((query["state"].len(), &query["state"]), (43, &started.state));
    let wish: Value = serde_json::from_slice(&world.asked("/register")[0].body).unwrap();
    assert_eq!(wish["application_type"], "native");

    let granted = world.oauth.finish(&world.agree(&started)).await.unwrap();
    assert_eq!(
        (granted.server.as_str(), granted.issuer),
        (SERVER, format!("{}/tenant", world.base()))
    );
    assert_eq!(granted.expires_at, Some(1_000_000_000 + LIFE * 1000));
    assert_eq!(world.token().await.unwrap(), "access-2");
    let sent = fields_of(&world.asked("/token")[0]);
    assert_eq!(sent["resource"], world.url());
    assert_eq!(world.asked("/mcp").len(), 1, "no token was sent there by us");
    assert_eq!(world.vault.grants(SERVER).len(), 1);
}

#[tokio::test]
async fn without_a_header_metadata_is_looked_for_in_the_usual_places() {
    let world = World::new().await;
    world.instead("/mcp", Answer::with(401, &[], ""));
    let document = json!({
        "resource": world.base(),
        "authorization_servers": [format!("{}/tenant", world.base())],
        "scopes_supported": ["listed"],
    });
    world
        .instead("/.well-known/oauth-protected-resource", Answer::json(200, &document.to_string()));
    // A page for everything that is not there.
    world.instead("/.well-known/oauth-protected-resource/mcp", Answer::with(200, &[], "<html>"));
    let started = world.begin().await.unwrap();
    let query = query_of(&started.authorization_url);
    assert_eq!((query["scope"].as_str(), &query["resource"]), ("listed", &world.base()));
    world.oauth.finish(&world.agree(&started)).await.unwrap();
    assert_eq!(world.token().await.unwrap(), "access-2");
}

#[tokio::test]
async fn a_published_document_makes_registration_unnecessary() {
    const DOCUMENT: &str = "https://trunkline.example/client.json";
    let world = World::with(|settings| settings.client_document = Some(DOCUMENT.to_owned())).await;
    world.issuer.lock().metadata.push(("client_id_metadata_document_supported", json!(true)));
    world.log_in().await;
    assert_eq!(world.asked("/register").len(), 0);
    assert_eq!(fields_of(&world.asked("/token")[0])["client_id"], DOCUMENT);
}

#[tokio::test]
async fn a_client_registered_by_hand_is_used_with_its_secret_in_a_header() {
    let world = World::new().await;
    let client = Registered {
        issuer: Some(format!("{}/tenant", world.base())),
        client_id: "hand".to_owned(),
        client_secret: Some(Secret::new("pass word")),
    };
    let (url, redirect_uri) = (world.url(), BACK);
    let client = Some(&client);
    let login =
        Login { server: SERVER, url: &url, challenge: None, redirect_uri, client, scope: None };
    let started = world.oauth.begin(login).await.unwrap();
    world.oauth.finish(&world.agree(&started)).await.unwrap();
    assert_eq!(world.asked("/register").len(), 0);
    let sent = world.asked("/token").pop().unwrap();
    assert_eq!(sent.header("authorization"), Some("Basic aGFuZDpwYXNzJTIwd29yZA=="));
    assert!(!fields_of(&sent).contains_key("client_secret"));
}

#[tokio::test]
async fn a_login_that_is_started_twice_registers_one_client() {
    let world = World::new().await;
    let (first, second) = (world.begin().await.unwrap(), world.begin().await.unwrap());
    assert_ne!(first.state, second.state);
    assert_eq!(world.asked("/register").len(), 1);
    world.oauth.finish(&world.agree(&second)).await.unwrap();
    world.oauth.finish(&world.agree(&first)).await.unwrap();
}

#[tokio::test]
async fn a_login_takes_the_place_of_whatever_an_interrupted_one_left() {
    let world = World::new().await;
    world.log_in().await;
    world.vault.change(SERVER, |grant| {
        grant.issuer = "https://before.example".to_owned();
        grant.granted_at += 1;
    });
    assert_eq!(world.vault.grants(SERVER).len(), 2);
    world.pass(1);
    let granted = world.log_in().await;
    let kept = world.vault.grants(SERVER);
    assert_eq!(kept.iter().map(|kept| kept.grant.issuer()).collect::<Vec<_>>(), [granted.issuer]);
    assert_eq!(world.token().await.unwrap(), "access-4");
}

#[tokio::test]
async fn a_login_counts_more_than_a_renewal_under_way() {
    let world = World::new().await;
    world.log_in().await;
    world.pass(LIFE);
    let started = world.begin().await.unwrap();
    let callback = world.agree(&started);
    // The issuer answers one after the other; whichever is kept first, the login is what stays.
    let (granted, _) = tokio::join!(world.oauth.finish(&callback), world.token());
    granted.unwrap();
    world.settle().await;
    let kept = world.vault.grants(SERVER);
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0].grant.granted_at(), 1_000_000_000 + LIFE * 1000);
    assert!(!kept[0].grant.is_lost());
    assert_eq!(world.token().await.unwrap(), kept[0].grant.held.access.reveal());
}

#[tokio::test]
async fn more_scope_is_asked_for_on_top_of_what_was_granted() {
    let world = World::new().await;
    world.log_in().await;
    let challenge = Challenge::find(["Bearer error=\"insufficient_scope\", scope=\"x\""]).unwrap();
    let token = world.oauth.access_token(SERVER, &world.url()).await.unwrap();
    let no = world.oauth.rejected(SERVER, &world.url(), &token, Some(&challenge)).await;
    assert_eq!(no, Err(NoToken::NeedsAuth { reason: Reason::MoreScope }));
    assert!(world.refreshes().is_empty());

    let challenge =
        Challenge { resource_metadata: Some(format!("{}/meta", world.base())), ..challenge };
    let (url, redirect_uri) = (world.url(), BACK);
    let challenge = Some(&challenge);
    let login =
        Login { server: SERVER, url: &url, challenge, redirect_uri, client: None, scope: None };
    let started = world.oauth.begin(login).await.unwrap();
    assert_eq!(started.scope.as_deref(), Some("x r w"));
    // The registration of the first login does.
    assert_eq!(world.asked("/register").len(), 1);
}

#[tokio::test]
async fn a_removed_server_gives_its_grant_back() {
    let world = World::new().await;
    world.log_in().await;
    assert_eq!(world.oauth.forget(SERVER).await, Ok(true));
    let sent: Vec<String> =
        world.asked("/revoke").iter().map(|asked| fields_of(asked)["token"].clone()).collect();
    assert_eq!(sent, ["refresh-2", "access-2"]);
    assert!(world.vault.grants(SERVER).is_empty());
    let never = NoToken::NeedsAuth { reason: Reason::Never };
    assert_eq!(world.token().await, Err(never));
}

#[tokio::test]
async fn a_grant_is_gone_from_here_even_if_its_issuer_does_not_hear_of_it() {
    let world = World::new().await;
    world.log_in().await;
    world.instead("/revoke", Answer::with(503, &[], ""));
    assert_eq!(world.oauth.forget(SERVER).await, Ok(false));
    assert!(world.vault.grants(SERVER).is_empty());
}

#[tokio::test]
async fn a_login_is_finished_by_whichever_process_gets_the_answer_and_once() {
    let world = World::new().await;
    let other = world.another();
    let started = world.begin().await.unwrap();
    let answer = world.agree(&started);
    assert_eq!(other.finish(&answer).await.unwrap().server, SERVER);
    for oauth in [&world.oauth, &other] {
        assert_eq!(oauth.finish(&answer).await, Err(LoginError::Unknown));
    }
    assert!(world.token().await.is_ok(), "the grant is everybody's");
    // In time, and not after somebody has logged out.
    let late = world.agree(&world.begin().await.unwrap());
    world.pass(10 * 60);
    assert_eq!(other.finish(&late).await, Err(LoginError::Unknown));
    let void = world.agree(&world.begin().await.unwrap());
    other.forget(SERVER).await.unwrap();
    assert_eq!(world.oauth.finish(&void).await, Err(LoginError::Unknown));
}
