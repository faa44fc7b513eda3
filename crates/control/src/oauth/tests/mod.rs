//! Logins and renewals against an authorization server and a protected server on loopback.

mod hostile;
mod login;
mod memory;
mod renewal;
mod trouble;
mod world;
