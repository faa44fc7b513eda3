//! OAuth 2.1 towards servers that want it, as the MCP authorization specification has it.
//!
//! Decisions are pure (`challenge`, `places`, `resource`, `issuer`, `scope`, `registration`,
//! `callback`, `token`, `expiry`); `OAuth` does them over the guarded client and keeps what came
//! of it in a `Vault`. What is granted belongs to a server and an issuer, and goes to no other.

mod authorize;
mod callback;
mod challenge;
mod discover;
mod driver;
mod error;
mod expiry;
mod flight;
mod grant;
pub(crate) mod issuer;
mod login;
mod loopback;
mod pending;
pub(crate) mod places;
mod refresh;
mod registration;
mod resource;
mod revoke;
mod scope;
mod secret;
mod settings;
mod token;
mod vault;
mod waiting;

#[cfg(test)]
mod tests;

pub(crate) use authorize::{Proof, holder};
pub(crate) use callback::shown;
pub use callback::{BadCallback, Callback};
pub use challenge::Challenge;
pub use driver::{GrantSummary, OAuth};
pub use error::{LoginError, NoToken, Reason};
pub use expiry::Early;
pub use grant::{Grant, Token};
pub use login::{Back, Granted, Login, Started};
pub use loopback::{Loopback, LoopbackError};
pub(crate) use registration::{Auth, OAuthClient};
pub use registration::{Registered, document};
pub use secret::Secret;
pub use settings::{Clock, Settings};
pub(crate) use token::{is_about_client, request as token_request};
pub use vault::{Hold, KeptGrant, Parked, Vault, VaultError, VaultFuture};
