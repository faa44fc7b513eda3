//! `FetchError`: why a request has no answer, in words that hold no secret.

use std::net::IpAddr;
use std::time::Duration;

/// A status is not an error: whoever got an answer gets to see it. Nothing here quotes a query, a
/// header or a body.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    #[error("the request cannot be sent: {0}")]
    Request(String),
    #[error("no address for {host}: {why}")]
    Dns { host: String, why: String },
    #[error("{host} leads to {address}, which may not be connected to: {hint}")]
    Refused { host: String, address: IpAddr, hint: String },
    #[error("{origin} cannot be reached: {why}")]
    Connect { origin: String, why: String },
    #[error("{origin} cannot be reached securely: {why}")]
    Tls { origin: String, why: String },
    #[error("{origin} did not answer within {}", seconds(.after))]
    Timeout { origin: String, after: Duration },
    #[error("the answer of {origin} is larger than {limit} bytes")]
    TooBig { origin: String, limit: usize },
    #[error("the answer of {origin} is malformed: {why}")]
    Malformed { origin: String, why: String },
    #[error("{origin} redirects, and that is not followed: {why}")]
    Redirect { origin: String, why: &'static str },
}

impl FetchError {
    /// Could the same request succeed later, with nothing changed here?
    pub fn may_retry(&self) -> bool {
        match self {
            Self::Dns { .. }
            | Self::Connect { .. }
            | Self::Tls { .. }
            | Self::Timeout { .. }
            | Self::Malformed { .. } => true,
            Self::Request(_)
            | Self::Refused { .. }
            | Self::TooBig { .. }
            | Self::Redirect { .. } => false,
        }
    }
}

fn seconds(duration: &Duration) -> String {
    format!("{} s", duration.as_secs_f32())
}
