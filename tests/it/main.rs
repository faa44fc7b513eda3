//! The promises, black-box: the shipped programs, scripted servers, and a client of raw bytes.

mod faults;
mod fidelity;
mod input;
mod kit_itself;
mod ledger;
mod orphans;
mod real;
mod relay;
mod review;
mod simple;

/// Tests that measure promised times, or use both processors for long, take turns.
static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());
