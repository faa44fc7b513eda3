//! While a gateway runs: a change that a server announces, and a decision that is made beside it.

use kit::client::Client;
use kit::mcp::Speak;
use kit::room::{PINS, Room};
use kit::{LIMIT, process};

use super::{
    CHANGED, EVIL, GOOD, assert_listed, command, end, entry, growing, review, start, tool,
    wait_waiting,
};

const GROW: &str = r#"{ "name":"grow","inputSchema":{"type":"object"}}"#;

/// Under `hold`, from the change to its approval; `list` is what this client is listed.
fn is_held_until_it_is_approved(room: &Room, client: &impl Speak, separator: &str) {
    let (good, evil, new) = (tool("add", GOOD), tool("add", EVIL), tool("new", "n"));
    assert_listed(&client.list(), &[GROW, &good], separator);
    client.call(&client.tool("rail", "grow"), "{}").result();
    wait_waiting(room, 2);
    assert_listed(&client.list(), &[GROW, &good], separator);
    // What was approved can be called, and goes to the server; what is new is not there.
    client.call(&client.tool("rail", "add"), r#"{"a":1}"#).result();
    let refused = client.call(&client.tool("rail", "new"), "{}");
    assert!(refused.try_result().is_none(), "{refused}");
    assert!(refused.to_string().contains("not found"), "{refused}");
    review(room, &["approve", "rail"]).good();
    process::wait_until("the new definitions are listed", LIMIT, || client.list().len() == 3);
    assert_listed(&client.list(), &[GROW, &evil, &new], separator);
    client.call(&client.tool("rail", "new"), "{}").result();
}

fn config(room: &Room, policy: Option<&str>) {
    let (good, evil, new) = (tool("add", GOOD), tool("add", EVIL), tool("new", "n"));
    let fake = growing(room, &[GROW, &good], &[GROW, &evil, &new]);
    room.config([("rail", entry(fake, policy))]);
}

#[test]
fn on_stdio_a_change_is_held_until_it_is_approved() {
    let room = Room::new();
    config(&room, Some("hold"));
    let client = start(&room);
    is_held_until_it_is_approved(&room, &client, ":");
    client.wait_for("the change is announced", LIMIT, |line| line.is_notification(CHANGED));
    end(&client);
}

#[test]
fn in_a_shared_runtime_a_change_is_held_until_it_is_approved() {
    let room = Room::shared();
    config(&room, Some("hold"));
    let [client, other] = [(); 2].map(|()| start(&room));
    is_held_until_it_is_approved(&room, &client, ":");
    assert_eq!(other.list().len(), 3, "all clients of the runtime");
    other.wait_for("the change is announced", LIMIT, |line| line.is_notification(CHANGED));
    assert_eq!(room.runtimes().len(), 1);
}

#[test]
fn over_http_a_change_is_held_until_it_is_approved() {
    let room = Room::new();
    config(&room, Some("hold"));
    let mut command = room.serve_command(&["--start-timeout", "25"]);
    command.env(PINS, room.path("pins"));
    let serve = kit::serve::Serve::start(command);
    is_held_until_it_is_approved(&room, &serve.http(), ".");
}

#[test]
fn without_a_policy_a_change_is_shown_and_can_be_rejected() {
    let room = Room::new();
    config(&room, None);
    let (good, evil, new) = (tool("add", GOOD), tool("add", EVIL), tool("new", "n"));
    let client = start(&room);
    client.list();
    client.call("rail:grow", "{}").result();
    client.wait_for("the change is announced", LIMIT, |line| line.is_notification(CHANGED));
    assert_listed(&client.list(), &[GROW, &evil, &new], ":");
    wait_waiting(&room, 2);
    review(&room, &["reject", "rail", "add"]).good();
    client.wait_for("the rejection is announced", LIMIT, |line| line.is_notification(CHANGED));
    assert_listed(&client.list(), &[GROW, &good, &new], ":");
    let stderr = end(&client);
    assert!(
        stderr.contains("its tool \"add\" has changed") && stderr.contains("review"),
        "{stderr}"
    );
}

#[test]
fn a_policy_that_is_edited_holds_at_once() {
    let room = Room::new();
    config(&room, None);
    let (good, evil) = (tool("add", GOOD), tool("add", EVIL));
    let client = start(&room);
    client.list();
    client.call("rail:grow", "{}").result();
    client.wait_for("the change is announced", LIMIT, |line| line.is_notification(CHANGED));
    assert_eq!(client.list().len(), 3);
    config(&room, Some("hold"));
    client.wait_for("what is held is announced", LIMIT, |line| line.is_notification(CHANGED));
    assert_listed(&client.list(), &[GROW, &good], ":");
    config(&room, Some("allow"));
    process::wait_until("what is allowed is listed", LIMIT, || client.list().len() == 3);
    assert_listed(&client.list(), &[GROW, &evil, &tool("new", "n")], ":");
    end(&client);
}

#[test]
fn where_nothing_can_be_kept_a_change_is_held_for_as_long_as_the_gateway_runs() {
    let room = Room::new();
    config(&room, Some("hold"));
    room.write("blocked", "a file");
    let mut command = command(&room, &[]);
    command.env(PINS, room.path("blocked/pins"));
    let client = Client::spawn(command);
    client.initialize("2025-11-25");
    assert_eq!(client.list().len(), 2);
    client.wait_stderr(&["its definitions cannot be pinned"], LIMIT);
    client.call("rail:grow", "{}").result();
    client.wait_stderr(&["its tool \"add\" has changed", "its tool \"new\" is new"], LIMIT);
    assert_listed(&client.list(), &[GROW, &tool("add", GOOD)], ":");
    end(&client);
}

/// Two gateways on one config, each with its own process of the server: both write the same record.
#[test]
fn two_gateways_keep_one_record() {
    let room = Room::new();
    config(&room, Some("hold"));
    let clients = [(); 4].map(|()| {
        let client = Client::spawn(command(&room, &[]));
        client.initialize("2025-11-25");
        client
    });
    for client in &clients {
        assert_eq!(client.list().len(), 2);
        client.send_line(r#"{"jsonrpc":"2.0","id":"g","method":"tools/call","params":{"name":"rail:grow","arguments":{}}}"#);
    }
    wait_waiting(&room, 2);
    review(&room, &["approve", "rail"]).good();
    for client in &clients {
        process::wait_until("each lists what was approved", LIMIT, || client.list().len() == 3);
    }
    super::only_record(&room);
    clients.iter().for_each(|client| drop(end(client)));
}
