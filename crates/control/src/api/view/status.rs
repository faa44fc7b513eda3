//! The words for how a server is.

use crate::api::schema::words;
pub use crate::health::{HealthStatus, ServerStatus as Status};

words!(for Status, as_str: "CONNECTED", "DEGRADED", "DISCONNECTED", "ERROR", "CONNECTING", "IDLE");

words!(for HealthStatus, as_str: "unknown", "healthy", "degraded", "failing");
