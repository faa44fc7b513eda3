//! Servers behind a URL: their faults, their sessions, their streams, and their way back.

mod circles;
mod faults;
mod reconnect;
mod requests;
mod sessions;
mod streams;
mod tls;
