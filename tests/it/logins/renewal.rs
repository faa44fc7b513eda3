//! Tokens that end: renewed once for all, before they end or when the server says so, and kept before
//! anybody uses them.

use kit::platform::Platform;
use kit::process::wait_until;
use kit::service::Wire;
use kit::{LIMIT, say};
use rustix::process::Signal;
use serde_json::json;

use super::Stage;

#[test]
fn fifty_calls_with_a_token_that_has_ended_need_one_renewal() {
    for (wire, is_modern) in [(Wire::Http, false), (Wire::Http, true), (Wire::Sse, false)] {
        let stage = Stage::of(wire, is_modern);
        let platform = stage.room.platform(&[]);
        stage.logged_in(&platform);
        stage.authority.expire();
        let ask = Platform::call_ask("docs.echo", r#"{"a":1}"#);
        let calls: Vec<_> = (0..50).map(|_| platform.admin().begin(&ask)).collect();
        for mut call in calls {
            let answer = call.response(LIMIT);
            assert_eq!(answer.status(), 200, "{}", answer.text());
        }
        let state = stage.authority.state();
        assert_eq!((state.refreshes, state.reused), (1, 0), "{wire:?} {is_modern}");
    }
}

#[test]
fn a_token_is_renewed_before_it_ends() {
    let stage = Stage::new();
    stage.authority.set(|state| state.lifetime = 3);
    let platform = stage.room.platform(&[]);
    stage.logged_in(&platform);
    let refused = stage.server.refused();
    wait_until("two renewals", LIMIT, || stage.authority.state().refreshes >= 2);
    platform.call("docs.echo", &json!({})).is(200);
    assert_eq!(stage.server.refused(), refused, "the server never had to say so");
    assert_eq!(stage.authority.state().reused, 0);
}

#[test]
fn what_was_renewed_is_kept_before_it_is_used() {
    let stage = Stage::new();
    let platform = stage.room.platform(&[]);
    let id = stage.logged_in(&platform);
    stage.authority.expire();
    platform.call("docs.echo", &json!({})).is(200);
    assert_eq!(stage.authority.state().refreshes, 1);
    platform.serve().process().signal(Signal::KILL);
    platform.serve().process().wait_exit(LIMIT);
    drop(platform);

    let platform = stage.room.platform(&[]);
    platform.wait_status(&id, "CONNECTED");
    platform.call("docs.echo", &json!({})).is(200);
    stage.authority.expire();
    platform.call("docs.echo", &json!({})).is(200);
    let state = stage.authority.state();
    assert_eq!((state.refreshes, state.reused, state.asked.len()), (2, 0, 1));
}

#[test]
fn a_grant_that_is_gone_needs_a_login_and_says_so() {
    let stage = Stage::new();
    let platform = stage.room.platform(&[]);
    let id = stage.logged_in(&platform);
    stage.authority.set(|state| state.is_revoked = true);
    stage.authority.expire();
    let refused = platform.call("docs.echo", &json!({}));
    assert_ne!(refused.status(), 200, "{refused}");
    assert!(refused.response.text().contains("needs a login"), "{refused}");
    let shown = super::needs_login(&platform, &id);
    let error = shown["last_error"].to_string();
    assert!(error.contains("invalid_grant") && error.contains(&super::place(&id)), "{shown:#}");
    let again = platform.call("docs.echo", &json!({})).problem(503, "server-unavailable");
    assert!(again["detail"].as_str().unwrap().contains("needs a login"), "{again:#}");
    let lost = platform.wait_audit("the loss", |record| record["action"] == "lose-login");
    assert_eq!(lost["server_name"], "docs", "{lost:#}");
    // It waits for somebody, not for itself: whatever else happens, it is not tried meanwhile.
    let refused = stage.server.refused();
    for name in ["one", "two"] {
        let other = stage.room.fake(name).tool("echo", say::echo()).listen(Wire::Http);
        platform.connected(name, &other);
        stage.room.keep(other);
    }
    assert_eq!(stage.server.refused(), refused);

    stage.authority.set(|state| state.is_revoked = false);
    assert_eq!(super::log_in(&platform, &id).status(), 200);
    platform.wait_status(&id, "CONNECTED");
    platform.call("docs.echo", &json!({})).is(200);
}

/// A server that has, say, not loaded its keys yet: nobody has to log in for that.
#[test]
fn a_server_that_takes_no_token_for_a_while_comes_back_by_itself() {
    let stage = Stage::new();
    let platform = stage.room.platform(&[]);
    let id = stage.logged_in(&platform);
    stage.server.confuse(true);
    let refused = platform.call("docs.echo", &json!({}));
    assert_ne!(refused.status(), 200, "{refused}");
    let shown = platform.wait_status(&id, "ERROR");
    let error = shown["last_error"].to_string();
    assert!(error.contains("does not take the token that was granted"), "{shown:#}");
    assert_eq!(shown["auth"]["state"], "logged-in", "{shown:#}");
    stage.server.confuse(false);
    platform.wait_status(&id, "CONNECTED");
    platform.call("docs.echo", &json!({})).is(200);
    assert!(platform.audit().iter().all(|record| record["action"] != "lose-login"));
    let state = stage.authority.state();
    assert_eq!((state.refreshes, state.asked.len()), (1, 1), "it was renewed once, in vain");
}
