//! Bad input from the client: each line gets its definite answer, and nothing else is lost.

mod ids;
mod lines;
mod messages;

use std::time::Duration;

use kit::client::Client;
use kit::line::Line;
use kit::room::Room;
use kit::say;

fn room() -> Room {
    let room = Room::new();
    let wait = say::steps([say::gate(&room, "go"), say::result("@ARGS@")]);
    let a = room.fake("a").tool("echo", say::echo()).tool("mirror", say::mirror());
    room.config([("a", a.tool("wait", wait).entry())]);
    room
}

/// Sends `bytes` and gives the one line that comes back before the answer to a good call.
#[track_caller]
fn only_answer(client: &Client, bytes: &[u8]) -> Line {
    let lines = answers(client, bytes);
    let [line] = &lines[..] else {
        panic!("one answer expected to {}: {lines:?}", String::from_utf8_lossy(bytes))
    };
    line.clone()
}

/// Every line that comes back between `bytes` and the answer to a good call.
#[track_caller]
fn answers(client: &Client, bytes: &[u8]) -> Vec<Line> {
    client.assert_echo("a", "echo", r#"{"before":1}"#);
    client.send(bytes);
    client.assert_echo("a", "echo", r#"{"after":1}"#);
    // A refusal may overtake nothing, but a relayed answer may be overtaken by a ping.
    client.request(r#"{"jsonrpc":"2.0","id":"the end","method":"ping"}"#);
    std::iter::from_fn(|| client.try_wait_for(Duration::ZERO, |_| true)).collect()
}
