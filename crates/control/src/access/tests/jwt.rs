//! Tokens of an issuer: good ones of each kind, and what is wrong with others.

use super::{AUDIENCE, ISSUER, NOW, Signer, claims, encode, header};
use crate::access::{Issuer, Jwks, JwtFault, verify};
use proptest::prelude::*;
use ring::hmac;
use serde_json::{Value, json};

#[test]
fn each_algorithm_is_taken_with_its_key() {
    let signer = Signer::new();
    let issuer = signer.issuer();
    for (algorithm, kid) in [
        ("RS256", "rsa"),
        ("RS384", "rsa"),
        ("RS512", "rsa"),
        ("RS512", "rs512"),
        ("PS256", "rsa"),
        ("ES256", "p256"),
        ("ES384", "p384"),
        ("EdDSA", "ed"),
    ] {
        let token =
            signer.sign(algorithm, &header(algorithm, kid, &json!({})), &claims(&json!({})));
        let read = verify(&token, &issuer, NOW).unwrap_or_else(|fault| panic!("{kid}: {fault}"));
        assert_eq!((read.issuer.as_str(), read.subject.as_str()), (ISSUER, "alice"));
        assert_eq!((read.scopes, read.expires_at), (vec!["mcp:call".to_owned()], NOW + 300));
    }
}

/// A token with these changes, signed rightly.
fn changed(signer: &Signer, in_header: &Value, in_claims: &Value) -> String {
    signer.sign("ES256", &header("ES256", "p256", in_header), &claims(in_claims))
}

#[test]
fn what_may_be_different_in_a_good_token() {
    let signer = Signer::new();
    let issuer = signer.issuer();
    let scopes = |token: &str| verify(token, &issuer, NOW).map(|claims| claims.scopes.join("+"));
    for (in_header, in_claims, expected) in [
        (json!({"typ": null}), json!({}), "mcp:call"),
        (json!({"typ": "JWT"}), json!({}), "mcp:call"),
        (json!({"typ": "application/AT+JWT"}), json!({}), "mcp:call"),
        (json!({"x5t": "abc", "cty": "x"}), json!({}), "mcp:call"),
        (json!({}), json!({"aud": ["https://other", AUDIENCE]}), "mcp:call"),
        (json!({}), json!({"exp": NOW - 59}), "mcp:call"),
        (json!({}), json!({"exp": 1_800_000_300.5}), "mcp:call"),
        (json!({}), json!({"nbf": NOW + 60, "iat": NOW + 60}), "mcp:call"),
        (json!({}), json!({"iat": null}), "mcp:call"),
        (json!({}), json!({"scope": " a  b "}), "a+b"),
        (json!({}), json!({"scope": null, "scp": ["a", "b c"]}), "a+b c"),
        (json!({}), json!({"scope": null, "scp": "a b"}), "a+b"),
        (json!({}), json!({"scope": "a", "scp": ["admin:full"]}), "a"),
        (json!({}), json!({"scope": null}), ""),
        (json!({}), json!({"roles": [{"deep": [1]}], "groups": "x"}), "mcp:call"),
    ] {
        let token = changed(&signer, &in_header, &in_claims);
        assert_eq!(scopes(&token).as_deref(), Ok(expected), "{in_header} {in_claims}");
    }
}

#[test]
fn tokens_with_something_wrong_in_header_or_claims_are_refused() {
    use JwtFault::{
        Algorithm, Audience, Claim, Critical, Expired, Header, Issuer, NotYet, OtherAlgorithm,
        OwnKey, Type, UnknownKey,
    };
    let signer = Signer::new();
    let issuer = signer.issuer();
    for (in_header, in_claims, expected) in [
        (json!({"alg": "none"}), json!({}), Algorithm),
        (json!({"alg": "None"}), json!({}), Algorithm),
        (json!({"alg": "HS256"}), json!({}), Algorithm),
        (json!({"alg": "ES512"}), json!({}), Algorithm),
        (json!({"alg": "es256"}), json!({}), Algorithm),
        (json!({"alg": ""}), json!({}), Algorithm),
        (json!({"alg": null}), json!({}), Header("alg")),
        (json!({"alg": ["ES256"]}), json!({}), Header("alg")),
        (json!({"alg": "RS256"}), json!({}), OtherAlgorithm),
        (json!({"alg": "ES384"}), json!({}), OtherAlgorithm),
        (json!({"kid": "rsa"}), json!({}), OtherAlgorithm),
        (json!({"kid": "nobody"}), json!({}), UnknownKey),
        (json!({"kid": "P256"}), json!({}), UnknownKey),
        (json!({"kid": "../../dev/null"}), json!({}), UnknownKey),
        (json!({"kid": null}), json!({}), Header("kid")),
        (json!({"kid": 1}), json!({}), Header("kid")),
        (json!({"typ": "dpop+jwt"}), json!({}), Type),
        (json!({"typ": "id_token"}), json!({}), Type),
        (json!({"typ": 1}), json!({}), Header("typ")),
        (json!({"crit": ["exp"]}), json!({}), Critical),
        (json!({"crit": []}), json!({}), Critical),
        (json!({"b64": false}), json!({}), Critical),
        (json!({"zip": "DEF"}), json!({}), Critical),
        (json!({"jwk": {"kty": "EC"}}), json!({}), OwnKey),
        (json!({"jku": "https://evil.example/keys"}), json!({}), OwnKey),
        (json!({"x5u": "https://evil.example/chain"}), json!({}), OwnKey),
        (json!({"x5c": ["MII"]}), json!({}), OwnKey),
        (json!({}), json!({"iss": null}), Claim("iss")),
        (json!({}), json!({"iss": "https://evil.example"}), Issuer),
        (json!({}), json!({"iss": format!("{ISSUER}/")}), Issuer),
        (json!({}), json!({"iss": [ISSUER]}), Claim("iss")),
        (json!({}), json!({"aud": null}), Claim("aud")),
        (json!({}), json!({"aud": "https://tools.example.com/"}), Audience),
        (json!({}), json!({"aud": format!("{AUDIENCE}/")}), Audience),
        (json!({}), json!({"aud": []}), Audience),
        (json!({}), json!({"aud": ["https://other"]}), Audience),
        (json!({}), json!({"aud": [AUDIENCE, 1]}), Claim("aud")),
        (json!({}), json!({"exp": null}), Claim("exp")),
        (json!({}), json!({"exp": "9999999999"}), Claim("exp")),
        (json!({}), json!({"exp": -1}), Claim("exp")),
        (json!({}), json!({"exp": 1e30}), Claim("exp")),
        (json!({}), json!({"exp": NOW - 60}), Expired),
        (json!({}), json!({"exp": 0}), Expired),
        (json!({}), json!({"nbf": NOW + 61}), NotYet),
        (json!({}), json!({"nbf": "soon"}), Claim("nbf")),
        (json!({}), json!({"iat": NOW + 61}), NotYet),
        (json!({}), json!({"sub": null}), Claim("sub")),
        (json!({}), json!({"sub": ""}), Claim("sub")),
        (json!({}), json!({"sub": 7}), Claim("sub")),
        (json!({}), json!({"sub": "a\nb"}), Claim("sub")),
        (json!({}), json!({"sub": "a".repeat(256)}), Claim("sub")),
        (json!({}), json!({"scope": ["mcp:call"]}), Claim("scope")),
        (json!({}), json!({"scope": null, "scp": {"a": 1}}), Claim("scp")),
    ] {
        let token = changed(&signer, &in_header, &in_claims);
        assert_eq!(verify(&token, &issuer, NOW), Err(expected), "{in_header} {in_claims}");
    }
}

#[test]
fn tokens_of_another_form_are_refused() {
    use JwtFault::{Algorithm, Base64, Json, Parts, Signature, TooLong, Twice};
    let signer = Signer::new();
    let issuer = signer.issuer();
    let good_header = header("ES256", "p256", &json!({}));
    let good_claims = claims(&json!({}));
    let good = signer.sign("ES256", &good_header, &good_claims);
    assert!(verify(&good, &issuer, NOW).is_ok());
    let (message, signature) = good.rsplit_once('.').unwrap();
    let (first, second) = message.split_once('.').unwrap();
    let other_claims = encode(claims(&json!({"sub": "mallory"})).as_bytes());
    let twice_in_header = good_header.replacen('{', r#"{"alg":"none","#, 1);
    let twice_in_claims = good_claims.replacen('{', r#"{"su\u0062":"mallory","#, 1);
    let sign = |header: &str, claims: &str| signer.sign("ES256", header, claims);
    for (token, expected) in [
        (String::new(), Parts),
        ("..".to_owned(), Json),
        ("a.b".to_owned(), Parts),
        (message.to_owned(), Parts),
        (format!("{good}.{signature}"), Parts),
        (format!("{good}."), Parts),
        (format!(".{good}"), Parts),
        (format!("{message}."), Signature),
        (format!("{good}="), Base64),
        (format!("{first}=.{second}.{signature}"), Base64),
        (format!("{good} "), Base64),
        (format!(" {good}"), Base64),
        (good.replacen('e', "+", 1), Base64),
        (good.chars().take(good.len() - 1).collect(), Base64),
        (good.chars().take(message.len() + 1 + 64).collect(), Signature),
        (format!("{first}.{other_claims}.{signature}"), Signature),
        (format!("{message}.{}", encode(&[0; 64])), Signature),
        (
            format!("{message}.{}", encode(&signer.signature("ES384", message.as_bytes()))),
            Signature,
        ),
        (format!("{}.{second}.", encode(br#"{"alg":"none"}"#)), Algorithm),
        (sign(&twice_in_header, &good_claims), Twice),
        (sign(&good_header, &twice_in_claims), Twice),
        (sign(&good_header, "[]"), Json),
        (sign(&good_header, "{"), Json),
        (sign(&good_header, &format!("{good_claims}{good_claims}")), Json),
        (sign("\"ES256\"", &good_claims), Json),
        (sign("", &good_claims), Json),
        (sign(&good_header, &claims(&json!({"x": "x".repeat(16 * 1024)}))), TooLong),
    ] {
        let shown: String = token.chars().take(300).collect();
        assert_eq!(verify(&token, &issuer, NOW), Err(expected), "{shown}");
    }
}

/// Whoever takes the algorithm from the token takes a public key for a shared secret.
#[test]
fn a_public_key_is_no_shared_secret() {
    let signer = Signer::new();
    let rsa = signer.rsa_public();
    let key_set = signer.key_set().to_string();
    for secret in [rsa.n.as_slice(), encode(&rsa.n).as_bytes(), key_set.as_bytes(), b""] {
        let header = header("HS256", "rsa", &json!({}));
        let message =
            format!("{}.{}", encode(header.as_bytes()), encode(claims(&json!({})).as_bytes()));
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), message.as_bytes());
        let token = format!("{message}.{}", encode(tag.as_ref()));
        assert_eq!(verify(&token, &signer.issuer(), NOW), Err(JwtFault::Algorithm));
    }
}

#[test]
fn a_key_signs_only_as_its_issuer_says() {
    let signer = Signer::new();
    let issuer = signer.issuer();
    let sign = |made: &str, said: &str, kid: &str| {
        let token = signer.sign(made, &header(said, kid, &json!({})), &claims(&json!({})));
        verify(&token, &issuer, NOW).map(|_| ())
    };
    for (made, said, kid, expected) in [
        ("RS256", "RS256", "rs512", Err(JwtFault::OtherAlgorithm)),
        ("PS256", "PS256", "rs512", Err(JwtFault::OtherAlgorithm)),
        ("RS512", "RS512", "rs512", Ok(())),
        ("RS256", "PS256", "rsa", Err(JwtFault::Signature)),
        ("PS256", "RS256", "rsa", Err(JwtFault::Signature)),
        ("RS256", "RS512", "rsa", Err(JwtFault::Signature)),
        ("ES256", "ES384", "p384", Err(JwtFault::Signature)),
        ("EdDSA", "ES256", "p256", Err(JwtFault::Signature)),
    ] {
        assert_eq!(sign(made, said, kid), expected, "{made} as {said} by {kid}");
    }
}

#[test]
fn keys_of_several_kinds_may_have_the_same_id() {
    let signer = Signer::new();
    let mut set = signer.key_set();
    for key in set["keys"].as_array_mut().unwrap() {
        key["kid"] = json!("same");
    }
    let keys = Jwks::parse(set.to_string().as_bytes()).unwrap();
    let issuer = Issuer { keys: keys.into(), ..signer.issuer() };
    for algorithm in ["RS256", "RS512", "ES256", "ES384", "EdDSA"] {
        let token =
            signer.sign(algorithm, &header(algorithm, "same", &json!({})), &claims(&json!({})));
        assert!(verify(&token, &issuer, NOW).is_ok(), "{algorithm}");
    }
    let stranger = Signer::new();
    let token = stranger.sign("EdDSA", &header("EdDSA", "same", &json!({})), &claims(&json!({})));
    assert_eq!(verify(&token, &issuer, NOW), Err(JwtFault::Signature));
}

proptest! {
    #[test]
    fn no_character_of_a_token_can_be_another(at: prop::sample::Index, other in "[A-Za-z0-9_.-]") {
        let signer = Signer::new();
        let token = signer.sign("EdDSA", &header("EdDSA", "ed", &json!({})), &claims(&json!({})));
        let at = at.index(token.len());
        let mut changed = token.clone();
        changed.replace_range(at..=at, &other);
        let read = verify(&changed, &signer.issuer(), NOW);
        prop_assert_eq!(read.is_ok(), changed == token, "{}", changed);
    }
}
