//! The guarded HTTP client: every address is judged before it is connected to.
//!
//! For everything the control plane fetches: keys of token issuers, health checks, OAuth, traces, models.
//! Connections are reused, and go through the proxies that the environment names; there are no
//! cookies, and no redirects unless asked for.

mod client;
mod connect;
mod error;
mod follow;
mod model;
mod request;
mod response;
mod stream;
mod streaming;

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
pub(crate) use streaming::{Streaming, StreamingFault};
