//! API keys and the admin token: made, listed, revoked, and known to all who have to check one.

mod admin;
mod holder;
mod ledger;
mod lookup;
mod record;
#[cfg(test)]
mod tests;
mod uses;

pub use admin::{AdminToken, AdminTokenError, admin_token};
pub use holder::{ApiKeys, FixedTokens, KeysError};
pub use ledger::{Actor, CreatedKey};
pub(crate) use lookup::Looks;
pub use record::{KeyInfo, NewKey};
