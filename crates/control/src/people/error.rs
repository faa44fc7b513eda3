//! Why somebody could not sign in.

use crate::access::{JwtFault, NoPerson, NoRandom};
use crate::issuer::NoKeys;
use crate::net::FetchError;
use crate::oauth::BadCallback;

use super::provider::BadProvider;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignInFault {
    #[error(transparent)]
    Random(#[from] NoRandom),
    #[error("the issuer cannot be used now: {0}")]
    Away(String),
    /// Nothing of the answer is believed.
    #[error("this sign-in was not begun in this browser, or it was more than ten minutes ago")]
    NotBegunHere,
    /// Nor is this: it cannot even be read.
    #[error(transparent)]
    Unreadable(BadCallback),
    #[error(transparent)]
    Callback(#[from] BadCallback),
    #[error("too many people sign in at this moment")]
    Busy,
    #[error("the issuer gives no token for its code: {0}")]
    Token(String),
    #[error("the issuer's ID token is not accepted: {0}")]
    IdToken(JwtFault),
    #[error(transparent)]
    NoPerson(#[from] NoPerson),
}

impl From<BadProvider> for SignInFault {
    fn from(bad: BadProvider) -> Self {
        Self::Away(bad.to_string())
    }
}

impl From<FetchError> for SignInFault {
    fn from(error: FetchError) -> Self {
        Self::Away(error.to_string())
    }
}

impl From<NoKeys> for SignInFault {
    fn from(no: NoKeys) -> Self {
        Self::Away(no.to_string())
    }
}
