//! The words for how a server does, as the API and the metrics write them.

/// Whether a server can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ServerStatus {
    Connected,
    Degraded,
    Disconnected,
    Error,
    Connecting,
    /// It sleeps until it is needed.
    Idle,
}

impl ServerStatus {
    pub const ALL: [Self; 6] = [
        Self::Connected,
        Self::Degraded,
        Self::Disconnected,
        Self::Error,
        Self::Connecting,
        Self::Idle,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Connected => "CONNECTED",
            Self::Degraded => "DEGRADED",
            Self::Disconnected => "DISCONNECTED",
            Self::Error => "ERROR",
            Self::Connecting => "CONNECTING",
            Self::Idle => "IDLE",
        }
    }
}

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
