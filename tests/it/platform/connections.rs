//! US6: servers are connected, disconnected and removed while the platform runs.

use std::time::Duration;

use kit::http::{Ask, Connection};
use kit::mcp::Speak;
use kit::platform::{ADMIN, Platform, SERVERS, id_of, remote, stdio};
use kit::room::Room;
use kit::service::Wire;
use kit::{LIMIT, ledger, process, say};
use serde_json::json;

use super::echoing;

/// Calls that are open when a server is disconnected have so long.
const GRACE: Duration = Duration::from_secs(30);

/// `wait` waits at the gate `go`; `never` does not answer.
fn waiting(room: &Room) -> (Platform, String) {
    let wait = say::steps([say::gate(room, "go"), say::text("done")]);
    let fake = room.fake("a").tool("wait", wait).tool("never", say::never());
    let service = fake.listen(Wire::Http);
    let platform = room.platform(&[]);
    let id = platform.connected("a", &service);
    room.keep(service);
    (platform, id)
}

fn wait_calls(room: &Room, count: usize) {
    process::wait_until("the calls are at the server", LIMIT, || {
        ledger::calls(&room.ledger("a")).len() == count
    });
}

#[test]
fn us6_ac1_connect_is_answered_as_003_writes_it_and_connects() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&[]);
    let mut body = remote("a", &service);
    body["auto_connect"] = false.into();
    let id = id_of(&platform.register(&body));
    let answer = platform.act(&id, "connect");
    assert_eq!(answer.status(), 202, "{answer}");
    let expected = r#"{"status":"CONNECTING","message":"Connection initiated"}"#;
    assert_eq!(answer.response.text(), expected);
    platform.wait_status(&id, "CONNECTED");
    platform.call("a.echo", &json!({})).is(200);
    // A server that is connected stays as it is.
    let again = platform.act(&id, "connect").is(202);
    assert_eq!(again["status"], "CONNECTED", "{again}");
    assert_eq!(platform.server(&id)["status"], "CONNECTED");
    assert_eq!(ledger::with_method(&room.ledger("a"), "tools/list").len(), 1);
}

#[test]
fn us6_ac1_ac2_ac6_a_server_that_is_not_there_is_404() {
    let room = Room::new();
    let platform = room.platform(&[]);
    platform.act("nobody", "connect").problem(404, "no-such-server");
    platform.act("nobody", "disconnect").problem(404, "no-such-server");
    platform.admin().delete(&format!("{SERVERS}/nobody")).problem(404, "no-such-server");
    platform.admin().get(&format!("{SERVERS}/nobody")).problem(404, "no-such-server");
}

#[test]
fn us6_ac2_disconnect_is_answered_as_003_writes_it_and_ends_the_process() {
    let room = Room::new();
    let platform = room.platform(&["--allow-stdio-registration"]);
    let shown = platform.register(&stdio("a", &echoing(&room, "a").entry()));
    let id = id_of(&shown);
    platform.wait_status(&id, "CONNECTED");
    let [pid] = ledger::started(&room.ledger("a"))[..] else { panic!("one process") };
    let answer = platform.act(&id, "disconnect");
    assert_eq!(answer.status(), 200, "{answer}");
    assert_eq!(answer.response.text(), r#"{"status":"DISCONNECTED","pending_requests":0}"#);
    assert_eq!(platform.server(&id)["status"], "DISCONNECTED");
    process::wait_until("the process has ended", LIMIT, || !process::is_alive(pid));
    // Twice is no error.
    platform.act(&id, "disconnect").is(200);
    platform.act(&id, "connect").is(202);
    platform.wait_status(&id, "CONNECTED");
    assert_eq!(ledger::started(&room.ledger("a")).len(), 2);
}

#[test]
fn us6_ac2_the_session_at_a_network_server_is_ended() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let platform = room.platform(&[]);
    let id = platform.connected("a", &service);
    platform.act(&id, "disconnect").is(200);
    process::wait_until("the session is ended", LIMIT, || {
        ledger::heads(&room.ledger("a")).iter().any(|head| head.method() == "DELETE")
    });
}

/// Begins to disconnect; the answer is still to be read.
#[track_caller]
fn begin_disconnect(platform: &Platform, id: &str) -> Connection {
    let path = format!("{SERVERS}/{id}/disconnect");
    platform.admin().begin(&Ask::new("POST", &path))
}

#[test]
fn us6_ac3_a_call_that_is_open_may_end() {
    let room = Room::new();
    let (platform, id) = waiting(&room);
    let mut call = platform.admin().begin(&Platform::call_ask("a.wait", "{}"));
    wait_calls(&room, 1);
    let _disconnect = begin_disconnect(&platform, &id);
    process::wait_until("its tools are gone", LIMIT, || platform.tool_names(ADMIN).is_empty());
    room.open_gate("go");
    let answer = call.response(LIMIT);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    platform.wait_status(&id, "DISCONNECTED");
}

/// As its description says: the answer comes when open calls have ended, and counts the others.
#[test]
fn us6_ac3_disconnect_waits_for_open_calls_and_counts_those_that_have_not_ended() {
    let room = Room::new();
    let (platform, id) = waiting(&room);
    let mut call = platform.admin().begin(&Platform::call_ask("a.wait", "{}"));
    wait_calls(&room, 1);
    let mut disconnect = begin_disconnect(&platform, &id);
    process::wait_until("its tools are gone", LIMIT, || platform.tool_names(ADMIN).is_empty());
    room.open_gate("go");
    assert_eq!(call.response(LIMIT).status(), 200);
    let answer = disconnect.response(LIMIT + GRACE);
    assert_eq!(answer.text(), r#"{"status":"DISCONNECTED","pending_requests":0}"#);
}

#[test]
fn us6_ac3_a_call_that_does_not_end_is_settled_after_thirty_seconds() {
    let room = Room::new();
    let (platform, id) = waiting(&room);
    let mut call = platform.admin().begin(&Platform::call_ask("a.never", "{}"));
    wait_calls(&room, 1);
    let mut disconnect = begin_disconnect(&platform, &id);
    let answer = disconnect.response(LIMIT + GRACE);
    assert_eq!(answer.text(), r#"{"status":"DISCONNECTED","pending_requests":1}"#);
    let answer = call.response(LIMIT + GRACE);
    assert!((502..=504).contains(&answer.status()), "{}", answer.text());
    assert!(answer.text().contains("may have run"), "{}", answer.text());
}

#[test]
fn us6_ac4_the_tools_of_a_disconnected_server_are_gone_everywhere_and_sessions_hear_of_it() {
    let room = Room::new();
    let services = ["a", "b"].map(|name| echoing(&room, name).listen(Wire::Http));
    let platform = room.platform(&[]);
    let id = platform.connected("a", &services[0]);
    platform.connected("b", &services[1]);
    let client = platform.mcp(ADMIN);
    assert_eq!(client.listen(), 200);
    assert_eq!(client.list_names(), ["a.echo", "b.echo"]);
    assert_eq!(platform.tool_names(ADMIN), ["a.echo", "b.echo"]);
    platform.act(&id, "disconnect").is(200);
    client.notification("notifications/tools/list_changed", LIMIT);
    assert_eq!(client.list_names(), ["b.echo"]);
    assert_eq!(platform.tool_names(ADMIN), ["b.echo"]);
    let own = platform.admin().get(&format!("{SERVERS}/{id}/tools")).is(200);
    assert_eq!(own["total"], 0, "{own}");
    assert_eq!(platform.server(&id)["tools"], 0);
}

#[test]
fn us6_ac5_on_reconnect_tools_are_discovered_again() {
    let room = Room::new();
    let page = |name: &str| json!([{ "at": null, "tools": [say::definition(name)] }]);
    let fake = room.fake("a").sweeps(json!([page("old"), page("new")])).tool("*", say::echo());
    let service = fake.listen(Wire::Http);
    let platform = room.platform(&[]);
    let id = platform.connected("a", &service);
    assert_eq!(platform.tool_names(ADMIN), ["a.old"]);
    platform.act(&id, "disconnect").is(200);
    platform.act(&id, "connect").is(202);
    platform.wait_status(&id, "CONNECTED");
    assert_eq!(platform.tool_names(ADMIN), ["a.new"]);
    platform.call("a.new", &json!({})).is(200);
    platform.call("a.old", &json!({})).problem(404, "no-such-tool");
}

#[test]
fn us6_ac6_a_removed_server_is_gone_with_its_tools_and_its_name_is_free() {
    let room = Room::new();
    let platform = room.platform(&["--allow-stdio-registration"]);
    let entry = echoing(&room, "a").entry();
    let id = id_of(&platform.register(&stdio("a", &entry)));
    platform.wait_status(&id, "CONNECTED");
    let [pid] = ledger::started(&room.ledger("a"))[..] else { panic!("one process") };
    let path = format!("{SERVERS}/{id}");
    let answer = platform.admin().delete(&path);
    assert_eq!(answer.status(), 204, "{answer}");
    assert!(answer.response.body.is_empty());
    platform.admin().get(&path).problem(404, "no-such-server");
    platform.admin().delete(&path).problem(404, "no-such-server");
    assert_eq!(platform.tool_names(ADMIN), Vec::<String>::new());
    platform.call("a.echo", &json!({})).problem(404, "no-such-tool");
    process::wait_until("its process has ended", LIMIT, || !process::is_alive(pid));
    let again = id_of(&platform.register(&stdio("a", &entry)));
    assert_ne!(again, id);
    platform.wait_status(&again, "CONNECTED");
}

#[test]
fn us6_ac6_calls_that_are_open_when_their_server_is_removed_may_end() {
    let room = Room::new();
    let (platform, id) = waiting(&room);
    let mut call = platform.admin().begin(&Platform::call_ask("a.wait", "{}"));
    wait_calls(&room, 1);
    let mut delete = platform.admin().begin(&Ask::new("DELETE", &format!("{SERVERS}/{id}")));
    process::wait_until("its tools are gone", LIMIT, || platform.tool_names(ADMIN).is_empty());
    room.open_gate("go");
    let answer = call.response(LIMIT);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    assert_eq!(delete.response(LIMIT + GRACE).status(), 204);
}

#[test]
fn a_call_that_is_open_when_its_server_is_renamed_ends_as_if_nothing_had_happened() {
    let room = Room::new();
    let (platform, id) = waiting(&room);
    let mut call = platform.admin().begin(&Platform::call_ask("a.wait", "{}"));
    wait_calls(&room, 1);
    platform.admin().patch(&format!("{SERVERS}/{id}"), &json!({ "name": "z" })).is(200);
    process::wait_until("it is renamed", LIMIT, || {
        platform.tool_names(ADMIN) == ["z.never", "z.wait"]
    });
    room.open_gate("go");
    let answer = call.response(LIMIT);
    assert_eq!(answer.status(), 200, "{}", answer.text());
}

/// It is connected anew, with the new value: nobody who calls it meanwhile needs to know.
#[test]
fn nfr_r4_calls_that_come_while_a_changed_server_is_connected_anew_wait_for_it() {
    let room = Room::new();
    let slowly = say::steps([say::gate(&room, "back"), say::usual()]);
    let opening = say::first(1, &say::steps([say::usual()]), &slowly);
    let service = echoing(&room, "a").on("initialize", opening).listen(Wire::Http);
    let platform = room.platform(&[]);
    let id = platform.connected("a", &service);
    let client = platform.mcp(ADMIN);
    let path = format!("{SERVERS}/{id}");
    let changed = platform.admin().patch(&path, &json!({ "call_timeout": 25 })).is(200);
    assert_eq!(changed["call_timeout"], 25);
    process::wait_until("it is connected anew", LIMIT, || {
        ledger::with_method(&room.ledger("a"), "initialize").len() == 2
    });
    assert_eq!(client.list_names(), ["a.echo"], "what it offered stays listed");
    assert_eq!(platform.tool_names(ADMIN), ["a.echo"]);
    let calls = [(); 3].map(|()| platform.admin().begin(&Platform::call_ask("a.echo", "{}")));
    process::wait_until("the calls wait", LIMIT, || {
        let details = platform.admin().get(&format!("{path}/details")).is(200);
        details["process"]["waiting_calls"] == 3
    });
    assert_eq!(ledger::calls(&room.ledger("a")).len(), 0);
    room.open_gate("back");
    for mut call in calls {
        let answer = call.response(LIMIT);
        assert_eq!(answer.status(), 200, "{}", answer.text());
    }
    client.call("a.echo", "{}").result();
    assert_eq!(ledger::calls(&room.ledger("a")).len(), 4);
}

#[test]
fn what_was_disconnected_stays_so_after_a_restart() {
    let room = Room::new();
    let service = echoing(&room, "a").listen(Wire::Http);
    let id = {
        let platform = room.platform(&[]);
        let id = platform.connected("a", &service);
        platform.act(&id, "disconnect").is(200);
        platform.serve().process().signal(rustix::process::Signal::TERM);
        platform.serve().process().wait_exit(LIMIT);
        id
    };
    let other = echoing(&room, "b").listen(Wire::Http);
    let platform = room.platform(&[]);
    platform.connected("b", &other);
    assert_eq!(platform.server(&id)["status"], "DISCONNECTED");
}
