//! What an issuer says of itself (`OpenID` Connect Discovery, 4), as far as people need it to sign in. Pure.

use serde_json::Value;
use trunkline_http::Url;

use crate::oauth::places::may_name;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProviderMetadata {
    pub(super) authorization: Url,
    pub(super) token: Url,
    pub(super) key_set: Url,
    /// Where people sign out of the issuer (RP-Initiated Logout).
    pub(super) end_session: Option<Url>,
    /// Its answers say whose they are (RFC 9207).
    pub(super) says_iss: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadProvider {
    #[error("its metadata is not a JSON object")]
    NotJson,
    #[error(
        "its metadata names another issuer: `--oidc-issuer` has to be written exactly as there"
    )]
    Different,
    #[error("its metadata has no usable `{0}`")]
    Endpoint(&'static str),
    #[error(
        "its metadata leaves out S256 among the methods of PKCE, without which codes can be stolen"
    )]
    NoPkce,
    #[error("it does not grant codes (response type `code`)")]
    NoCode,
}

/// Where it is (4.1): below the issuer, whose path stays.
pub(super) fn place(issuer: &Url) -> Option<Url> {
    let path = issuer.path().trim_end_matches('/');
    issuer.join(&format!("{path}/.well-known/openid-configuration")).ok()
}

/// `name` as the operator has written the issuer; it has to be that to the byte (4.3).
pub(super) fn read(body: &[u8], name: &str, issuer: &Url) -> Result<ProviderMetadata, BadProvider> {
    let document: Value = serde_json::from_slice(body).map_err(|_| BadProvider::NotJson)?;
    if !document.is_object() {
        return Err(BadProvider::NotJson);
    }
    if document.get("issuer").and_then(Value::as_str) != Some(name) {
        return Err(BadProvider::Different);
    }
    // Entra supports S256 and does not say so. Whoever names methods means that there are no others.
    let lacks = |list: &str, wanted: &str| {
        let said = document.get(list).and_then(Value::as_array);
        said.is_some_and(|all| !all.iter().any(|one| one.as_str() == Some(wanted)))
    };
    if lacks("code_challenge_methods_supported", "S256") {
        return Err(BadProvider::NoPkce);
    }
    if lacks("response_types_supported", "code") {
        return Err(BadProvider::NoCode);
    }
    let endpoint = |key: &'static str| {
        let url = document.get(key).and_then(Value::as_str).and_then(|url| Url::parse(url).ok());
        url.filter(|url| may_name(issuer, url)).ok_or(BadProvider::Endpoint(key))
    };
    let end_session = match document.get("end_session_endpoint") {
        None | Some(Value::Null) => None,
        // A browser is sent there: what is not needed may be missing, but not be dangerous.
        Some(_) => Some(endpoint("end_session_endpoint")?),
    };
    let says_iss = document.get("authorization_response_iss_parameter_supported");
    Ok(ProviderMetadata {
        authorization: endpoint("authorization_endpoint")?,
        token: endpoint("token_endpoint")?,
        key_set: endpoint("jwks_uri")?,
        end_session,
        says_iss: says_iss.and_then(Value::as_bool) == Some(true),
    })
}
