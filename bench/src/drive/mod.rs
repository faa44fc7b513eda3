//! The driver: starts subject, floor and direct children, lets them take turns and reports the ratios.

mod affinity;
mod args;
mod call;
mod connection;
mod contender;
mod expected;
mod futexes;
mod launch;
mod listening;
mod machine;
mod peers;
mod policies;
mod pool;
mod post;
mod process;
mod ready;
mod report;
mod rest;
mod route;
mod run;
mod scenario;
mod stats;
mod target;
mod temporary;
mod watchdog;

pub use run::main;
