//! The platform (003): servers registered over REST, who may do what, health, audit, the store.
//!
//! Everything here goes through the real server, as its operators and their tools would.

mod audit;
mod audit_collector;
mod bounds;
mod breaker;
mod calls;
mod canaries;
mod chaos;
mod commands;
mod connections;
mod context;
mod custom;
mod degraded;
mod durability;
mod embeddings;
mod entrust;
mod events;
mod exposure;
mod files;
mod flood;
mod grants;
mod health;
mod idempotency;
mod judged;
mod keys;
mod limits;
mod listed_commands;
mod llm;
mod metrics;
mod names;
mod one;
mod open;
mod postgres;
mod reach;
mod ready;
mod refusals;
mod registration;
mod reliability;
mod replicas;
mod results;
mod roles;
mod rotation;
mod scale;
mod search;
mod second_opinion;
mod secrets;
mod skills;
mod slowed;
mod store;
mod strangers;
mod tasks;
mod together;

use kit::config::Fake;
use kit::room::Room;
use kit::say;

/// A server that echoes.
fn echoing<'a>(room: &'a Room, name: &str) -> Fake<'a> {
    room.fake(name).tool("echo", say::echo())
}
