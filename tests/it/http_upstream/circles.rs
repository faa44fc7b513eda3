//! Gateways that are each other's servers.

use std::process::Command;

use kit::mcp::Speak;
use kit::room::Room;
use kit::serve::Serve;
use kit::{LIMIT, port, say};
use serde_json::{Value, json};

fn at(port: u16) -> Value {
    json!({ "url": format!("http://127.0.0.1:{port}/mcp") })
}

fn serve(room: &Room, port: u16) -> Serve {
    let mut command = Command::new(kit::bin::trunkline());
    command.args(["serve", "--listen", &format!("127.0.0.1:{port}"), "--config"]);
    command.arg(room.path("mcp.json"));
    Serve::start(command)
}

#[test]
fn edge_2_k23_an_endpoint_that_is_its_own_server_is_refused() {
    let (room, own) = (Room::new(), port::free());
    let a = room.fake("a").tool("echo", say::echo()).entry();
    room.config([("a", a), ("me", at(own))]);
    let serve = serve(&room, own);
    serve.process().wait_stderr(&["me", "leads back to this Trunkline"], LIMIT);
    let client = serve.http();
    assert_eq!(client.list_names(), ["a.echo"]);
    client.assert_echo("a", "echo", "{}");
}

#[test]
fn edge_2_k23_a_circle_of_two_is_broken_once_and_lists_do_not_grow() {
    let (one, two) = (Room::new(), Room::new());
    let ports = [port::free(), port::free()];
    let a = one.fake("a").tool("echo", say::echo()).entry();
    one.config([("a", a), ("two", at(ports[1]))]);
    two.config([("one", at(ports[0]))]);
    let (first, second) = (serve(&one, ports[0]), serve(&two, ports[1]));
    let said = || {
        let both = first.process().stderr() + &second.process().stderr();
        both.contains("leads back to this Trunkline")
    };
    kit::process::wait_until("somebody notices", LIMIT, said);
    let longest = |client: &kit::streamable::Streamable| {
        client.list_names().iter().map(|name| name.matches('.').count()).max().unwrap_or(0)
    };
    let (first, second) = (first.http(), second.http());
    first.assert_echo("a", "echo", "{}");
    assert!(longest(&first) <= 2, "{:?}", first.list_names());
    assert!(longest(&second) <= 2, "{:?}", second.list_names());
}
