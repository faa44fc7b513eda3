//! Users of an issuer: limited by claims and groups, and revoked before their token ends.

use kit::LIMIT;
use kit::mcp::Speak as _;
use kit::process::wait_until;
use kit::room::Room;
use kit::streamable::Streamable;
use serde_json::json;

use super::issuer::Issuer;
use super::{ME, Scene};

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
