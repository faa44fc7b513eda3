//! The link a person follows to grant access: PKCE, state, resource and scope.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom as _, SystemRandom};
use trunkline_http::write_form;

use crate::oauth::issuer::Issuer;
use crate::oauth::secret::Secret;

/// The proof that who redeems the code is who asked for it (RFC 7636).
#[derive(Debug, Clone)]
pub(crate) struct Proof {
    pub(crate) verifier: Secret,
    pub(crate) challenge: String,
}

impl Proof {
    pub(crate) fn from(random: &[u8; 32]) -> Self {
        let verifier = BASE64_URL_SAFE_NO_PAD.encode(random);
        let challenge = BASE64_URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()));
        Self { verifier: Secret::new(verifier), challenge }
    }
}

/// `None` if the system gives no randomness.
pub(super) fn random() -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(bytes)
}

/// A name for somebody who holds something, unlike any other.
pub(crate) fn holder() -> Option<String> {
    random().map(|bytes| BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Ask<'a> {
    pub(super) client_id: &'a str,
    pub(super) redirect_uri: &'a str,
    pub(super) state: &'a str,
    pub(super) challenge: &'a str,
    pub(super) resource: &'a str,
    pub(super) scope: Option<&'a str>,
}

pub(super) fn link(issuer: &Issuer, ask: Ask<'_>) -> String {
    let mut fields = vec![
        ("response_type", "code"),
        ("client_id", ask.client_id),
        ("redirect_uri", ask.redirect_uri),
        ("state", ask.state),
        ("code_challenge", ask.challenge),
        ("code_challenge_method", "S256"),
        ("resource", ask.resource),
    ];
    if let Some(scope) = ask.scope {
        fields.push(("scope", scope));
        // OpenID Connect gives a refresh token only to who was asked for consent.
        if scope.split(' ').any(|scope| scope == "offline_access") {
            fields.push(("prompt", "consent"));
        }
    }
    let endpoint = issuer.authorization.to_string();
    let joint = match endpoint.as_str() {
        endpoint if endpoint.ends_with(['?', '&']) => "",
        endpoint if endpoint.contains('?') => "&",
        _ => "?",
    };
    format!("{endpoint}{joint}{}", write_form(&fields))
}

#[cfg(test)]
mod tests {
    use super::*;
    use trunkline_http::Url;

    /// The bytes and texts of RFC 7636, appendix B.
    #[test]
    fn the_proof_of_the_standard() {
        let random = [
            116, 24, 223, 180, 151, 153, 224, 37, 79, 250, 96, 125, 216, 173, 187, 186, 22, 212,
            37, 77, 105, 214, 191, 240, 91, 88, 5, 88, 83, 132, 141, 121,
        ];
        let proof = Proof::from(&random);
        assert_eq!(proof.verifier.reveal(), "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
        assert_eq!(proof.challenge, "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }

    #[test]
    fn links() {
        let own = "response_type=code&client_id=c%26d&redirect_uri=http%3A%2F%2F127.0.0.1%3A7%2Fcb\
                   &state=s&code_challenge=x&code_challenge_method=S256&resource=https%3A%2F%2Fh%2Fmcp";
        for (endpoint, scope, before, behind) in [
            ("https://a/auth", None, "https://a/auth?", ""),
            ("https://a", Some("r w"), "https://a/?", "&scope=r%20w"),
            ("https://a/auth?t=1", None, "https://a/auth?t=1&", ""),
            ("https://a/auth?", None, "https://a/auth?", ""),
            (
                "https://a/auth",
                Some("r offline_access"),
                "https://a/auth?",
                "&scope=r%20offline_access&prompt=consent",
            ),
        ] {
            let issuer = Issuer {
                id: "https://a".to_owned(),
                authorization: Url::parse(endpoint).unwrap(),
                token: Url::parse("https://a/token").unwrap(),
                registration: None,
                revocation: None,
                auth_methods: None,
                scopes: Vec::new(),
                says_iss: false,
                takes_documents: false,
            };
            let ask = Ask {
                client_id: "c&d",
                redirect_uri: "http://127.0.0.1:7/cb",
                state: "s",
                challenge: "x",
                resource: "https://h/mcp",
                scope,
            };
            assert_eq!(link(&issuer, ask), format!("{before}{own}{behind}"));
        }
    }
}
