//! What changes around a login: the authority a server trusts, what it wants, and that somebody logs out.

use kit::LIMIT;
use kit::process::wait_until;
use serde_json::json;

use super::authority::Authority;
use super::{Stage, log_in, needs_login, place};

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
