//! Secrets of registered servers: sealed when they are given, opened and resolved only to connect.
//!
//! What the store keeps in the open has names of headers and variables, never their values. Without
//! the right key everything is still shown, and nothing can be opened or written over.

mod allow;
mod connection;
mod error;
mod grants;
mod key_source;
mod keyring;
mod mask;
mod named;
mod oauth_client;
mod reference;
mod resolve;
mod ring;
mod rotate;
mod safe;
mod sandbox_json;
mod sealing;
#[cfg(test)]
mod tests;
mod uses;

pub use allow::{AllowedVariables, BadAllowance};
pub use connection::Connection;
pub use error::SecretError;
pub use grants::StoredGrants;
pub use key_source::{KeyFound, KeySource, KeySourceError};
pub use mask::{SECRET_SHOWN, shown_url};
pub use named::{LONGEST_SECRET, NamedSecret, SHARED};
pub use oauth_client::OAuthClient;
pub use reference::is_secret_name;
pub(crate) use reference::is_variable;
pub use resolve::{Resolved, Sources, Unresolved, forbidden, resolve, secrets_named};
pub use rotate::{FileRotation, RotationError, rotate};
pub(crate) use safe::SEALS;
pub use safe::Safe;
pub use sandbox_json::{BadSandbox, read_sandbox, sandbox_json};
pub use sealing::{SealedConnection, shown};
pub use uses::SecretUser;
