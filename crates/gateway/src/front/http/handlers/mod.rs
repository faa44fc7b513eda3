//! What requests lead to: one file per route, and the answer that a POST gets.

pub(crate) mod health;
pub(crate) mod mcp;
mod mirror;
mod post;
pub(crate) mod sse;
mod stateless;
mod stateless_fast_path;

pub(crate) use mcp::CachedRoute;
pub(crate) use mirror::{NAME, repeats_argument};
