//! What servers are listened to for: changes of their lists and of resources.

pub(in crate::upstream) mod listens;
pub(in crate::upstream) mod subscriptions;
