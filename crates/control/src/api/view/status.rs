//! The words for how a server is.

use crate::api::shape::{Case, Words};
pub use crate::health::{HealthStatus, ServerStatus as Status};

pub(super) static STATUSES: Words = Words {
    known: &["CONNECTED", "DEGRADED", "DISCONNECTED", "ERROR", "CONNECTING"],
    case: Case::AsWritten,
};

pub(super) static HEALTH_STATUSES: Words =
    Words { known: &["unknown", "healthy", "degraded", "failing"], case: Case::AsWritten };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_is_described() {
        assert_eq!(Status::ALL.map(Status::as_str), STATUSES.known);
        assert_eq!(HealthStatus::ALL.map(HealthStatus::as_str), HEALTH_STATUSES.known);
    }
}
