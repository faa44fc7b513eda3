//! The servers of a run, what has reached them, and what the log says afterwards.

use std::collections::HashMap;
use std::process::Command;

use kit::config::Fake;
use kit::platform::{Platform, id_of, stdio};
use kit::room::Room;
use kit::{LIMIT, bin, ledger, run, say, scan};
use rustix::process::Signal;

/// A server that echoes. Without sessions: a request of one that a new process does not know has
/// arrived there, too, but has not run, and is rightly made again.
pub fn echoing<'a>(room: &'a Room, name: &str) -> Fake<'a> {
    let fake = room.fake(name).tool("echo", say::echo());
    fake.http(serde_json::json!({ "sessions": false }))
}

/// Registers a command and waits until it is connected.
pub fn with_command(platform: &Platform, room: &Room, name: &str) {
    let id = id_of(&platform.register(&stdio(name, &echoing(room, name).entry())));
    platform.wait_status(&id, "CONNECTED");
}

/// How often each `{"n":…}` has reached the server.
pub fn arrived(room: &Room, server: &str) -> HashMap<u64, usize> {
    let mut counts = HashMap::new();
    for line in ledger::calls(&room.ledger(server)) {
        let number = scan::path(&line, &["params", "arguments", "n"]);
        let number = number.and_then(|raw| std::str::from_utf8(raw).ok()?.parse().ok());
        *counts.entry(number.expect("a number")).or_default() += 1;
    }
    counts
}

/// What `trunkline audit verify` has against the log, if anything.
pub fn verify(room: &Room, store: Option<&str>) -> Option<String> {
    let mut command = Command::new(bin::trunkline());
    command.args(["audit", "verify", "--data-dir"]).arg(room.path("data"));
    command.args(store.into_iter().flat_map(|url| ["--store", url]));
    command.env_remove("TRUNKLINE_KEY");
    let done = run::run(command, b"");
    (done.code != Some(0)).then(|| done.to_string())
}

/// Ends it as an operator does.
pub fn stop(platform: &Platform) {
    platform.serve().process().signal(Signal::TERM);
    platform.serve().process().wait_exit(LIMIT);
}
