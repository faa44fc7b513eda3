//! Tokens that must not be taken, at `/mcp` and over REST.

use kit::http::Ask;
use serde_json::json;

use super::issuer::{Issuer, now};
use super::signer::{Signer, base64, sign_hs256, with};
use super::{INITIALIZE, ME, Scene, challenge};

/// Tokens by what is wrong with them.
type Bad = Vec<(String, String)>;

#[test]
fn bad_tokens_are_refused_everywhere_and_told_where_to_get_good_ones() {
    let scene = Scene::new();
    let audience = scene.audience();
    // Keys are here, and a good token is good: what is refused below has another reason.
    let good = scene.mcp(&scene.token(&json!({})));
    assert_eq!(good.status(), 200, "{}", good.text());
    let all: Bad = [
        headers(&scene.issuer, &audience),
        claims(&scene.issuer, &audience),
        signatures(&scene.issuer, &audience),
        forms(&scene.issuer, &audience),
    ]
    .concat();
    assert!(all.len() >= 50, "{}", all.len());
    let at = format!(r#"resource_metadata="{}""#, scene.metadata_url());
    for (what, token) in &all {
        for response in [scene.mcp(token), scene.get(ME, token)] {
            assert_eq!(response.status(), 401, "{what}: {}", response.text());
            let told = challenge(&response);
            assert!(told.starts_with("Bearer ") && told.contains(&at), "{what}: {told}");
            assert!(told.contains(r#"error="invalid_token""#), "{what}: {told}");
            // Whoever forges tokens learns nothing from the challenge.
            assert!(!told.contains("error_description"), "{what}: {told}");
        }
    }
    assert!(scene.issuer.fetches() <= 2, "{}", scene.issuer.fetches());
}

/// Nobody guesses a signature; a client whose issuer has changed its keys has to learn that its token is over.
#[test]
fn tokens_with_a_wrong_signature_are_never_slowed() {
    let scene = Scene::new();
    let good = scene.token(&json!({}));
    assert_eq!(scene.mcp(&good).status(), 200);
    let (signed, signature) = good.rsplit_once('.').unwrap();
    let wrong = format!("{signed}.{}", flip(signature));
    // More than the sixty a minute that a guesser has.
    for number in 0..70 {
        for response in [scene.mcp(&wrong), scene.get(ME, &wrong)] {
            assert_eq!(response.status(), 401, "{number}: {}", response.text());
        }
    }
    assert_eq!(scene.get(ME, "a-guess").status(), 401, "they are no guesses");
    assert_eq!(scene.mcp(&good).status(), 200);
}

#[test]
fn long_tokens_are_taken_and_endless_ones_are_not() {
    let scene = Scene::new();
    for (size, expected) in [(8 * 1024, 200), (64 * 1024, 431)] {
        // Groups make tokens long.
        let token = scene.token(&json!({"groups": "g".repeat(size)}));
        assert_eq!(scene.mcp(&token).status(), expected, "{size}");
        assert_eq!(scene.get(ME, &token).status(), expected, "{size}");
    }
}

#[test]
fn what_is_no_bearer_token_is_refused() {
    let scene = Scene::new();
    let token = scene.token(&json!({}));
    for value in ["", &token, &format!("Basic {token}"), "Bearer", &format!("Bearer {token} x")] {
        for ask in [Ask::post("/mcp", INITIALIZE), Ask::get(ME)] {
            let response = scene.ask(&ask.header("Authorization", value));
            assert_eq!(response.status(), 401, "{value:?}");
        }
    }
    // Neither in the address nor twice.
    let asked = Ask::get(&format!("{ME}?access_token={token}"));
    assert_eq!(scene.ask(&asked).status(), 401);
    let bearer = format!("Bearer {token}");
    for ask in [Ask::post("/mcp", INITIALIZE), Ask::get(ME)] {
        let twice = ask.another("Authorization", &bearer).another("Authorization", &bearer);
        assert_eq!(scene.ask(&twice).status(), 400);
    }
}

fn headers(issuer: &Issuer, audience: &str) -> Bad {
    let claims = issuer.claims(audience, &json!({}));
    let good = json!({"alg": "EdDSA", "kid": "ed", "typ": "at+jwt"});
    [
        json!({"alg": "none"}),
        json!({"alg": "None"}),
        json!({"alg": "HS256"}),
        json!({"alg": "RS256"}),
        json!({"alg": "ES256"}),
        json!({"alg": "ES512"}),
        json!({"alg": "eddsa"}),
        json!({"alg": ""}),
        json!({"alg": 1}),
        json!({"alg": null}),
        json!({"kid": null}),
        json!({"kid": ""}),
        json!({"kid": 7}),
        json!({"kid": "rsa"}),
        json!({"kid": "unknown"}),
        json!({"kid": "../../ed"}),
        json!({"typ": "id_token"}),
        json!({"typ": "dpop+jwt"}),
        json!({"typ": "logout+jwt"}),
        json!({"typ": ["at+jwt"]}),
        json!({"crit": ["exp"]}),
        json!({"b64": false}),
        json!({"zip": "DEF"}),
        json!({"jku": "http://127.0.0.1:9/keys"}),
        json!({"x5u": "http://127.0.0.1:9/cert"}),
        json!({"jwk": {"kty": "OKP", "crv": "Ed25519", "x": base64(&issuer.signer.ed25519_public())}}),
    ]
    .iter()
    .map(|other| {
        let header = with(good.clone(), other);
        (format!("header {other}"), issuer.signer.sign("EdDSA", &header, &claims))
    })
    .collect()
}

fn claims(issuer: &Issuer, audience: &str) -> Bad {
    let (now, issuer_url) = (now(), issuer.url());
    [
        json!({"iss": null}),
        json!({"iss": "https://evil.example.com"}),
        json!({"iss": format!("{issuer_url}/")}),
        json!({"iss": issuer_url.to_uppercase()}),
        json!({"iss": [issuer_url]}),
        json!({"aud": null}),
        json!({"aud": "https://other.example.com/mcp"}),
        json!({"aud": format!("{audience}/")}),
        json!({"aud": audience.trim_end_matches("/mcp")}),
        json!({"aud": []}),
        json!({"aud": ["https://other.example.com", 7]}),
        json!({"aud": {"0": audience}}),
        json!({"exp": null}),
        json!({"exp": now - 61}),
        json!({"exp": 0}),
        json!({"exp": -1}),
        json!({"exp": (now + 300).to_string()}),
        json!({"nbf": now + 200}),
        json!({"nbf": "now"}),
        json!({"iat": now + 200}),
        json!({"sub": null}),
        json!({"sub": ""}),
        json!({"sub": 7}),
        json!({"sub": "x".repeat(256)}),
        json!({"sub": "a\nb"}),
        json!({"scope": 7}),
    ]
    .iter()
    .map(|other| (format!("claims {other}"), issuer.token(audience, other)))
    .collect()
}

fn signatures(issuer: &Issuer, audience: &str) -> Bad {
    let (signer, stranger) = (&issuer.signer, Signer::new());
    let claims = issuer.claims(audience, &json!({}));
    let hs256 = |kid: &str| json!({"alg": "HS256", "kid": kid, "typ": "at+jwt"}).to_string();
    let eddsa = json!({"alg": "EdDSA", "kid": "ed"}).to_string();
    let good = signer.sign("EdDSA", &eddsa, &claims);
    let (signed, signature) = good.rsplit_once('.').unwrap();
    let more = issuer.claims(audience, &json!({"scope": "admin:full"}));
    let none = json!({"alg": "none", "kid": "ed"}).to_string();
    let flipped = flip(signature);
    [
        ("nothing signed", signer.sign("none", &none, &claims)),
        ("nothing signed, no key", signer.sign("none", r#"{"alg":"none"}"#, &claims)),
        ("a public key as the secret", sign_hs256(&signer.ed25519_public(), &hs256("ed"), &claims)),
        ("a modulus as the secret", sign_hs256(&signer.rsa_modulus(), &hs256("rsa"), &claims)),
        (
            "the key set as the secret",
            sign_hs256(signer.key_set().as_bytes(), &hs256("rsa"), &claims),
        ),
        ("an empty secret", sign_hs256(b"", &hs256("ed"), &claims)),
        ("another's key", stranger.sign("EdDSA", &eddsa, &claims)),
        ("no signature", format!("{signed}.")),
        ("half a signature", format!("{signed}.{}", &signature[..signature.len() / 2])),
        ("a changed signature", format!("{signed}.{flipped}")),
        (
            "other claims",
            format!("{}.{}.{signature}", base64(eddsa.as_bytes()), base64(more.as_bytes())),
        ),
        ("zeros", format!("{signed}.{}", base64(&[0; 64]))),
    ]
    .map(|(what, token)| (what.to_owned(), token))
    .into()
}

fn forms(issuer: &Issuer, audience: &str) -> Bad {
    let good = issuer.token(audience, &json!({}));
    let header = r#"{"alg":"EdDSA","kid":"ed"}"#;
    let sign = |claims: &str| issuer.signer.sign("EdDSA", header, claims);
    let claims = issuer.claims(audience, &json!({}));
    let twice = claims.replacen('{', r#"{"scope":"admin:full","#, 1);
    let header_twice = r#"{"alg":"none","alg":"EdDSA","kid":"ed"}"#;
    [
        ("one part", good.replace('.', "")),
        ("two parts", good.rsplit_once('.').unwrap().0.to_owned()),
        ("four parts", format!("{good}.{}", base64(b"x"))),
        ("cut short", good[..good.len() - 3].to_owned()),
        ("padded", format!("{good}=")),
        ("not base64", format!("!{good}")),
        ("dots", "..".to_owned()),
        ("claims are a list", sign("[]")),
        ("claims are no JSON", sign("{")),
        ("claims are empty", sign("{}")),
        ("a claim twice", sign(&twice)),
        ("a header twice", issuer.signer.sign("EdDSA", header_twice, &claims)),
        ("more than JSON", sign(&format!("{claims}{{}}"))),
    ]
    .map(|(what, token)| (what.to_owned(), token))
    .into()
}

/// The first digit is another one; the last has bits that count for nothing.
fn flip(text: &str) -> String {
    let other = if text.starts_with('A') { "B" } else { "A" };
    format!("{other}{}", &text[1..])
}
