//! `oauth` of a registration: who we are to the server's authorization server, where somebody has
//! arranged that by hand.

use super::fields::Fields;
use crate::api::fault::{Fault, Pointer};
use crate::api::shape::{Form, Object, Shape, optional, required, text};
pub use crate::secrets::OAuthClient;
use crate::secrets::SECRET_SHOWN;

impl OAuthClient {
    pub(super) fn read(fields: &Fields<'_>) -> Self {
        let owned = |name| fields.text(name).map(str::to_owned);
        Self {
            client_id: owned("client_id").unwrap_or_default(),
            client_secret: owned("client_secret"),
            scopes: fields.texts("scopes").unwrap_or_default(),
        }
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
