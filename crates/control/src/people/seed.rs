//! `SignInSeed`: the secret of one sign-in, which only the browser that began it holds, and what is made of it.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::hmac;

use crate::access::{NoRandom, random};
use crate::oauth::Proof;

const LENGTH: usize = 32;

/// Whoever sees the state (in URLs) or the nonce (in tokens) knows neither the seed nor the verifier.
#[derive(Clone, PartialEq, Eq)]
pub struct SignInSeed([u8; LENGTH]);

impl std::fmt::Debug for SignInSeed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SignInSeed")
    }
}

impl SignInSeed {
    pub fn new() -> Result<Self, NoRandom> {
        random().map(Self)
    }

    /// As a cookie has it.
    pub fn read(text: &str) -> Option<Self> {
        let mut bytes = [0; LENGTH];
        hex::decode_to_slice(text, &mut bytes).ok()?;
        Some(Self(bytes))
    }

    pub fn to_text(&self) -> String {
        hex::encode(self.0)
    }

    /// What the issuer sends back with the browser.
    pub(super) fn state(&self) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(self.derive(b"state"))
    }

    /// What the issuer writes into the ID token.
    pub(super) fn nonce(&self) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(self.derive(b"nonce"))
    }

    /// That whoever redeems the code has begun the sign-in.
    pub(super) fn proof(&self) -> Proof {
        Proof::from(&self.derive(b"verifier"))
    }

    /// Is this the state of this sign-in? Digests of one length are compared, in constant time.
    pub(super) fn has_state(&self, state: &str) -> bool {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.0);
        let expected = self.state();
        let shown = hmac::sign(&key, state.as_bytes());
        hmac::verify(&key, expected.as_bytes(), shown.as_ref()).is_ok()
    }

    fn derive(&self, label: &[u8]) -> [u8; LENGTH] {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.0);
        let mut out = [0; LENGTH];
        let words = [b"trunkline sign-in ", label].concat();
        out.iter_mut().zip(hmac::sign(&key, &words).as_ref()).for_each(|(to, from)| *to = *from);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_read_back_and_makes_the_same_each_time() {
        let seed = SignInSeed::new().unwrap();
        let again = SignInSeed::read(&seed.to_text()).unwrap();
        assert_eq!((again.state(), again.nonce()), (seed.state(), seed.nonce()));
        assert_eq!(again.proof().challenge, seed.proof().challenge);
        assert!(seed.has_state(&seed.state()));
        let other = SignInSeed::new().unwrap();
        for wrong in [other.state(), seed.nonce(), String::new()] {
            assert!(!seed.has_state(&wrong), "{wrong}");
        }
        let all = [seed.state(), seed.nonce(), seed.proof().verifier.reveal().to_owned()];
        assert!(all[0] != all[1] && all[1] != all[2] && all[0] != all[2]);
        for bad in ["", "ab", "x".repeat(64).as_str(), &"ab".repeat(33)] {
            assert_eq!(SignInSeed::read(bad), None, "{bad}");
        }
        assert_eq!(format!("{seed:?}"), "SignInSeed");
    }
}
