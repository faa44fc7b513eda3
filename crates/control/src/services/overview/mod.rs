//! How everything does together: for people and for Prometheus.

mod context;
mod service;

pub(crate) use context::ListSize;
pub(super) use context::ListSizes;
pub(crate) use service::Overview;
pub use service::OverviewService;
