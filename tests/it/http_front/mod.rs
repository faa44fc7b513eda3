//! The network fronts as seen from the wire: requests, sessions, streams, and those who mean harm.

mod drain;
mod hostile;
mod origins;
mod pressure;
mod requests;
mod sessions;
mod streams;
mod subscriptions;
mod tokens;
mod vanished;

use kit::room::Room;
use kit::say;

/// One server `a` with `echo`, `mirror`, and `wait` behind the gate `go`.
fn room() -> Room {
    furnished(Room::new())
}

fn furnished(room: Room) -> Room {
    let wait = say::steps([say::gate(&room, "go"), say::result("@ARGS@")]);
    let a = room.fake("a").tool("echo", say::echo()).tool("mirror", say::mirror());
    room.config([("a", a.tool("wait", wait).entry())]);
    room
}
