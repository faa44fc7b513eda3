//! The promises, black-box: the shipped programs, scripted servers, and a client of raw bytes.

mod browser;
mod cli;
mod comeback;
mod coordinator;
mod crowd;
mod dashboard;
mod demo;
mod era;
mod exposure;
mod faults;
mod fidelity;
mod http_front;
mod http_upstream;
mod input;
mod kit_itself;
mod lazy;
mod ledger;
mod limits;
mod logins;
mod matrix;
mod orphans;
mod own;
mod pages;
mod peers;
mod people;
mod pins;
mod platform;
mod platform_foreign;
mod platform_issuer;
mod policies;
mod proxies;
mod readme;
mod real;
mod relay;
mod reload;
mod review;
mod sandbox;
mod schema;
mod shared;
mod sharing;
mod simple;
mod slow_readers;
mod tls;
mod traces;

/// Tests that measure promised times, or use both processors for long, take turns.
static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());
