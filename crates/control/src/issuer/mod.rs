//! The authorization server whose access tokens are taken: who that is, and its keys, kept fresh.
//!
//! Which tokens are good, `access` decides; here is what it needs for that. Decisions are pure
//! (`trusted`, `schedule`); `IssuerKeys` fetches, beside all requests.

mod fetch;
mod keys;
mod schedule;
#[cfg(test)]
pub(crate) mod tests;
mod trusted;

pub use fetch::{IssuerClients, NoKeys};
pub use keys::IssuerKeys;
pub use trusted::{BadTrust, Trusted};
