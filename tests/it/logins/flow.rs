//! Logging in: by whatever way Trunkline makes itself known, over every transport, and only for who
//! began it.

use kit::platform::{Platform, id_of};
use kit::service::Wire;
use serde_json::{Value, json};

use super::{Stage, begin, come_back, consent, log_in, needs_login, place};

#[test]
fn nobody_gets_in_before_somebody_has_logged_in_and_then_everybody_does() {
    for (wire, is_modern) in [(Wire::Http, false), (Wire::Http, true), (Wire::Sse, false)] {
        let stage = Stage::of(wire, is_modern);
        let platform = stage.room.platform(&[]);
        let id = id_of(&platform.register(&stage.registration()));
        let shown = needs_login(&platform, &id);
        assert_eq!(shown["status"], "ERROR", "{shown:#}");
        let base = format!("http://{}", platform.serve().address());
        assert_eq!(shown["auth"]["login_url"], format!("{base}{}", place(&id)), "{shown:#}");
        let refused = platform.call("docs.echo", &json!({})).problem(503, "server-unavailable");
        let why = refused["detail"].as_str().unwrap();
        assert!(why.contains("needs a login") && why.contains(&place(&id)), "{refused:#}");
        assert!(refused["hint"].as_str().unwrap().contains(&place(&id)), "{refused:#}");

        let page = log_in(&platform, &id);
        assert_eq!(page.status(), 200, "{page}");
        let policy = page.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'"), "{policy}");
        let text = page.response.text();
        assert!(text.contains("docs") && text.contains("<style>"), "{page}");
        assert!(text.contains(&format!("href=\"/servers/{id}\"")), "it leads back: {page}");
        let shown = platform.wait_status(&id, "CONNECTED");
        assert_eq!(shown["auth"]["state"], "logged-in", "{shown:#}");
        assert_eq!(shown["auth"]["scopes"], json!(["read"]), "{shown:#}");
        assert_eq!(shown["auth"]["issuer"], stage.authority.url(), "{shown:#}");
        platform.call("docs.echo", &json!({ "a": 1 })).is(200);

        let state = stage.authority.state();
        assert_eq!(state.clients.len(), 1, "it has registered itself once");
        assert_eq!(state.clients[0]["redirect_uris"], json!([format!("{base}/oauth/callback")]));
        assert_eq!(state.asked[0]["resource"], stage.server.url());
    }
}

#[test]
fn an_answer_is_taken_once_and_only_if_it_was_asked_for() {
    let stage = Stage::new();
    let platform = stage.room.platform(&[]);
    let id = id_of(&platform.register(&stage.registration()));
    needs_login(&platform, &id);
    for query in ["", "?code=x", "?code=x&state=", "?code=x&state=guessed", "?state=a&state=b"] {
        let page = platform.rest(None).get(&format!("/oauth/callback{query}"));
        assert_eq!(page.status(), 400, "{query}: {page}");
    }
    let location = consent(&begin(&platform, &id));
    assert_eq!(come_back(&platform, &location).status(), 200);
    platform.wait_status(&id, "CONNECTED");
    let again = come_back(&platform, &location);
    assert_eq!(again.status(), 400, "{again}");
    assert!(again.response.text().contains("given before"), "{again}");
    assert_eq!(stage.authority.state().refreshes, 0);
    platform.call("docs.echo", &json!({})).is(200);
}

#[test]
fn an_answer_of_another_authority_is_refused() {
    let stage = Stage::new();
    let platform = stage.room.platform(&[]);
    let id = id_of(&platform.register(&stage.registration()));
    needs_login(&platform, &id);
    stage.authority.set(|state| state.other_iss = Some("http://127.0.0.1:9".to_owned()));
    let page = log_in(&platform, &id);
    assert_eq!(page.status(), 400, "{page}");
    assert!(page.response.text().contains("another authorization server"), "{page}");
    assert!(stage.authority.state().tokens.is_empty(), "the code was not sent on");
    let record = platform.wait_audit("a login that failed", |record| record["action"] == "login");
    assert_eq!(record["outcome"], "failed", "{record:#}");
    // Nobody can use the state a second time either.
    stage.authority.set(|state| state.other_iss = None);
    assert_eq!(log_in(&platform, &id).status(), 200);
    platform.wait_status(&id, "CONNECTED");
}

#[test]
fn a_document_says_who_we_are_where_that_is_taken() {
    let stage = Stage::new();
    stage.authority.set(|state| (state.takes_documents, state.registers) = (true, false));
    let public = ["--public-url", "https://tools.example"];
    let platform = stage.room.platform(&public);
    let id = id_of(&platform.register(&stage.registration()));
    needs_login(&platform, &id);
    let page = log_in(&platform, &id);
    assert_eq!(page.status(), 200, "{page}");
    platform.wait_status(&id, "CONNECTED");
    let asked = stage.authority.state().asked[0].clone();
    let address = asked["client_id"].strip_prefix("https://tools.example").expect("our document");
    let document = platform.rest(None).get(address).is(200);
    assert_eq!(document["client_id"], asked["client_id"], "{document:#}");
    assert_eq!(document["redirect_uris"], json!([asked["redirect_uri"]]), "{document:#}");
    assert!(stage.authority.state().clients.is_empty());
}

#[test]
fn a_client_that_was_registered_by_hand_is_used_and_its_secret_shown_to_nobody() {
    let stage = Stage::new();
    stage.authority.set(|state| state.registers = false);
    let platform = stage.room.platform(&[]);
    let mut registration = stage.registration();
    let issuer = stage.authority.url();
    let oauth = json!({ "issuer": issuer, "client_id": "by-hand", "client_secret": "canary-hand-51e8d2",
        "scopes": ["read", "write"] });
    registration["oauth"] = oauth;
    let shown = platform.register(&registration);
    let kept = json!({ "issuer": issuer, "client_id": "by-hand", "client_secret": "***",
        "scopes": ["read", "write"] });
    assert_eq!(shown["oauth"], kept, "{shown:#}");
    let id = id_of(&shown);
    needs_login(&platform, &id);
    assert_eq!(log_in(&platform, &id).status(), 200);
    platform.wait_status(&id, "CONNECTED");
    let asked = stage.authority.state().asked[0].clone();
    assert_eq!((&asked["client_id"][..], &asked["scope"][..]), ("by-hand", "read write"));
    assert!(!platform.server(&id).to_string().contains("canary-hand"));
}

/// Which of the two ways it lists was meant for this client, an authority does not say.
#[test]
fn a_secret_that_is_wanted_in_the_form_is_shown_there() {
    let stage = Stage::new();
    stage.authority.set(|state| {
        (state.registers, state.form_secret) = (false, Some("canary hand+51e8d2".to_owned()));
    });
    let platform = stage.room.platform(&[]);
    let mut registration = stage.registration();
    registration["oauth"] = json!({ "issuer": stage.authority.url(), "client_id": "by-hand",
            "client_secret": "canary hand+51e8d2" });
    let id = id_of(&platform.register(&registration));
    needs_login(&platform, &id);
    let page = log_in(&platform, &id);
    assert_eq!(page.status(), 200, "{page}");
    platform.wait_status(&id, "CONNECTED");
    stage.authority.expire();
    platform.call("docs.echo", &json!({})).is(200);
    assert_eq!(stage.authority.state().refreshes, 1, "it is known by now how");
    platform.admin().bare("DELETE", &place(&id)).is(204);
    assert_eq!(stage.authority.state().revocations.len(), 2);
    // With a wrong one nothing is granted, in whichever way it is shown.
    stage.authority.set(|state| state.form_secret = Some("another".to_owned()));
    let page = log_in(&platform, &id);
    assert_eq!(page.status(), 400, "{page}");
    assert!(page.response.text().contains("invalid_client"), "{page}");
}

#[test]
fn only_servers_in_the_network_without_a_header_of_their_own_have_logins() {
    let stage = Stage::new();
    let platform = stage.room.platform(&[]);
    let mut own = stage.registration();
    own["connection_config"]["headers"] = json!({ "authorization": "Bearer x" });
    let id = id_of(&platform.register(&own));
    platform.act(&id, "login").problem(409, "no-login");
    assert_eq!(platform.server(&id)["auth"], json!(null));
    platform.act("nobody", "login").problem(404, "no-such-server");
    let viewer = platform.key("viewer");
    for (method, action) in [("POST", "login"), ("DELETE", "logout")] {
        let answer = platform.rest(Some(&viewer)).bare(method, &place(&id));
        answer.problem(403, "forbidden");
        let is_refused = |record: &Value| record["outcome"] == "refused";
        platform.wait_audit(action, |record| is_refused(record) && record["action"] == action);
    }
}

#[test]
fn a_token_endpoint_in_a_private_network_or_behind_a_redirect_is_not_asked() {
    let stage = Stage::new();
    let platform = stage.room.platform(&[]);
    let id = id_of(&platform.register(&stage.registration()));
    needs_login(&platform, &id);
    let elsewhere = format!("{}/token", stage.authority.url());
    type Trick<'a> = (&'a str, Option<String>, Option<String>);
    let tricks: [Trick<'_>; 2] = [
        ("private", Some("https://10.1.2.3/token".to_owned()), None),
        ("redirect", None, Some(elsewhere)),
    ];
    for (what, endpoint, redirect) in tricks {
        stage.authority.set(|state| {
            (state.token_endpoint, state.token_redirect) = (endpoint, redirect);
        });
        let page = log_in(&platform, &id);
        assert_eq!(page.status(), 400, "{what}: {page}");
        assert!(stage.authority.state().tokens.is_empty(), "{what}");
    }
    assert_eq!(platform.server(&id)["auth"]["state"], "needs-auth");
}

/// Everything that was granted is found in no file, no log and no answer.
#[test]
fn tokens_are_found_nowhere() {
    let stage = Stage::new();
    let platform =
        Platform::start(stage.room.platform_command(&["--debug", "--allow-net", "127.0.0.0/8"]));
    let id = stage.logged_in(&platform);
    stage.authority.expire();
    platform.call("docs.echo", &json!({})).is(200);
    assert_eq!(stage.authority.state().refreshes, 1, "a second pair of tokens");
    platform
        .wait_audit("the login", |record| record["action"] == "login" && record["outcome"] == "ok");
    let tokens = stage.authority.state().tokens.clone();
    assert_eq!(tokens.len(), 4);
    let mut seen = vec![
        platform.server(&id).to_string(),
        format!("{:?}", platform.audit()),
        platform.serve().process().stderr(),
        platform.admin().get("/metrics").response.text(),
    ];
    let files = std::fs::read_dir(stage.room.path("data")).unwrap().flatten();
    for file in files.filter(|file| file.path().is_file()) {
        seen.push(String::from_utf8_lossy(&std::fs::read(file.path()).unwrap()).into_owned());
    }
    for (number, text) in seen.iter().enumerate() {
        for token in &tokens {
            assert!(!text.contains(token), "{token} is in place {number}");
        }
    }
}
