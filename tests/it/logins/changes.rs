//! What changes around a login: the authority a server trusts, what it wants, and that somebody logs out.

use kit::LIMIT;
use kit::platform::id_of;
use kit::process::wait_until;
use serde_json::json;

use super::authority::Authority;
use super::{Stage, agree, arrive, consent, log_in, needs_login, place};

#[test]
fn a_server_that_trusts_another_authority_gets_no_token_renewed() {
    let stage = Stage::new();
    let platform = stage.room.platform(&[]);
    let id = stage.logged_in(&platform);
    let other = Authority::start();
    stage.server.trust(&other.url());
    stage.authority.expire();
    let refused = platform.call("docs.echo", &json!({}));
    assert!(refused.response.text().contains("trusts another authorization server"), "{refused}");
    needs_login(&platform, &id);
    assert_eq!(stage.authority.state().refreshes, 0);
    assert!(other.state().clients.is_empty() && other.state().tokens.is_empty());
    // Whoever logs in there is told who asked before.
    let begun = platform.act(&id, "login").is(200);
    assert_eq!(begun["previous_issuer"], stage.authority.url(), "{begun:#}");
    assert_eq!(begun["issuer"], other.url(), "{begun:#}");
}

/// A server names its authorization server itself: it must not choose who learns a client's secret.
#[test]
fn a_clients_secret_goes_only_to_the_issuer_it_was_given_for() {
    let stage = Stage::new();
    let platform = stage.room.platform(&[]);
    let (trusted, thief) = (stage.authority.url(), Authority::start());
    let mut registration = stage.registration();
    registration["oauth"] = json!({ "issuer": trusted, "client_id": "corp-client",
        "client_secret": "canary-corp-7d11" });
    let id = id_of(&platform.register(&registration));
    needs_login(&platform, &id);
    let is_refused = || {
        let problem = platform.act(&id, "login").problem(502, "login-failed");
        let why = problem["detail"].as_str().unwrap_or_default();
        assert!(why.contains(&format!("the configured client belongs to {trusted}")), "{why}");
        assert!(why.contains(&thief.url()), "{why}");
    };
    stage.server.trust(&thief.url());
    is_refused();
    stage.server.trust(&trusted);
    assert_eq!(log_in(&platform, &id).status(), 200);
    platform.wait_status(&id, "CONNECTED");
    // A logout forgets the grant, not whose the secret is.
    platform.admin().delete(&place(&id)).is(204);
    needs_login(&platform, &id);
    stage.server.trust(&thief.url());
    is_refused();
    let heard = thief.state().requests.concat();
    let basic = "Y29ycC1jbGllbnQ6Y2FuYXJ5LWNvcnAtN2QxMQ"; // corp-client:canary-corp-7d11
    assert!(!heard.contains("canary-corp") && !heard.contains(basic), "{heard}");
    assert!(stage.authority.state().requests.concat().contains("canary-corp"), "it is used");
}

/// Whoever logs in grants access in their name to everybody here: no link may make them do it unasked.
#[test]
fn a_browser_that_did_not_begin_the_login_is_asked_before_anything_is_kept() {
    let stage = Stage::new();
    let platform = stage.room.platform(&[]);
    let id = id_of(&platform.register(&stage.registration()));
    needs_login(&platform, &id);
    let made = platform.make_key(&json!({ "name": "mallory", "role": "operator" }));
    let mallory = platform.rest(made["key"].as_str());
    let begin = || {
        let begun = mallory.bare("POST", &place(&id)).is(200);
        consent(begun["authorization_url"].as_str().expect("a URL"))
    };
    // The victim follows mallory's link, agrees over there, and comes back.
    let location = begin();
    let page = arrive(&platform, &location, None);
    assert_eq!(page.status(), 200, "{page}");
    for part in ["Grant access?", "mallory", "docs", &stage.authority.url()] {
        assert!(page.response.text().contains(part), "{part}: {page}");
    }
    assert!(stage.authority.state().tokens.is_empty(), "nothing is redeemed");
    assert_eq!(platform.server(&id)["auth"]["state"], "needs-auth");
    // Neither another site's form nor the same link again gets further.
    let cookie = page.response.head.header("set-cookie").expect("a cookie").to_owned();
    assert_eq!(agree(&platform, &page, None).status(), 400);
    assert_eq!(agree(&platform, &page, Some("trunkline_login=made-up")).status(), 400);
    assert_eq!(arrive(&platform, &location, None).status(), 400, "a state is good once");
    assert!(stage.authority.state().tokens.is_empty());
    assert_eq!(agree(&platform, &page, Some(&cookie)).status(), 200);
    platform.wait_status(&id, "CONNECTED");
    assert_eq!(agree(&platform, &page, Some(&cookie)).status(), 400, "once");
}

#[test]
fn a_call_that_wants_more_fails_alone_and_a_login_asks_for_it() {
    let stage = Stage::new();
    let platform = stage.room.platform(&[]);
    let id = stage.logged_in(&platform);
    stage.server.wants_more_for("other");
    let refused = platform.call("docs.other", &json!({}));
    assert!(refused.response.text().contains("wants more than was granted"), "{refused}");
    assert!(refused.response.text().contains("did not run"), "{refused}");
    platform.call("docs.echo", &json!({})).is(200);
    assert_eq!(platform.server(&id)["auth"]["state"], "logged-in");
    assert_eq!(log_in(&platform, &id).status(), 200);
    let asked = stage.authority.state().asked[1].clone();
    assert_eq!(asked["scope"], "read everything");
}

#[test]
fn who_logs_out_is_forgotten_here_and_there() {
    let stage = Stage::new();
    let platform = stage.room.platform(&[]);
    let id = stage.logged_in(&platform);
    platform.admin().delete(&place(&id)).is(204);
    let revoked = stage.authority.state().revocations.clone();
    assert_eq!(revoked.len(), 2, "both tokens: {revoked:?}");
    needs_login(&platform, &id);
    platform.wait_audit("the logout", |record| record["action"] == "logout");
    assert_eq!(log_in(&platform, &id).status(), 200);
    platform.wait_status(&id, "CONNECTED");
}

#[test]
fn a_server_that_is_removed_gives_its_grant_back() {
    let stage = Stage::new();
    let platform = stage.room.platform(&[]);
    let id = stage.logged_in(&platform);
    platform.admin().delete(&format!("{}/{id}", kit::platform::SERVERS)).is(204);
    wait_until("the grant is given back", LIMIT, || stage.authority.state().revocations.len() == 2);
}
