//! Servers, issuers and callbacks that lie.

use serde_json::json;

use super::world::{BACK, LIFE, SERVER, World, listener};
use crate::net::FetchError;
use crate::net::fake::Answer;
use crate::oauth::{BadCallback, Callback, Challenge, Login, LoginError, NoToken, Reason};

#[tokio::test]
async fn metadata_that_names_another_issuer_or_no_s256_ends_a_login_before_anything_is_sent() {
    for (name, value, words) in [
        ("issuer", json!("https://honest.example"), "names another issuer"),
        ("code_challenge_methods_supported", json!(["plain"]), "PKCE with S256"),
        ("code_challenge_methods_supported", json!(null), "PKCE with S256"),
        ("token_endpoint", json!("http://192.0.2.1/token"), "no usable token_endpoint"),
        ("authorization_endpoint", json!("file:///bin/sh"), "no usable authorization_endpoint"),
    ] {
        let world = World::new().await;
        world.issuer.lock().metadata.push((name, value));
        let error = world.begin().await.unwrap_err();
        assert!(matches!(error, LoginError::Issuer { .. }), "{error}");
        assert!(error.to_string().contains(words), "{error}");
        assert!(world.asked("/register").is_empty() && world.asked("/token").is_empty());
    }
}

#[tokio::test]
async fn metadata_of_another_server_is_not_used() {
    let world = World::new().await;
    world.issuer.lock().resource.push(("resource", json!("https://other.example/mcp")));
    let error = world.begin().await.unwrap_err();
    assert!(matches!(error, LoginError::Resource(_)), "{error}");
}

#[tokio::test]
async fn what_a_server_names_is_judged_like_everything_else() {
    let world = World::new().await;
    world
        .issuer
        .lock()
        .resource
        .push(("authorization_servers", json!(["https://169.254.169.254"])));
    let error = world.begin().await.unwrap_err();
    let LoginError::Fetch { error, .. } = &error else { panic!("{error}") };
    assert!(matches!(error, FetchError::Refused { .. }), "{error}");

    for place in ["http://192.0.2.1/meta", "file:///etc/passwd", "/meta"] {
        let challenge =
            Challenge { resource_metadata: Some(place.to_owned()), ..Challenge::default() };
        let (url, redirect_uri) = (world.url(), BACK);
        let challenge = Some(&challenge);
        let login =
            Login { server: SERVER, url: &url, challenge, redirect_uri, client: None, scope: None };
        let error = world.oauth.begin(login).await.unwrap_err();
        assert!(matches!(error, LoginError::Url { .. }), "{place}: {error}");
    }
}

#[tokio::test]
async fn a_login_comes_back_over_https_or_to_this_machine() {
    let world = World::new().await;
    for (redirect_uri, may) in [
        ("https://gate.example/callback", true),
        ("http://gate.example/callback", false),
        ("http://10.0.0.1/callback", false),
        ("app:callback", false),
    ] {
        let login = Login {
            server: SERVER,
            url: "x",
            challenge: None,
            redirect_uri,
            client: None,
            scope: None,
        };
        let login = Login { url: &world.url(), ..login };
        world.instead("/register", Answer::json(201, r#"{"client_id":"c"}"#));
        let started = world.oauth.begin(login).await;
        assert_eq!(started.is_ok(), may, "{redirect_uri} {started:?}");
    }
}

#[tokio::test]
async fn an_answer_of_another_issuer_is_not_redeemed_and_uses_its_state_up() {
    for (says_iss, iss, bad) in [
        (true, None, BadCallback::NoIssuer),
        (true, Some("https://evil.example"), BadCallback::OtherIssuer),
        (false, Some("https://evil.example"), BadCallback::OtherIssuer),
    ] {
        let world = World::new().await;
        let flag = ("authorization_response_iss_parameter_supported", json!(says_iss));
        world.issuer.lock().metadata.push(flag);
        let started = world.begin().await.unwrap();
        let mut callback = world.agree(&started);
        callback.iss = iss.map(str::to_owned);
        let error = world.oauth.finish(&callback).await.unwrap_err();
        assert_eq!(error, LoginError::Callback(bad));
        callback.iss = Some(format!("{}/tenant", world.base()));
        assert_eq!(world.oauth.finish(&callback).await, Err(LoginError::Unknown));
        assert!(world.asked("/token").is_empty());
    }
}

#[tokio::test]
async fn a_state_is_good_for_one_answer_and_an_invented_one_for_none() {
    let world = World::new().await;
    let started = world.begin().await.unwrap();
    let callback = world.agree(&started);
    let invented = Callback::new("invented", "code-1", None);
    assert_eq!(world.oauth.finish(&invented).await, Err(LoginError::Unknown));
    world.oauth.finish(&callback).await.unwrap();
    assert_eq!(world.oauth.finish(&callback).await, Err(LoginError::Unknown));
    assert_eq!(world.asked("/token").len(), 1);
    assert_eq!(world.token().await.unwrap(), "access-2");
}

#[tokio::test]
async fn a_code_of_another_login_does_not_fit() {
    let world = World::new().await;
    let (mine, theirs) = (world.begin().await.unwrap(), world.begin().await.unwrap());
    let stolen = world.agree(&theirs);
    let code = stolen.code.unwrap();
    let callback = Callback::new(&mine.state, code.reveal(), None);
    let error = world.oauth.finish(&callback).await.unwrap_err();
    assert_eq!(error, LoginError::Token("invalid_grant".to_owned()));
}

#[tokio::test]
async fn a_server_that_names_a_new_issuer_does_not_get_the_refresh_token_there() {
    let world = World::new().await;
    world.log_in().await;
    let (evil, heard) = listener().await;
    world.issuer.lock().resource.push(("authorization_servers", json!([evil.url("")])));
    let changed = "the server now trusts another authorization server";
    for _ in 0..3 {
        let no = world.rejected("access-2").await.unwrap_err();
        assert_eq!(no, NoToken::NeedsAuth { reason: Reason::Lost(changed.to_owned()) });
    }
    assert!(world.token().await.is_err());
    assert!(world.refreshes().is_empty());
    assert_eq!(*heard.lock(), 0);
}

#[tokio::test]
async fn a_new_login_with_a_new_issuer_says_so_and_registers_anew() {
    let world = World::new().await;
    world.log_in().await;
    let old = format!("{}/tenant", world.base());
    let new = format!("{}/moved", world.base());
    world.issuer.lock().resource.push(("authorization_servers", json!([new])));
    let metadata = json!({
        "issuer": new,
        "authorization_endpoint": format!("{}/authorize", world.base()),
        "token_endpoint": format!("{}/token", world.base()),
        "registration_endpoint": format!("{}/register", world.base()),
        "code_challenge_methods_supported": ["S256"],
    });
    let place = "/.well-known/openid-configuration/moved";
    world.instead(place, Answer::json(200, &metadata.to_string()));
    let started = world.begin().await.unwrap();
    assert_eq!((started.issuer.as_str(), &started.previous_issuer), (new.as_str(), &Some(old)));
    assert_eq!(world.asked("/register").len(), 2);
    world.pass(1);
    world.oauth.finish(&world.agree(&started)).await.unwrap();
    let kept = world.vault.grants(SERVER);
    assert_eq!(kept.iter().map(|kept| kept.grant.issuer()).collect::<Vec<_>>(), [new]);
    assert!(world.token().await.is_ok());
}

#[tokio::test]
async fn a_token_does_not_go_to_where_its_server_has_been_moved() {
    let world = World::new().await;
    world.log_in().await;
    let moved = NoToken::NeedsAuth { reason: Reason::Moved };
    for url in
        ["https://evil.example/mcp", "http://127.0.0.1:1/mcp", &format!("{}/other", world.base())]
    {
        assert_eq!(world.oauth.access_token(SERVER, url).await, Err(moved.clone()), "{url}");
    }
    let token = world.oauth.access_token(SERVER, &world.url()).await.unwrap();
    // Nor does a server at the new place get to say who is to be asked for another.
    let (evil, heard) = listener().await;
    let other = world.oauth.rejected(SERVER, &evil.url("/mcp"), &token, None).await;
    assert_eq!((other, *heard.lock()), (Err(moved.clone()), 0));
    world.pass(LIFE);
    assert_eq!(world.oauth.access_token(SERVER, "https://evil.example/mcp").await, Err(moved));
}
