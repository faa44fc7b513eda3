//! Metrics for Prometheus: counted as things happen, written as text when they are asked for.

mod calls;
mod histogram;
mod process;
#[cfg(test)]
mod tests;
mod text;
mod write;

pub use calls::{CallOutcome, Metrics};
pub use text::MEDIA_TYPE;
pub use write::{AuditMetrics, InstanceMetrics, ServerMetrics, expose};
