//! Who signs in, what they may then, and what is kept and recorded of it.

use kit::http::Ask;
use kit::platform::{ADMIN, Platform};
use serde_json::json;

use super::provider::SECRET;
use super::{Scene, Visitor, bare_command, leads_to};

#[test]
fn a_person_signs_in_with_the_role_of_their_groups() {
    let scene = Scene::new();
    let mut stranger = scene.visitor();
    assert!(stranger.page("/sign-in?next=%2Fservers").contains("Sign in with 127.0.0.2"));
    let mut alice = scene.visitor();
    let page = alice.sign_in(&scene.provider, "alice");
    assert_eq!(page.status(), 200, "{}", page.text());
    assert_eq!(leads_to(&page.text()).as_deref(), Some("/servers"), "where she wanted to go");
    let cookies = page.head.raw.to_lowercase();
    assert!(cookies.contains("httponly; samesite=strict"), "{cookies}");
    assert_eq!(alice.cookie("sign_in"), None, "it has done its work");
    let page = alice.page("/servers");
    assert!(page.contains("alice@example.com") && page.contains("operator"), "{page}");
    alice.page("/activity");
    assert_eq!(alice.get("/policies/new").status(), 403, "an operator is no admin");
    let mut bob = scene.signed_in("bob");
    assert!(bob.page("/servers").contains("viewer"));
    assert_eq!(bob.get("/activity").status(), 403);
    let asked = scene.provider.state().asked[0].clone();
    let here = format!("http://{}/sign-in/callback", scene.address());
    for (name, expected) in [
        ("response_type", "code"),
        ("client_id", "trunkline"),
        ("redirect_uri", &*here),
        ("scope", "openid profile email"),
        ("code_challenge_method", "S256"),
    ] {
        assert_eq!(asked[name], expected);
    }
    assert!(asked["state"] != asked["nonce"] && asked["state"] != asked["code_challenge"]);
}

#[test]
fn sign_ins_are_recorded_and_no_token_or_secret_is_kept_or_logged() {
    let scene = Scene::new();
    scene.signed_in("alice");
    let record = scene.platform.wait_audit("a sign-in", |record| record["action"] == "sign-in");
    let credential = format!("oidc:{}#id-of-alice", scene.provider.url());
    assert_eq!(record["outcome"], "ok", "{record}");
    assert_eq!(record["principal"], "alice@example.com", "{record}");
    assert_eq!(record["credential_id"], credential, "{record}");
    let detail = record["detail"].as_str().unwrap();
    assert!(detail.contains("role operator"), "{detail}");
    let token = scene.provider.state().tokens[0].clone();
    let log = scene.platform.serve().process().stderr();
    let mut kept = Vec::new();
    for file in std::fs::read_dir(scene.room.path("data")).unwrap().flatten() {
        kept.extend(std::fs::read(file.path()).unwrap_or_default());
    }
    let (header, signature) = (token.split('.').next().unwrap(), token.rsplit('.').next().unwrap());
    for secret in [signature, header, "canary-code", "canary-access-token", SECRET] {
        assert!(!log.contains(secret), "{secret} is in the log");
        let is_kept = kept.windows(secret.len()).any(|part| part == secret.as_bytes());
        assert!(!is_kept, "{secret} is kept");
    }
}

#[test]
fn who_has_no_role_is_told_what_to_do() {
    let scene = Scene::new();
    let mut carol = scene.visitor();
    let page = carol.sign_in(&scene.provider, "carol");
    assert_eq!(page.status(), 403, "{}", page.text());
    let text = page.text();
    for words in
        ["carol@example.com", "&lt;sales&gt;", "--oidc-role GROUP=ROLE", "Sign in as somebody else"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert_eq!(carol.cookie("session"), None);
    assert!(!carol.is_signed_in());
    let record = scene.platform.wait_audit("a refusal", |record| record["action"] == "sign-in");
    assert_eq!(
        (record["outcome"].as_str(), record["principal"].as_str()),
        (Some("refused"), Some("carol@example.com"))
    );
    scene.provider.set(|state| drop(state.people.insert("carol".to_owned(), json!({}))));
    let page = scene.visitor().sign_in(&scene.provider, "carol").text();
    assert!(page.contains("names no groups") && page.contains("--oidc-groups-claim"), "{page}");
    let overage = json!({"_claim_names": {"groups": "src1"}});
    scene.provider.set(|state| drop(state.people.insert("carol".to_owned(), overage)));
    let page = scene.visitor().sign_in(&scene.provider, "carol").text();
    assert!(page.contains("so many groups"), "{page}");
    let away = scene.visitor().get("/sign-in/oidc?account=another");
    assert!(away.head.header("location").unwrap().contains("prompt=login"));
}

#[test]
fn groups_may_be_inside_of_objects_and_everybody_may_have_a_role() {
    let scene = Scene::with(&[
        "--oidc-groups-claim",
        "realm_access.roles",
        "--oidc-role",
        "*=viewer",
        "--oidc-role",
        "cn=root,dc=corp=admin",
    ]);
    let claims = json!({"realm_access": {"roles": ["cn=root,dc=corp"]}});
    scene.provider.set(|state| drop(state.people.insert("carol".to_owned(), claims)));
    assert!(scene.signed_in("carol").page("/policies/new").contains("Sign out"));
    assert_eq!(scene.signed_in("bob").get("/activity").status(), 403);
}

/// Policies know them by the subject and the groups that the issuer names.
#[test]
fn policies_hold_for_people_who_have_signed_in() {
    let scene = Scene::new();
    let text = "forbid(principal in Trunkline::Group::\"everybody\", action, resource);";
    let body = json!({ "text": text }).to_string();
    let made = scene.platform.admin().with_body("PUT", "/api/v1/policies/no-bobs", body.as_bytes());
    assert_eq!(made.status(), 201, "{made}");
    scene.signed_in("alice").page("/servers");
    let mut bob = scene.visitor();
    assert_eq!(bob.sign_in(&scene.provider, "bob").status(), 200);
    assert!(!bob.is_signed_in(), "a policy shuts him out");
}

#[test]
fn keys_and_the_admin_token_sign_in_as_before() {
    let scene = Scene::new();
    let mut person = kit::dashboard::Person::stranger(scene.address());
    let answer = person.sign_in(ADMIN);
    assert_eq!((answer.status(), answer.head.header("location")), (303, Some("/")));
    let out = person.submit("/", "/sign-out", &[]);
    assert_eq!((out.status(), out.head.header("location")), (303, Some("/sign-in")));
    assert!(scene.provider.state().ended.is_empty());
}

#[test]
fn a_session_survives_a_restart_with_the_role_that_its_groups_have_then() {
    let Scene { provider, platform, room } = Scene::new();
    let mut alice = Visitor::new(platform.serve().address());
    assert_eq!(alice.sign_in(&provider, "alice").status(), 200);
    drop(platform);
    let start = |flags: &[&str], alice: &mut Visitor| {
        let platform = Platform::start(bare_command(&room, &provider, flags));
        alice.move_to(platform.serve().address());
        platform
    };
    let platform = start(&["--oidc-role", "ops=admin"], &mut alice);
    assert!(alice.page("/policies/new").contains("admin"), "the table has changed");
    drop(platform);
    let platform = start(&["--oidc-role", "others=admin"], &mut alice);
    assert!(!alice.is_signed_in(), "none of her groups has a role any more");
    drop(platform);
    let _platform = start(&["--oidc-role", "ops=viewer"], &mut alice);
    assert_eq!((alice.is_signed_in(), alice.get("/activity").status()), (true, 403));
}

#[test]
fn rest_and_mcp_take_no_id_token() {
    let scene = Scene::new();
    scene.signed_in("alice");
    let token = scene.provider.state().tokens[0].clone();
    for ask in [Ask::get("/api/v1/me"), Ask::post("/mcp", "{}")] {
        let ask = ask.header("Authorization", &format!("Bearer {token}"));
        assert_eq!(scene.visitor().send(&ask).status(), 401, "{ask:?}");
    }
}
