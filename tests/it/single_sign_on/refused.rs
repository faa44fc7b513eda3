//! Sign-ins that others have begun, answers of others, and tokens that say something else.

use kit::http::Ask;
use serde_json::json;

use super::{Scene, consent};

#[test]
fn a_sign_in_that_another_browser_has_begun_is_refused_before_anything_is_asked() {
    let scene = Scene::new();
    let mut mallory = scene.visitor();
    let back = mallory.go_there(&scene.provider, "bob");
    let mut victim = scene.visitor();
    for has_begun in [false, true] {
        if has_begun {
            victim.get("/sign-in/oidc");
        }
        let page = victim.get(&back);
        assert_eq!(page.status(), 400, "{}", page.text());
        assert!(page.text().contains("not begun in this browser"), "{}", page.text());
        assert!(page.text().contains("Begin it again"), "{}", page.text());
        assert!(!victim.is_signed_in());
    }
    assert_eq!(scene.provider.state().redeemed, 0, "the code is not even shown to the provider");
    assert_eq!(mallory.get(&back).status(), 200);
    let again = mallory.get(&back);
    assert_eq!(again.status(), 400, "an answer is good once");
}

#[test]
fn another_site_cannot_send_a_browser_away_and_nowhere_is_led_back_to_but_here() {
    let scene = Scene::new();
    let mut visitor = scene.visitor();
    let ask = Ask::get("/sign-in/oidc?next=%2Ftools").header("Sec-Fetch-Site", "cross-site");
    let answer = visitor.send(&ask);
    assert_eq!(
        (answer.status(), answer.head.header("location")),
        (303, Some("/sign-in?next=%2Ftools"))
    );
    assert!(answer.head.header("set-cookie").is_none());
    for elsewhere in ["https%3A%2F%2Fevil.example", "%2F%2Fevil.example", "%2Fsign-out", "%2Fmcp"] {
        let away = visitor.get(&format!("/sign-in/oidc?next={elsewhere}"));
        let url = away.head.header("location").unwrap().to_owned();
        let page = visitor.get(&consent(&scene.provider, &url, "alice"));
        assert_eq!(super::leads_to(&page.text()).as_deref(), Some("/"), "{elsewhere}");
    }
    // Also if the cookie was changed by whoever can.
    let back = visitor.go_there(&scene.provider, "alice");
    let (name, kept) = visitor.cookies.iter().find(|(name, _)| name.contains("sign_in")).unwrap();
    let (name, seed) = (name.clone(), kept.split('.').next().unwrap().to_owned());
    visitor.cookies.insert(name, format!("{seed}.https%3A%2F%2Fevil.example"));
    assert_eq!(super::leads_to(&visitor.get(&back).text()).as_deref(), Some("/"));
}

#[test]
fn an_answer_that_may_be_another_issuers_is_refused() {
    let scene = Scene::new();
    for (iss, words) in [
        ("https://other.example", "from another authorization server"),
        ("", "does not say which authorization server"),
    ] {
        scene.provider.set(|state| state.iss = Some(iss.to_owned()));
        let mut visitor = scene.visitor();
        let page = visitor.sign_in(&scene.provider, "alice");
        assert_eq!(page.status(), 400, "{}", page.text());
        assert!(page.text().contains(words), "{}", page.text());
        assert!(!visitor.is_signed_in());
    }
    assert_eq!(scene.provider.state().redeemed, 0);
    let mut visitor = scene.visitor();
    let state = visitor.go_there(&scene.provider, "alice");
    let state = state.split("state=").nth(1).unwrap().split('&').next().unwrap();
    let iss = kit::platform::percent(&scene.provider.url());
    let denied = format!(
        "/sign-in/callback?error=access_denied&error_description=%3Cb%3Eno&state={state}&iss={iss}"
    );
    let page = visitor.get(&denied);
    assert_eq!(page.status(), 400);
    assert!(page.text().contains("access_denied (&lt;b&gt;no)"), "{}", page.text());
    for bad in ["", "?code=a", "?state=a&state=b", "?state=%zz", &format!("?state={state}")] {
        assert_eq!(scene.visitor().get(&format!("/sign-in/callback{bad}")).status(), 400, "{bad}");
    }
}

#[test]
fn an_id_token_that_is_no_answer_to_this_sign_in_lets_nobody_in() {
    let scene = Scene::new();
    for (claims, words) in [
        (json!({"nonce": "another"}), "answers another sign-in"),
        (json!({"nonce": null}), "`nonce` is missing"),
        (json!({"aud": "another"}), "for another audience"),
        (json!({"azp": "another"}), "to another client"),
        (json!({"iss": "https://other.example"}), "from another issuer"),
        (json!({"exp": 1}), "is expired"),
        (json!({"typ": "Bearer"}), "no ID token"),
        (json!({"sub": "cert:ci"}), "cert:"),
    ] {
        scene.provider.set(|state| state.claims = claims.clone());
        let mut visitor = scene.visitor();
        let page = visitor.sign_in(&scene.provider, "alice");
        assert!(matches!(page.status(), 400 | 403), "{claims}: {}", page.text());
        assert!(page.text().contains(words), "{claims}: {}", page.text());
        assert!(visitor.cookie("session").is_none() && !visitor.is_signed_in(), "{claims}");
    }
    let record = scene.platform.wait_audit("a failure", |record| record["outcome"] == "failed");
    assert_eq!(
        (record["action"].as_str(), record["principal"].as_str()),
        (Some("sign-in"), Some("nobody"))
    );
}

#[test]
fn a_token_signed_by_a_key_of_nobody_lets_nobody_in() {
    let scene = Scene::new();
    scene.signed_in("alice");
    // The keys that are published are others than it signs with.
    let published = scene.provider.url() + "/keys-of-nobody";
    scene.provider.set(|state| state.metadata = json!({ "jwks_uri": published }));
    scene.provider.rotate();
    let mut visitor = scene.visitor();
    let page = visitor.sign_in(&scene.provider, "alice");
    assert_eq!(page.status(), 400, "{}", page.text());
    assert!(page.text().contains("not among the issuer"), "{}", page.text());
    assert!(!visitor.is_signed_in());
}
