//! The guarded HTTP client: every address is judged before it is connected to.
//!
//! For everything the control plane fetches: keys of token issuers, health checks, OAuth, traces.
//! One request per connection; no cookies, no proxies, no redirects unless asked for.

mod client;
mod connect;
mod endpoint;
mod error;
mod follow;
mod receive;
mod request;
mod response;

#[cfg(test)]
pub(crate) mod fake;
#[cfg(test)]
mod tests;

pub use client::Client;
pub use connect::Judge;
pub(crate) use endpoint::endpoint;
pub use error::FetchError;
pub use request::{Limits, Redirects, Request};
pub use response::Response;
