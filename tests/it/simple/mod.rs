//! The Simple requirements, one or more tests per ID; a test's name begins with the ID it proves.

mod children;
mod config;
mod edges;
mod face;
mod speed;
mod tools;

use std::process::Command;

use kit::bin;
use kit::room::Room;

/// The gateway as it is, and the two ways to the literal simple product.
fn programs(room: &Room) -> [(&'static str, Command); 3] {
    let [one, two] = simple_programs(room);
    [("trunkline", room.trunkline(&[])), one, two]
}

/// … of which none starts a failed child again.
fn programs_without_restart(room: &Room) -> [(&'static str, Command); 3] {
    let [one, two] = simple_programs(room);
    [("trunkline --no-restart", room.trunkline(&["--no-restart"])), one, two]
}

/// The two ways to the literal simple product.
fn simple_programs(room: &Room) -> [(&'static str, Command); 2] {
    [
        ("trunkline --simple", room.trunkline(&["--simple"])),
        ("mcp-simple-aggregator", room.program(&bin::simple_aggregator(), &[])),
    ]
}

/// A tool that tells how its server was started.
fn report() -> serde_json::Value {
    let report = r#"{"content":[],"structuredContent":{"env":@ENV@,"argv":@ARGV@,"cwd":@CWD@}}"#;
    kit::say::steps([kit::say::result(report)])
}
