//! `oauth` of a registration: the client that the operator has registered with the server's
//! authorization server.

use super::settings::MASKED;
use crate::api::fault::{Pointer, RequestFault};
use crate::api::schema::{Schema, TextFormat, request, text};
pub use crate::secrets::OAuthClient;
use crate::secrets::SECRET_SHOWN;

const SCOPES: Schema = Schema::List { of: &text(1, 256, TextFormat::Line), most: 100 };

request! {
    /// For servers that want a login: a client that was registered by hand, and what to ask for.
    impl OAuthClient as "OAuthClient" {
        /// As the authorization server knows it.
        pub client_id: String => text(1, 2000, TextFormat::Line),
        /// Kept sealed and never shown; `${secret:NAME}` is resolved when it is used.
        pub client_secret?: String => Schema::Nullable(&text(1, 4000, TextFormat::Line)),
        /// Asked for instead of what the server names.
        pub scopes: Vec<String> = Vec::new() => SCOPES,
    }
}

/// A mask that came back is no secret.
pub(super) fn check(client: Option<&OAuthClient>, faults: &mut Vec<RequestFault>) {
    let secret = client.and_then(|client| client.client_secret.as_deref());
    if secret == Some(SECRET_SHOWN) {
        let at = Pointer::root().key("oauth").key("client_secret");
        faults.push(RequestFault::at(&at, MASKED));
    }
}
