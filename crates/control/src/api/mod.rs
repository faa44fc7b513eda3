//! The REST API: one table of routes, and everything made from it.

pub mod docs;
pub mod etag;
pub mod handle;
pub mod input;
pub mod openapi;
pub mod paging;
pub mod problem;
pub mod query;
pub mod render;
pub mod result;
pub mod route;
pub mod router;
pub mod routes;
pub mod shape;
pub mod time;
pub mod view;

pub use crate::fault;

/// Everything but liveness, readiness and metrics lies below it.
pub const PREFIX: &str = "/api/v1";
