//! What clients read to find the issuer (RFC 9728).

use kit::http::Ask;
use kit::room::Room;
use kit::serve::Serve;
use serde_json::json;

use super::issuer::Issuer;
use super::{INITIALIZE, ME, Scene, challenge, command, json_of};

const ROOT: &str = "/.well-known/oauth-protected-resource";

#[test]
fn metadata_says_who_issues_tokens_and_needs_none() {
    let scene = Scene::new();
    for path in [ROOT.to_owned(), format!("{ROOT}/mcp")] {
        let answer = scene.ask(&Ask::get(&path));
        assert_eq!(answer.status(), 200, "{path}");
        assert_eq!(answer.head.header("content-type"), Some("application/json"));
        let document = json_of(&answer);
        assert_eq!(document["resource"], scene.audience(), "{document}");
        assert_eq!(document["authorization_servers"], json!([scene.issuer.url()]));
        assert_eq!(document["bearer_methods_supported"], json!(["header"]));
        let scopes = document["scopes_supported"].as_array().unwrap();
        assert!(scopes.contains(&json!("mcp:call")), "{document}");

        assert_eq!(scene.ask(&Ask::new("POST", &path).body("{}")).status(), 405);
        let options = scene.ask(&Ask::new("OPTIONS", &path));
        assert_eq!(options.head.header("allow"), Some("GET, HEAD, OPTIONS"));
        // Open to all, but not to every page and every name.
        let foreign = Ask::get(&path).header("Host", "evil.example.com");
        assert_eq!(scene.ask(&foreign).status(), 403);
        let page = Ask::get(&path).header("Origin", "https://evil.example.com");
        assert_eq!(scene.ask(&page).status(), 403);
    }
    // What is well known is asked for before anybody has a token: that it is not here is no secret.
    for path in ["/.well-known/oauth-protected-resource/other", "/.well-known/x"] {
        assert_eq!(scene.ask(&Ask::get(path)).status(), 404, "{path}");
    }
    assert_eq!(scene.ask(&Ask::get("/.well-known")).status(), 401);
}

#[test]
fn behind_a_proxy_everything_is_called_by_its_public_name() {
    let public = "https://tools.example.com/hub";
    let scene = Scene::with(Issuer::start(), &["--public-url", public]);
    let at = "https://tools.example.com/.well-known/oauth-protected-resource/hub/mcp";
    for ask in [Ask::post("/mcp", INITIALIZE), Ask::get(ME)] {
        let refused = scene.ask(&ask);
        assert_eq!(refused.status(), 401);
        let told = challenge(&refused);
        assert!(told.contains(&format!(r#"resource_metadata="{at}""#)), "{told}");
    }
    for path in [ROOT.to_owned(), format!("{ROOT}/mcp"), format!("{ROOT}/hub/mcp")] {
        let document = json_of(&scene.ask(&Ask::get(&path)));
        assert_eq!(document["resource"], "https://tools.example.com/hub/mcp", "{path}");
    }
    let audience = "https://tools.example.com/hub/mcp";
    assert_eq!(scene.mcp(&scene.issuer.token(audience, &json!({}))).status(), 200);
    // The address it listens on is not what clients call it.
    assert_eq!(scene.mcp(&scene.token(&json!({}))).status(), 401);
}

#[test]
fn audiences_that_are_named_are_the_only_ones() {
    let flags = ["--audience", "api://tools", "--audience", "https://t.example.com/mcp"];
    let scene = Scene::with(Issuer::start(), &flags);
    for (audience, status) in [
        ("api://tools", 200),
        ("https://t.example.com/mcp", 200),
        ("api://tools/", 401),
        (&scene.audience(), 401),
    ] {
        let token = scene.issuer.token(audience, &json!({}));
        assert_eq!(scene.mcp(&token).status(), status, "{audience}");
        assert_eq!(scene.get(ME, &token).status(), status, "{audience}");
    }
}

#[test]
fn without_an_issuer_there_is_no_metadata_and_no_token_of_one_is_taken() {
    let (room, issuer) = (Room::new(), Issuer::start());
    room.config([]);
    let serve = Serve::start(command(&room, &[]));
    let token = issuer.token(&format!("http://{}/mcp", serve.address()), &json!({}));
    let ask = |ask: &Ask| kit::http::Connection::open(serve.address()).ask(ask);
    assert_eq!(ask(&Ask::get(ROOT)).status(), 404);
    let refused = ask(&super::shows(Ask::get(ME), &token));
    assert_eq!(refused.status(), 401);
    assert!(!challenge(&refused).contains("resource_metadata"), "{}", challenge(&refused));
    assert_eq!(ask(&super::shows(Ask::post("/mcp", INITIALIZE), &token)).status(), 401);
}
