//! The demo servers, one each.

mod clock;
mod flaky;
mod notes;
mod picture;
mod tables;
mod weather;

pub(super) use clock::Clock;
pub(super) use flaky::Flaky;
pub(super) use notes::Notes;
pub(super) use tables::Tables;
pub(super) use weather::Weather;
