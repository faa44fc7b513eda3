//! Signs tokens, good ones and any others.

use ring::hmac;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256,
    RSA_PSS_SHA256, RsaEncoding, RsaKeyPair, RsaPublicKeyComponents,
};
use serde_json::{Value, json};

/// Made for tests; it opens nothing.
const RSA_KEY: &[u8] = include_bytes!("../../testdata/jwt/rsa-2048.der");

#[derive(Debug)]
pub(crate) struct Signer {
    random: SystemRandom,
    rsa: RsaKeyPair,
    p256: EcdsaKeyPair,
    ed25519: Ed25519KeyPair,
}

impl Signer {
    /// The RSA key is always the same; the others are new.
    pub(crate) fn new() -> Self {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let p256 = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        let ed25519 = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
        Self {
            rsa: RsaKeyPair::from_der(RSA_KEY).unwrap(),
            p256: EcdsaKeyPair::from_pkcs8(algorithm, p256.as_ref(), &random).unwrap(),
            ed25519: Ed25519KeyPair::from_pkcs8(ed25519.as_ref()).unwrap(),
            random,
        }
    }

    /// What the issuer publishes.
    pub(crate) fn key_set(&self) -> String {
        let rsa: RsaPublicKeyComponents<Vec<u8>> = self.rsa.public().into();
        let point = &self.p256.public_key().as_ref()[1..];
        json!({"keys": [
            {"kty": "RSA", "kid": "rsa", "use": "sig", "n": base64(&rsa.n), "e": base64(&rsa.e)},
            {"kty": "EC", "kid": "p256", "crv": "P-256", "alg": "ES256",
             "x": base64(&point[..32]), "y": base64(&point[32..])},
            {"kty": "OKP", "kid": "ed", "crv": "Ed25519", "x": base64(&self.ed25519_public())},
        ]})
        .to_string()
    }

    pub(crate) fn ed25519_public(&self) -> Vec<u8> {
        self.ed25519.public_key().as_ref().to_vec()
    }

    /// The modulus: what a confused verifier takes for a shared secret.
    pub(crate) fn rsa_modulus(&self) -> Vec<u8> {
        let rsa: RsaPublicKeyComponents<Vec<u8>> = self.rsa.public().into();
        rsa.n
    }

    /// Header and claims as they are, signed as `algorithm` says.
    pub(crate) fn sign(&self, algorithm: &str, header: &str, claims: &str) -> String {
        let message = format!("{}.{}", base64(header.as_bytes()), base64(claims.as_bytes()));
        let bytes = message.as_bytes();
        let signature = match algorithm {
            "RS256" => self.rsa(&RSA_PKCS1_SHA256, bytes),
            "PS256" => self.rsa(&RSA_PSS_SHA256, bytes),
            "ES256" => self.p256.sign(&self.random, bytes).unwrap().as_ref().to_vec(),
            "EdDSA" => self.ed25519.sign(bytes).as_ref().to_vec(),
            "none" => Vec::new(),
            other => panic!("{other}"),
        };
        format!("{message}.{}", base64(&signature))
    }

    fn rsa(&self, encoding: &'static dyn RsaEncoding, message: &[u8]) -> Vec<u8> {
        let mut signature = vec![0; self.rsa.public().modulus_len()];
        self.rsa.sign(encoding, &self.random, message, &mut signature).unwrap();
        signature
    }
}

/// Signed with a secret that everybody knows.
pub(crate) fn sign_hs256(secret: &[u8], header: &str, claims: &str) -> String {
    let message = format!("{}.{}", base64(header.as_bytes()), base64(claims.as_bytes()));
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), message.as_bytes());
    format!("{message}.{}", base64(tag.as_ref()))
}

/// With some members replaced; `null` takes one out.
pub(crate) fn with(mut object: Value, other: &Value) -> String {
    let members = object.as_object_mut().unwrap();
    for (name, value) in other.as_object().unwrap() {
        match value {
            Value::Null => drop(members.remove(name)),
            value => drop(members.insert(name.clone(), value.clone())),
        }
    }
    object.to_string()
}

/// As JWTs have it: for URLs, and without padding.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let digits = |group: &[u8]| {
        let bits = (0..3).fold(0, |bits, at| bits << 8 | u32::from(*group.get(at).unwrap_or(&0)));
        let digit = |at: usize| char::from(DIGITS[(bits >> (18 - 6 * at) & 63) as usize]);
        (0..=group.len()).map(digit).collect::<String>()
    };
    bytes.chunks(3).map(digits).collect()
}
