//! The dashboard with an access token of the issuer: the scope is the role, and its end is the session's.

use kit::LIMIT;
use kit::dashboard::Person;
use kit::process::wait_until;
use serde_json::json;

use super::Scene;
use super::issuer::now;

#[test]
fn an_access_token_signs_in_with_the_role_of_its_scope() {
    let scene = Scene::new();
    let mut person = Person::stranger(scene.serve.address());
    let answer = person.sign_in(&scene.scoped("mcp:read"));
    assert_eq!(answer.status(), 303, "{}", answer.text());
    assert!(person.page("/clients").contains("viewer"));
    assert_eq!(person.get("/activity").status(), 403);
    let mut operator = Person::stranger(scene.serve.address());
    assert_eq!(operator.sign_in(&scene.scoped("admin:write")).status(), 303);
    operator.page("/activity");
}

#[test]
fn the_session_is_over_with_the_token() {
    let scene = Scene::new();
    let mut person = Person::stranger(scene.serve.address());
    // Clocks may differ by a minute: it is good for a few seconds more.
    let token = scene.token(&json!({ "exp": now() - 55 }));
    assert_eq!(person.sign_in(&token).status(), 303);
    wait_until("it is over", LIMIT, || person.get("/servers").status() == 303);
    let sent = person.send(&person.form("/sign-out", &[]));
    assert_eq!(sent.status(), 401, "{}", sent.text());
}

#[test]
fn a_token_that_is_not_good_or_not_for_here_does_not_sign_in() {
    let scene = Scene::new();
    for token in [
        scene.token(&json!({ "exp": now() - 3600 })),
        scene.token(&json!({ "aud": "https://elsewhere.example/mcp" })),
        scene.token(&json!({ "iss": "https://elsewhere.example" })),
        scene.scoped("nothing:here"),
    ] {
        let mut person = Person::stranger(scene.serve.address());
        let answer = person.sign_in(&token);
        assert_eq!(answer.status(), 401, "{}", answer.text());
        assert!(answer.head.header("set-cookie").is_none());
        assert!(!answer.text().contains(&token), "it is not shown again");
    }
}
