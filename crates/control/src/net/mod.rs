//! The guarded HTTP client: every address is judged before it is connected to.
//!
//! For everything the control plane fetches: keys of token issuers, health checks, OAuth, traces, models.
//! One request per connection; no cookies, no proxies, no redirects unless asked for.

mod client;
mod connect;
mod error;
mod follow;
mod model;
mod receive;
mod request;
mod response;

#[cfg(test)]
pub(crate) mod fake;
#[cfg(test)]
mod tests;

pub use client::Client;
pub use connect::Judge;
pub use error::FetchError;
pub(crate) use model::ModelLine;
pub use model::ModelPlace;
pub use request::{Limits, Redirects, Request};
pub use response::Response;
