//! Users of an issuer: limited by claims and groups, and revoked before their token ends.

use kit::LIMIT;
use kit::http::Ask;
use kit::mcp::Speak as _;
use kit::process::wait_until;
use kit::room::Room;
use kit::streamable::Streamable;
use serde_json::json;

use super::issuer::Issuer;
use super::{ME, Scene, shows};

fn session(scene: &Scene, token: &str) -> Streamable {
    let bearer = format!("Bearer {token}");
    let headers = [("Authorization", &bearer[..])];
    let session = Streamable::with_headers(scene.serve.address(), "/mcp", &headers);
    session.initialize("2025-11-25").result();
    session
}

fn scene(policies: &str, flags: &[&str]) -> Scene {
    let room = Room::new();
    let file = room.write("p.cedar", policies);
    let file = file.to_str().expect("UTF-8").to_owned();
    Scene::within(room, Issuer::start(), &[&["--policies", &file], flags].concat())
}

#[test]
fn policies_limit_users_by_claims_and_groups() {
    let scene = scene(
        "permit(principal in Trunkline::Group::\"dev\", action, resource);\n\
         permit(principal is Trunkline::User, action, resource) when { principal.claims has team && principal.claims.team == \"blue\" };\n\
         permit(principal == Trunkline::User::\"carol\", action, resource);",
        &[],
    );
    for (claims, sees) in [
        (json!({"groups": ["dev", "x"]}), true),
        (json!({"groups": ["ops"]}), false),
        (json!({"groups": "dev"}), true),
        (json!({"team": "blue"}), true),
        (json!({"team": "red"}), false),
        (json!({"team": ["blue"]}), false),
        (json!({"sub": "carol"}), true),
        (json!({}), false),
    ] {
        let session = session(&scene, &scene.token(&claims));
        assert_eq!(!session.list_names().is_empty(), sees, "{claims}");
        assert_eq!(session.call("a.echo", "{}").try_result().is_some(), sees, "{claims}");
    }
}

#[test]
fn policies_take_groups_from_the_claim_that_is_named() {
    let scene = scene(
        "permit(principal in Trunkline::Group::\"dev\", action, resource);",
        &["--groups-claim", "roles"],
    );
    for (claims, sees) in [(json!({"roles": ["dev"]}), true), (json!({"groups": ["dev"]}), false)] {
        assert_eq!(
            !session(&scene, &scene.token(&claims)).list_names().is_empty(),
            sees,
            "{claims}"
        );
    }
}

#[test]
fn policies_revoke_a_user_whose_session_is_open() {
    let all = "permit(principal, action, resource);";
    let scene = scene(all, &[]);
    let [alice, bob] = ["alice", "bob"].map(|subject| scene.token(&json!({ "sub": subject })));
    let (first, second) = (session(&scene, &alice), session(&scene, &bob));
    assert_eq!(first.listen(), 200);
    first.call("a.echo", "{}").result();
    scene._room.write(
        "p.cedar",
        format!("{all}\nforbid(principal == Trunkline::User::\"alice\", action, resource);"),
    );
    wait_until("she is shut out", LIMIT, || scene.get(ME, &alice).status() == 403);
    assert_eq!(scene.mcp(&alice).status(), 403);
    assert_eq!(scene.mcp(&scene.token(&json!({ "sub": "alice", "jti": "another" }))).status(), 403);
    let connected = || scene.get("/api/v1/clients", super::ADMIN).text();
    wait_until("her session is over", LIMIT, || !connected().contains("alice"));
    assert!(connected().contains("bob"), "{}", connected());
    second.call("a.echo", "{}").result();
    assert_eq!(scene.get(ME, &bob).status(), 200);
}

/// What was decided about one token of a user does not hold for another: claims and groups may have changed.
#[test]
fn policies_look_at_the_claims_of_the_token_that_is_shown_now() {
    let scene = scene(
        "permit(principal, action, resource);\n\
         forbid(principal, action == Trunkline::Action::\"call\", resource) when { context.arguments has path } \
         unless { principal in Trunkline::Group::\"dev\" || (principal.claims has team && principal.claims.team == \"blue\") };",
        &[],
    );
    let body = json!({ "name": "a.echo", "arguments": { "path": "/" } });
    for round in 0..2 {
        for (claims, may) in [
            (json!({}), false),
            (json!({"groups": ["dev"]}), true),
            (json!({"groups": ["ops"]}), false),
            (json!({"team": "blue"}), true),
            (json!({"team": "red"}), false),
        ] {
            let token = scene.token(&claims);
            let status = scene.post("/api/v1/tools/call", &body, &token).status();
            assert_eq!(status, if may { 200 } else { 403 }, "{round} {claims}");
            let session = session(&scene, &token);
            for _ in 0..2 {
                let answer = session.call("a.echo", r#"{"path":"/"}"#);
                assert_eq!(answer.try_result().is_some(), may, "{round} {claims}");
            }
            session.call("a.echo", "{}").result();
        }
    }
}

/// A session belongs to the user and to what a token of theirs may: one with other claims is no key to it.
#[test]
fn a_token_with_other_claims_does_not_go_on_in_a_session_of_the_same_user() {
    let scene = scene("permit(principal, action, resource);", &[]);
    let [dev, plain] = [json!({"groups": ["dev"]}), json!({})].map(|it| scene.token(&it));
    let begun = scene.mcp(&dev);
    let id = begun.head.header("mcp-session-id").expect("a session").to_owned();
    let ping = |token: &str| {
        let ask = Ask::post("/mcp", r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#);
        scene.ask(&shows(ask.header("Mcp-Session-Id", &id), token)).status()
    };
    assert_eq!((ping(&dev), ping(&plain), ping(&dev)), (200, 404, 200));
}

#[test]
fn a_subject_that_reads_like_a_certificate_is_not_let_in() {
    let scene = scene("permit(principal == Trunkline::User::\"cert:ci\", action, resource);", &[]);
    let token = scene.token(&json!({"sub": "cert:ci", "scope": "admin:full"}));
    assert_eq!(scene.mcp(&token).status(), 403);
    assert_eq!(scene.get(ME, &token).status(), 403);
}
