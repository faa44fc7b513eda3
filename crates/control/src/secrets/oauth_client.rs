//! `OAuthClient`: who Trunkline is to a server's authorization server, where that was arranged by hand.

use serde_json::{Value, json};

use super::mask::SECRET_SHOWN;

/// `Debug` shows no secret.
#[derive(Clone, PartialEq, Eq)]
pub struct OAuthClient {
    /// Where it is registered. A secret goes nowhere else, so that it is required with one.
    pub issuer: Option<String>,
    pub client_id: String,
    pub client_secret: Option<String>,
    /// Asked for at a login instead of what the server names.
    pub scopes: Vec<String>,
}

impl OAuthClient {
    /// Without the secret.
    pub fn shown(&self) -> Value {
        let secret = self.client_secret.as_ref().map(|_| SECRET_SHOWN);
        // What there is not is left out, so that what is shown can be sent back.
        let optional = [("issuer", self.issuer.as_deref()), ("client_secret", secret)];
        let optional = optional.into_iter().filter_map(|(name, text)| Some((name, text?.into())));
        let always = [("client_id", self.client_id.clone().into()), ("scopes", json!(self.scopes))];
        let members = optional.chain(always).map(|(name, value)| (name.to_owned(), value));
        Value::Object(members.collect())
    }

    /// The way back, with `***` for the secret.
    pub fn of_shown(shown: &Value) -> Self {
        let text = |name| shown.get(name).and_then(Value::as_str).map(str::to_owned);
        let scopes = shown.get("scopes").and_then(Value::as_array).into_iter().flatten();
        Self {
            issuer: text("issuer"),
            client_id: text("client_id").unwrap_or_default(),
            client_secret: text("client_secret"),
            scopes: scopes.filter_map(Value::as_str).map(str::to_owned).collect(),
        }
    }
}

impl std::fmt::Debug for OAuthClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OAuthClient").field("client_id", &self.client_id).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_never_shown() {
        let client = OAuthClient {
            issuer: Some("https://a".to_owned()),
            client_id: "id".to_owned(),
            client_secret: Some("hunter2".to_owned()),
            scopes: vec!["read".to_owned()],
        };
        assert!(!format!("{client:?} {}", client.shown()).contains("hunter2"));
        let back = OAuthClient::of_shown(&client.shown());
        assert_eq!(back.client_secret.as_deref(), Some(SECRET_SHOWN));
        assert_eq!((back.client_id, back.scopes), (client.client_id, client.scopes));
        assert_eq!(back.issuer, client.issuer);
    }
}
