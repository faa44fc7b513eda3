//! Ways there are to the provider and back: keys that change, a provider that is away, secrets, proxies, and out again.

use kit::http::Ask;
use kit::platform::{ADMIN, Platform};
use kit::room::Room;
use serde_json::{Value, json};

use super::provider::Provider;
use super::{Scene, Visitor, command, leads_to};

#[test]
fn keys_that_the_provider_changes_are_fetched_when_a_token_names_them() {
    let scene = Scene::new();
    scene.signed_in("alice");
    scene.provider.rotate();
    scene.signed_in("alice").page("/servers");
}

#[test]
fn while_the_provider_is_away_keys_sign_in() {
    let scene = Scene::new();
    scene.provider.set(|state| state.is_away = true);
    let page = scene.visitor().get("/sign-in/oidc");
    assert_eq!(page.status(), 503, "{}", page.text());
    for words in ["cannot be used now", "Try again in a minute", "Use a key"] {
        assert!(page.text().contains(words), "{words}: {}", page.text());
    }
    assert_eq!(kit::dashboard::Person::stranger(scene.address()).sign_in(ADMIN).status(), 303);
    scene.provider.set(|state| state.is_away = false);
    kit::process::wait_until("it is asked again", kit::LIMIT, || {
        scene.visitor().get("/sign-in/oidc").status() == 303
    });
    scene.signed_in("alice");
}

#[test]
fn a_provider_whose_documents_do_not_fit_is_named_with_what_is_wrong() {
    let scene = Scene::new();
    let other = json!({"issuer": "https://other.example"});
    scene.provider.set(|state| state.metadata = other);
    let page = scene.visitor().get("/sign-in/oidc");
    assert_eq!(page.status(), 503);
    assert!(page.text().contains("names another issuer"), "{}", page.text());
    scene.platform.serve().process().wait_stderr(&["people cannot sign in"], kit::LIMIT);
}

#[test]
fn the_secret_is_shown_as_the_provider_wants_it_or_there_is_none() {
    let scene = Scene::new();
    scene.provider.set(|state| state.wants_form = true);
    scene.signed_in("alice");
    scene.provider.set(|state| state.is_public = true);
    let page = scene.visitor().sign_in(&scene.provider, "alice");
    assert_eq!(page.status(), 400);
    assert!(page.text().contains("invalid_client"), "{}", page.text());
    assert!(page.text().contains("--oidc-client-id"), "{}", page.text());
    let room = Room::new();
    let mut bare = command(&room, &scene.provider, &[]);
    bare.env_remove("TRUNKLINE_OIDC_CLIENT_SECRET");
    let platform = Platform::start(bare);
    let mut alice = Visitor::new(platform.serve().address());
    assert_eq!(alice.sign_in(&scene.provider, "alice").status(), 200);
}

#[test]
fn the_secret_may_be_in_a_file() {
    let (room, provider) = (Room::new(), Provider::start());
    let file = room.path("oidc-secret");
    std::fs::write(&file, format!("{}\n", super::SECRET)).unwrap();
    let flags = ["--oidc-client-secret-file", file.to_str().unwrap()];
    let mut command = command(&room, &provider, &flags);
    command.env("TRUNKLINE_OIDC_CLIENT_SECRET", "another");
    let platform = Platform::start(command);
    let mut alice = Visitor::new(platform.serve().address());
    assert_eq!(alice.sign_in(&provider, "alice").status(), 200);
}

#[test]
fn behind_tls_cookies_are_bound_to_the_host_and_the_way_back_is_the_public_one() {
    let scene = Scene::with(&["--public-url", "https://tools.example"]);
    let mut alice = scene.visitor();
    alice.host = "tools.example".to_owned();
    let away = alice.get("/sign-in/oidc");
    let set = away.head.header("set-cookie").unwrap().to_owned();
    assert!(set.starts_with("__Host-trunkline_sign_in="), "{set}");
    for part in ["; Path=/;", "; HttpOnly", "; SameSite=Lax", "; Max-Age=600", "; Secure"] {
        assert!(set.contains(part), "{set}");
    }
    let back = alice.go_there(&scene.provider, "alice");
    let asked = scene.provider.state().asked[0]["redirect_uri"].clone();
    assert_eq!(asked, "https://tools.example/sign-in/callback");
    let page = alice.get(&back);
    assert_eq!(page.status(), 200, "{}", page.text());
    assert!(page.head.raw.contains("__Host-trunkline_session="), "{}", page.head.raw);
    alice.page("/servers");
}

/// A platform with a public URL of https, and a browser that comes with another Host.
fn inside() -> (Scene, Visitor) {
    let flags = ["--public-url", "https://tools.example", "--allow-host", "inside:3006"];
    let scene = Scene::with(&flags);
    let mut visitor = scene.visitor();
    visitor.host = "inside:3006".to_owned();
    (scene, visitor)
}

#[test]
fn behind_a_tls_proxy_with_a_host_of_its_own_cookies_are_secure() {
    let (scene, mut alice) = inside();
    let page = alice.sign_in(&scene.provider, "alice");
    assert_eq!(page.status(), 200, "{}", page.text());
    let set = page.head.raw.lines().find(|line| line.contains("trunkline_session"));
    assert!(set.is_some_and(|set| set.contains("; Secure")), "{}", page.head.raw);
    alice.page("/servers");
}

/// A browser would drop the cookie, and be led from page to page without a word.
#[test]
fn who_comes_without_tls_is_told_where_to_sign_in() {
    let (_scene, visitor) = inside();
    let form = Ask::new("POST", "/sign-in").body("token=canary");
    let form = form.header("Content-Type", "application/x-www-form-urlencoded");
    let page = visitor.send(&form.header("Origin", "http://inside:3006"));
    assert_eq!(page.status(), 400, "{}", page.text());
    assert!(page.text().contains("Sign in at https://tools.example"), "{}", page.text());
    assert!(page.head.header("set-cookie").is_none(), "{}", page.head.raw);
}

#[test]
fn a_sign_in_ends_the_session_that_its_browser_had() {
    let scene = Scene::new();
    let before = scene.signed_in("alice");
    let mut browser = before.clone();
    let failed = browser.go_there(&scene.provider, "carol");
    let again = browser.go_there(&scene.provider, "bob");
    // The cookie of a session does not come along when another site leads here.
    browser.cookies.retain(|name, _| !name.contains("session"));
    assert_eq!(
        browser.clone().get(&failed).status(),
        400,
        "the later sign-in is the one that counts"
    );
    assert!(before.clone().is_signed_in(), "a sign-in that failed ends nothing");
    let page = browser.get(&again);
    assert_eq!(page.status(), 200, "{}", page.text());
    assert!(browser.is_signed_in());
    assert!(!before.clone().is_signed_in(), "nobody goes on with what another has known");
}

#[test]
fn who_signs_out_is_led_to_the_provider_to_sign_out_there() {
    let scene = Scene::new();
    let mut alice = scene.signed_in("alice");
    let page = sign_out(&mut alice);
    let to = leads_to(&page).expect("it leads on");
    assert!(
        to.starts_with(&format!("{}/logout?client_id=trunkline&", scene.provider.url())),
        "{to}"
    );
    assert!(!alice.is_signed_in());
    let asked = crate::logins::wire::query(to.split_once('?').expect("a query").1);
    let after = format!("http://{}/sign-in", scene.address());
    assert_eq!(asked["post_logout_redirect_uri"], after);
    let record = scene.platform.wait_audit("an end", |record| record["action"] == "sign-out");
    assert_eq!(record["principal"], "alice@example.com", "{record}");
}

#[test]
fn a_provider_without_a_way_out_keeps_its_own_session() {
    let (room, provider) = (Room::new(), Provider::start());
    provider.set(|state| state.metadata = json!({"end_session_endpoint": Value::Null}));
    let platform = Platform::start(command(&room, &provider, &[]));
    let mut alice = Visitor::new(platform.serve().address());
    assert_eq!(alice.sign_in(&provider, "alice").status(), 200);
    assert_eq!(sign_out(&mut alice), "");
    assert!(!alice.is_signed_in());
}

/// Presses the button of the page.
#[track_caller]
fn sign_out(visitor: &mut Visitor) -> String {
    let page = visitor.page("/servers");
    let body = format!("csrf={}", kit::dashboard::csrf(&page));
    let ask = kit::http::Ask::new("POST", "/sign-out")
        .header("Content-Type", "application/x-www-form-urlencoded")
        .header("Origin", &format!("http://{}", visitor.host))
        .header("Sec-Fetch-Site", "same-origin")
        .body(body);
    let answer = visitor.send(&ask);
    assert!(matches!(answer.status(), 200 | 303), "{}", answer.text());
    answer.text()
}
