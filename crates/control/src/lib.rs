//! The control plane: REST, access, lifecycle, health, credentials, audit. Never in the way of a call.

pub mod access;
pub mod api;
pub mod keys;
pub mod net;
pub mod oauth;
pub mod secrets;
