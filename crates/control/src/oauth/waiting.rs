//! `WaitingLogin`: everything a browser's answer is checked against, recorded before anybody is sent
//! anywhere, and how it is kept for whichever process gets the answer.

use serde_json::{Value, json};
use trunkline_http::Url;

use crate::oauth::grant::{BadGrant, optional, read_client, text, url, write_client};
use crate::oauth::registration::OAuthClient;
use crate::oauth::secret::Secret;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WaitingLogin {
    pub(super) server: String,
    pub(super) issuer: String,
    /// Its answers say whose they are.
    pub(super) says_iss: bool,
    pub(super) token_endpoint: Url,
    pub(super) revocation_endpoint: Option<Url>,
    pub(super) client: OAuthClient,
    pub(super) verifier: Secret,
    pub(super) redirect_uri: String,
    pub(super) resource: String,
    pub(super) scope: Option<String>,
    /// What who began it wants to know at its end.
    pub(super) note: Option<String>,
    /// The vault has it: it is taken there, once for all processes.
    pub(super) is_shared: bool,
}

impl WaitingLogin {
    /// All of it, secrets included: to be sealed before it is stored.
    pub(super) fn to_json(&self) -> Vec<u8> {
        let document = json!({
            "server": self.server,
            "issuer": self.issuer,
            "says_iss": self.says_iss,
            "token_endpoint": self.token_endpoint.to_string(),
            "revocation_endpoint": self.revocation_endpoint.as_ref().map(ToString::to_string),
            "client": write_client(&self.client),
            "verifier": self.verifier.reveal(),
            "redirect_uri": self.redirect_uri,
            "resource": self.resource,
            "scope": self.scope,
            "note": self.note,
        });
        document.to_string().into_bytes()
    }

    /// Of what was shared.
    pub(super) fn from_json(bytes: &[u8]) -> Result<Self, BadGrant> {
        let document: Value = serde_json::from_slice(bytes).map_err(|_| BadGrant("JSON"))?;
        let endpoint = url(&document, "token_endpoint")?;
        Ok(Self {
            server: text(&document, "server")?,
            issuer: text(&document, "issuer")?,
            says_iss: document.get("says_iss").and_then(Value::as_bool).unwrap_or_default(),
            token_endpoint: endpoint.ok_or(BadGrant("token_endpoint"))?,
            revocation_endpoint: url(&document, "revocation_endpoint")?,
            client: read_client(document.get("client").unwrap_or(&Value::Null))?,
            verifier: Secret::new(text(&document, "verifier")?),
            redirect_uri: text(&document, "redirect_uri")?,
            resource: text(&document, "resource")?,
            scope: optional(&document, "scope"),
            note: optional(&document, "note"),
            is_shared: true,
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::oauth::registration::Auth;

    pub(in crate::oauth) fn waiting(server: &str) -> WaitingLogin {
        WaitingLogin {
            server: server.to_owned(),
            issuer: "https://a".to_owned(),
            says_iss: true,
            token_endpoint: Url::parse("https://a/token").unwrap(),
            revocation_endpoint: Some(Url::parse("https://a/revoke").unwrap()),
            client: OAuthClient {
                id: "c".into(),
                auth: Auth::Basic(Secret::new("s3cret-c")),
                redirect_uri: None,
                expires_at: Some(5),
            },
            verifier: Secret::new("s3cret-v"),
            redirect_uri: "https://t/oauth/callback".to_owned(),
            resource: "https://h/mcp".to_owned(),
            scope: Some("r w".to_owned()),
            note: Some("n".to_owned()),
            is_shared: true,
        }
    }

    #[test]
    fn what_is_kept_is_read_back() {
        let full = waiting("s");
        let bare = WaitingLogin {
            says_iss: false,
            revocation_endpoint: None,
            scope: None,
            note: None,
            ..full.clone()
        };
        for waiting in [full, bare] {
            assert!(!format!("{waiting:?}").contains("s3cret"), "{waiting:?}");
            assert_eq!(WaitingLogin::from_json(&waiting.to_json()), Ok(waiting));
        }
        assert!(WaitingLogin::from_json(b"{}").is_err());
    }
}
