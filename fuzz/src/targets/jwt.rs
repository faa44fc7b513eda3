//! Tokens of an issuer: nothing is taken that its key did not sign, and what is taken says what was signed.

use std::sync::{Arc, LazyLock};

use ring::signature::{Ed25519KeyPair, KeyPair};
use serde_json::Value;
use trunkline_control::access::{Issuer, Jwks, verify};

use crate::input::{settings, two_texts};

use super::json::serde_takes;

const NOW: u64 = 1_800_000_000;
/// How far clocks may be apart.
const SKEW: u64 = 60;

struct Signer {
    key: Ed25519KeyPair,
    issuer: Issuer,
}

static SIGNER: LazyLock<Signer> = LazyLock::new(|| {
    let key = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).expect("any seed makes a key");
    let public = encoded(key.public_key().as_ref());
    let keys = format!(r#"{{"keys":[{{"kty":"OKP","kid":"k","crv":"Ed25519","x":"{public}"}}]}}"#);
    let keys = Jwks::parse(keys.as_bytes()).expect("a good key set");
    let issuer = Issuer {
        issuer: "https://issuer.test".to_owned(),
        audiences: vec!["trunkline".to_owned()],
        keys: Arc::new(keys),
    };
    Signer { key, issuer }
});

pub(crate) fn run(bytes: &[u8]) {
    let Some(([kind], rest)) = settings::<1>(bytes) else { return };
    if kind % 4 == 0 {
        // Somebody's token: no bytes that a fuzzer finds are signed by the key.
        if let Ok(token) = str::from_utf8(rest) {
            assert!(verify(token, &SIGNER.issuer, NOW).is_err(), "a forged token was taken");
        }
    } else if let Some((header, claims)) = two_texts(rest) {
        signed(header, claims);
    }
}

/// Any header and claims, signed by the issuer: its parsers see what a broken issuer writes.
fn signed(header: &str, claims: &str) {
    let message = format!("{}.{}", encoded(header.as_bytes()), encoded(claims.as_bytes()));
    let signature = encoded(SIGNER.key.sign(message.as_bytes()).as_ref());
    let token = format!("{message}.{signature}");
    let Ok(read) = verify(&token, &SIGNER.issuer, NOW) else { return };
    let known: Value = serde_json::from_str(claims).expect("claims that are no JSON were taken");
    assert_eq!(known["iss"], "https://issuer.test");
    assert_eq!(known["sub"], read.subject.as_str());
    assert!(read.expires_at + SKEW >= NOW, "an old token was taken");
    let audience = &known["aud"];
    let named = |value: &Value| value == "trunkline";
    assert!(named(audience) || audience.as_array().is_some_and(|list| list.iter().any(named)));
    let header: Value = serde_json::from_str(header).expect("a header that is no JSON was taken");
    assert_eq!((&header["alg"], &header["kid"]), (&"EdDSA".into(), &"k".into()));
    assert!(header.get("crit").is_none());
}

/// Sets of public keys, as an issuer publishes them.
pub(crate) fn keys(bytes: &[u8]) {
    let Ok(keys) = Jwks::parse(bytes) else { return };
    // Half of a surrogate pair in a key that cannot be used harms nobody.
    assert!(serde_takes(bytes), "what is no JSON was taken");
    let _ = (keys.ignored(), keys.has("k"));
}

/// Base64 of the URL's alphabet, without padding.
fn encoded(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let byte = |place: usize| group.get(place).map_or(0, |byte| usize::from(*byte));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..=group.len() {
            text.push(char::from(ALPHABET[bits >> (18 - 6 * place) & 63]));
        }
    }
    text
}
