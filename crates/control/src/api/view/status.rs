//! The words for how a server is.

use crate::api::shape::{Case, Words};

/// As 003 names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    Connected,
    Degraded,
    Disconnected,
    Error,
    Connecting,
}

impl Status {
    pub const ALL: [Self; 5] =
        [Self::Connected, Self::Degraded, Self::Disconnected, Self::Error, Self::Connecting];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Connected => "CONNECTED",
            Self::Degraded => "DEGRADED",
            Self::Disconnected => "DISCONNECTED",
            Self::Error => "ERROR",
            Self::Connecting => "CONNECTING",
        }
    }
}

pub(super) static STATUSES: Words = Words {
    known: &["CONNECTED", "DEGRADED", "DISCONNECTED", "ERROR", "CONNECTING"],
    case: Case::AsWritten,
};

/// What the checks say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HealthStatus {
    /// Nothing was checked yet.
    Unknown,
    Healthy,
    Degraded,
    Failing,
}

impl HealthStatus {
    pub const ALL: [Self; 4] = [Self::Unknown, Self::Healthy, Self::Degraded, Self::Failing];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Healthy => "healthy",
            Self::Degraded => "degraded",
            Self::Failing => "failing",
        }
    }
}

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
