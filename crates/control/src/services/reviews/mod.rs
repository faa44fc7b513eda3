//! What is pinned of servers' definitions and waits: decided on by people.

mod service;

pub use service::ReviewService;
pub(crate) use service::{ServerReview, WaitingReview};
