//! An issuer with a key of each kind, which signs whatever a test wants.

mod jwt;
mod principal;

use super::{Issuer, Jwks};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use proptest::prelude::*;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair,
    EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RSA_PKCS1_SHA384,
    RSA_PKCS1_SHA512, RSA_PSS_SHA256, RsaEncoding, RsaKeyPair, RsaPublicKeyComponents,
};
use serde_json::{Value, json};
use std::sync::Arc;

/// Made for these tests with `openssl genpkey -algorithm RSA -outform DER`; it opens nothing.
const RSA_KEY: &[u8] = include_bytes!("rsa-2048.der");

pub(crate) const ISSUER: &str = "https://id.example.com";
pub(crate) const AUDIENCE: &str = "https://tools.example.com/mcp";
pub(crate) const NOW: u64 = 1_800_000_000;

pub(crate) struct Signer {
    random: SystemRandom,
    rsa: RsaKeyPair,
    p256: EcdsaKeyPair,
    p384: EcdsaKeyPair,
    ed25519: Ed25519KeyPair,
}

impl Signer {
    pub(crate) fn new() -> Self {
        let random = SystemRandom::new();
        let ed25519 = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
        Self {
            rsa: RsaKeyPair::from_der(RSA_KEY).unwrap(),
            p256: elliptic(&ECDSA_P256_SHA256_FIXED_SIGNING, &random),
            p384: elliptic(&ECDSA_P384_SHA384_FIXED_SIGNING, &random),
            ed25519: Ed25519KeyPair::from_pkcs8(ed25519.as_ref()).unwrap(),
            random,
        }
    }

    /// The key set as the issuer publishes it. `rs512` is the RSA key for one algorithm only.
    pub(crate) fn key_set(&self) -> Value {
        let rsa = self.rsa_public();
        let (n, e) = (encode(&rsa.n), encode(&rsa.e));
        let (x256, y256) = coordinates(&self.p256);
        let (x384, y384) = coordinates(&self.p384);
        let x25519 = encode(self.ed25519.public_key().as_ref());
        json!({"keys": [
            {"kty": "RSA", "kid": "rsa", "use": "sig", "n": n, "e": e},
            {"kty": "RSA", "kid": "rs512", "alg": "RS512", "n": n, "e": e},
            {"kty": "EC", "kid": "p256", "crv": "P-256", "x": x256, "y": y256},
            {"kty": "EC", "kid": "p384", "crv": "P-384", "x": x384, "y": y384},
            {"kty": "OKP", "kid": "ed", "crv": "Ed25519", "alg": "EdDSA", "x": x25519},
        ]})
    }

    pub(crate) fn rsa_public(&self) -> RsaPublicKeyComponents<Vec<u8>> {
        self.rsa.public().into()
    }

    pub(crate) fn issuer(&self) -> Issuer {
        let keys = Jwks::parse(self.key_set().to_string().as_bytes()).unwrap();
        assert_eq!((keys.usable(), keys.ignored()), (5, 0));
        Issuer {
            issuer: ISSUER.to_owned(),
            audiences: vec![AUDIENCE.to_owned()],
            keys: Arc::new(keys),
        }
    }

    /// Header and claims as text, so that they can be anything, signed as `algorithm` says.
    pub(crate) fn sign(&self, algorithm: &str, header: &str, claims: &str) -> String {
        let message = format!("{}.{}", encode(header.as_bytes()), encode(claims.as_bytes()));
        let signature = self.signature(algorithm, message.as_bytes());
        format!("{message}.{}", encode(&signature))
    }

    pub(crate) fn signature(&self, algorithm: &str, message: &[u8]) -> Vec<u8> {
        match algorithm {
            "RS256" => self.rsa(&RSA_PKCS1_SHA256, message),
            "RS384" => self.rsa(&RSA_PKCS1_SHA384, message),
            "RS512" => self.rsa(&RSA_PKCS1_SHA512, message),
            "PS256" => self.rsa(&RSA_PSS_SHA256, message),
            "ES256" => self.p256.sign(&self.random, message).unwrap().as_ref().to_vec(),
            "ES384" => self.p384.sign(&self.random, message).unwrap().as_ref().to_vec(),
            "EdDSA" => self.ed25519.sign(message).as_ref().to_vec(),
            other => panic!("{other}"),
        }
    }

    fn rsa(&self, encoding: &'static dyn RsaEncoding, message: &[u8]) -> Vec<u8> {
        let mut signature = vec![0; self.rsa.public().modulus_len()];
        self.rsa.sign(encoding, &self.random, message, &mut signature).unwrap();
        signature
    }
}

/// Good claims, with some replaced; `null` takes one out.
pub(crate) fn claims(other: &Value) -> String {
    let mut claims = json!({
        "iss": ISSUER, "aud": AUDIENCE, "sub": "alice", "exp": NOW + 300, "iat": NOW,
        "scope": "mcp:call",
    });
    merge(&mut claims, other);
    claims.to_string()
}

/// A good header for this algorithm and key, with some members replaced.
pub(crate) fn header(algorithm: &str, kid: &str, other: &Value) -> String {
    let mut header = json!({"alg": algorithm, "kid": kid, "typ": "at+jwt"});
    merge(&mut header, other);
    header.to_string()
}

fn merge(into: &mut Value, other: &Value) {
    let into = into.as_object_mut().unwrap();
    for (name, value) in other.as_object().unwrap() {
        match value {
            Value::Null => into.shift_remove(name),
            value => into.insert(name.clone(), value.clone()),
        };
    }
}

fn elliptic(algorithm: &'static EcdsaSigningAlgorithm, random: &SystemRandom) -> EcdsaKeyPair {
    let pair = EcdsaKeyPair::generate_pkcs8(algorithm, random).unwrap();
    EcdsaKeyPair::from_pkcs8(algorithm, pair.as_ref(), random).unwrap()
}

fn coordinates(pair: &EcdsaKeyPair) -> (String, String) {
    let point = &pair.public_key().as_ref()[1..];
    let (x, y) = point.split_at(point.len() / 2);
    (encode(x), encode(y))
}

pub(crate) fn encode(bytes: &[u8]) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

/// The examples of RFC 4648, 10, and one with both special digits.
#[test]
fn examples_of_base64url() {
    for (bytes, text) in [
        (&b""[..], ""),
        (b"f", "Zg"),
        (b"fo", "Zm8"),
        (b"foo", "Zm9v"),
        (b"foob", "Zm9vYg"),
        (b"fooba", "Zm9vYmE"),
        (b"foobar", "Zm9vYmFy"),
        (b"\xfb\xff", "-_8"),
    ] {
        assert_eq!(encode(bytes), text);
        assert_eq!(BASE64_URL_SAFE_NO_PAD.decode(text).as_deref(), Ok(bytes), "{text}");
    }
}

/// A token has one spelling: the library is as strict as RFC 7515, 2 wants it.
#[test]
fn other_spellings_are_refused() {
    for text in ["Zg==", "Zg=", "Zh", "Zm9", "Z", "Zm9vY", "-/8", "+_8", "Zm9v ", "Zm\n9v", "é"] {
        assert!(BASE64_URL_SAFE_NO_PAD.decode(text).is_err(), "{text:?}");
    }
}

proptest! {
    #[test]
    fn a_text_has_one_meaning_and_a_meaning_one_text(text in "[A-Za-z0-9_-]{0,12}") {
        if let Ok(bytes) = BASE64_URL_SAFE_NO_PAD.decode(&text) {
            prop_assert_eq!(encode(&bytes), text);
        }
    }
}
