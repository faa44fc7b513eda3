//! The control plane: REST, access, lifecycle, health, credentials, audit. Never in the way of a call.

pub mod access;
pub mod api;
pub mod audit;
pub mod clock;
pub mod embed;
pub mod fault;
pub mod figures;
pub mod health;
pub mod issuer;
pub mod keys;
pub mod llm;
pub mod logins;
pub mod metrics;
pub mod net;
pub mod oauth;
pub mod otlp;
pub mod people;
pub mod policies;
pub mod replicas;
pub mod secrets;
pub mod services;
pub mod skills;
pub mod trace;

#[cfg(test)]
mod scratch;
