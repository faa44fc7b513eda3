//! Access tokens that an issuer has signed (JWT, RFC 7519 and 9068): is this one meant for us, by
//! whom, and for what?
//!
//! By hand above ring: `jsonwebtoken` needs aws-lc or the `rsa` crate (RUSTSEC-2023-0071), and the
//! rules about headers and audiences would stay ours.

use super::json::{NoObject, Object, WrongType, seconds, text, texts};
use super::jwks::{Algorithm, Checked, Jwks};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use std::sync::Arc;

/// Whose tokens are taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issuer {
    /// As it stands in `iss`, byte for byte.
    pub issuer: String,
    /// The names of this resource; one of them has to be in `aud`.
    pub audiences: Vec<String>,
    pub keys: Arc<Jwks>,
}

/// What a valid token says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claims {
    pub issuer: String,
    pub subject: String,
    pub scopes: Vec<String>,
    pub expires_at: u64,
    /// All of them, as a JSON object, but those that differ from token to token of one login.
    pub lasting: Arc<str>,
}

impl Claims {
    /// From then on (s) the token is refused: clocks may be apart.
    pub fn good_until(&self) -> u64 {
        self.expires_at.saturating_add(SKEW)
    }
}

/// Why a token is not taken, in words for the log. Clients hear `invalid_token` for all of them:
/// more would help only who forges one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JwtFault {
    #[error("the token is longer than {LONGEST} bytes")]
    TooLong,
    #[error("the token does not have three parts")]
    Parts,
    #[error("a part of the token is not base64url")]
    Base64,
    #[error("header or claims are not a JSON object")]
    Json,
    #[error("header or claims have a member twice")]
    Twice,
    #[error("the header's `{0}` is missing or of a wrong type")]
    Header(&'static str),
    #[error("the token is signed in a way that is not accepted")]
    Algorithm,
    #[error("the token is of another kind by its `typ`")]
    Type,
    #[error("the header demands extensions (`crit`) or an encoding that is not known")]
    Critical,
    #[error("the token brings or names its own key")]
    OwnKey,
    #[error("the key that the token names is not among the issuer's")]
    UnknownKey,
    #[error("the key that the token names is not for its algorithm")]
    OtherAlgorithm,
    #[error("the signature is wrong")]
    Signature,
    #[error("the claim `{0}` is missing or of a wrong type")]
    Claim(&'static str),
    #[error("the token is no ID token, but another one of this issuer's")]
    NotIdToken,
    #[error("the token answers another sign-in (`nonce`)")]
    Nonce,
    #[error("the token was issued to another client (`azp`)")]
    OtherClient,
    #[error("the token is from another issuer")]
    Issuer,
    #[error("the token is meant for another audience")]
    Audience,
    #[error("the token is expired")]
    Expired,
    #[error("the token is not valid yet")]
    NotYet,
}

/// Tokens with long lists of groups come to about 10 KiB.
const LONGEST: usize = 16 * 1024;

/// How far clocks may be apart, in seconds.
const SKEW: u64 = 60;

/// Claims that say something about one token and not about whom it is for: times, numbers, hashes. A client that
/// renews its token must stay the same caller.
const PASSING: [&str; 12] = [
    "exp",
    "iat",
    "nbf",
    "jti",
    "auth_time",
    "nonce",
    "at_hash",
    "c_hash",
    "sid",
    "uti",
    "aio",
    "rh",
];

/// Longer ones are nobody's name; they go into the audit with every call.
const LONGEST_SUBJECT: usize = 255;

/// Does it look like a JWT at all? Then no other kind of token is meant.
pub(crate) fn is_jwt(token: &str) -> bool {
    token.contains('.')
}

/// Checks everything; `now` in seconds since 1970.
pub fn verify(token: &str, trusted: &Issuer, now: u64) -> Result<Claims, JwtFault> {
    let claims = signed_claims(token, &trusted.keys, is_access_token)?;
    read_claims(&Object::read(&claims)?, trusted, now)
}

/// The claims as they are written, if one of these keys has signed them and the token is of this kind by its `typ`.
pub(super) fn signed_claims(
    token: &str,
    keys: &Jwks,
    is_kind: fn(&str) -> bool,
) -> Result<Vec<u8>, JwtFault> {
    // Before anything is decoded: whoever can reach the port can send a token.
    if token.len() > LONGEST {
        return Err(JwtFault::TooLong);
    }
    // The signature covers the text before the last dot, byte for byte; it is never written anew.
    let (signed, signature) = token.rsplit_once('.').ok_or(JwtFault::Parts)?;
    let (header, claims) = signed.split_once('.').ok_or(JwtFault::Parts)?;
    if claims.contains('.') {
        return Err(JwtFault::Parts);
    }
    let decode = |part| BASE64_URL_SAFE_NO_PAD.decode(part).map_err(|_| JwtFault::Base64);
    let (header, claims, signature) = (decode(header)?, decode(claims)?, decode(signature)?);
    // The header is read before the signature is checked, since it names the key; nothing else of
    // it is believed.
    let (algorithm, kid) = read_header(&Object::read(&header)?, is_kind)?;
    match keys.check(&kid, algorithm, signed.as_bytes(), &signature) {
        // Claims are parsed only once the signature is good: a parser is not exposed to forgers.
        Checked::Good => Ok(claims),
        Checked::Bad => Err(JwtFault::Signature),
        Checked::OtherAlgorithm => Err(JwtFault::OtherAlgorithm),
        Checked::NoSuchKey => Err(JwtFault::UnknownKey),
    }
}

/// The algorithm and the key's id, if nothing else in the header forbids to use them.
fn read_header(
    header: &Object<'_>,
    is_kind: fn(&str) -> bool,
) -> Result<(Algorithm, String), JwtFault> {
    let algorithm = header.raw("alg").and_then(text).ok_or(JwtFault::Header("alg"))?;
    // RFC 8725, 3.1: the algorithms are an allow list; `none` and HMAC are not on it.
    let algorithm = Algorithm::named(&algorithm).ok_or(JwtFault::Algorithm)?;
    // RFC 7515, 4.1.11: what is critical and not understood must be refused.
    if ["crit", "b64", "zip", "enc"].iter().any(|name| header.has(name)) {
        return Err(JwtFault::Critical);
    }
    // They would not be looked at anyway; who sends them hopes that somebody does.
    if ["jwk", "jku", "x5u", "x5c"].iter().any(|name| header.has(name)) {
        return Err(JwtFault::OwnKey);
    }
    let kind = header.optional("typ", text).map_err(|WrongType| JwtFault::Header("typ"))?;
    if !kind.is_none_or(|kind| is_kind(&kind)) {
        return Err(JwtFault::Type);
    }
    let kid = header.raw("kid").and_then(text).ok_or(JwtFault::Header("kid"))?;
    Ok((algorithm, kid))
}

/// RFC 9068 wants `at+jwt`; many issuers write `JWT` for everything. Compared as media types are.
fn is_access_token(kind: &str) -> bool {
    let kind = kind.to_ascii_lowercase();
    matches!(kind.strip_prefix("application/").unwrap_or(&kind), "at+jwt" | "jwt")
}

pub(super) fn read_claims(
    claims: &Object<'_>,
    trusted: &Issuer,
    now: u64,
) -> Result<Claims, JwtFault> {
    let wrong = |name| move |WrongType| JwtFault::Claim(name);
    let issuer = claims.raw("iss").and_then(text).ok_or(JwtFault::Claim("iss"))?;
    // Byte for byte: a trailing slash is another issuer.
    if issuer != trusted.issuer {
        return Err(JwtFault::Issuer);
    }
    let audiences = claims.raw("aud").and_then(one_or_more).ok_or(JwtFault::Claim("aud"))?;
    // RFC 8707 and 2025-11-25, Authorization: a token for another resource must not be taken, or
    // servers could replay it here.
    if !audiences.iter().any(|audience| trusted.audiences.contains(audience)) {
        return Err(JwtFault::Audience);
    }
    let expires_at = claims.raw("exp").and_then(seconds).ok_or(JwtFault::Claim("exp"))?;
    // Saturating: an `exp` near the largest number must not wrap into the past.
    if now >= expires_at.saturating_add(SKEW) {
        return Err(JwtFault::Expired);
    }
    // `iat` as well: a token from the future means that clocks are too far apart to judge `exp`.
    for name in ["nbf", "iat"] {
        let from = claims.optional(name, seconds).map_err(wrong(name))?;
        if from.is_some_and(|from| from > now.saturating_add(SKEW)) {
            return Err(JwtFault::NotYet);
        }
    }
    let subject = claims.raw("sub").and_then(text).filter(|name| is_name(name));
    let subject = subject.ok_or(JwtFault::Claim("sub"))?;
    let scopes = match claims.optional("scope", spaced).map_err(wrong("scope"))? {
        Some(scopes) => scopes,
        // Okta has a list there, Entra ID a text.
        None => claims.optional("scp", scp).map_err(wrong("scp"))?.unwrap_or_default(),
    };
    let lasting = claims.without(&PASSING).into();
    Ok(Claims { issuer, subject, scopes, expires_at, lasting })
}

pub(super) fn one_or_more(raw: &[u8]) -> Option<Vec<String>> {
    texts(raw).or_else(|| text(raw).map(|one| vec![one]))
}

fn spaced(raw: &[u8]) -> Option<Vec<String>> {
    text(raw).map(|all| all.split(' ').filter(|one| !one.is_empty()).map(str::to_owned).collect())
}

fn scp(raw: &[u8]) -> Option<Vec<String>> {
    texts(raw).or_else(|| spaced(raw))
}

fn is_name(subject: &str) -> bool {
    (1..=LONGEST_SUBJECT).contains(&subject.len()) && !subject.contains(char::is_control)
}

impl From<NoObject> for JwtFault {
    fn from(fault: NoObject) -> Self {
        match fault {
            NoObject::Malformed => Self::Json,
            NoObject::Twice => Self::Twice,
        }
    }
}
