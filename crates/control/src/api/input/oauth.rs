//! `oauth` of a registration: who we are to the server's authorization server, where somebody has
//! arranged that by hand.

use serde_json::{Value, json};

use super::fields::Fields;
use super::register::SECRET_SHOWN;
use crate::api::fault::{Fault, Pointer};
use crate::api::shape::{Form, Object, Shape, optional, required, text};

/// `Debug` shows no secret.
#[derive(Clone, PartialEq, Eq)]
pub struct OAuthClient {
    pub client_id: String,
    pub client_secret: Option<String>,
    /// Asked for at a login instead of what the server names.
    pub scopes: Vec<String>,
}

impl OAuthClient {
    pub(super) fn read(fields: &Fields<'_>) -> Self {
        let owned = |name| fields.text(name).map(str::to_owned);
        Self {
            client_id: owned("client_id").unwrap_or_default(),
            client_secret: owned("client_secret"),
            scopes: fields.texts("scopes").unwrap_or_default(),
        }
    }

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

/// Somebody has sent back what we had shown him.
pub(super) fn faults(fields: &Fields<'_>, faults: &mut Vec<Fault>) {
    if fields.object("oauth").text("client_secret") == Some(SECRET_SHOWN) {
        let at = Pointer::root().key("oauth").key("client_secret");
        faults.push(Fault::at(&at, "is not a value: secrets are shown so"));
    }
}

const ID: Shape = text(1, 2000, Form::Line);
const SECRET: Shape = text(1, 4000, Form::Line);
const SCOPE: Shape = text(1, 256, Form::Line);

pub(super) static OAUTH: Object = Object::request(
    "OAuthClient",
    "For servers that want a login: a client that was registered by hand, and what to ask for.",
    &[
        required("client_id", ID, "As the authorization server knows it."),
        optional(
            "client_secret",
            Shape::OrNull(&SECRET),
            "Kept sealed and never shown; `${secret:NAME}` is resolved when it is used.",
        ),
        optional(
            "scopes",
            Shape::List { of: &SCOPE, most: 100 },
            "Asked for instead of what the server names.",
        ),
    ],
);

pub(super) const OAUTH_DOC: &str =
    "Who Trunkline is to the server's authorization server, where that cannot be found out.";

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
