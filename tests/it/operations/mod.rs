//! Operating a platform: records that wait on disk, backups, a pooler, and the files in `packaging` that others run.

mod backup;
mod chart;
mod observability;
mod pooler;
mod recipes;
mod retention;
mod spool;
mod spool_harm;

use std::process::Command;

use kit::bin;
use kit::config::Fake;
use kit::platform::Platform;
use kit::room::Room;
use kit::run::{self, Done};
use kit::say;
use rustix::process::Signal;

/// A server that echoes.
fn echoing<'a>(room: &'a Room, name: &str) -> Fake<'a> {
    room.fake(name).tool("echo", say::echo())
}

fn stop(platform: &Platform) {
    platform.serve().process().signal(Signal::TERM);
    platform.serve().process().wait_exit(kit::LIMIT);
}

/// `trunkline …` on this store.
fn maintain(arguments: &[&str]) -> Done {
    let mut command = Command::new(bin::trunkline());
    command.args(arguments).env_remove("TRUNKLINE_KEY").env_remove("TRUNKLINE_STORE");
    run::run(command, b"")
}

/// Of `/metrics`, one without labels.
fn metric(platform: &Platform, name: &str) -> f64 {
    let text = platform.admin().get("/metrics").response.text().to_owned();
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no {name}"))
}

fn calls(platform: &Platform) -> usize {
    let records = kit::platform::pages(
        platform.admin(),
        "/api/v1/audit?action=call-tool&limit=1000",
        "records",
    );
    records.len()
}
