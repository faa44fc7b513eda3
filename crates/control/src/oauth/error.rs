//! Why a login failed, and why there is no token. The words hold no secret.

use std::time::Duration;

use crate::net::FetchError;
use crate::oauth::callback::BadCallback;
use crate::oauth::issuer::BadIssuer;
use crate::oauth::registration::NoClient;
use crate::oauth::resource::BadResource;
use crate::oauth::vault::VaultError;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoginError {
    #[error("{what} is not a URL that can be used here: {why}")]
    Url { what: &'static str, why: String },
    #[error("{what} cannot be fetched: {error}")]
    Fetch { what: &'static str, error: FetchError },
    #[error("the server does not say which authorization server it trusts (no metadata, RFC 9728)")]
    NoResource,
    #[error("the server's metadata cannot be used: {0}")]
    Resource(BadResource),
    #[error("the authorization server {issuer} cannot be used: {why}")]
    Issuer { issuer: String, why: BadIssuer },
    #[error("no client for the authorization server {issuer}: {why}")]
    NoClient { issuer: String, why: NoClient },
    #[error("the authorization server {issuer} did not register this client: {why}")]
    Registration { issuer: String, why: String },
    #[error("{0}")]
    Callback(#[from] BadCallback),
    #[error(
        "nobody is waiting for this answer: it is late, was given before, or was never asked for"
    )]
    Unknown,
    #[error("the authorization server gave no token: {0}")]
    Token(String),
    #[error("{0}")]
    Vault(#[from] VaultError),
    #[error("the system gives no random numbers")]
    Random,
}

/// Why there is no token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoToken {
    /// Nothing helps but somebody logging in.
    #[error("needs a login: {reason}")]
    NeedsAuth { reason: Reason },
    /// There is one that should be good, and the server does not take it. That may be the server's
    /// trouble, and pass.
    #[error("the server does not accept a token that its issuer has just given")]
    Rejected,
    /// It may be there later.
    #[error("no token at the moment: {why}")]
    Unavailable { why: String, retry_in: Option<Duration> },
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    #[error("nobody has logged in yet")]
    Never,
    #[error("the grant has ended and cannot be renewed")]
    Ended,
    #[error("the grant is gone: {0}")]
    Lost(String),
    #[error("the server wants more than was granted")]
    MoreScope,
    #[error("the server is not where it was when the grant was given")]
    Moved,
}
