//! The dashboard, as a browser without scripts sees it: who comes in, what is shown, what is done.

mod figures;
mod findings;
mod forms;
mod live;
mod nowhere;
mod plain;
mod review;
mod roles;
mod safety;
mod servers;
mod sign_in;
mod skills;
mod tools;

use kit::config::Fake;
use kit::room::Room;
use kit::say;

/// A server that echoes.
fn echoing<'a>(room: &'a Room, name: &str) -> Fake<'a> {
    room.fake(name).tool("echo", say::echo())
}

/// Every screen that is there without anything being there, and the least role that sees it.
const SCREENS: [(&str, &str); 13] = [
    ("/", "viewer"),
    ("/servers", "viewer"),
    ("/servers/new", "operator"),
    ("/tools", "viewer"),
    ("/skills", "viewer"),
    ("/review", "operator"),
    ("/policies", "operator"),
    ("/policies/new", "admin"),
    ("/policies/test", "operator"),
    ("/activity", "operator"),
    ("/clients", "viewer"),
    ("/settings", "viewer"),
    ("/settings/export", "viewer"),
];
