//! API keys and the admin token: how they are made, what is kept of them, and whether one is right.
//!
//! A key is `tl_ID_SECRET`: an id of ten characters to look it up by, and 32 random bytes as 43
//! characters of base64url. The admin token is `tla_SECRET`. Kept is only their HMAC-SHA-256 under
//! a pepper that is not in the store, so that neither the store nor the pepper alone helps anybody.

use super::grants::Grants;
use super::role::Role;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use std::fmt::{self, Debug, Display, Formatter};
use trunkline_catalog::config::LimitRules;

const KEY_PREFIX: &str = "tl_";
const ADMIN_PREFIX: &str = "tla_";
// 50 bits: ids are no secret, they only have to differ.
const ID_LENGTH: usize = 10;
// 256 bits cannot be guessed: a fast MAC of the secret may be kept, no slow hash is needed.
const SECRET_BYTES: usize = 32;
// Those bytes in base64 without padding.
const SECRET_LENGTH: usize = 43;

/// Letters and digits that are not taken for each other; 32, so that each is as likely.
const ID_ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// Random bytes from the system; an error where it has none to give.
pub fn random<const N: usize>() -> Result<[u8; N], NoRandom> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).map_err(|_| NoRandom)?;
    Ok(bytes)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the system gives no random bytes")]
pub struct NoRandom;

/// What the randomness of a new key is for: the first bytes become its id, the rest its secret.
pub type Seed = [u8; ID_LENGTH + SECRET_BYTES];

/// A key or token as its owner sees it, once. It can be neither printed nor compared by accident.
pub struct Secret(String);

/// What is kept of a secret.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Mac([u8; 32]);

/// The secret that makes MACs of keys.
pub struct Pepper(hmac::Key);

/// What a secret is used for; the MAC of one use is no MAC of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    ApiKey,
    AdminToken,
    /// The one token of `--token`.
    StaticToken,
    /// What another key is made of: that of the spool of audit records.
    AuditSpool,
}

/// The public part of a key: in lists, logs and the audit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(String);

/// A key as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    pub id: KeyId,
    pub name: String,
    pub role: Role,
    pub grants: Grants,
    /// What was said about it; the defaults hold for the rest.
    pub limits: LimitRules,
    pub mac: Mac,
    /// In seconds since 1970, as all times here; valid before it, not from it on.
    pub expires_at: Option<u64>,
    pub revoked_at: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyFault {
    #[error("the secret of the key is wrong")]
    Wrong,
    #[error("the key is revoked")]
    Revoked,
    #[error("the key is expired")]
    Expired,
}

/// A new API key: its id, what to keep, and what to show to its owner once.
pub fn make_key(pepper: &Pepper, seed: &Seed) -> (KeyId, Mac, Secret) {
    let (id, secret) = seed.split_at_checked(ID_LENGTH).unwrap_or_default();
    // 256 is a multiple of 32: no letter is more likely than another.
    let letter = |byte: &u8| ID_ALPHABET.get(usize::from(byte % 32)).copied().map(char::from);
    let id = KeyId(id.iter().filter_map(letter).collect());
    let secret = Secret(format!("{KEY_PREFIX}{id}_{}", BASE64_URL_SAFE_NO_PAD.encode(secret)));
    (id, pepper.mac(Use::ApiKey, secret.expose()), secret)
}

/// A new admin token: what to keep, and what to show once.
pub fn make_admin_token(pepper: &Pepper, seed: &[u8; SECRET_BYTES]) -> (Mac, Secret) {
    let secret = Secret(format!("{ADMIN_PREFIX}{}", BASE64_URL_SAFE_NO_PAD.encode(seed)));
    (pepper.mac(Use::AdminToken, secret.expose()), secret)
}

/// The id of what looks like one of our keys.
pub fn id_of(presented: &str) -> Option<KeyId> {
    let (id, secret) = presented.strip_prefix(KEY_PREFIX)?.split_once('_')?;
    let secret_fits =
        // Checked for its form only: an id that is known must not be looked up for text that cannot
        // be a key.
        secret.len() == SECRET_LENGTH && BASE64_URL_SAFE_NO_PAD.decode(secret).is_ok();
    KeyId::read(id).filter(|_| secret_fits)
}

impl ApiKey {
    /// Is `presented` this key, and is it still good? Only who shows the right secret hears what
    /// has become of the key.
    pub fn check(&self, pepper: &Pepper, presented: &str, now: u64) -> Result<(), KeyFault> {
        // The secret first: otherwise anybody could ask which ids are revoked.
        if !pepper.verify(Use::ApiKey, presented, &self.mac) {
            return Err(KeyFault::Wrong);
        }
        match self {
            Self { revoked_at: Some(_), .. } => Err(KeyFault::Revoked),
            Self { expires_at: Some(end), .. } if *end <= now => Err(KeyFault::Expired),
            _ => Ok(()),
        }
    }
}

impl Pepper {
    pub fn new(bytes: &[u8; 32]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, bytes))
    }

    pub fn mac(&self, purpose: Use, secret: &str) -> Mac {
        let tag = hmac::sign(&self.0, &purpose.message(secret));
        let mut mac = [0; 32];
        for (to, from) in mac.iter_mut().zip(tag.as_ref()) {
            *to = *from;
        }
        Mac(mac)
    }

    /// In constant time: how much of a secret is right cannot be measured.
    pub fn verify(&self, purpose: Use, presented: &str, mac: &Mac) -> bool {
        // ring compares in constant time.
        hmac::verify(&self.0, &purpose.message(presented), &mac.0).is_ok()
    }
}

impl Use {
    fn message(self, secret: &str) -> Vec<u8> {
        // None is the beginning of another.
        let label = match self {
            Self::ApiKey => "trunkline api key\n",
            Self::AdminToken => "trunkline admin token\n",
            Self::StaticToken => "trunkline static token\n",
            Self::AuditSpool => "trunkline audit spool\n",
        };
        [label, secret].concat().into_bytes()
    }
}

impl Mac {
    /// As it was kept.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// To be kept.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl KeyId {
    /// An id as it is kept or asked for.
    pub fn read(text: &str) -> Option<Self> {
        let fits = text.len() == ID_LENGTH && text.bytes().all(|byte| ID_ALPHABET.contains(&byte));
        fits.then(|| Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Secret {
    /// For the one answer, file or line in which the owner gets it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl Display for KeyId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Debug for Secret {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl Debug for Mac {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Mac(…)")
    }
}

impl Debug for Pepper {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Pepper(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: Seed = [7; 42];

    fn pepper() -> Pepper {
        Pepper::new(&[1; 32])
    }

    fn key() -> (ApiKey, Secret) {
        let (id, mac, secret) = make_key(&pepper(), &SEED);
        let kept = ApiKey {
            id,
            name: "ci".to_owned(),
            role: Role::Caller,
            grants: Grants::All,
            limits: LimitRules::default(),
            mac,
            expires_at: Some(1_000),
            revoked_at: None,
        };
        (kept, secret)
    }

    #[test]
    fn a_key_has_its_form() {
        let (key, secret) = key();
        assert_eq!(secret.expose(), "tl_hhhhhhhhhh_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc");
        assert_eq!(id_of(secret.expose()), Some(key.id));
        let (_, admin) = make_admin_token(&pepper(), &[255; 32]);
        assert_eq!(admin.expose(), "tla___________________________________________8");
        assert_eq!(id_of(admin.expose()), None);
    }

    #[test]
    fn random_keys_differ_and_are_read_again() {
        let (one, _, secret) = make_key(&pepper(), &random().unwrap());
        let (other, _, _) = make_key(&pepper(), &random().unwrap());
        assert_ne!(one, other);
        assert_eq!(id_of(secret.expose()), Some(one));
    }

    #[test]
    fn what_does_not_look_like_a_key() {
        let secret = "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc";
        assert!(id_of(&format!("tl_hhhhhhhhhh_{secret}")).is_some());
        for text in [
            String::new(),
            "tl_".to_owned(),
            "tl_hhhhhhhhhh".to_owned(),
            "tl_hhhhhhhhhh_".to_owned(),
            format!("tl_hhhhhhhhhh_{secret}A"),
            format!("tl_hhhhhhhhhh_{secret} "),
            format!("tl_hhhhhhhhhh_{secret}="),
            format!("tl_hhhhhhhhh_{secret}"),
            format!("tl_hhhhhhhhhhh_{secret}"),
            format!("tl_hhhhhhhhhO_{secret}"),
            format!("tl_hhhhhhhhh/_{secret}"),
            format!("TL_hhhhhhhhhh_{secret}"),
            format!(" tl_hhhhhhhhhh_{secret}"),
            format!("tl_hhhhhhhhhh_{}", secret.replace('B', "+")),
            // a last character with bits that mean nothing: another spelling of the same bytes
            "tl_hhhhhhhhhh_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwd".to_owned(),
        ] {
            assert_eq!(id_of(&text), None, "{text:?}");
        }
    }

    #[test]
    fn a_key_is_checked() {
        let (key, secret) = key();
        let (_, _, other) = make_key(&pepper(), &[8; 42]);
        let same_id = secret.expose().replace("_Bwc", "_Cwc");
        let revoked = ApiKey { revoked_at: Some(5), ..key.clone() };
        let endless = ApiKey { expires_at: None, ..key.clone() };
        for (kept, presented, now, expected) in [
            (&key, secret.expose(), 999, Ok(())),
            (&key, secret.expose(), 1_000, Err(KeyFault::Expired)),
            (&key, other.expose(), 999, Err(KeyFault::Wrong)),
            (&key, same_id.as_str(), 999, Err(KeyFault::Wrong)),
            (&key, same_id.as_str(), 1_000, Err(KeyFault::Wrong)),
            (&key, "", 0, Err(KeyFault::Wrong)),
            (&revoked, secret.expose(), 1_000, Err(KeyFault::Revoked)),
            (&revoked, same_id.as_str(), 0, Err(KeyFault::Wrong)),
            (&endless, secret.expose(), u64::MAX, Ok(())),
        ] {
            assert_eq!(kept.check(&pepper(), presented, now), expected, "{presented} at {now}");
        }
    }

    #[test]
    fn a_mac_is_of_one_pepper_and_one_use() {
        let mac = pepper().mac(Use::AdminToken, "secret");
        assert!(pepper().verify(Use::AdminToken, "secret", &Mac::from_bytes(*mac.as_bytes())));
        assert!(!pepper().verify(Use::StaticToken, "secret", &mac));
        assert!(!pepper().verify(Use::ApiKey, "secret", &mac));
        assert!(!Pepper::new(&[2; 32]).verify(Use::AdminToken, "secret", &mac));
    }

    #[test]
    fn nothing_secret_is_shown() {
        let (key, secret) = key();
        let shown = format!("{key:?} {secret:?} {:?} {:?}", pepper(), key.mac);
        assert!(!shown.contains("BwcH"), "{shown}");
        assert!(shown.contains("Mac(…)") && shown.contains("Secret(…)"), "{shown}");
    }
}
