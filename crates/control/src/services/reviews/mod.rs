//! What is pinned of servers' definitions, in the store: kept for the data plane, and decided on by people.

mod home;
mod service;

pub(crate) use home::StoredPins;
pub use service::ReviewService;
pub(crate) use service::{ServerReview, WaitingReview};
