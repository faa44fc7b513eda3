//! The words for how a server is.

use crate::api::schema::words;

words! {
    /// Whether clients can use a server, as 003 names it.
    pub enum Status {
        Connected = "CONNECTED",
        Degraded = "DEGRADED",
        Disconnected = "DISCONNECTED",
        Error = "ERROR",
        Connecting = "CONNECTING",
    }
}

words! {
    /// What the health checks say.
    pub enum HealthStatus {
        /// Nothing was checked yet.
        Unknown = "unknown",
        Healthy = "healthy",
        Degraded = "degraded",
        Failing = "failing",
    }
}
