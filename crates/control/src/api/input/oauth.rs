//! `oauth` of a registration: the client that the operator has registered with the server's
//! authorization server.

use serde_json::{Value, json};

use super::settings::{MASKED, SECRET_SHOWN};
use crate::api::fault::{Fault, Pointer};
use crate::api::schema::{Schema, TextFormat, request, text};

const SCOPES: Schema = Schema::List { of: &text(1, 256, TextFormat::Line), most: 100 };

request! {
    /// For servers that want a login: a client that was registered by hand, and what to ask for.
    pub struct OAuthClient as "OAuthClient" {
        /// As the authorization server knows it.
        pub client_id: String => text(1, 2000, TextFormat::Line),
        /// Kept sealed and never shown; `${secret:NAME}` is resolved when it is used.
        pub client_secret?: String => Schema::Nullable(&text(1, 4000, TextFormat::Line)),
        /// Asked for instead of what the server names.
        pub scopes: Vec<String> = Vec::new() => SCOPES,
    }
}

impl OAuthClient {
    /// Without the secret.
    pub fn shown(&self) -> Value {
        let secret = self.client_secret.as_ref().map(|_| SECRET_SHOWN);
        json!({"client_id": self.client_id, "client_secret": secret, "scopes": self.scopes})
    }

    /// The way back, with `***` for the secret.
    pub fn of_shown(shown: &Value) -> Self {
        let text = |name| shown.get(name).and_then(Value::as_str).map(str::to_owned);
        let scopes = shown.get("scopes").and_then(Value::as_array).into_iter().flatten();
        Self {
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

/// A mask that came back is no secret.
pub(super) fn check(client: Option<&OAuthClient>, faults: &mut Vec<Fault>) {
    let secret = client.and_then(|client| client.client_secret.as_deref());
    if secret == Some(SECRET_SHOWN) {
        let at = Pointer::root().key("oauth").key("client_secret");
        faults.push(Fault::at(&at, MASKED));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_never_shown() {
        let client = OAuthClient {
            client_id: "id".to_owned(),
            client_secret: Some("hunter2".to_owned()),
            scopes: vec!["read".to_owned()],
        };
        assert!(!format!("{client:?} {}", client.shown()).contains("hunter2"));
        let back = OAuthClient::of_shown(&client.shown());
        assert_eq!(back.client_secret.as_deref(), Some(SECRET_SHOWN));
        assert_eq!((back.client_id, back.scopes), (client.client_id, client.scopes));
    }
}
