//! `Grant`: what an issuer has granted for a server, and everything needed to renew it.

use std::time::Duration;

use serde_json::{Value, json};
use trunkline_http::Url;

use crate::oauth::registration::{Auth, OAuthClient};
use crate::oauth::secret::Secret;

/// Belongs to one server and one issuer. Its `Debug` shows no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    pub(super) issuer: String,
    /// What the tokens are for; they go nowhere else.
    pub(super) resource: String,
    pub(super) token_endpoint: Url,
    pub(super) revocation_endpoint: Option<Url>,
    pub(super) client: OAuthClient,
    pub(super) scope: Option<String>,
    pub(super) held: HeldTokens,
    /// Why it is of no use any more. It stays, so that nobody asks again with it.
    pub(super) lost: Option<String>,
    /// Of the login (ms).
    pub(super) granted_at: i64,
}

/// The tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HeldTokens {
    pub(super) access: Secret,
    pub(super) refresh: Option<Secret>,
    pub(super) issued_at: i64,
    pub(super) expires_at: Option<i64>,
}

/// An access token, for an `Authorization: Bearer` header of a request to its server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub value: Secret,
    /// In milliseconds since 1970, if the issuer says.
    pub expires_at: Option<i64>,
}

impl HeldTokens {
    /// `asked_at`, not when the answer came: an answer may be slow.
    pub(super) fn new(
        access: Secret,
        refresh: Option<Secret>,
        asked_at: i64,
        lifetime: Option<Duration>,
    ) -> Self {
        let lifetime = lifetime.map(|life| i64::try_from(life.as_millis()).unwrap_or(i64::MAX));
        let expires_at = lifetime.map(|life| asked_at.saturating_add(life));
        Self { access, refresh, issued_at: asked_at, expires_at }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the stored grant has no usable `{0}`")]
pub struct BadGrant(pub(super) &'static str);

impl Grant {
    /// Who granted it, byte for byte as it spells itself: the key of the grant, with its server.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// When the access token ends (ms).
    pub fn expires_at(&self) -> Option<i64> {
        self.held.expires_at
    }

    /// When somebody logged in (ms). Of several grants of a server the newest counts.
    pub fn granted_at(&self) -> i64 {
        self.granted_at
    }

    pub fn scope(&self) -> Option<&str> {
        self.scope.as_deref()
    }

    /// Is a new login needed?
    pub fn is_lost(&self) -> bool {
        self.lost.is_some()
    }

    /// All of it, secrets included: to be sealed before it is stored.
    pub fn to_json(&self) -> Vec<u8> {
        let document = json!({
            "issuer": self.issuer,
            "resource": self.resource,
            "token_endpoint": self.token_endpoint.to_string(),
            "revocation_endpoint": self.revocation_endpoint.as_ref().map(ToString::to_string),
            "client": write_client(&self.client),
            "scope": self.scope,
            "access_token": self.held.access.reveal(),
            "refresh_token": self.held.refresh.as_ref().map(Secret::reveal),
            "issued_at": self.held.issued_at,
            "expires_at": self.held.expires_at,
            "lost": self.lost,
            "granted_at": self.granted_at,
        });
        document.to_string().into_bytes()
    }

    pub fn from_json(bytes: &[u8]) -> Result<Self, BadGrant> {
        let document: Value = serde_json::from_slice(bytes).map_err(|_| BadGrant("JSON"))?;
        let client = document.get("client").unwrap_or(&Value::Null);
        Ok(Self {
            issuer: text(&document, "issuer")?,
            resource: text(&document, "resource")?,
            token_endpoint: url(&document, "token_endpoint")?.ok_or(BadGrant("token_endpoint"))?,
            revocation_endpoint: url(&document, "revocation_endpoint")?,
            client: read_client(client)?,
            scope: optional(&document, "scope"),
            held: HeldTokens {
                access: Secret::new(text(&document, "access_token")?),
                refresh: optional(&document, "refresh_token").map(Secret::new),
                issued_at: number(&document, "issued_at").ok_or(BadGrant("issued_at"))?,
                expires_at: number(&document, "expires_at"),
            },
            lost: optional(&document, "lost"),
            granted_at: number(&document, "granted_at").ok_or(BadGrant("granted_at"))?,
        })
    }

    pub(super) fn token(&self) -> Token {
        Token { value: self.held.access.clone(), expires_at: self.held.expires_at }
    }
}

pub(super) fn write_client(client: &OAuthClient) -> Value {
    let (method, secret) = match &client.auth {
        Auth::None => ("none", None),
        Auth::Basic(secret) => ("client_secret_basic", Some(secret.reveal())),
        Auth::Post(secret) => ("client_secret_post", Some(secret.reveal())),
    };
    json!({
        "id": client.id,
        "auth": method,
        "secret": secret,
        "redirect_uri": client.redirect_uri,
        "expires_at": client.expires_at,
    })
}

pub(super) fn read_client(document: &Value) -> Result<OAuthClient, BadGrant> {
    let secret = || Ok(Secret::new(text(document, "secret")?));
    let auth = match text(document, "auth")?.as_str() {
        "none" => Auth::None,
        "client_secret_basic" => Auth::Basic(secret()?),
        "client_secret_post" => Auth::Post(secret()?),
        _ => return Err(BadGrant("auth")),
    };
    Ok(OAuthClient {
        id: text(document, "id")?,
        auth,
        redirect_uri: optional(document, "redirect_uri"),
        expires_at: number(document, "expires_at"),
    })
}

pub(super) fn optional(document: &Value, name: &str) -> Option<String> {
    document.get(name).and_then(Value::as_str).map(str::to_owned)
}

pub(super) fn text(document: &Value, name: &'static str) -> Result<String, BadGrant> {
    optional(document, name).ok_or(BadGrant(name))
}

fn number(document: &Value, name: &str) -> Option<i64> {
    document.get(name).and_then(Value::as_i64)
}

pub(super) fn url(document: &Value, name: &'static str) -> Result<Option<Url>, BadGrant> {
    optional(document, name).map(|text| Url::parse(&text).map_err(|_| BadGrant(name))).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(auth: Auth, full: bool) -> Grant {
        let some = |text: &str| full.then(|| text.to_owned());
        Grant {
            issuer: "https://a/".to_owned(),
            resource: "https://h/mcp".to_owned(),
            token_endpoint: Url::parse("https://a/token?x=1").unwrap(),
            revocation_endpoint: full.then(|| Url::parse("https://a/revoke").unwrap()),
            client: OAuthClient {
                id: "c".to_owned(),
                auth,
                redirect_uri: some("http://127.0.0.1:1/callback"),
                expires_at: full.then_some(5),
            },
            scope: some("r w"),
            held: HeldTokens {
                access: Secret::new("s3cret-a"),
                refresh: full.then(|| Secret::new("s3cret-r")),
                issued_at: 7,
                expires_at: full.then_some(9),
            },
            lost: some("invalid_grant"),
            granted_at: 3,
        }
    }

    #[test]
    fn what_is_stored_is_read_back() {
        let secret = || Secret::new("s3cret-c");
        for auth in [Auth::None, Auth::Basic(secret()), Auth::Post(secret())] {
            for full in [true, false] {
                let grant = grant(auth.clone(), full);
                assert_eq!(Grant::from_json(&grant.to_json()), Ok(grant));
            }
        }
    }

    #[test]
    fn a_torn_grant_is_not_used() {
        let whole: Value = serde_json::from_slice(&grant(Auth::None, true).to_json()).unwrap();
        for name in [
            "issuer",
            "resource",
            "token_endpoint",
            "client",
            "access_token",
            "issued_at",
            "granted_at",
        ] {
            let mut torn = whole.clone();
            torn.as_object_mut().unwrap().remove(name);
            assert!(Grant::from_json(torn.to_string().as_bytes()).is_err(), "{name}");
        }
        assert!(Grant::from_json(b"").is_err());
    }

    #[test]
    fn debug_shows_no_secret() {
        let grant = grant(Auth::Basic(Secret::new("s3cret-c")), true);
        let shown = format!("{grant:?} {:?}", grant.token());
        assert!(!shown.contains("s3cret"), "{shown}");
    }
}
