//! What the services return, as the shapes of the API: the only place that knows both.

mod health;

pub use health::{health_view, window_view};
