//! The public keys of an issuer (JSON Web Key Set, RFC 7517), and which of them made a signature.

use super::json::{NoObject, Object, array, text, texts};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::signature::{
    self, ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey,
};

/// Keys that signatures of access tokens are checked with. Those of no use for it are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Jwks {
    keys: Vec<PublicKey>,
    ignored: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadJwks {
    #[error("the key set is larger than {LARGEST} bytes")]
    TooLarge,
    #[error("the key set is not a JSON object")]
    Malformed,
    #[error("the key set has a member twice")]
    Twice,
    #[error("the key set has no list `keys`")]
    NoKeys,
    #[error("the key set has more than {MOST_KEYS} keys")]
    TooMany,
}

/// Issuers publish a handful of keys of up to 2 KiB, with certificates 10.
const LARGEST: usize = 256 * 1024;
const MOST_KEYS: usize = 100;

/// How a token may be signed. Neither `none` nor anything with a shared secret is among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Algorithm {
    Rs256,
    Rs384,
    Rs512,
    Ps256,
    Es256,
    Es384,
    EdDsa,
}

/// What has become of a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Checked {
    Good,
    Bad,
    /// The key is for another algorithm.
    OtherAlgorithm,
    NoSuchKey,
}

impl Jwks {
    pub fn parse(bytes: &[u8]) -> Result<Self, BadJwks> {
        // Before it is parsed: the body comes from the network.
        if bytes.len() > LARGEST {
            return Err(BadJwks::TooLarge);
        }
        let set = Object::read(bytes).map_err(|fault| match fault {
            NoObject::Malformed => BadJwks::Malformed,
            NoObject::Twice => BadJwks::Twice,
        })?;
        let all = set.raw("keys").and_then(array).ok_or(BadJwks::NoKeys)?;
        // Each key is tried for its id; without a bound a hostile set would cost a signature check
        // per key and request.
        if all.len() > MOST_KEYS {
            return Err(BadJwks::TooMany);
        }
        // Unknown kinds are left out and not an error (RFC 7517, 5): issuers add new ones beside
        // the old.
        let keys: Vec<PublicKey> = all.iter().filter_map(|raw| PublicKey::read(raw)).collect();
        let ignored = all.len() - keys.len();
        Ok(Self { keys, ignored })
    }

    /// How many keys can be used.
    pub fn usable(&self) -> usize {
        self.keys.len()
    }

    /// How many keys are of no use here: too short, for encryption, secret, of unknown kinds.
    pub fn ignored(&self) -> usize {
        self.ignored
    }

    pub fn has(&self, kid: &str) -> bool {
        self.keys.iter().any(|key| key.kid == kid)
    }

    pub(crate) fn check(
        &self,
        kid: &str,
        algorithm: Algorithm,
        message: &[u8],
        signature: &[u8],
    ) -> Checked {
        // Compared as it is: RFC 7517, 4.5 makes it case-sensitive.
        let named = self.keys.iter().filter(|key| key.kid == kid);
        let verdicts = named.map(|key| key.check(algorithm, message, signature));
        // Usually one. An issuer may have keys of several kinds under the same id.
        verdicts.fold(Checked::NoSuchKey, |so_far, next| match (so_far, next) {
            (Checked::Good, _) | (_, Checked::Good) => Checked::Good,
            (Checked::Bad, _) | (_, Checked::Bad) => Checked::Bad,
            (_, next) => next,
        })
    }
}

impl Algorithm {
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "RS256" => Self::Rs256,
            "RS384" => Self::Rs384,
            "RS512" => Self::Rs512,
            "PS256" => Self::Ps256,
            "ES256" => Self::Es256,
            "ES384" => Self::Es384,
            "EdDSA" => Self::EdDsa,
            _ => return None,
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct PublicKey {
    kid: String,
    /// If the issuer says so, the key is for this algorithm only.
    algorithm: Option<Algorithm>,
    material: Material,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Material {
    /// Modulus and exponent without leading zeros.
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
    /// Points in uncompressed form.
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl PublicKey {
    /// `None` if the key is of no use for checking the signatures of tokens.
    fn read(raw: &[u8]) -> Option<Self> {
        let key = Object::read(raw).ok()?;
        // A key whose secret is published is everybody's.
        if key.has("d") || key.has("k") {
            return None;
        }
        // RFC 7517, 4.2: a key for encryption must not check signatures.
        if key.optional("use", text).ok()?.is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        let operations = key.optional("key_ops", texts).ok()?;
        if operations.is_some_and(|all| !all.iter().any(|operation| operation == "verify")) {
            return None;
        }
        let algorithm = match key.optional("alg", text).ok()? {
            None => None,
            // An algorithm that is not known makes the key useless, not usable for any.
            Some(name) => Some(Algorithm::named(&name)?),
        };
        // Without an id the token could not say which key it means, and trying all would hide
        // confusion of keys.
        let kid = key.raw("kid").and_then(text).filter(|kid| !kid.is_empty())?;
        let material = Material::read(&key)?;
        let key = Self { kid, algorithm, material };
        key.algorithm.is_none_or(|algorithm| key.material.fits(algorithm)).then_some(key)
    }

    fn check(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> Checked {
        let is_meant = self.algorithm.is_none_or(|own| own == algorithm);
        // By the key and not by the token: that is what keeps RS256 keys from being used as HMAC
        // secrets.
        if !is_meant || !self.material.fits(algorithm) {
            Checked::OtherAlgorithm
        } else if self.material.verify(algorithm, message, signature) {
            Checked::Good
        } else {
            Checked::Bad
        }
    }
}

impl Material {
    fn read(key: &Object<'_>) -> Option<Self> {
        let kind = key.raw("kty").and_then(text)?;
        let curve = key.optional("crv", text).ok()?;
        let bytes = |name: &str| {
            key.raw(name).and_then(text).and_then(|t| BASE64_URL_SAFE_NO_PAD.decode(t).ok())
        };
        match (kind.as_str(), curve.as_deref()) {
            ("RSA", _) => rsa(&bytes("n")?, &bytes("e")?),
            ("EC", Some("P-256")) => Some(Self::P256(point(&bytes("x")?, &bytes("y")?, 32)?)),
            ("EC", Some("P-384")) => Some(Self::P384(point(&bytes("x")?, &bytes("y")?, 48)?)),
            // RFC 8037: OKP keys have one coordinate.
            ("OKP", Some("Ed25519")) => bytes("x").filter(|key| key.len() == 32).map(Self::Ed25519),
            _ => None,
        }
    }

    /// Does such a key make such signatures? An RSA key is never used as anything else, whatever
    /// a token says.
    fn fits(&self, algorithm: Algorithm) -> bool {
        match self {
            Self::Rsa { .. } => rsa_parameters(algorithm).is_some(),
            Self::P256(_) => algorithm == Algorithm::Es256,
            Self::P384(_) => algorithm == Algorithm::Es384,
            Self::Ed25519(_) => algorithm == Algorithm::EdDsa,
        }
    }

    fn verify(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        let verified = match self {
            Self::Rsa { n, e } => {
                let Some(parameters) = rsa_parameters(algorithm) else { return false };
                RsaPublicKeyComponents { n, e }.verify(parameters, message, signature)
            }
            Self::P256(point) => {
                unparsed(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature)
            }
            Self::P384(point) => {
                unparsed(&ECDSA_P384_SHA384_FIXED, point).verify(message, signature)
            }
            Self::Ed25519(key) => unparsed(&ED25519, key).verify(message, signature),
        };
        verified.is_ok()
    }
}

fn rsa_parameters(algorithm: Algorithm) -> Option<&'static RsaParameters> {
    match algorithm {
        // 2048 bits is the least that ring accepts.
        Algorithm::Rs256 => Some(&RSA_PKCS1_2048_8192_SHA256),
        Algorithm::Rs384 => Some(&RSA_PKCS1_2048_8192_SHA384),
        Algorithm::Rs512 => Some(&RSA_PKCS1_2048_8192_SHA512),
        Algorithm::Ps256 => Some(&RSA_PSS_2048_8192_SHA256),
        Algorithm::Es256 | Algorithm::Es384 | Algorithm::EdDsa => None,
    }
}

fn unparsed<'a>(
    algorithm: &'static dyn signature::VerificationAlgorithm,
    key: &'a [u8],
) -> UnparsedPublicKey<&'a [u8]> {
    UnparsedPublicKey::new(algorithm, key)
}

/// A modulus of 2048 to 8192 bits, and an odd exponent from 3 on that fits 33 bits.
fn rsa(n: &[u8], e: &[u8]) -> Option<Material> {
    let (n, e) = (without_zeros(n), without_zeros(e));
    let bits = n.len() * 8 - n.first().map_or(0, |first| first.leading_zeros() as usize);
    let exponent = e.iter().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
    // An even or tiny exponent is no RSA key; 33 bits is what ring takes.
    let exponent_fits = e.len() <= 5 && exponent >= 3 && exponent % 2 == 1 && exponent < 1 << 33;
    ((2048..=8192).contains(&bits) && exponent_fits)
        .then(|| Material::Rsa { n: n.to_vec(), e: e.to_vec() })
}

/// Some issuers write a zero in front, so that the number is not taken for a negative one.
fn without_zeros(number: &[u8]) -> &[u8] {
    let first = number.iter().position(|byte| *byte != 0).unwrap_or(number.len());
    number.get(first..).unwrap_or_default()
}

fn point(x: &[u8], y: &[u8], length: usize) -> Option<Vec<u8>> {
    // 4 marks the uncompressed form of SEC 1, 2.3.3.
    (x.len() == length && y.len() == length).then(|| [&[4], x, y].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(first: u8, length: usize) -> String {
        let mut bytes = vec![1; length];
        bytes[0] = first;
        BASE64_URL_SAFE_NO_PAD.encode(bytes)
    }

    #[test]
    fn keys_of_no_use_are_left_out_and_counted() {
        let n = long(0x80, 256);
        let (x, y) = (long(1, 32), long(2, 32));
        let (x3, y3) = (long(1, 48), long(2, 48));
        let short = long(0x7f, 256);
        let huge = long(1, 1025);
        let padded = BASE64_URL_SAFE_NO_PAD
            .encode([&[0], BASE64_URL_SAFE_NO_PAD.decode(&n).unwrap().as_slice()].concat());
        for (key, usable) in [
            (format!(r#"{{"kid":"a","kty":"RSA","n":"{n}","e":"AQAB"}}"#), true),
            (format!(r#"{{"kid":"a","kty":"RSA","n":"{padded}","e":"AQAB"}}"#), true),
            (format!(r#"{{"kid":"a","kty":"RSA","n":"{n}","e":"Aw","alg":"PS256"}}"#), true),
            (format!(r#"{{"kid":"a","kty":"RSA","n":"{n}","e":"AQAB","use":"sig"}}"#), true),
            (format!(r#"{{"kid":"a","kty":"EC","crv":"P-256","x":"{x}","y":"{y}"}}"#), true),
            (format!(r#"{{"kid":"a","kty":"EC","crv":"P-384","x":"{x3}","y":"{y3}"}}"#), true),
            (format!(r#"{{"kid":"a","kty":"OKP","crv":"Ed25519","x":"{x}"}}"#), true),
            (
                format!(
                    r#"{{"kid":"a","kty":"OKP","crv":"Ed25519","x":"{x}","key_ops":["verify"]}}"#
                ),
                true,
            ),
            // RSA: 2047 bits, too many bits, no, even, small and huge exponents
            (format!(r#"{{"kid":"a","kty":"RSA","n":"{short}","e":"AQAB"}}"#), false),
            (format!(r#"{{"kid":"a","kty":"RSA","n":"{huge}","e":"AQAB"}}"#), false),
            (format!(r#"{{"kid":"a","kty":"RSA","n":"{n}","e":""}}"#), false),
            (format!(r#"{{"kid":"a","kty":"RSA","n":"{n}","e":"AQ"}}"#), false),
            (format!(r#"{{"kid":"a","kty":"RSA","n":"{n}","e":"BA"}}"#), false),
            (format!(r#"{{"kid":"a","kty":"RSA","n":"{n}","e":"AwAAAAE"}}"#), false),
            (format!(r#"{{"kid":"a","kty":"RSA","n":"{n}"}}"#), false),
            (format!(r#"{{"kid":"a","kty":"RSA","n":"{n}=","e":"AQAB"}}"#), false),
            // for something else, or of another kind than it says
            (format!(r#"{{"kid":"a","kty":"RSA","n":"{n}","e":"AQAB","use":"enc"}}"#), false),
            (format!(r#"{{"kid":"a","kty":"RSA","n":"{n}","e":"AQAB","use":1}}"#), false),
            (
                format!(r#"{{"kid":"a","kty":"RSA","n":"{n}","e":"AQAB","key_ops":["sign"]}}"#),
                false,
            ),
            (format!(r#"{{"kid":"a","kty":"RSA","n":"{n}","e":"AQAB","alg":"RSA-OAEP"}}"#), false),
            (format!(r#"{{"kid":"a","kty":"RSA","n":"{n}","e":"AQAB","alg":"HS256"}}"#), false),
            (format!(r#"{{"kid":"a","kty":"RSA","n":"{n}","e":"AQAB","alg":"ES256"}}"#), false),
            (format!(r#"{{"kid":"a","kty":"rsa","n":"{n}","e":"AQAB"}}"#), false),
            // without an id, or with a secret
            (format!(r#"{{"kty":"RSA","n":"{n}","e":"AQAB"}}"#), false),
            (format!(r#"{{"kid":"","kty":"RSA","n":"{n}","e":"AQAB"}}"#), false),
            (format!(r#"{{"kid":7,"kty":"RSA","n":"{n}","e":"AQAB"}}"#), false),
            (format!(r#"{{"kid":"a","kty":"RSA","n":"{n}","e":"AQAB","d":"AQAB"}}"#), false),
            (format!(r#"{{"kid":"a","kty":"oct","k":"{x}"}}"#), false),
            (format!(r#"{{"kid":"a","kid":"b","kty":"RSA","n":"{n}","e":"AQAB"}}"#), false),
            // curves
            (format!(r#"{{"kid":"a","kty":"EC","crv":"P-256","x":"{x3}","y":"{y3}"}}"#), false),
            (format!(r#"{{"kid":"a","kty":"EC","crv":"P-256","x":"{x}"}}"#), false),
            (format!(r#"{{"kid":"a","kty":"EC","crv":"secp256k1","x":"{x}","y":"{y}"}}"#), false),
            (format!(r#"{{"kid":"a","kty":"OKP","crv":"X25519","x":"{x}"}}"#), false),
            (format!(r#"{{"kid":"a","kty":"OKP","crv":"Ed25519","x":"{x3}"}}"#), false),
            ("null".to_owned(), false),
            ("{}".to_owned(), false),
        ] {
            let set = Jwks::parse(format!(r#"{{"keys":[{key}]}}"#).as_bytes()).unwrap();
            assert_eq!(
                (set.usable(), set.ignored()),
                (usize::from(usable), usize::from(!usable)),
                "{key}"
            );
            assert_eq!(set.has("a"), usable, "{key}");
        }
    }

    #[test]
    fn what_is_no_key_set() {
        let many = format!(r#"{{"keys":[{}{{}}]}}"#, "{},".repeat(MOST_KEYS));
        let large = format!(r#"{{"keys":[],"x":"{}"}}"#, "x".repeat(LARGEST));
        for (text, why) in [
            ("", BadJwks::Malformed),
            ("<html>", BadJwks::Malformed),
            ("[]", BadJwks::Malformed),
            (r#"{"keys":[]"#, BadJwks::Malformed),
            (r#"{"keys":[],"keys":[]}"#, BadJwks::Twice),
            ("{}", BadJwks::NoKeys),
            (r#"{"keys":{}}"#, BadJwks::NoKeys),
            (&many, BadJwks::TooMany),
            (&large, BadJwks::TooLarge),
        ] {
            let shown: String = text.chars().take(40).collect();
            assert_eq!(Jwks::parse(text.as_bytes()), Err(why), "{shown}");
        }
    }
}
