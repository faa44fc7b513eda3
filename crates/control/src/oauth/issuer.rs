//! The metadata of an authorization server (RFC 8414, or OIDC discovery), checked.

use serde_json::Value;
use trunkline_http::Url;

use crate::oauth::places::may_name;
use crate::oauth::resource::strings;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Issuer {
    /// As the server spells it.
    pub(super) id: String,
    pub(super) authorization: Url,
    pub(super) token: Url,
    pub(super) registration: Option<Url>,
    pub(super) revocation: Option<Url>,
    /// How clients may prove who they are at the token endpoint, if it says.
    pub(super) auth_methods: Option<Vec<String>>,
    pub(super) scopes: Vec<String>,
    /// Its answers say whose they are (RFC 9207).
    pub(super) says_iss: bool,
    /// It takes the URL of a document for the id of a client.
    pub(super) takes_documents: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadIssuer {
    #[error("there is no metadata of it where the specification looks for it")]
    Absent,
    #[error("its metadata is not a JSON object")]
    NotJson,
    #[error("its metadata names another issuer")]
    Different,
    #[error("its metadata has no usable {0}")]
    Endpoint(&'static str),
    #[error("it does not say that it supports PKCE with S256, without which codes can be stolen")]
    NoPkce,
    #[error("it does not grant codes (response type `code`)")]
    NoCode,
}

/// `expected` is what the server called its issuer; it has to be that to the byte.
pub(super) fn read(body: &[u8], expected: &str, server: &Url) -> Result<Issuer, BadIssuer> {
    let document = document(body, expected)?;
    let lists = |name: &str, wanted: &str| {
        strings(document.get(name)).iter().any(|member| member == wanted)
    };
    let flag = |name: &str| document.get(name).and_then(Value::as_bool) == Some(true);
    // 2025-11-25, Authorization: a client MUST refuse to go on if the metadata does not offer S256.
    if !lists("code_challenge_methods_supported", "S256") {
        return Err(BadIssuer::NoPkce);
    }
    // RFC 8414 makes the list mandatory; servers that leave it out grant codes all the same.
    if document.get("response_types_supported").is_some()
        && !lists("response_types_supported", "code")
    {
        return Err(BadIssuer::NoCode);
    }
    let endpoint = |name: &'static str| endpoint(&document, name, server);
    // What is not needed may be missing, but not be dangerous.
    let optional = |name: &'static str| match document.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(_) => endpoint(name).map(Some),
    };
    let methods = document.get("token_endpoint_auth_methods_supported");
    Ok(Issuer {
        id: expected.to_owned(),
        authorization: endpoint("authorization_endpoint")?,
        token: endpoint("token_endpoint")?,
        registration: optional("registration_endpoint")?,
        revocation: optional("revocation_endpoint")?,
        // Absent and empty differ: without a list any method may be tried.
        auth_methods: methods.map(|methods| strings(Some(methods))),
        scopes: strings(document.get("scopes_supported")),
        says_iss: flag("authorization_response_iss_parameter_supported"),
        takes_documents: flag("client_id_metadata_document_supported"),
    })
}

/// Where the issuer's keys are. It may be on our machine if its keys are, too.
pub(crate) fn key_set(body: &[u8], expected: &str, issuer: &Url) -> Result<Url, BadIssuer> {
    endpoint(&document(body, expected)?, "jwks_uri", issuer)
}

/// RFC 8414, 3.3: metadata that names another issuer must not be used.
fn document(body: &[u8], expected: &str) -> Result<Value, BadIssuer> {
    let document: Value = serde_json::from_slice(body).map_err(|_| BadIssuer::NotJson)?;
    if !document.is_object() {
        return Err(BadIssuer::NotJson);
    }
    match document.get("issuer").and_then(Value::as_str) {
        Some(named) if named == expected => Ok(document),
        _ => Err(BadIssuer::Different),
    }
}

fn endpoint(document: &Value, name: &'static str, named_by: &Url) -> Result<Url, BadIssuer> {
    let url = document.get(name).and_then(Value::as_str).and_then(|url| Url::parse(url).ok());
    url.filter(|url| may_name(named_by, url)).ok_or(BadIssuer::Endpoint(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn good() -> Value {
        json!({
            "issuer": "https://a/t",
            "authorization_endpoint": "https://a/authorize?tenant=1",
            "token_endpoint": "https://b/token",
            "code_challenge_methods_supported": ["plain", "S256"],
        })
    }

    fn check(document: &Value) -> Result<Issuer, BadIssuer> {
        let server = Url::parse("https://h/mcp").unwrap();
        read(document.to_string().as_bytes(), "https://a/t", &server)
    }

    #[test]
    fn the_least_that_is_needed() {
        let issuer = check(&good()).unwrap();
        assert_eq!(issuer.authorization.to_string(), "https://a/authorize?tenant=1");
        assert_eq!(issuer.token.to_string(), "https://b/token");
        assert_eq!(
            (issuer.registration, issuer.revocation, issuer.auth_methods),
            (None, None, None)
        );
        assert!(!issuer.says_iss && !issuer.takes_documents);
    }

    #[test]
    fn what_makes_metadata_unusable() {
        for (name, value, bad) in [
            ("issuer", json!("https://a/t/"), BadIssuer::Different),
            ("issuer", json!("HTTPS://a/t"), BadIssuer::Different),
            ("issuer", json!("https://a:443/t"), BadIssuer::Different),
            ("issuer", json!(null), BadIssuer::Different),
            ("code_challenge_methods_supported", json!(null), BadIssuer::NoPkce),
            ("code_challenge_methods_supported", json!(["plain"]), BadIssuer::NoPkce),
            ("code_challenge_methods_supported", json!("S256"), BadIssuer::NoPkce),
            ("response_types_supported", json!(["token"]), BadIssuer::NoCode),
            ("token_endpoint", json!(null), BadIssuer::Endpoint("token_endpoint")),
            ("token_endpoint", json!("http://b/"), BadIssuer::Endpoint("token_endpoint")),
            ("token_endpoint", json!("http://127.0.0.1/"), BadIssuer::Endpoint("token_endpoint")),
            (
                "authorization_endpoint",
                json!("javascript:alert(1)"),
                BadIssuer::Endpoint("authorization_endpoint"),
            ),
            (
                "authorization_endpoint",
                json!("file:///bin/sh"),
                BadIssuer::Endpoint("authorization_endpoint"),
            ),
            (
                "registration_endpoint",
                json!("http://b/"),
                BadIssuer::Endpoint("registration_endpoint"),
            ),
            ("revocation_endpoint", json!(7), BadIssuer::Endpoint("revocation_endpoint")),
        ] {
            let mut document = good();
            document[name] = value.clone();
            assert_eq!(check(&document), Err(bad), "{name} {value}");
        }
        assert_eq!(check(&json!([])), Err(BadIssuer::NotJson));
    }

    #[test]
    fn the_place_of_the_keys_is_taken_from_the_right_issuer_only() {
        let name = "https://id.example.com/t";
        for (document, expected) in [
            (json!({"issuer": name, "jwks_uri": "https://k/keys?v=1"}), Ok("https://k/keys?v=1")),
            (
                json!({"issuer": format!("{name}/"), "jwks_uri": "https://k/"}),
                Err(BadIssuer::Different),
            ),
            (
                json!({"issuer": "https://evil", "jwks_uri": "https://k/"}),
                Err(BadIssuer::Different),
            ),
            (json!({"jwks_uri": "https://k/"}), Err(BadIssuer::Different)),
            (json!({"issuer": name}), Err(BadIssuer::Endpoint("jwks_uri"))),
            (json!({"issuer": name, "jwks_uri": 7}), Err(BadIssuer::Endpoint("jwks_uri"))),
            (
                json!({"issuer": name, "jwks_uri": "http://k/"}),
                Err(BadIssuer::Endpoint("jwks_uri")),
            ),
            (
                json!({"issuer": name, "jwks_uri": "http://127.0.0.1/"}),
                Err(BadIssuer::Endpoint("jwks_uri")),
            ),
            (
                json!({"issuer": name, "jwks_uri": "file:///keys"}),
                Err(BadIssuer::Endpoint("jwks_uri")),
            ),
            (json!([name]), Err(BadIssuer::NotJson)),
        ] {
            let found = key_set(document.to_string().as_bytes(), name, &Url::parse(name).unwrap());
            let found = found.map(|url| url.to_string());
            assert_eq!(found, expected.map(str::to_owned), "{document}");
        }
        let page = key_set(b"<html>", name, &Url::parse(name).unwrap());
        assert_eq!(page, Err(BadIssuer::NotJson));
    }

    #[test]
    fn an_issuer_on_this_machine_may_have_its_keys_there() {
        let name = "http://127.0.0.1:9";
        let document = json!({"issuer": name, "jwks_uri": "http://127.0.0.1:9/keys"}).to_string();
        assert!(key_set(document.as_bytes(), name, &Url::parse(name).unwrap()).is_ok());
    }
}
