//! `oauth` of a registration: the client that the operator has registered with the server's
//! authorization server.

use super::settings::MASKED;
use crate::api::fault::{Pointer, RequestFault};
use crate::api::schema::{
    Field, ObjectSchema, Schema, TextFormat, optional, request, required, text,
};
pub use crate::secrets::OAuthClient;
use crate::secrets::SECRET_SHOWN;

const SCOPES: Schema = Schema::List { of: &text(1, 256, TextFormat::Line), least: 0, most: 100 };

request! {
    /// For servers that want a login: a client that was registered by hand, and what to ask for.
    impl OAuthClient as "OAuthClient" {
        /// Where the client is registered, as the authorization server's metadata calls it. Required with a
        /// secret, which goes nowhere else.
        pub issuer?: String => Schema::Nullable(&text(1, 2000, TextFormat::Url)),
        /// As the authorization server knows it.
        pub client_id: String => text(1, 2000, TextFormat::Line),
        /// Kept sealed and never shown; `${secret:NAME}` is resolved when it is used.
        pub client_secret?: String => Schema::Nullable(&text(1, 4000, TextFormat::Line)),
        /// Asked for instead of what the server names.
        pub scopes: Vec<String> = Vec::new() => SCOPES,
    }
}

const ISSUER: Field = required(
    "issuer",
    text(1, 2000, TextFormat::Url),
    "Where the client is registered, as the authorization server's metadata calls it \
     (https://auth.example.com). Required with a secret, which goes nowhere else: the server alone says \
     which authorization server it trusts.",
)
.example("\"https://auth.example.com\"");
const CLIENT_ID: Field =
    required("client_id", text(1, 2000, TextFormat::Line), "As the authorization server knows it.");
const CLIENT_SECRET: Field = optional(
    "client_secret",
    Schema::Nullable(&text(1, 4000, TextFormat::Line)),
    "Kept sealed and never shown; `${secret:NAME}` is resolved when it is used.",
);
const ASKED_SCOPES: Field =
    optional("scopes", SCOPES, "Asked for instead of what the server names.");

const CONFIDENTIAL: ObjectSchema = ObjectSchema::request(
    "ConfidentialOAuthClient",
    "For servers that want a login: a client with a secret that was registered by hand, and what to ask for.",
    &[ISSUER, CLIENT_ID, CLIENT_SECRET, ASKED_SCOPES],
);
const PUBLIC: ObjectSchema = ObjectSchema::request(
    "PublicOAuthClient",
    "A client without a secret.",
    &[
        Field { schema: Schema::Nullable(&ISSUER.schema), ..ISSUER.optional() },
        CLIENT_ID,
        ASKED_SCOPES,
    ],
);

/// The server names its authorization server itself, and would be believed about where a secret goes: with one,
/// the issuer has to be named.
pub(super) const OAUTH_CLIENT: Schema = Schema::AnyOf(&[&CONFIDENTIAL, &PUBLIC]);

/// A mask that came back is no secret.
pub(super) fn check(client: Option<&OAuthClient>, faults: &mut Vec<RequestFault>) {
    let secret = client.and_then(|client| client.client_secret.as_deref());
    if secret == Some(SECRET_SHOWN) {
        let at = Pointer::root().key("oauth").key("client_secret");
        faults.push(RequestFault::at(&at, MASKED));
    }
}
