//! The test kit: a scripted server that commits every fault, and a client that speaks raw bytes.
//!
//! It judges the shipped programs from outside and therefore shares no code with them: the JSON
//! scanner, the client and the server below are the kit's own.

pub mod apart;
pub mod balancer;
pub mod bin;
pub mod browser;
pub mod certificates;
pub mod client;
pub mod collector;
pub mod config;
pub mod corpus;
pub mod dashboard;
pub mod database;
pub mod fake;
pub mod foreign;
pub mod frames;
pub mod http;
pub mod inbox;
pub mod insistent;
pub mod ledger;
pub mod legacy_sse;
pub mod limit;
pub mod line;
pub mod llm;
pub mod mcp;
pub mod modern;
pub mod pace;
pub mod page;
pub mod platform;
pub mod port;
pub mod process;
pub mod proxy;
pub mod replicas;
pub mod rest;
pub mod rng;
pub mod room;
pub mod run;
pub mod say;
pub mod scene;
mod sealed;
pub mod serve;
pub mod service;
pub mod signals;
pub mod slow;
pub mod streamable;
pub mod tap;
pub mod terminal;
pub mod tls;
pub mod tunnel;
pub mod way;
pub mod yardstick;

use std::time::Duration;

/// The JSON scanner, a crate of its own: it is compiled with optimisation.
pub use scan;

use limit::Limit;

/// How long a test waits for something that has no promised time, on a machine that does nothing
/// else ([`limit`]). A test that needs all of it has found a fault.
pub const LIMIT: Duration = Duration::from_secs(30);

/// Twice the "within 1 s" that is promised of most faults: some tests have the gateway wait for a
/// second first. Sooner than any deadline of the gateway's that would bring it about as well: a
/// server's start is waited for longer than this, a call for ten minutes.
pub const SOON: Limit = Limit::promised(Duration::from_secs(2));

/// How often a state is looked at while a test waits for it.
pub(crate) const GLANCE: Duration = Duration::from_millis(4);
