//! The REST API: one table of routes, and everything made from it.

mod answer;
pub mod docs;
pub mod etag;
pub mod handle;
pub mod input;
pub mod openapi;
pub mod paging;
mod parameters;
pub mod problem;
pub mod query;
pub mod render;
mod request;
pub mod result;
pub mod route;
pub mod router;
pub mod routes;
pub mod schema;
pub mod time;
pub mod view;

pub use crate::fault;

/// Everything but liveness, readiness and metrics lies below it.
pub const PREFIX: &str = "/api/v1";
