//! Where an issuer says that its keys are (RFC 8414, or OIDC discovery). Pure.

use serde_json::Value;
use trunkline_http::Url;

use crate::oauth::places::may_name;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadMetadata {
    #[error("the issuer's metadata is not a JSON object")]
    NotJson,
    #[error("the issuer's metadata names another issuer")]
    Different,
    #[error("the issuer's metadata has no usable `jwks_uri`")]
    NoKeySet,
}

/// `name` is what the operator calls the issuer; it has to be that to the byte.
pub(super) fn key_set(body: &[u8], name: &str, issuer: &Url) -> Result<Url, BadMetadata> {
    let document: Value = serde_json::from_slice(body).map_err(|_| BadMetadata::NotJson)?;
    let members = document.as_object().ok_or(BadMetadata::NotJson)?;
    let text = |member: &str| members.get(member).and_then(Value::as_str);
    if text("issuer") != Some(name) {
        return Err(BadMetadata::Different);
    }
    let url = text("jwks_uri").and_then(|url| Url::parse(url).ok());
    url.filter(|url| may_name(issuer, url)).ok_or(BadMetadata::NoKeySet)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_place_of_the_keys_is_taken_from_the_right_issuer_only() {
        let name = "https://id.example.com/t";
        for (document, expected) in [
            (json!({"issuer": name, "jwks_uri": "https://k/keys?v=1"}), Ok("https://k/keys?v=1")),
            (
                json!({"issuer": format!("{name}/"), "jwks_uri": "https://k/"}),
                Err(BadMetadata::Different),
            ),
            (
                json!({"issuer": "https://evil", "jwks_uri": "https://k/"}),
                Err(BadMetadata::Different),
            ),
            (json!({"jwks_uri": "https://k/"}), Err(BadMetadata::Different)),
            (json!({"issuer": name}), Err(BadMetadata::NoKeySet)),
            (json!({"issuer": name, "jwks_uri": 7}), Err(BadMetadata::NoKeySet)),
            (json!({"issuer": name, "jwks_uri": "http://k/"}), Err(BadMetadata::NoKeySet)),
            (json!({"issuer": name, "jwks_uri": "http://127.0.0.1/"}), Err(BadMetadata::NoKeySet)),
            (json!({"issuer": name, "jwks_uri": "file:///keys"}), Err(BadMetadata::NoKeySet)),
            (json!([name]), Err(BadMetadata::NotJson)),
        ] {
            let found = key_set(document.to_string().as_bytes(), name, &Url::parse(name).unwrap());
            let found = found.map(|url| url.to_string());
            assert_eq!(found, expected.map(str::to_owned), "{document}");
        }
        let page = key_set(b"<html>", name, &Url::parse(name).unwrap());
        assert_eq!(page, Err(BadMetadata::NotJson));
    }

    #[test]
    fn an_issuer_on_this_machine_may_have_its_keys_there() {
        let name = "http://127.0.0.1:9";
        let document = json!({"issuer": name, "jwks_uri": "http://127.0.0.1:9/keys"}).to_string();
        assert!(key_set(document.as_bytes(), name, &Url::parse(name).unwrap()).is_ok());
    }
}
